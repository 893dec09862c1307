"""What short phrases mean for where a message belongs, and how summaries are made."""

import pytest

from carrel.board.classifier.phrases import is_small_talk, is_terse, name_of, opens_new_topic, task_in
from carrel.board.summaries import summary_of


@pytest.mark.parametrize(
    "text", ["yes", "Yes, do it!", "ok", "go ahead", "  No. ", "continue", "the second one", "👍", ""]
)
def test_an_affirmation_is_terse(text: str) -> None:
    assert is_terse(text)


@pytest.mark.parametrize("text", ["yes, and deploy the billing service", "fix it in Lisbon", "no " * 40])
def test_what_says_more_is_not_terse(text: str) -> None:
    assert not is_terse(text)


@pytest.mark.parametrize(("text", "social"), [
    ("Hello!", True), ("Good morning, how are you?", True), ("Thanks a lot", True),
    ("Hello, the import failed", False), ("", False), ("hi " * 20, False),
])  # fmt: skip
def test_only_polite_words_are_small_talk(text: str, social: bool) -> None:
    assert is_small_talk(text) is social


def test_a_change_of_subject_is_recognised() -> None:
    assert opens_new_topic("Now something else: who waters the plants?")
    assert not opens_new_topic("The plants need something to hold on to")


@pytest.mark.parametrize(("text", "title"), [
    ("TODO: buy two planks", "Buy two planks"),
    ("Please create a task to renew the certificate. It ends in May.", "Renew the certificate"),
    ("remind me to call Ada", "Call Ada"),
    ("fix the login bug on staging", None),
    ("what tasks are open?", None),
    ("is that task done?", None),
])  # fmt: skip
def test_a_task_is_asked_for_outright_or_not_at_all(text: str, title: str | None) -> None:
    assert task_in(text) == title


@pytest.mark.parametrize(("text", "name"), [
    ("Can you please fix the login bug on staging? It is urgent.", "Fix the login bug on staging"),
    ("hello, I need to plan a trip", "Plan a trip"),
    ("please", "Please"),
    ("x" * 500, "X" + "x" * 58 + "…"),
])  # fmt: skip
def test_a_topic_is_named_after_the_first_sentence(text: str, name: str) -> None:
    assert name_of(text) == name


@pytest.mark.parametrize(("text", "summary"), [
    ("# Report\n\nEverything went well.", "Report"),
    ("```\ncode\n```\nIt works now. Anything else?", "It works now."),
    ("- first\n- second", "first"),
    ("", ""),
    ("We moved the " + "billing " * 6 + "database", "We moved the billing billing billing billing billing…"),
    ("y" * 90, "y" * 55 + "…"),
])  # fmt: skip
def test_a_summary_is_one_short_line(text: str, summary: str) -> None:
    assert summary_of(text) == summary
    assert len(summary_of(text)) <= 56


def test_long_texts_are_read_in_linear_time() -> None:
    for hostile in ("```" * 300_000 + "todo " * 100_000, "\n" * 300_000, "please " * 300_000, "`\n" * 300_000):
        for read in (is_terse, is_small_talk, opens_new_topic, task_in, name_of, summary_of):
            read(hostile)
