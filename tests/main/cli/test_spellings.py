"""Commands in the words that people type."""

import pytest

from carrel.main.cli.arguments import normalized
from carrel.main.cli.program import LISTS, VERBS
from tests.main.cli.conftest import Carrel


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("task", "tasks list"),
        ("session ls", "sessions list"),
        ("memories", "memory list"),
        ("tokens", "token list"),
        ("notes", "note"),
        ("logs", "log list"),
        ("models", "models list"),
        ("config", "settings list"),
        ("version", "--version"),
        ("run view last", "runs show last"),
        ("tasks get last", "tasks show last"),
        ("artifacts get a.1", "artifacts get a.1"),
        ("task rm last", "tasks delete last"),
        ("token rm tok_1", "token revoke tok_1"),
        ("topic rm t", "topics remove t"),
        ("runs kill last", "runs cancel last"),
        ("runs stop last", "runs stop last"),
        ("session stop main", "sessions stop main"),
        ("agent edit writer --model m", "agents edit writer --model m"),
        ("agents update writer", "agents edit writer"),
        ("agent pause writer", "agents disable writer"),
        ("schedules pause s", "schedule disable s"),
        ("schedule resume s", "schedule enable s"),
        ("stop run_1", "runs cancel run_1"),
        ("stop task_1", "tasks stop task_1"),
        ("stop main", "sessions stop main"),
        ("people", "users list"),
        ("get tasks", "tasks list"),
        ("get task last", "tasks show last"),
        ("create topic Doors", "topics create Doors"),
        ("delete session main", "sessions delete main"),
        ("help task rm", "tasks delete --help"),
        ("send tasks hello", "send tasks hello"),
        ("mcp servers ls", "mcp servers list"),
    ],
)
def test_other_words_for_a_command_are_understood(typed: str, meant: str) -> None:
    words = normalized(typed.split(), VERBS, LISTS)
    assert " ".join(words) == meant


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("stop",), "name a run, task or session to stop"),
        (("cancel", "last"), "'cancel' needs a noun: `carrel runs cancel`"),
        (("reset",), "'reset' needs a noun: `carrel sessions reset`"),
        (("rate",), "`carrel --help` lists them."),
        (("login",), "did you mean open?"),
        (("tasks", "list", "--status", "opne"), "did you mean open?"),
        (("completion", "powershell"), "shell cannot be 'powershell'; it is one of bash"),
    ],
)
def test_a_word_that_is_none_is_answered_with_what_helps(carrel: Carrel, words: tuple[str, ...], hint: str) -> None:
    ended = carrel(*words)
    assert ended.code == 2
    assert hint in ended.err


def test_one_of_several_words_is_taken_in_any_spelling(carrel: Carrel) -> None:
    nowhere = ("--url", "http://127.0.0.1:9", "--token", "t")
    for words in (
        ("tasks", "--status", "In-Progress"),
        ("runs", "--state", "canceled"),
        ("tasks", "move", "x", "To-Do"),
    ):
        assert carrel(*words, *nowhere).code == 3, words
