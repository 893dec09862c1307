"""What each command requests from the server and what it prints."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from carrel.kernel import SystemClock, iso
from carrel.main.cli.wording import age
from carrel.main.terminal_text import terminal_text
from tests.bridge.tiny_server import Frames, TinyServer
from tests.harness.elapsing import Elapsing
from tests.main.cli.conftest import Carrel, run_of

KEY = "agent:main:cli:c1"


def answer_runs(server: TinyServer, *runs: dict[str, Any]) -> None:
    """Answer each wait for the run with the next of these states."""
    states = iter(runs)
    server.answers("GET", "/api/runs/run_1/wait", {"runId": "run_1", "status": "ok"})
    server.does("GET", "/api/runs/run_1", lambda _: (200, {"run": next(states)}))


def test_off_a_terminal_lists_are_tab_separated_without_headers(at: Carrel, server: TinyServer) -> None:
    server.answers("GET", "/api/runs", {"runs": [run_of(createdAt=iso(SystemClock().now_ms()))], "nextCursor": None})
    ended = at("runs", "list", "--state", "failed", "--limit", "3")
    assert ended.out == "run_1\tcompleted\tmain\tagent:main:cli:c1\t0s\thello there\n"
    assert server.asked[0].query == {"state": "failed", "limit": "3"}


def test_on_a_terminal_lists_are_tables_with_colours(on_terminal: Carrel, server: TinyServer) -> None:
    server.answers("GET", "/api/runs", {"runs": [run_of(state="failed")]})
    shown = on_terminal("runs", "list").out
    assert shown.splitlines()[0].startswith("\x1b[2mRUN    STATE   AGENT")
    assert "\x1b[31mfailed\x1b[0m" in shown


def test_no_color_is_respected(on_terminal: Carrel, server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    server.answers("GET", "/api/runs", {"runs": [run_of(state="failed")]})
    assert "\x1b[3" not in on_terminal("runs", "list").out


def test_an_empty_list_says_so_on_a_terminal_and_is_silent_elsewhere(
    at: Carrel, on_terminal: Carrel, server: TinyServer
) -> None:
    server.answers("GET", "/api/runs", {"runs": []})
    assert at("runs", "list").out == ""
    assert on_terminal("runs", "list").err == "No runs yet.\n"


def test_control_characters_of_strangers_do_not_reach_the_terminal(on_terminal: Carrel, server: TinyServer) -> None:
    server.answers("GET", "/api/runs", {"runs": [run_of(message={"text": "\x1b]0;evil\x07\x9b2J"})]})
    shown = on_terminal("runs", "list").out
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert "\x9b" not in shown
    assert terminal_text("a\tb\nc\rd") == "a\tb\nc\ufffdd"


BIDIRECTIONAL = [*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]


def test_characters_that_turn_a_line_around_do_not_reach_the_terminal(on_terminal: Carrel, server: TinyServer) -> None:
    told = {"text": f"{''.join(BIDIRECTIONAL)}exe.gpj \x9b2J"}
    server.answers("GET", "/api/runs", {"runs": [run_of(message=told)]})
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
    at: Carrel, server: TinyServer, words: tuple[str, ...], path: str, answer: dict[str, Any]
) -> None:
    server.answers("GET", path, answer)
    ended = at(*words, "--json")
    assert ended.code == 0
    assert json.loads(ended.out) == answer


def test_send_reaches_an_agent_or_a_session_and_prints_the_run(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/runs", {"runId": "run_1", "status": "accepted", "sessionKey": KEY}, status=202)
    assert at("send", "scribe", "write it down").out == "run_1\n"
    assert at("send", KEY, "-", stdin="from a\npipe\n").out == "run_1\n"
    assert [asked.body for asked in server.asked] == [
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
    at: Carrel, server: TinyServer, run: dict[str, Any], code: int, out: str, err: str
) -> None:
    server.answers("POST", "/api/runs", {"runId": "run_1", "status": "accepted", "sessionKey": KEY}, status=202)
    answer_runs(server, *[run] * 3)
    ended = at("send", "main", "hello", "--wait", "0")
    assert (ended.code, ended.out) == (code, out)
    assert err in ended.err


def test_runs_wait_goes_on_until_the_run_has_settled(at: Carrel, server: TinyServer) -> None:
    answer_runs(server, run_of(state="queued"), run_of(state="running"), run_of())
    ended = at("runs", "wait", "run_1", "--timeout", "30")
    assert (ended.code, ended.out) == (0, "Good morning.\n")


def test_a_failed_attempt_is_told_once_while_the_run_goes_on(at: Carrel, server: TinyServer) -> None:
    fault = {"attempt": 1, "code": "gateway_unreachable", "message": "Nothing answers.", "nextAttemptAt": None}
    trying = run_of(state="running", reply=None, attemptsMax=5, lastFault=fault)
    answer_runs(server, trying, trying, run_of())
    ended = at("runs", "wait", "run_1", "--timeout", "30")
    assert (ended.code, ended.out) == (0, "Good morning.\n")
    assert ended.err == "Attempt 1 of 5 failed: Nothing answers.\n"


def test_every_failed_attempt_is_told_however_quickly_the_next_one_fails(at: Carrel, server: TinyServer) -> None:
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

    server.does("GET", "/api/stream", lambda _: (200, Frames(frames())))
    trying = run_of(state="running", reply=None, lastFault=None)
    answer_runs(server, trying, trying, trying, run_of())
    ended = at("runs", "wait", "run_1", "--timeout", "30")
    assert (ended.code, ended.out) == (0, "Good morning.\n")
    assert ended.err.splitlines() == [f"Attempt {n} of 5 failed: Away {n}." for n in (1, 2, 3)]
    assert [asked.path for asked in server.asked].count("/api/runs/run_1/wait") == 0, "nothing is polled"


def test_waiting_ends_in_time_though_the_stream_goes_on(at: Carrel, server: TinyServer, elapsing: Elapsing) -> None:
    gate = threading.Event()

    def frames() -> Iterator[bytes]:
        yield b'event: stream.ready\ndata: {"seq": 1}\n\n'
        while not gate.is_set():
            elapsing.advance(1)
            yield b": ping\n\n"

    server.does("GET", "/api/stream", lambda _: (200, Frames(frames())))
    server.answers("GET", "/api/runs/run_1", {"run": run_of(state="running", reply=None)})
    ended = at("runs", "wait", "run_1", "--timeout", "60")
    gate.set()
    assert (ended.code, ended.out) == (5, "")


def test_a_line_piped_into_chat_is_a_message_and_its_answer_a_line(at: Carrel, server: TinyServer) -> None:
    server.answers("GET", "/api/sessions/active", {"sessionId": "c1", "sessionKey": KEY, "source": "pointer"})
    server.answers("POST", "/api/chat", {"runId": "run_1", "sessionId": "c1", "sessionKey": KEY}, status=202)
    answer_runs(server, run_of(), run_of(reply="Two\nlines."))
    ended = at("chat", stdin="hello\n\nagain\n/quit\nnever said\n")
    assert (ended.code, ended.out) == (0, "Good morning.\nTwo\nlines.\n")
    said = [asked.body for asked in server.asked if asked.path == "/api/chat"]
    assert [body["text"] for body in said] == ["hello", "again"]
    sent = {"text": "hello", "sessionKey": KEY, "channelType": "cli", "clientInstanceId": "cli", "answersRunId": None}
    assert said[0] == sent


def test_chat_can_answer_in_json(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/chat", {"runId": "run_1"}, status=202)
    answer_runs(server, run_of())
    assert json.loads(at("chat", "--session", KEY, "--json", stdin="hello\n").out)["run"]["reply"] == "Good morning."


def test_chat_with_an_agent_begins_a_session_of_its_own(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/sessions", {"sessionId": "c2", "sessionKey": KEY}, status=201)
    server.answers("POST", "/api/chat", {"command": "/status", "reply": "idle", "sessionId": "c2", "sessionKey": KEY})
    assert at("chat", "--agent", "scribe", stdin="/status\n").out == "idle\n"
    assert server.asked[0].body == {"agentId": "scribe", "channelType": "cli", "clientInstanceId": "cli"}


def test_a_chat_goes_on_in_the_session_a_command_leads_to(at: Carrel, server: TinyServer) -> None:
    other = f"{KEY}x"
    moved = {"command": "/new", "reply": "A new session.", "sessionId": "c2", "sessionKey": other}
    server.answers("POST", "/api/chat", moved)
    at("chat", "--session", KEY, stdin="/new\n/status\n")
    said = [asked.body["sessionKey"] for asked in server.asked if asked.path == "/api/chat"]
    assert said == [KEY, other]


def test_a_question_in_chat_is_answered_by_the_next_line(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/chat", {"runId": "run_1", "sessionId": "c1", "sessionKey": KEY}, status=202)
    answer_runs(server, run_of(state="waiting", waitingFor="input", reply="Which?"), run_of(reply="The red one."))
    ended = at("chat", "--session", KEY, stdin="pick\nred\n")
    assert (ended.code, ended.out) == (0, "The red one.\n")
    assert "Which?" in ended.err
    said = [(asked.body["text"], asked.body["answersRunId"]) for asked in server.asked if asked.path == "/api/chat"]
    assert said == [("pick", None), ("red", "run_1")]


def test_a_line_that_is_no_answer_is_told_and_the_question_asked_again(at: Carrel, server: TinyServer) -> None:
    open_question = run_of(
        state="waiting", waitingFor="approval", reply=None, note="May main paint it? (paint)\n- door: 1"
    )
    server.answers("GET", "/api/runs", {"runs": [open_question]})
    error = {"error": {"code": "invalid_params", "message": "Answer yes or no.", "field": "text"}}
    replies = iter([(400, error), (202, {"runId": "run_1"})])
    server.does("POST", "/api/chat", lambda _: next(replies))
    answer_runs(server, run_of(reply="Painted."))
    ended = at("chat", "--session", KEY, stdin="perhaps\nyes\n")
    assert (ended.code, ended.out) == (0, "Painted.\n")
    question = "Waiting for your approval: May main paint it? (paint)\n- door: 1\nAnswer yes or no.\n"
    assert ended.err == f"{question}Not sent: Answer yes or no.\n{question}"
    said = [(asked.body["text"], asked.body["answersRunId"]) for asked in server.asked if asked.path == "/api/chat"]
    assert said == [("perhaps", "run_1"), ("yes", "run_1")]


def test_a_failed_run_in_chat_is_reported_and_exits_with_1(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/chat", {"runId": "run_1"}, status=202)
    answer_runs(server, run_of(state="failed", reply=None, error={"message": "The model is away."}))
    ended = at("chat", "--session", KEY, stdin="hello\n")
    assert ended.code == 1
    assert "The model is away." in ended.err


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (("yes please",), {"text": "yes please"}),
        (("--approve",), {"approve": True}),
        (("--deny", "too dear"), {"approve": False, "text": "too dear"}),
    ],
)
def test_a_waiting_run_is_answered(
    at: Carrel, server: TinyServer, words: tuple[str, ...], body: dict[str, object]
) -> None:
    server.answers("POST", "/api/runs/run_1/answer", {"run": run_of()}, status=202)
    assert at("runs", "answer", "run_1", *words).code == 0
    assert server.asked[0].body == body


@pytest.mark.parametrize("name", ["last", "run_01abc", "01abc"])
def test_a_run_may_be_named_by_the_beginning_of_its_id_or_as_the_last(
    at: Carrel, server: TinyServer, name: str
) -> None:
    listed = [{"id": "run_01abcdef"}, {"id": "run_02"}]
    server.does("GET", "/api/runs", lambda asked: (200, {"runs": listed[: int(asked.query["limit"])]}))
    server.answers("GET", "/api/runs/run_01abcdef", {"run": run_of(id="run_01abcdef")})
    assert json.loads(at("runs", "show", name, "--json").out)["run"]["id"] == "run_01abcdef"


def test_a_name_that_fits_several_runs_is_refused(at: Carrel, server: TinyServer) -> None:
    server.answers("GET", "/api/runs", {"runs": [{"id": "run_01"}, {"id": "run_02"}]})
    assert "the beginning of 2 runs" in at("runs", "show", "run_0").err


@pytest.mark.parametrize("words", [("hello",), ("--wait", "hello"), ("hello", "--wait"), ("--wait", "5", "hello")])
def test_a_message_alone_goes_to_the_default_agent(at: Carrel, server: TinyServer, words: tuple[str, ...]) -> None:
    server.answers("POST", "/api/runs", {"runId": "run_1", "status": "accepted", "sessionKey": KEY}, status=202)
    answer_runs(server, *[run_of()] * 3)
    ended = at("send", *words)
    assert (ended.code, server.asked[0].body) == (0, {"message": "hello"})
    assert ended.out == ("Good morning.\n" if "--wait" in words else "run_1\n")


def test_a_session_is_deleted_only_with_consent(at: Carrel, server: TinyServer) -> None:
    server.answers("DELETE", f"/api/sessions/{KEY}", None, status=204)
    assert (at("sessions", "delete", KEY).code, server.asked) == (2, [])
    assert at("sessions", "delete", KEY, "--yes").out == "Deleted.\n"


def test_a_command_that_does_not_exist_is_told_and_not_sent(at: Carrel, server: TinyServer) -> None:
    said: list[str] = []

    def reply(asked: Any) -> tuple[int, Any]:
        said.append(asked.body["text"])
        return 200, {"command": "help", "reply": "/help  this\n/status  state", "sessionKey": KEY, "sessionId": "c1"}

    server.does("POST", "/api/chat", reply)
    ended = at("chat", "--session", KEY, stdin="/statu\n/nonsense at all\n/status\n")
    assert "There is no command /statu; did you mean /status?" in ended.err
    assert "There is no command /nonsense; /help lists them." in ended.err
    assert said == ["/help", "/status"]


def test_a_path_is_a_message(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/chat", {"runId": "run_1", "sessionId": "c1", "sessionKey": KEY}, status=202)
    answer_runs(server, run_of())
    at("chat", KEY, stdin="/etc/hosts is what?\n")
    assert [asked.body["text"] for asked in server.asked if asked.path == "/api/chat"] == ["/etc/hosts is what?"]


def test_chat_with_an_agent_begins_a_session_with_it(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/sessions", {"sessionId": "c1", "sessionKey": KEY}, status=201)
    at("chat", "writer", stdin="")
    assert server.asked[0].body["agentId"] == "writer"


def test_a_run_that_waits_for_a_program_asks_nobody(at: Carrel, server: TinyServer) -> None:
    answer_runs(server, *[run_of(state="waiting", waitingFor="tool_output", reply=None, note="Call get_weather.")] * 3)
    ended = at("runs", "wait", "run_1")
    assert ended.out == "Waiting for a program: Call get_weather.\n"
    assert "To answer" not in ended.err


def test_an_answer_without_content_is_wrong_usage(at: Carrel) -> None:
    assert at("runs", "answer", "run_1").code == 2


def test_runs_are_cancelled_and_retried(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/runs/run_1/cancel", {"run": run_of(state="cancelled")})
    server.answers("POST", "/api/runs/run_1/advance", {"run": run_of(state="queued", queuePosition=2)})
    server.answers("POST", "/api/runs/run_1/retry", {"runId": "run_2", "retriedFrom": "run_1"}, status=202)
    assert at("runs", "cancel", "run_1").code == 0
    assert at("runs", "retry", "run_1").out == "run_2\n"
    assert at("runs", "advance", "run_1").out == "Moved up: it is number 2.\n"


def test_a_message_is_sent_into_a_running_turn(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/runs/run_1/steer", {"runId": "run_2", "steers": "run_1"}, status=202)
    sent = at("runs", "steer", "run_1", "In French, please.").out
    assert sent == "Sent as run_2: it is heard at the next step, or afterwards if the run ends first.\n"
    assert server.asked[-1].body == {"message": "In French, please."}


def test_a_session_is_forked(at: Carrel, server: TinyServer) -> None:
    made = {"sessionId": "web:c-1", "sessionKey": "agent:main:web:c-1"}
    server.answers("POST", "/api/sessions/main/fork", made, status=201)
    assert at("sessions", "fork", "main", "ent_1", "--name", "Again").out == "agent:main:web:c-1\n"
    assert server.asked[-1].body == {"entryId": "ent_1", "displayName": "Again"}
    at("sessions", "fork", "main")
    assert server.asked[-1].body == {}


def test_a_replay_shows_both_answers(at: Carrel, server: TinyServer) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "Four."}]}
    called = {"type": "function_call", "name": "count", "arguments": "{}"}
    started = {"runId": "run_2", "replayedFrom": "run_1", "sessionKey": "agent:main:web:c-1"}
    server.answers("POST", "/api/runs/run_1/replay", started, status=202)
    server.answers("GET", "/api/runs/run_2", {"run": run_of(id="run_2", state="completed")})
    server.answers("GET", "/api/runs/run_2/wait", {"runId": "run_2", "status": "ok"})
    for run_id, model, item in (("run_1", "small", said), ("run_2", "large", called)):
        step = {"n": 1, "model": model, "output": [item]}
        server.answers("GET", f"/api/runs/{run_id}/receipt", {"runId": run_id, "steps": [step]})
    shown = at("runs", "replay", "run_1", "--model", "large").out.split("\n")
    assert [line.strip() for line in shown if line] == [
        "original: small", "Four.", "replayed: large", "→ count({})", "The answers differ. No call was made.",
    ]  # fmt: skip
    assert next(asked for asked in server.asked if asked.method == "POST").body == {"model": "large"}
    shown_as_json = json.loads(at("runs", "replay", "run_1", "--json").out)
    assert shown_as_json == started | {
        "original": {"model": "small", "output": [said]}, "replayed": {"model": "large", "output": [called]},
    }  # fmt: skip


def test_the_queue_is_shown_in_order(at: Carrel, server: TinyServer) -> None:
    running = run_of(id="run_0", state="running")
    queued = [run_of(id=f"run_{n}", state="queued", queuePosition=n) for n in (1, 2)]
    server.answers("GET", f"/api/sessions/{KEY}/queue", {"running": running, "runs": queued})
    lines = at("queue", KEY).out.splitlines()
    assert [line.split("\t")[:3] for line in lines] == [
        ["now", "run_0", "running"],
        ["1", "run_1", "queued"],
        ["2", "run_2", "queued"],
    ]


def test_sessions_are_reset_archived_and_brought_back(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", f"/api/sessions/{KEY}/reset", {"closedSessionId": "ses_1", "nextGeneration": 3})
    server.answers("POST", f"/api/sessions/{KEY}/archive", {"session": {"sessionKey": KEY}})
    archived = {"generation": 2, "closedReason": "archived", "state": "closed", "deliverySessionKey": f"{KEY}:v2"}
    server.answers("GET", f"/api/sessions/{KEY}/generations", {"sessions": [archived]})
    back = {"session": archived | {"closedReason": None, "state": "idle"}, "reopened": True}
    server.answers("POST", f"/api/sessions/{KEY}/unarchive", back)
    assert "generation 3" in at("sessions", "reset", KEY).out
    assert at("sessions", "archive", KEY).code == 0
    ended = at("sessions", "archive", KEY, "--undo")
    assert (ended.code, ended.out, ended.err) == (0, "Brought back; generation 2 goes on.\n", "")


def test_bringing_a_session_back_says_first_that_a_newer_conversation_was_opened(
    at: Carrel, server: TinyServer
) -> None:
    first = {"generation": 1, "closedReason": "archived", "state": "closed", "deliverySessionKey": f"{KEY}:v1"}
    second = {"generation": 2, "closedReason": None, "state": "idle", "deliverySessionKey": f"{KEY}:v2"}
    server.answers("GET", f"/api/sessions/{KEY}/generations", {"sessions": [second, first]})
    server.answers("POST", f"/api/sessions/{KEY}/unarchive", {"session": second, "reopened": False})
    ended = at("sessions", "archive", KEY, "--undo")
    assert "Generation 2 was opened since, so generation 1 stays closed." in ended.err
    assert f"`carrel sessions tail {KEY}:v1`" in ended.err
    assert (ended.code, ended.out) == (0, "It is listed; generation 2 goes on.\n")


def test_tail_shows_messages_and_follows_without_repeating(at: Carrel, server: TinyServer) -> None:
    def message(number: int) -> dict[str, Any]:
        return {"id": f"ent_{number}", "role": "user", "content": [{"type": "text", "text": f"line {number}"}]}

    histories = iter([[message(1)], [message(1), message(2)]])
    server.does("GET", f"/api/sessions/{KEY}/history", lambda _: (200, {"messages": next(histories)}))
    refusal = {"error": {"code": "not_found", "message": "Gone."}}
    streams: Iterator[tuple[int, Any]] = iter([(200, Frames(iter([b"id: 5\nevent: run.queued\ndata: {}\n\n"])))])
    server.does("GET", "/api/stream", lambda _: next(streams, (404, refusal)))
    ended = at("sessions", "tail", KEY, "--follow")
    assert ended.out == "user\tline 1\nuser\tline 2\n"
    assert ended.code == 1


def event(seq: int, name: str) -> bytes:
    body = {"seq": seq, "name": name, "at": "2026-01-01T00:00:00.000Z", "sessionKey": KEY, "runId": "run_1"}
    return f"id: {seq}\nevent: {name}\ndata: {json.dumps(body)}\n\n".encode()


def test_events_are_shown_up_to_the_newest(at: Carrel, server: TinyServer) -> None:
    gate = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b'event: stream.ready\ndata: {"seq": 8}\n\n'
        yield event(7, "run.queued") + event(8, "run.started")
        gate.wait(5)

    server.does("GET", "/api/stream", lambda _: (200, Frames(pieces())))
    ended = at("events", "--after", "6", "--name", "run")
    gate.set()
    assert ended.out.splitlines() == [
        f"7\t2026-01-01T00:00:00.000Z\trun.queued\t{KEY}\trun_1",
        f"8\t2026-01-01T00:00:00.000Z\trun.started\t{KEY}\trun_1",
    ]
    assert server.asked[0].headers["Last-Event-ID"] == "6"
    assert server.asked[0].query == {"events": "run"}


def test_events_as_json_are_one_object_per_line(at: Carrel, server: TinyServer) -> None:
    server.does(
        "GET",
        "/api/stream",
        lambda _: (200, Frames(iter([b'event: stream.ready\ndata: {"seq": 2}\n\n', event(2, "x.y")]))),
    )
    assert [json.loads(line)["seq"] for line in at("events", "--json").out.splitlines()] == [2]


def test_a_feed_that_cannot_be_replayed_says_where_to_begin(at: Carrel, server: TinyServer) -> None:
    reset = b'event: stream.reset\ndata: {"reason": "overflow", "seq": 9000}\n\n'
    server.does("GET", "/api/stream", lambda _: (200, Frames(iter([reset]))))
    ended = at("events")
    assert ended.code == 1
    assert "the newest is 9000" in ended.err


def test_an_empty_feed_ends_at_once(at: Carrel, server: TinyServer) -> None:
    server.does("GET", "/api/stream", lambda _: (200, Frames(iter([b'event: stream.ready\ndata: {"seq": 0}\n\n']))))
    assert at("events") == (0, "", "")


def test_a_token_is_made_and_shown_once(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/tokens", {"token": {"id": "tok_1"}, "secret": "crl_client_1_s"}, status=201)
    ended = at("token", "create", "client", "--name", "ci", "--agents", "main,scribe")
    assert ended.out == "crl_client_1_s\n"
    assert server.asked[0].body == {"kind": "client", "name": "ci", "agentIds": ["main", "scribe"]}


def test_agents_are_created_and_changed(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/agents", {"agent": {"id": "scribe"}}, status=201)
    server.answers("PATCH", "/api/agents/scribe", {"agent": {"id": "scribe", "model": "big"}})
    assert at("agents", "create", "scribe", "--name", "Scribe", "--set", "sandbox=on").code == 0
    assert (
        at("agents", "update", "scribe", "--model", "big", "--set", 'tools={"deny": ["x"]}').out
        == "id\tscribe\nmodel\tbig\n"
    )
    assert at("agents", "update", "scribe").code == 2
    assert at("agents", "update", "scribe", "--set", "nothing").code == 2
    assert [asked.body for asked in server.asked] == [
        {"id": "scribe", "name": "Scribe", "sandbox": "on"},
        {"model": "big", "tools": {"deny": ["x"]}},
    ]


def test_ages_are_short() -> None:
    now = SystemClock().now_ms()
    assert [age(now - seconds * 1000) for seconds in (5, 300, 7200, 200_000)] == ["5s", "5m", "2h", "2d"]
    assert age(datetime.fromtimestamp(now / 1000, UTC)) == "0s"
    assert age(None) == ""
