"""What was probably meant, and what is allowed."""

import pytest

from carrel.kernel import Code, Refusal
from carrel.kernel.limits import NAMES_LISTED_MAX
from tests.requirements.mark import requirement


@requirement("A.roster")
@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("writr", ["writer", "main"], "There is no agent 'writr'; did you mean 'writer'? Known: main, writer."),
        ("zzz", ["writer", "main"], "There is no agent 'zzz'. Known: main, writer."),
        ("zzz", [], "There is no agent 'zzz'. There is none yet."),
        ("w" * 200, ["main"], f"There is no agent '{'w' * 79}…'. Known: main."),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_and_with_those_that_are_known(
    name: str, known: list[str], message: str
) -> None:
    refusal = Refusal.of_name("agentId", "agent", name, known)
    assert (refusal.code, refusal.field, refusal.message) == (Code.INVALID_PARAMS, "agentId", message)


def test_no_more_names_are_listed_than_help() -> None:
    many = [f"agent-{n:03}" for n in range(200)]
    assert Refusal.of_name(None, "agent", "zzz", many).message.count("agent-") == NAMES_LISTED_MAX


def test_a_value_of_a_closed_set_is_refused_with_the_set_and_the_nearest_of_it() -> None:
    assert Refusal.of_value("status", "in progress", ["in_progress", "review"]).message == (
        "status must be one of in_progress, review; did you mean 'in_progress'?"
    )
    assert Refusal.of_value("status", "DONE!", ["done"]).message == "status must be done; did you mean 'done'?"
    assert Refusal.of_value("mode", None, ["run", "session"]).message == "mode must be one of run, session."


def test_a_very_long_word_is_compared_by_its_beginning_alone() -> None:
    assert Refusal.nearest("x" * 1_000_000, ["main"]) == ""
