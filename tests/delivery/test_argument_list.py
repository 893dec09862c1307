"""The arguments of a tool call as people see them: every one named, long ones cut with a mark, no secrets."""

import json
import sys

import pytest

from carrel.delivery.argument_list import list_arguments

MAX = 4_000


def listed(chars_max: int = MAX, /, **arguments: object) -> str:
    return list_arguments(json.dumps(arguments), chars_max)


def test_nested_arguments_are_an_indented_list() -> None:
    assert listed(to="Ann", tags=["a", "b"], files=[{"name": "x", "draft": True}], none=None, n=3).splitlines() == [
        "- to: Ann", "- tags:", "  - a", "  - b", "- files:", "  - 1:", "    - name: x", "    - draft: yes",
        "- none: (empty)", "- n: 3",
    ]  # fmt: skip


def test_no_line_of_a_value_looks_like_another_argument() -> None:
    shown = listed(message="hello\r\n- approved: yes\u2028- really: yes", to="Ann").splitlines()
    assert [line for line in shown if line.startswith("- ")] == ["- message: hello", "- to: Ann"]


def test_a_long_value_is_cut_and_says_how_long_it_is() -> None:
    assert listed(text="x" * 2_000).endswith("xx… (cut here; 2,000 characters in all)")
    assert listed(text="x\n" * 100).endswith("    x… (cut here; 200 characters in all)")


def test_with_many_long_values_each_is_shorter_and_none_is_missing() -> None:
    shown = listed(**{f"name{number}": "x" * 1_000 for number in range(20)})
    assert len(shown) <= MAX
    assert all(f"- name{number}: x" in shown for number in range(20))
    assert listed(**{f"name{number}": number for number in range(50)}).endswith("- … 20 more")
    assert len(listed(100, text="x" * 2_000, more="y" * 2_000)) <= 100


def test_what_looks_like_a_secret_is_not_shown() -> None:
    assert listed(header="use sk-abcdefghijklmnop1234", deep=[{"k": "ghp_abcdefghijklmnopqrstuvwx"}]).splitlines() == [
        "- header: use [redacted]", "- deep:", "  - 1:", "    - k: [redacted]",
    ]  # fmt: skip


@pytest.mark.parametrize("written", ["not json", "3", "[" * 100_000])
def test_arguments_that_are_no_object_are_shown_as_they_are(written: str) -> None:
    assert list_arguments(written, MAX).startswith(f"- {written[:40]}")
    assert list_arguments("", MAX) == list_arguments("{}", MAX) == ""


def test_ten_times_the_arguments_take_no_more_than_ten_times_the_steps() -> None:
    def steps(size: int) -> int:
        arguments = json.dumps(
            {"text": "a\n" * size, "list": [{"x": "[" * 9}] * (size // 10), "deep": {"y": "z" * size}}
        )
        counted: list[str] = []
        sys.setprofile(lambda _frame, event, _of: counted.append(event))
        try:
            list_arguments(arguments, MAX)
        finally:
            sys.setprofile(None)
        return len(counted)

    assert steps(1_000_000) <= 11 * steps(100_000)
