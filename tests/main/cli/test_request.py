"""What each command requests from the server and what it prints."""

import json
from typing import Any

import pytest

from carrel.kernel import SystemClock, iso
from carrel.main.terminal_text import terminal_text
from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel, run_of

KEY = "agent:main:cli:c1"


def answer_runs(tiny: TinyServer, *runs: dict[str, Any]) -> None:
    """Answer each wait for the run with the next of these states."""
    states = iter(runs)
    tiny.answers("GET", "/api/runs/run_1/wait", {"runId": "run_1", "status": "ok"})
    tiny.does("GET", "/api/runs/run_1", lambda _: (200, {"run": next(states)}))


def test_off_a_terminal_lists_are_tab_separated_without_headers(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/runs", {"runs": [run_of(createdAt=iso(SystemClock().now_ms()))], "nextCursor": None})
    ended = at("runs", "list", "--state", "failed", "--limit", "3")
    assert ended.out == "run_1\tcompleted\tmain\tagent:main:cli:c1\t0s\thello there\n"
    assert tiny.asked[0].query == {"state": "failed", "limit": "3"}


def test_on_a_terminal_lists_are_tables_with_colours(on_terminal: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/runs", {"runs": [run_of(state="failed")]})
    shown = on_terminal("runs", "list").out
    assert shown.splitlines()[0].startswith("\x1b[2mRUN    STATE   AGENT")
    assert "\x1b[31mfailed\x1b[0m" in shown


def test_no_color_is_respected(on_terminal: Carrel, tiny: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    tiny.answers("GET", "/api/runs", {"runs": [run_of(state="failed")]})
    assert "\x1b[3" not in on_terminal("runs", "list").out


def test_an_empty_list_says_so_on_a_terminal_and_is_silent_elsewhere(
    at: Carrel, on_terminal: Carrel, tiny: TinyServer
) -> None:
    tiny.answers("GET", "/api/runs", {"runs": []})
    assert at("runs", "list").out == ""
    assert on_terminal("runs", "list").err == "No runs yet.\n"


def test_control_characters_of_strangers_do_not_reach_the_terminal(on_terminal: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/runs", {"runs": [run_of(message={"text": "\x1b]0;evil\x07\x9b2J"})]})
    shown = on_terminal("runs", "list").out
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert "\x9b" not in shown
    assert terminal_text("a\tb\nc\rd") == "a\tb\nc\ufffdd"


BIDIRECTIONAL = [*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]


def test_characters_that_turn_a_line_around_do_not_reach_the_terminal(on_terminal: Carrel, tiny: TinyServer) -> None:
    told = {"text": f"{''.join(BIDIRECTIONAL)}exe.gpj \x9b2J"}
    tiny.answers("GET", "/api/runs", {"runs": [run_of(message=told)]})
    shown, as_json = on_terminal("runs", "list").out, on_terminal("runs", "list", "--json").out
    assert [sign for sign in (*BIDIRECTIONAL, "\x9b") if sign in shown or sign in as_json] == []
    assert json.loads(as_json)["runs"][0]["message"] == told


READS: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (("sessions", "list"), "/api/sessions", {"sessions": []}),
    (("sessions", "search", "x"), "/api/sessions", {"sessions": []}),
    (("sessions", "show", KEY), f"/api/sessions/{KEY}", {"session": {"sessionKey": KEY}}),
    (("sessions", "tail", KEY), f"/api/sessions/{KEY}/history", {"messages": []}),
    (("runs", "list"), "/api/runs", {"runs": []}),
    (("runs", "show", "run_1"), "/api/runs/run_1", {"run": {"id": "run_1"}}),
    (("runs", "why", "run_1"), "/api/runs/run_1/why", {"moving": True, "reasons": []}),
    (("runs", "receipt", "run_1"), "/api/runs/run_1/receipt", {"steps": []}),
    (("runs", "compare", "run_1", "run_2"), "/api/runs/run_1/receipt/compare", {"same": True}),
    (("queue", KEY), f"/api/sessions/{KEY}/queue", {"running": None, "runs": []}),
    (("auto", "list"), "/api/auto/runs", {"runs": []}),
    (("auto", "show", "auto_1"), "/api/auto/runs/auto_1", {"run": {}}),
    (("schedule", "list"), "/api/schedules", {"schedules": []}),
    (("schedule", "show", "sch_1"), "/api/schedules/sch_1", {"schedule": {}}),
    (("token", "list"), "/api/tokens", {"tokens": []}),
    (("notifications", "list"), "/api/notifications", {"notifications": [], "unreadCount": 0}),
    (("agents", "list"), "/api/agents", {"agents": []}),
    (("agents", "show", "main"), "/api/agents/main", {"agent": {}}),
]


@pytest.mark.parametrize(("words", "path", "answer"), READS)
def test_every_read_gives_the_servers_answer_as_json(
    at: Carrel, tiny: TinyServer, words: tuple[str, ...], path: str, answer: dict[str, Any]
) -> None:
    tiny.answers("GET", path, answer)
    ended = at(*words, "--json")
    assert ended.code == 0
    assert json.loads(ended.out) == answer


def test_send_reaches_an_agent_or_a_session_and_prints_the_run(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/runs", {"runId": "run_1", "status": "accepted", "sessionKey": KEY}, status=202)
    assert at("send", "scribe", "write it down").out == "run_1\n"
    assert at("send", KEY, "-", stdin="from a\npipe\n").out == "run_1\n"
    assert [asked.body for asked in tiny.asked] == [
        {"agentId": "scribe", "message": "write it down"},
        {"sessionKey": KEY, "message": "from a\npipe"},
    ]


def test_sending_nothing_is_wrong_usage(at: Carrel) -> None:
    assert at("send", "main", "-", stdin="\n").code == 2


@pytest.mark.parametrize(
    ("run", "code", "out", "err"),
    [
        (run_of(), 0, "Good morning.\n", ""),
        (run_of(state="failed", reply=None, error={"code": "x", "message": "The model is away."}), 1, "", "is away"),
        (run_of(state="cancelled", reply=None, reason="user_cancelled"), 1, "", "user_cancelled"),
        (
            run_of(state="waiting", waitingFor="input", reply="Which one?"),
            0,
            "Waiting for your input: Which one?\n",
            "runs answer run_1",
        ),
        (run_of(state="running", reply=None), 5, "", "runs wait run_1"),
    ],
)
def test_send_with_wait_ends_as_the_run_did(
    at: Carrel, tiny: TinyServer, run: dict[str, Any], code: int, out: str, err: str
) -> None:
    tiny.answers("POST", "/api/runs", {"runId": "run_1", "status": "accepted", "sessionKey": KEY}, status=202)
    answer_runs(tiny, *[run] * 3)
    ended = at("send", "main", "hello", "--wait", "0")
    assert (ended.code, ended.out) == (code, out)
    assert err in ended.err


@pytest.mark.parametrize("words", [("hello",), ("--wait", "hello"), ("hello", "--wait"), ("--wait", "5", "hello")])
def test_a_message_alone_goes_to_the_default_agent(at: Carrel, tiny: TinyServer, words: tuple[str, ...]) -> None:
    tiny.answers("POST", "/api/runs", {"runId": "run_1", "status": "accepted", "sessionKey": KEY}, status=202)
    answer_runs(tiny, *[run_of()] * 3)
    ended = at("send", *words)
    assert (ended.code, tiny.asked[0].body) == (0, {"message": "hello"})
    assert ended.out == ("Good morning.\n" if "--wait" in words else "run_1\n")


def test_a_message_is_sent_into_a_running_turn(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/runs/run_1/steer", {"runId": "run_2", "steers": "run_1"}, status=202)
    sent = at("runs", "steer", "run_1", "In French, please.").out
    assert sent == "Sent as run_2: it is heard at the next step, or afterwards if the run ends first.\n"
    assert tiny.asked[-1].body == {"message": "In French, please."}


def test_a_token_is_made_and_shown_once(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/tokens", {"token": {"id": "tok_1"}, "secret": "crl_client_1_s"}, status=201)
    ended = at("token", "create", "client", "--name", "ci", "--agents", "main,scribe")
    assert ended.out == "crl_client_1_s\n"
    assert tiny.asked[0].body == {"kind": "client", "name": "ci", "agentIds": ["main", "scribe"]}


def test_agents_are_created_and_changed(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/agents", {"agent": {"id": "scribe"}}, status=201)
    tiny.answers("PATCH", "/api/agents/scribe", {"agent": {"id": "scribe", "model": "big"}})
    assert at("agents", "create", "scribe", "--name", "Scribe", "--set", "sandbox=on").code == 0
    assert (
        at("agents", "update", "scribe", "--model", "big", "--set", 'tools={"deny": ["x"]}').out
        == "id\tscribe\nmodel\tbig\n"
    )
    assert at("agents", "update", "scribe").code == 2
    assert at("agents", "update", "scribe", "--set", "nothing").code == 2
    assert [asked.body for asked in tiny.asked] == [
        {"id": "scribe", "name": "Scribe", "sandbox": "on"},
        {"model": "big", "tools": {"deny": ["x"]}},
    ]
