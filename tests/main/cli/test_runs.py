"""`carrel runs`: waited for, answered, named, replayed and cancelled."""

import json
import threading
from collections.abc import Iterator

import pytest

from tests.bridge.tiny_server import Frames, TinyServer
from tests.harness.elapsing import Elapsing
from tests.main.cli.conftest import Carrel, run_of
from tests.main.cli.test_request import answer_runs


def test_runs_wait_goes_on_until_the_run_has_settled(at: Carrel, tiny: TinyServer) -> None:
    answer_runs(tiny, run_of(state="queued"), run_of(state="running"), run_of())
    ended = at("runs", "wait", "run_1", "--timeout", "30")
    assert (ended.code, ended.out) == (0, "Good morning.\n")


def test_a_failed_attempt_is_told_once_while_the_run_goes_on(at: Carrel, tiny: TinyServer) -> None:
    fault = {"attempt": 1, "code": "gateway_unreachable", "message": "Nothing answers.", "nextAttemptAt": None}
    trying = run_of(state="running", reply=None, attemptsMax=5, lastFault=fault)
    answer_runs(tiny, trying, trying, run_of())
    ended = at("runs", "wait", "run_1", "--timeout", "30")
    assert (ended.code, ended.out) == (0, "Good morning.\n")
    assert ended.err == "Attempt 1 of 5 failed: Nothing answers.\n"


def test_every_failed_attempt_is_told_however_quickly_the_next_one_fails(at: Carrel, tiny: TinyServer) -> None:
    def frames() -> Iterator[bytes]:
        yield b'event: stream.ready\ndata: {"seq": 1}\n\n'
        for attempt, run_id in ((1, "run_1"), (1, "run_2"), (2, "run_1"), (3, "run_1")):
            told = {
                "attempt": attempt,
                "attemptsMax": 5,
                "error": {"message": f"Away {attempt}."},
                "nextAttemptAt": None,
            }
            body = {"runId": run_id, "data": told}
            yield f"id: {attempt + 1}\nevent: run.retrying\ndata: {json.dumps(body)}\n\n".encode()
        yield b'event: run.completed\ndata: {"runId": "run_1"}\n\n'

    tiny.does("GET", "/api/stream", lambda _: (200, Frames(frames())))
    trying = run_of(state="running", reply=None, lastFault=None)
    answer_runs(tiny, trying, trying, trying, run_of())
    ended = at("runs", "wait", "run_1", "--timeout", "30")
    assert (ended.code, ended.out) == (0, "Good morning.\n")
    assert ended.err.splitlines() == [f"Attempt {n} of 5 failed: Away {n}." for n in (1, 2, 3)]
    assert [asked.path for asked in tiny.asked].count("/api/runs/run_1/wait") == 0, "nothing is polled"


def test_waiting_ends_in_time_though_the_stream_goes_on(at: Carrel, tiny: TinyServer, elapsing: Elapsing) -> None:
    gate = threading.Event()

    def frames() -> Iterator[bytes]:
        yield b'event: stream.ready\ndata: {"seq": 1}\n\n'
        while not gate.is_set():
            elapsing.advance(1)
            yield b": ping\n\n"

    tiny.does("GET", "/api/stream", lambda _: (200, Frames(frames())))
    tiny.answers("GET", "/api/runs/run_1", {"run": run_of(state="running", reply=None)})
    ended = at("runs", "wait", "run_1", "--timeout", "60")
    gate.set()
    assert (ended.code, ended.out) == (5, "")


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (("yes please",), {"text": "yes please"}),
        (("--approve",), {"approve": True}),
        (("--deny", "too dear"), {"approve": False, "text": "too dear"}),
    ],
)
def test_a_waiting_run_is_answered(
    at: Carrel, tiny: TinyServer, words: tuple[str, ...], body: dict[str, object]
) -> None:
    tiny.answers("POST", "/api/runs/run_1/answer", {"run": run_of()}, status=202)
    assert at("runs", "answer", "run_1", *words).code == 0
    assert tiny.asked[0].body == body


@pytest.mark.parametrize("name", ["last", "run_01abc", "01abc"])
def test_a_run_may_be_named_by_the_beginning_of_its_id_or_as_the_last(at: Carrel, tiny: TinyServer, name: str) -> None:
    listed = [{"id": "run_01abcdef"}, {"id": "run_02"}]
    tiny.does("GET", "/api/runs", lambda asked: (200, {"runs": listed[: int(asked.query["limit"])]}))
    tiny.answers("GET", "/api/runs/run_01abcdef", {"run": run_of(id="run_01abcdef")})
    assert json.loads(at("runs", "show", name, "--json").out)["run"]["id"] == "run_01abcdef"


def test_a_name_that_fits_several_runs_is_refused(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/runs", {"runs": [{"id": "run_01"}, {"id": "run_02"}]})
    assert "the beginning of 2 runs" in at("runs", "show", "run_0").err


def test_an_answer_without_content_is_wrong_usage(at: Carrel) -> None:
    assert at("runs", "answer", "run_1").code == 2


def test_runs_are_cancelled_and_retried(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/runs/run_1/cancel", {"run": run_of(state="cancelled")})
    tiny.answers("POST", "/api/runs/run_1/advance", {"run": run_of(state="queued", queuePosition=2)})
    tiny.answers("POST", "/api/runs/run_1/retry", {"runId": "run_2", "retriedFrom": "run_1"}, status=202)
    assert at("runs", "cancel", "run_1").code == 0
    assert at("runs", "retry", "run_1").out == "run_2\n"
    assert at("runs", "advance", "run_1").out == "Moved up: it is number 2.\n"


def test_a_replay_shows_both_answers(at: Carrel, tiny: TinyServer) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "Four."}]}
    called = {"type": "function_call", "name": "count", "arguments": "{}"}
    started = {"runId": "run_2", "replayedFrom": "run_1", "sessionKey": "agent:main:web:c-1"}
    tiny.answers("POST", "/api/runs/run_1/replay", started, status=202)
    tiny.answers("GET", "/api/runs/run_2", {"run": run_of(id="run_2", state="completed")})
    tiny.answers("GET", "/api/runs/run_2/wait", {"runId": "run_2", "status": "ok"})
    for run_id, model, item in (("run_1", "small", said), ("run_2", "large", called)):
        step = {"n": 1, "model": model, "output": [item]}
        tiny.answers("GET", f"/api/runs/{run_id}/receipt", {"runId": run_id, "steps": [step]})
    shown = at("runs", "replay", "run_1", "--model", "large").out.split("\n")
    assert [line.strip() for line in shown if line] == [
        "original: small", "Four.", "replayed: large", "→ count({})", "The answers differ. No call was made.",
    ]  # fmt: skip
    assert next(asked for asked in tiny.asked if asked.method == "POST").body == {"model": "large"}
    shown_as_json = json.loads(at("runs", "replay", "run_1", "--json").out)
    assert shown_as_json == started | {
        "original": {"model": "small", "output": [said]}, "replayed": {"model": "large", "output": [called]},
    }  # fmt: skip
