"""How far a context looks, by what was said."""

import pytest

from carrel.context.depth import depth_named, has_signal, is_low_signal, recalls, result_counts
from carrel.context.model import (
    ContextLimits,
)
from carrel.kernel.settings import ContextSettings
from tests.requirements.mark import requirement


@requirement("S4.context.auto.low", "S4.context.auto.signal")
@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "ok", "Yes!", "do it", "yes, do it", "OK thanks", "/status of the launch", "resume", "Next", "go on",
        "What now?", "What's next?",
    ],
)  # fmt: skip
def test_agreements_words_to_go_on_and_commands_say_nothing_to_search_for(text: str) -> None:
    assert is_low_signal(text)
    assert not has_signal(text)
    assert not recalls("auto", text, in_board_session=False)


@requirement("S4.context.auto.signal")
@pytest.mark.parametrize(
    ("text", "enough"),
    [
        ("launch", True), ("a b", True), ("ship", True), ("abc", False), ("a-1", True), ("ok but which colour", True),
        ("abc???", True), ("abc??", False),
    ],
)  # fmt: skip
def test_six_characters_or_two_words_or_a_word_of_four_say_enough(text: str, *, enough: bool) -> None:
    assert has_signal(text) is enough
    assert recalls("auto", text, in_board_session=False) is enough


@requirement("S4.context.auto.low")
def test_an_agreement_has_at_most_twenty_four_characters() -> None:
    assert is_low_signal("go ahead".ljust(24, "!"))
    assert not is_low_signal("go ahead".ljust(25, "!"))


@requirement("S4.context.auto.board", "S4.context.cheap", "S4.context.full")
def test_only_an_empty_question_and_cheap_search_nowhere() -> None:
    assert recalls("auto", "ok", in_board_session=True)
    assert not recalls("auto", "", in_board_session=True)
    assert not recalls("auto", "abc", in_board_session=True)
    for mode in ("full", "patient"):
        assert recalls(mode, "ok", in_board_session=False)
        assert not recalls(mode, " ", in_board_session=True)
    assert not recalls("cheap", "which colour is the door?", in_board_session=True)


@requirement("S4.context.mode.default", "S4.context.patient")
def test_unknown_modes_are_auto_and_patient_shows_more() -> None:
    assert [depth_named(text) for text in ("full", "deep", "", None)] == ["full", "auto", "auto", "auto"]
    usual, patient = (result_counts(mode, ContextSettings(), ContextLimits()) for mode in ("full", "patient"))
    assert (usual.topics, usual.tasks, usual.logs, usual.notes) == (3, 3, 6, 6)
    assert (patient.topics, patient.tasks, patient.logs, patient.notes) == (5, 8, 12, 10)
    own = result_counts("patient", ContextSettings(), ContextLimits(topics=0, logs=40))
    assert (own.topics, own.tasks, own.logs) == (0, 8, 40)
