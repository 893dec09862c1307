"""Passing live text on costs each piece its own length, however much was said before."""

import pytest

from carrel.delivery import Spoken, Words
from carrel.surfaces.api.silent_text import SilentTextFilter
from carrel.surfaces.responses.events import EventWriter
from tests.growth import BLOCK, Work, shown_to_be_linear

BLANK = " " * len(BLOCK)


def said(text: str) -> Spoken:
    return Spoken("text", "run_1", "agent:main:main", text)


@pytest.mark.parametrize("piece", [BLOCK, BLANK, "a"], ids=["text", "spaces", "letters"])
@pytest.mark.parametrize("is_repeated", [False, True], ids=["once", "again"])
def test_the_events_of_live_text_are_made_in_linear_time(piece: str, is_repeated: bool) -> None:
    def shape(n: int) -> Work:
        def work() -> None:
            words = Words()
            writer = EventWriter("resp_1", words)
            for _ in range(1 + is_repeated):
                words.hear(Spoken("restart", "run_1", "agent:main:main"))
                for _ in range(n):
                    words.hear(said(piece))
                    list(writer.send_live(words.step))

        return work

    shown_to_be_linear(shape, 100)


@pytest.mark.parametrize("begun", ["", "NO_REPLY"])
@pytest.mark.parametrize("piece", [BLOCK, BLANK], ids=["text", "spaces"])
def test_text_that_may_be_a_silent_reply_is_held_back_in_linear_time(begun: str, piece: str) -> None:
    def shape(n: int) -> Work:
        def work() -> None:
            held = SilentTextFilter()
            shown = [held.add("run_1", text) for text in (begun, *[piece] * n)] + [held.end("run_1", "a reply")]
            assert "".join(shown) == begun + piece * n

        return work

    shown_to_be_linear(shape, 100)


def test_a_silent_reply_is_recognized_in_any_pieces() -> None:
    held = SilentTextFilter()
    assert [held.add("run_1", piece) for piece in ("  ", "NO_", "REPLY", " ", "\n")] == [""] * 5
    assert held.end("run_1", "NO_REPLY") == ""
    assert [held.add("run_2", piece) for piece in (" NO_", " ", "REPLY")] == ["", "", " NO_ REPLY"]
