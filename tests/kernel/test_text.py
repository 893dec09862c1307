"""Texts: cut with a mark, kept on one line, collected."""

from hypothesis import given
from hypothesis import strategies as st

from carrel.kernel import (
    TextBuffer,
    clip,
    one_line,
)


@given(st.text(max_size=60), st.integers(min_value=0, max_value=70))
def test_clipped_text_is_never_too_long_and_is_marked_where_it_was_cut(text: str, chars_max: int) -> None:
    clipped = clip(text, chars_max)
    assert len(clipped) <= chars_max
    if len(text) <= chars_max:
        assert clipped == text
    elif chars_max:
        assert clipped.endswith("…")
        assert text.startswith(clipped[:-1])


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans())))
def test_a_text_buffer_returns_the_whole_text_at_any_time(pieces: list[tuple[str, bool]]) -> None:
    buffer, whole = TextBuffer(), ""
    for piece, is_asked in pieces:
        buffer.add(piece)
        whole += piece
        assert not is_asked or buffer.text == whole
    assert buffer.text == whole


@given(st.text(alphabet="ab=-<>`# \n\r\u2028\x00[]/CLAWBOARD_CARREL_CONTEXT_BEGIN", max_size=80))
def test_a_title_stays_on_one_line_and_opens_no_section(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(
        sign in line
        for sign in ("===", "---", "<<", ">>", "```", "##", "[CLAWBOARD_CONTEXT_BEGIN]", "[CARREL_CONTEXT_BEGIN]")
    )
    assert one_line(line) == line
