"""What a person sees: commands on a pseudo-terminal, against a real server."""

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pytest

from tests.harness.process import CARREL, RunningServer, clean_environment
from tests.harness.terminal import Terminal, on_terminal
from tests.requirements.mark import requirement
from tests.scripted_gateway import DROP, Gate, ScriptedGateway, text

SPINNER = "waiting for the reply…"
POEM = "Roses are red,\nviolets are blue,\nthis is a test."


class OnTerminal(Protocol):
    """Runs a command on a terminal against the server."""

    def __call__(self, *words: str, columns: int = 80) -> AbstractContextManager[Terminal]: ...


@pytest.fixture
def shown(running: RunningServer) -> OnTerminal:
    def run(*words: str, columns: int = 80) -> AbstractContextManager[Terminal]:
        command = [str(CARREL), *words, "--data-dir", str(running.folder)]
        return on_terminal(command, running.environment, running.folder, columns)

    return run


def said(terminal: Terminal) -> list[str]:
    """What is on the screen of a chat after what was typed first."""
    typed = next(at for at, line in enumerate(terminal.lines) if line == "you> hello")
    return terminal.lines[typed + 1 :]


@requirement("T.terminal")
@pytest.mark.parametrize("reply", ["Good morning.", POEM], ids=["one line", "several lines"])
@pytest.mark.parametrize("pause", [False, True], ids=["at once", "after a while"])
def test_a_streamed_reply_stays_on_the_screen(
    shown: OnTerminal, gateway: ScriptedGateway, reply: str, pause: bool
) -> None:
    gate, words = Gate(), reply.partition(" ")
    gateway.script(text(words[0], *([gate] if pause else []), *words[1:]))
    with shown("chat") as chat:
        chat.wait_for("you>")
        chat.type("hello")
        if pause:
            chat.wait_for(f"you> hello\n{words[0]}")
            gate.open()
        chat.wait_for(f"{reply.splitlines()[-1]}\nyou>")
        assert said(chat) == [*reply.splitlines(), "you>"]
        chat.type("/quit")
        assert chat.ended() == 0
        assert said(chat) == [*reply.splitlines(), "you> /quit"]


@requirement("T.terminal")
def test_a_spinner_is_shown_until_the_first_word_and_leaves_nothing(
    shown: OnTerminal, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("Good morning.", before=gate))
    with shown("chat") as chat:
        chat.wait_for("you>")
        chat.type("hello")
        chat.wait_for(SPINNER)
        gate.open()
        chat.wait_for("Good morning.\nyou>")
        assert said(chat) == ["Good morning.", "you>"]


@requirement("T.terminal")
def test_a_notice_in_the_middle_of_a_reply_has_a_line_of_its_own(shown: OnTerminal, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(text("Good ", gate, DROP), text("Good evening."))
    with shown("chat") as chat:
        chat.wait_for("you>")
        chat.type("hello")
        chat.wait_for("you> hello\nGood")
        gate.open()
        chat.wait_for("Good evening.\nyou>")
        first, notice, *rest = said(chat)
        assert first == "Good"
        assert notice.startswith("Attempt 1 of 5 failed: ")
        assert rest[-2:] == ["Good evening.", "you>"]
        assert SPINNER not in "\n".join(chat.lines)


@requirement("T.terminal")
@pytest.mark.parametrize(("words", "kept"), [("Good ", ["Good ^C"]), ("", [])], ids=["some words", "none yet"])
def test_an_interrupt_keeps_what_was_said_so_far(
    shown: OnTerminal, gateway: ScriptedGateway, words: str, kept: list[str]
) -> None:
    gateway.rule = lambda _: text(words, Gate(), "morning.")
    with shown("chat") as chat:
        chat.wait_for("you>")
        chat.type("hello")
        chat.wait_for(words.strip() or SPINNER)
        chat.interrupt()
        chat.wait_for("or /quit, leaves.\nyou>")
        assert said(chat) == [*kept, "Stopped. Ctrl-C again, or /quit, leaves.", "you>"]


@requirement("T.terminal")
@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("send", "hello", "--wait"), ""),
        (("tasks", "message", "last", "@main hello", "--wait"), "main: "),
        (("schedule", "run", "last", "--wait"), ""),
    ],
    ids=["send", "tasks message", "schedule run"],
)
def test_a_command_that_waited_shows_its_answer_and_no_spinner(
    running: RunningServer, shown: OnTerminal, gateway: ScriptedGateway, words: tuple[str, ...], before: str
) -> None:
    gate = Gate()
    assert running.carrel("tasks", "create", "Work").code == 0
    assert running.carrel("schedule", "create", "main", "0 0 1 1 *", "hello").code == 0
    gateway.script(text("Good morning.", before=gate))
    with shown(*words) as command:
        command.wait_for(SPINNER)
        gate.open()
        assert command.ended() == 0
        assert command.lines == [f"{before}Good morning."]


