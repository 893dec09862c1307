"""What is shown of a text that is too long for its line."""

from hypothesis import given
from hypothesis import strategies as st

from carrel.context.budget import width
from carrel.context.semantic import excerpt

TEXT = st.text(st.sampled_from("ab lamp 😀\n"), max_size=400)
LAMP = frozenset({"lamp"})


@given(TEXT, st.integers(1, 120))
def test_an_excerpt_fits_and_a_short_text_is_whole(text: str, limit: int) -> None:
    shown = excerpt(text, LAMP, limit)
    assert width(shown) <= limit
    whole = " ".join(text.split())
    assert shown == whole if width(whole) <= limit else shown != whole


def test_an_excerpt_shows_most_of_the_words_and_some_text_before_them() -> None:
    text = "a lamp " + "soup " * 40 + "the green lamp " + "bread " * 40
    assert "the green lamp" in excerpt(text, frozenset({"green", "lamp"}), 60)
    shown = excerpt(text, frozenset({"green"}), 60)
    assert shown.startswith("…soup soup the green lamp bread")
    assert shown.endswith("…")


def test_a_text_without_the_words_is_shown_from_its_beginning() -> None:
    assert excerpt("soup " * 40, LAMP, 11) == "soup soup …"


def test_an_excerpt_of_the_end_of_a_text_leaves_no_room() -> None:
    shown = excerpt("soup " * 40 + "lamp", LAMP, 40)
    assert shown.endswith("soup lamp")
    assert len(shown) > 40 - len("…soup ")
