"""Yes and no as people write them."""

import pytest

from carrel.runs.approval_words import decision_in


@pytest.mark.parametrize("text", ["yes", " Yes. ", "y", "OK!", "okay", "approve", "Allow"])
def test_a_yes_alone_approves(text: str) -> None:
    assert decision_in(text) is True


@pytest.mark.parametrize(
    "text", ["no", "N", "No.", "deny", "no, not today", "no: too dear", "no - later", "No\nToo dear."]
)
def test_a_no_refuses_with_or_without_a_reason(text: str) -> None:
    assert decision_in(text) is False


@pytest.mark.parametrize(
    "text", ["", "yes, but shorter", "no problem", "no-one knows", "nobody", "okay then no", "why?"]
)
def test_anything_else_is_no_decision(text: str) -> None:
    assert decision_in(text) is None
