"""Tables that fit the terminal, and the names that they show."""

import json
from typing import Any

import pytest

from carrel.main.cli.table import cut, fitted, width_of
from tests.bridge.tiny_server import Asked, TinyServer
from tests.main.cli.conftest import Carrel, run_of

KEY = "agent:main:cli:a-rather-long-name-of-a-session-that-goes-on"
IDS = ["run_01m7knxt1p2gzd8eh38rzwycx0", "run_01m7knxsgb6creeh2z21j8hfzm", "run_01m7knxsgb6creeh2z21j8hfzn"]


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_table_fits_the_terminal_and_its_ids_can_be_told_apart(columns: int) -> None:
    rows = [[one, "completed", "main", KEY, "25m", "hello \u6f22\u5b57 " * 9] for one in IDS[:2]]
    shown = fitted(("RUN", "STATE", "AGENT", "SESSION", "AGE", "MESSAGE"), rows, columns)
    assert {width_of("  ".join(line)) for line in shown} == {columns}
    assert [line[0].strip() for line in shown[1:]] == [one[:14] for one in IDS[:2]]
    assert all(line[3].strip().endswith("on") for line in shown[1:]), "the end of a key tells most"


def test_ids_are_cut_only_where_they_must_be_and_never_to_the_same() -> None:
    assert [line[0] for line in fitted(("RUN",), [[one] for one in IDS], 80)[1:]] == IDS
    narrow = fitted(("RUN", "MESSAGE"), [[one, "hello there, all of you"] for one in IDS], 40)
    assert [line[0].strip() for line in narrow[1:]] == IDS, "two of the same millisecond differ in the last character"
    whole = fitted(("RUN", "MESSAGE"), [[IDS[0], "hello there, all of you"]], 40, whole_ids=True)
    assert whole[1] == [IDS[0], "hello t\u2026"]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("plain", 5),
        ("\u6f22\u5b57", 4),
        ("e\u0301", 1),
        ("\U0001f469\u200d\U0001f469\u200d\U0001f467", 2),
        ("\u2600\ufe0f", 2),
        ("\u1112\u1161\u11ab", 2),
    ],
)
def test_width_is_counted_in_cells(text: str, cells: int) -> None:
    assert width_of(text) == cells
    assert width_of(cut(text * 5, cells * 3)) <= cells * 3
    assert cut(text * 5, cells * 3).endswith("\u2026")


@pytest.mark.parametrize("name", [KEY[:20], "agent:main:\u2026that-goes-on", "\u2026goes-on"])
def test_a_session_may_be_named_as_a_table_shows_it(at: Carrel, tiny: TinyServer, name: str) -> None:
    def listed(asked: Asked) -> tuple[int, Any]:
        keys = [key for key in (KEY, "agent:main:main") if asked.query.get("q", "") in key]
        return 200, {"sessions": [] if asked.query["archived"] == "1" else [{"sessionKey": key} for key in keys]}

    tiny.does("GET", "/api/sessions", listed)
    tiny.answers("GET", f"/api/sessions/{KEY}", {"session": {"sessionKey": KEY}})
    assert json.loads(at("sessions", "show", name, "--json").out)["session"]["sessionKey"] == KEY


@pytest.mark.parametrize(
    ("words", "path", "answer", "field"),
    [
        (("runs", "list"), "/api/runs", {"runs": []}, "sessionKey"),
        (("goals", "list"), "/api/goals", {"goals": []}, "sessionId"),
        (("memory", "list"), "/api/memory", {"chain": [], "items": []}, "sessionId"),
    ],
)
def test_a_cut_key_narrows_a_list_to_its_session(
    at: Carrel, tiny: TinyServer, words: tuple[str, ...], path: str, answer: dict[str, Any], field: str
) -> None:
    tiny.answers("GET", "/api/sessions", {"sessions": [{"sessionKey": KEY}]})
    tiny.answers("GET", path, answer)
    assert at(*words, "--session", "agent:main:\u2026that-goes-on").code == 0
    assert tiny.asked[-1].query[field] == KEY


def test_the_beginning_of_a_key_need_not_look_like_one(at: Carrel, tiny: TinyServer) -> None:
    error = {"code": "invalid_params", "message": "It is not a session reference.", "field": "sessionKey"}
    tiny.otherwise = lambda _: (400, {"error": error})
    tiny.answers("GET", "/api/sessions", {"sessions": [{"sessionKey": KEY}]})
    tiny.answers("GET", f"/api/sessions/{KEY}/queue", {"running": None, "runs": []})
    assert at("queue", "agent:main:cl").code == 0
    assert "not a session reference" in at("queue", "agent:other").err


def test_an_unknown_session_or_agent_is_told_with_the_nearest(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/sessions", {"sessions": [{"sessionKey": "agent:main:cli:report"}]})
    refusal = {"error": {"code": "not_found", "message": "No."}}
    tiny.answers("GET", "/api/sessions/agent:main:cli:repotr", refusal, status=404)
    assert "did you mean agent:main:cli:report?" in at("sessions", "show", "agent:main:cli:repotr").err
    tiny.answers("GET", "/api/agents", {"agents": [{"id": "writer"}]})
    tiny.answers("POST", "/api/runs", refusal, status=404)
    ended = at("send", "wirter", "hello", "--json")
    assert "did you mean writer?" in ended.err
    assert (ended.code, json.loads(ended.err)["error"]["code"]) == (1, "not_found")


def test_what_is_shown_is_in_words(at: Carrel, tiny: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    usage = {"inputTokens": 3, "costUsd": None}
    run = run_of(usage=usage, attemptsMax=5, waitingFor=None, context={"layers": ["A", "B"], "degraded": None})
    tiny.answers("GET", "/api/runs/run_1", {"run": run})
    lines = at("runs", "show", "run_1").out.splitlines()
    assert {"agent\tmain", "usage\tinput tokens 3", "attempts max\t5", "context\tlayers A, B"} <= set(lines)
    (created,) = [line for line in lines if line.startswith("created\t")]
    assert created.startswith("created\t2026-01-01 00:00:00 (")
    assert not [line for line in lines if "waiting" in line or "{" in line]


@pytest.mark.parametrize(
    ("words", "path", "listed"),
    [
        (("schedule", "show"), "/api/schedules", {"schedules": [{"id": "sch_01m7knxpky2m"}]}),
        (("goals", "show"), "/api/goals", {"goals": [{"id": "sch_01m7knxpky2m"}]}),
        (("auto", "show"), "/api/auto/runs", {"runs": [{"runId": "sch_01m7knxpky2m"}]}),
        (("tasks", "done"), "/api/tasks", {"tasks": [{"id": "sch_01m7knxpky2m"}]}),
    ],
)
def test_an_id_may_be_cut_wherever_a_table_cuts_it(
    at: Carrel, tiny: TinyServer, words: tuple[str, ...], path: str, listed: dict[str, Any]
) -> None:
    tiny.answers("GET", path, listed)
    at(*words, "sch_01m7", "--json")
    assert tiny.asked[-1].path == f"{path}/sch_01m7knxpky2m"
