"""Templates: texts with paths into what a program has posted."""

from typing import Any

import pytest

from carrel.kernel import Template, template_problem

PAYLOAD: dict[str, Any] = {
    "issue": {"title": " A door ", "number": 7, "closed": False, "body": None, "empty": ""},
    "commits": [{"message": "first"}, {"message": "second"}],
    "nul": "a\x00b\ud800c",
    "@event": "issues.opened",
}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("no paths", "no paths"),
        ("#{issue.number}: {issue.title}", "#7: A door"),
        ("{issue.body|issue.empty|issue.title}", "A door"),
        ("{ issue.title | issue.number }", "A door"),
        ("{issue.title.more}{issue.nothing}{nothing.at.all}{commits.9.message}{commits.title}", ""),
        ("{commits.1.message}", "second"),
        ("{issue.closed} {commits}", 'false [{"message":"first"},{"message":"second"}]'),
        ("{{literally}} {@event}", "{literally} issues.opened"),
        ("{nul}", "abc"),
    ],
)
def test_a_path_is_replaced_by_its_value(template: str, filled: str) -> None:
    assert template_problem(template) is None
    assert Template(template).fill(PAYLOAD) == filled


def test_a_value_is_not_a_template_itself() -> None:
    assert Template("{a}").fill({"a": "{b}", "b": "secret"}) == "{b}"


def test_a_whole_text_needs_every_value() -> None:
    assert Template("{issue.number}:{issue.title}").fill_whole(PAYLOAD) == "7:A door"
    assert Template("{issue.number}:{issue.body}").fill_whole(PAYLOAD) == ""


@pytest.mark.parametrize("template", ["{", "}", "{}", "{a b}", "{a.}", "{a||b}", "{@secret}", "{a.{b}}", "{{a}"])
def test_what_is_no_path_is_a_problem(template: str) -> None:
    assert template_problem(template) is not None
