"""The words of texts and queries."""

import pytest

from carrel.search.words import date_words, query_words, stem, without_names, words_of


@pytest.mark.parametrize(
    "forms",
    ["paint paints painted painting", "story stories", "plan plans planned planning", "class classes", "quick quickly"],
)
def test_forms_of_one_word_come_out_alike(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_words_that_say_nothing_are_looked_up_only_where_there_are_no_others() -> None:
    assert query_words("what is the name of the pump?") == ("nam", "pump")
    assert query_words("what is it?") == ("what", "is", "it")
    assert query_words("?!") == ()
    assert len(query_words(" ".join(f"w{n}" for n in range(100)))) == 24


def test_scripts_without_spaces_are_cut_into_pairs() -> None:
    assert list(words_of("東京都ABC")) == ["東京", "京都", "abc"]
    assert list(words_of("見")) == ["見"]


def test_a_name_is_no_part_of_what_a_query_means() -> None:
    names = ("Ann Lee", "Bob")
    assert without_names("What did Ann's brother tell Bob, then?", names) == "What did brother tell then?"
    assert without_names("Ann Lee", names) == "Ann Lee"
    assert without_names("Annual report", names) == "Annual report"


def test_a_moment_that_no_calendar_has_gives_no_words() -> None:
    assert date_words(1_683_504_000_000) == ("may", "2023", "8")
    assert date_words(1 << 60) == ()
