"""Tool calls that were refused look refused at the command line, against a real server."""

import pytest

from tests.harness.process import CARREL, RunningServer
from tests.harness.terminal import on_terminal
from tests.scripted_gateway import ScriptedGateway, calls, text

ADD = ("artifact_add", {"name": "n", "text": "the report"})
NOT_ALLOWED = "\u2717 artifact_add was refused: A person did not allow this call of artifact_add: no"


@pytest.fixture
def restricted(running: RunningServer) -> RunningServer:
    assert running.carrel("agents", "update", "main", "--set", 'tools={"ask": ["artifact_add"]}').code == 0
    return running


def decided(restricted: RunningServer, gateway: ScriptedGateway, answer: str) -> None:
    """Let the agent ask for a tool call and answer it."""
    gateway.script(calls(ADD), text("As you like."))
    assert restricted.carrel("send", "add it", "--wait").code == 0
    assert restricted.carrel("runs", "answer", "last", answer).code == 0
    assert restricted.carrel("runs", "wait", "last").out == "As you like.\n"


def test_a_transcript_shows_that_a_call_was_refused(restricted: RunningServer, gateway: ScriptedGateway) -> None:
    decided(restricted, gateway, "no")
    assert f"toolResult\t{NOT_ALLOWED}" in restricted.carrel("sessions", "tail", "main", "--tools").out.splitlines()
    shown = restricted.carrel("sessions", "tail", "main").out.splitlines()
    assert f"toolResult\t{NOT_ALLOWED}" in shown
    assert [line for line in shown if line.startswith("toolCall\t\u2192 artifact_add(")]
    receipt = restricted.carrel("runs", "receipt", "last", "--step", "2", "--full").out
    assert "\u2717 refused: A person did not allow this call of artifact_add: no" in receipt


def test_a_call_that_was_made_does_not_look_refused(restricted: RunningServer, gateway: ScriptedGateway) -> None:
    decided(restricted, gateway, "yes")
    assert "toolResult" not in restricted.carrel("sessions", "tail", "main").out
    with_tools = restricted.carrel("sessions", "tail", "main", "--tools").out
    assert "toolResult\t\u2190 {" in with_tools
    receipt = restricted.carrel("runs", "receipt", "last", "--full").out
    assert "\u2717" not in with_tools + receipt


def test_a_tail_is_as_long_as_asked_for(restricted: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda _: text("Hello.")
    for number in range(3):
        assert restricted.carrel("send", f"line {number}", "--wait").code == 0
    shown = restricted.carrel("sessions", "tail", "main", "-n", "3").out.splitlines()
    assert [line.split("\t")[1] for line in shown] == ["Hello.", "line 2", "Hello."]


def test_chat_says_once_that_a_call_was_refused(restricted: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.script(calls(ADD), text("As you like."), text("Good bye."))
    command = [str(CARREL), "chat", "--data-dir", str(restricted.folder)]
    with on_terminal(command, restricted.environment, restricted.folder, columns=160) as chat:
        for line, then in (("add it", "Answer yes or no."), ("no", NOT_ALLOWED), ("thanks", "Good bye.")):
            chat.wait_for("you>")
            chat.type(line)
            chat.wait_for(f"{then}\nyou>")
        assert chat.lines[-6:] == ["you> no", "As you like.", NOT_ALLOWED, "you> thanks", "Good bye.", "you>"]
