"""Statuses, moves, spellings and sizes, without a store."""

from itertools import permutations

import pytest

from carrel.kernel import Code, Refusal
from carrel.topics import read_priority
from carrel.work.model import (
    CHAT_TAG,
    FIRST_STATUSES,
    MOVES,
    check_texts,
    path,
    read_status,
    statuses_meant,
)
from tests.requirements.mark import requirement

# Every status, with those it leads to in one step and in how many steps others are reached.
ONE_STEP = {
    "inbox": {"assigned", "archived"},
    "assigned": {"in_progress", "blocked", "inbox", "archived"},
    "in_progress": {"review", "blocked", "archived"},
    "review": {"done", "in_progress", "blocked", "archived"},
    "done": {"archived"},
    "blocked": {"assigned", "in_progress", "archived"},
    "archived": set(),
}
WALKS = {
    ("inbox", "in_progress"): "assigned in_progress",
    ("inbox", "review"): "assigned in_progress review",
    ("inbox", "done"): "assigned in_progress review done",
    ("inbox", "blocked"): "assigned blocked",
    ("assigned", "review"): "in_progress review",
    ("assigned", "done"): "in_progress review done",
    ("in_progress", "done"): "review done",
    ("blocked", "inbox"): "assigned inbox",
    ("blocked", "review"): "in_progress review",
    ("blocked", "done"): "in_progress review done",
}


def refusal(doing: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        doing()  # type: ignore[operator]
    return caught.value


@requirement("S0.work.transitions")
@pytest.mark.parametrize(("before", "after"), [*permutations(MOVES, 2)])
def test_a_move_takes_one_step_or_the_shortest_walk_or_is_refused(before: str, after: str) -> None:
    assert set(MOVES[before]) == ONE_STEP[before]
    if after in ONE_STEP[before]:
        assert path(before, after) == (after,)
    elif (before, after) in WALKS:
        way = path(before, after)
        assert way == tuple(WALKS[before, after].split())
        assert all(step in ONE_STEP[at] for at, step in zip((before, *way), way, strict=False))
    else:
        found = refusal(lambda: path(before, after))
        assert (found.code, found.field) == (Code.ILLEGAL_TRANSITION, "status")
        assert found.details == {"from": before, "to": after}
        assert ("Reopen" in found.message) == (before == "done")


@requirement("S4.x.status.spelling")
@pytest.mark.parametrize(
    ("spelling", "has_assignee", "meant"),
    [
        ("todo", False, "inbox"), ("todo", True, "assigned"), ("doing", False, "in_progress"),
        ("DONE", False, "done"), ("In Progress", False, "in_progress"), ("in-progress", False, "in_progress"),
        ("open", False, "inbox"), ("To-Do", True, "assigned"),
        *((status, False, status) for status in MOVES),
    ],
)  # fmt: skip
def test_a_status_has_our_spelling_and_that_of_other_boards(spelling: str, has_assignee: bool, meant: str) -> None:
    assert read_status(spelling, has_assignee=has_assignee) == meant


@requirement("S4.x.status.spelling")
def test_a_list_is_asked_for_in_any_spelling_and_for_all_that_is_open() -> None:
    assert statuses_meant("To Do") == statuses_meant("todo") == ("inbox", "assigned")
    assert statuses_meant("In-Progress") == ("in_progress",)
    assert set(MOVES) - set(statuses_meant("Open")) == {"done", "archived"}


@requirement("S0.x.create.status")
def test_an_unknown_status_and_one_that_no_task_begins_with_are_refused_with_the_list() -> None:
    for spelling in ("", "finished", "x" * 500):
        found = refusal(lambda spelling=spelling: read_status(spelling, has_assignee=False))
        assert found.code == Code.INVALID_PARAMS
        assert "inbox, assigned" in found.message
        assert len(found.message) < 200
    first = {status for status in MOVES if status not in FIRST_STATUSES}
    assert first == {"review", "done", "archived"}
    for status in first:
        assert "begin" in refusal(lambda status=status: read_status(status, has_assignee=True, first=True)).message


def test_a_priority_is_a_number_or_a_word() -> None:
    assert [read_priority(word) for word in ("critical", "High", "medium", "low", "lowest")] == [1, 2, 3, 4, 5]
    assert [read_priority(number) for number in range(1, 6)] == [1, 2, 3, 4, 5]
    for wrong in (0, 6, -1, "urgent", "", "3"):
        assert refusal(lambda wrong=wrong: read_priority(wrong)).code == Code.INVALID_PARAMS


@requirement("S0.work.sizes")
@pytest.mark.parametrize(
    ("texts", "code", "field"),
    [
        (("x" * 2_001, "", None, ()), Code.TOO_LONG, "title"),
        (("x", "x" * 100_001, None, ()), Code.TOO_LONG, "description"),
        (("x", "", "x" * 2_001, ()), Code.TOO_LONG, "blockedReason"),
        (("  ", "", None, ()), Code.INVALID_PARAMS, "title"),
        (("x", "", None, tuple(map(str, range(33)))), Code.LIMIT_REACHED, "tags"),
        (("x", "", None, (CHAT_TAG,)), Code.INVALID_PARAMS, "tags"),
    ],
)
def test_texts_over_their_limits_are_refused(
    texts: tuple[str, str, str | None, tuple[str, ...]], code: Code, field: str
) -> None:
    found = refusal(lambda: check_texts(*texts))
    assert (found.code, found.field) == (code, field)


def test_texts_at_their_limits_are_accepted() -> None:
    check_texts("x" * 2_000, "x" * 100_000, "x" * 2_000, tuple(map(str, range(32))))
