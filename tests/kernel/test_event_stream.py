"""Server-sent events are parsed with any line ending and wherever the network cuts them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.kernel import EventReader, EventTooLarge, ServerEvent


def read(*pieces: bytes, event_bytes_max: int = 10_000) -> list[ServerEvent]:
    reader = EventReader(event_bytes_max)
    return [event for piece in pieces for event in reader.feed(piece)] + reader.close()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_of_the_standard_separates_lines(end: str) -> None:
    stream = f"event: a{end}data: one{end}data: two{end}{end}data: three{end}{end}".encode()
    assert read(stream) == [ServerEvent("a", "one\ntwo"), ServerEvent("", "three")]


def test_a_line_end_cut_in_two_is_still_one_line_end() -> None:
    stream = b"event: a\r\ndata: one\r\ndata: two\r\n\r\n"
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == [ServerEvent("a", "one\ntwo")]


def test_comments_unknown_fields_and_empty_events_are_skipped() -> None:
    assert read(b": ping\n\nid: 7\nretry: 10\n\nevent: lonely\n\ndata:x\n\n") == [ServerEvent("", "x")]
    assert read(b"id: 7\ndata: x\n\ndata: y\n\n") == [ServerEvent("", "x", "7"), ServerEvent("", "y")]


def test_only_one_space_after_the_colon_belongs_to_the_field() -> None:
    assert read(b"data:  two\n\ndata\n\n") == [ServerEvent("", " two"), ServerEvent("", "")]


def test_an_event_without_a_closing_empty_line_is_returned_at_the_end() -> None:
    assert read(b"data: one\n\ndata: [DONE]") == [ServerEvent("", "one"), ServerEvent("", "[DONE]")]


def test_a_byte_order_mark_at_the_start_is_ignored() -> None:
    assert read(b"\xef\xbb", b"\xbfdata: x\n\n") == [ServerEvent("", "x")]


def test_invalid_utf8_is_replaced_and_not_fatal() -> None:
    assert read(b"data: \xff\n\n") == [ServerEvent("", "\ufffd")]


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 200, b"data: 12345678901234567890\n" * 10, b": " + b"c" * 200])
def test_an_event_beyond_the_size_limit_is_refused(stream: bytes) -> None:
    with pytest.raises(EventTooLarge):
        read(stream, event_bytes_max=100)


def test_the_size_limit_is_per_event_and_not_per_stream() -> None:
    assert len(read(b"data: 12345678901234567890\n\n" * 50, event_bytes_max=100)) == 50


@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=20), max_size=5),
    ends=st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_a_stream_cut_anywhere_reads_like_the_whole_stream(
    texts: list[str], ends: list[bytes], cuts: list[int]
) -> None:
    stream = b""
    for number, text in enumerate(texts):
        end = ends[number % len(ends)]
        stream += b"event: e" + end + b"data: " + text.encode() + end + end
    marks = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[start:stop] for start, stop in pairwise(marks)]
    assert read(*pieces) == [ServerEvent("e", text) for text in texts]