@requirement("T.terminal")
def test_runs_wait_shows_a_failed_attempt_and_the_answer(
    running: RunningServer, shown: OnTerminal, gateway: ScriptedGateway
) -> None:
    gate, later = Gate(), Gate()
    gateway.script(text(gate, DROP), text(POEM, before=later))
    assert running.carrel("send", "hello").code == 0
    with shown("runs", "wait", "last", columns=200) as command:
        command.wait_for(SPINNER)
        gate.open()
        lines = command.wait_until(lambda lines: len(lines) == 2 and SPINNER in lines[1], "no notice above the spinner")
        assert lines[0].startswith("Attempt 1 of 5 failed: ")
        later.open()
        assert command.ended() == 0
        assert command.lines == [lines[0], *POEM.splitlines()]


@requirement("T.terminal")
def test_watching_a_task_shows_every_line_in_colour(
    running: RunningServer, shown: OnTerminal, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text(POEM, before=gate))
    assert running.carrel("tasks", "create", "Watch", "--assign", "main").code == 0
    gate.wait_reached()
    with shown("tasks", "watch", "last") as watching:
        watching.wait_for("is working on an answer")
        gate.open()
        lines = watching.wait_for("The task is now in_progress.")
        assert lines[1:] == [f"Main: {POEM.splitlines()[0]}", *POEM.splitlines()[1:], "The task is now in_progress."]


@requirement("T.terminal")
def test_asking_another_agent_shows_its_answer_and_no_spinner(
    running: RunningServer, shown: OnTerminal, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("Good morning.", before=gate))
    with shown("a2a", "send", f"{running.url}/a2a/main", "hello") as command:
        command.wait_for(SPINNER)
        gate.open()
        assert command.ended() == 0
        assert command.lines == ["Good morning."]


@requirement("T.terminal")
def test_connecting_shows_the_question_what_changes_and_the_answer(
    running: RunningServer, shown: OnTerminal, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.rule = lambda request: text("Good morning.", before=gate if request.json.get("metadata") else None)
    with shown("connect", gateway.base_url, "--config", "carrel.toml", columns=160) as command:
        command.wait_for("Write carrel.toml? [Y/n]")
        command.type("y")
        command.wait_for(SPINNER)
        gate.open()
        assert command.ended() == 0
        assert command.lines[0].startswith(f"{gateway.base_url} speaks ")
        asked = command.lines.index("Write carrel.toml? [Y/n] y")
        assert command.lines[asked + 1].startswith("Wrote ")
        assert command.lines[asked + 2] == "Good morning."
        assert command.lines[asked + 3].startswith("Connected: it answered in ")


@requirement("T.terminal")
def test_a_copy_of_the_store_is_told_on_one_line(running: RunningServer, shown: OnTerminal) -> None:
    with shown("backup", "copy.db", columns=160) as command:
        assert command.ended() == 0
        assert command.lines == [f"Wrote copy.db ({(running.folder / 'copy.db').stat().st_size:,} bytes)."]
    restore = [str(CARREL), "restore", "copy.db", "--data-dir", str(running.folder / "other")]
    with on_terminal(restore, running.environment, running.folder) as command:
        assert command.ended() == 0
        assert command.lines == ["Restored. Start the server with `carrel up`."]


@requirement("T.terminal")
def test_a_spinner_wider_than_the_terminal_takes_one_line(tmp_path: Path) -> None:
    program = """
import sys, tty
from carrel.main.cli.output import Screen
tty.setcbreak(sys.stdin)
with Screen().waiting("0123456789" * 9):
    sys.stdin.readline()
print("end")
"""
    with on_terminal([sys.executable, "-c", program], clean_environment(tmp_path), tmp_path, columns=40) as command:
        command.wait_until(lambda lines: lines[0].endswith("…"), "no spinner was cut")
        command.type("")
        assert command.ended() == 0
        assert command.lines == ["end"]
