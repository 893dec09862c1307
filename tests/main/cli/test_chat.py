"""`carrel chat`: lines, commands, questions and their answers."""

import json
from typing import Any

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel, run_of
from tests.main.cli.test_request import KEY, answer_runs


def test_a_line_piped_into_chat_is_a_message_and_its_answer_a_line(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/sessions/active", {"sessionId": "c1", "sessionKey": KEY, "source": "pointer"})
    tiny.answers("POST", "/api/chat", {"runId": "run_1", "sessionId": "c1", "sessionKey": KEY}, status=202)
    answer_runs(tiny, run_of(), run_of(reply="Two\nlines."))
    ended = at("chat", stdin="hello\n\nagain\n/quit\nnever said\n")
    assert (ended.code, ended.out) == (0, "Good morning.\nTwo\nlines.\n")
    said = [asked.body for asked in tiny.asked if asked.path == "/api/chat"]
    assert [body["text"] for body in said] == ["hello", "again"]
    sent = {"text": "hello", "sessionKey": KEY, "channelType": "cli", "clientInstanceId": "cli", "answersRunId": None}
    assert said[0] == sent


def test_chat_can_answer_in_json(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/chat", {"runId": "run_1"}, status=202)
    answer_runs(tiny, run_of())
    assert json.loads(at("chat", "--session", KEY, "--json", stdin="hello\n").out)["run"]["reply"] == "Good morning."


def test_chat_with_an_agent_begins_a_session_of_its_own(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/sessions", {"sessionId": "c2", "sessionKey": KEY}, status=201)
    tiny.answers("POST", "/api/chat", {"command": "/status", "reply": "idle", "sessionId": "c2", "sessionKey": KEY})
    assert at("chat", "--agent", "scribe", stdin="/status\n").out == "idle\n"
    assert tiny.asked[0].body == {"agentId": "scribe", "channelType": "cli", "clientInstanceId": "cli"}


def test_a_chat_goes_on_in_the_session_a_command_leads_to(at: Carrel, tiny: TinyServer) -> None:
    other = f"{KEY}x"
    moved = {"command": "/new", "reply": "A new session.", "sessionId": "c2", "sessionKey": other}
    tiny.answers("POST", "/api/chat", moved)
    at("chat", "--session", KEY, stdin="/new\n/status\n")
    said = [asked.body["sessionKey"] for asked in tiny.asked if asked.path == "/api/chat"]
    assert said == [KEY, other]


def test_a_question_in_chat_is_answered_by_the_next_line(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/chat", {"runId": "run_1", "sessionId": "c1", "sessionKey": KEY}, status=202)
    answer_runs(tiny, run_of(state="waiting", waitingFor="input", reply="Which?"), run_of(reply="The red one."))
    ended = at("chat", "--session", KEY, stdin="pick\nred\n")
    assert (ended.code, ended.out) == (0, "The red one.\n")
    assert "Which?" in ended.err
    said = [(asked.body["text"], asked.body["answersRunId"]) for asked in tiny.asked if asked.path == "/api/chat"]
    assert said == [("pick", None), ("red", "run_1")]


def test_a_line_that_is_no_answer_is_told_and_the_question_asked_again(at: Carrel, tiny: TinyServer) -> None:
    open_question = run_of(
        state="waiting", waitingFor="approval", reply=None, note="May main paint it? (paint)\n- door: 1"
    )
    tiny.answers("GET", "/api/runs", {"runs": [open_question]})
    error = {"error": {"code": "invalid_params", "message": "Answer yes or no.", "field": "text"}}
    replies = iter([(400, error), (202, {"runId": "run_1"})])
    tiny.does("POST", "/api/chat", lambda _: next(replies))
    answer_runs(tiny, run_of(reply="Painted."))
    ended = at("chat", "--session", KEY, stdin="perhaps\nyes\n")
    assert (ended.code, ended.out) == (0, "Painted.\n")
    question = "Waiting for your approval: May main paint it? (paint)\n- door: 1\nAnswer yes or no.\n"
    assert ended.err == f"{question}Not sent: Answer yes or no.\n{question}"
    said = [(asked.body["text"], asked.body["answersRunId"]) for asked in tiny.asked if asked.path == "/api/chat"]
    assert said == [("perhaps", "run_1"), ("yes", "run_1")]


def test_a_failed_run_in_chat_is_reported_and_exits_with_1(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/chat", {"runId": "run_1"}, status=202)
    answer_runs(tiny, run_of(state="failed", reply=None, error={"message": "The model is away."}))
    ended = at("chat", "--session", KEY, stdin="hello\n")
    assert ended.code == 1
    assert "The model is away." in ended.err


def test_a_command_that_does_not_exist_is_told_and_not_sent(at: Carrel, tiny: TinyServer) -> None:
    said: list[str] = []

    def reply(asked: Any) -> tuple[int, Any]:
        said.append(asked.body["text"])
        return 200, {"command": "help", "reply": "/help  this\n/status  state", "sessionKey": KEY, "sessionId": "c1"}

    tiny.does("POST", "/api/chat", reply)
    ended = at("chat", "--session", KEY, stdin="/statu\n/nonsense at all\n/status\n")
    assert "There is no command /statu; did you mean /status?" in ended.err
    assert "There is no command /nonsense; /help lists them." in ended.err
    assert said == ["/help", "/status"]


def test_a_path_is_a_message(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/chat", {"runId": "run_1", "sessionId": "c1", "sessionKey": KEY}, status=202)
    answer_runs(tiny, run_of())
    at("chat", KEY, stdin="/etc/hosts is what?\n")
    assert [asked.body["text"] for asked in tiny.asked if asked.path == "/api/chat"] == ["/etc/hosts is what?"]


def test_chat_with_an_agent_begins_a_session_with_it(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/sessions", {"sessionId": "c1", "sessionKey": KEY}, status=201)
    at("chat", "writer", stdin="")
    assert tiny.asked[0].body["agentId"] == "writer"


def test_a_run_that_waits_for_a_program_asks_nobody(at: Carrel, tiny: TinyServer) -> None:
    answer_runs(tiny, *[run_of(state="waiting", waitingFor="tool_output", reply=None, note="Call get_weather.")] * 3)
    ended = at("runs", "wait", "run_1")
    assert ended.out == "Waiting for a program: Call get_weather.\n"
    assert "To answer" not in ended.err
