"""The state machines of goals and plans, as tables."""

import pytest

from carrel.goals.model import GOAL_MOVES, PLAN_MOVES, require_move, walk
from carrel.kernel import Code, Refusal
from tests.requirements.mark import requirement

GOALS = {
    ("submitted", "planning"), ("submitted", "working"), ("submitted", "cancelled"),
    ("planning", "working"), ("planning", "blocked"), ("planning", "failed"), ("planning", "cancelled"),
    ("working", "blocked"), ("working", "completed"), ("working", "failed"), ("working", "cancelled"),
    ("blocked", "planning"), ("blocked", "working"), ("blocked", "failed"), ("blocked", "cancelled"),
    ("failed", "submitted"), ("failed", "planning"), ("cancelled", "submitted"),
}  # fmt: skip
# What other programs see of plans: drafting and ready are pending there, and cancelled is skipped.
PLANS = {
    ("pending", "working"), ("pending", "skipped"), ("working", "blocked"), ("working", "completed"),
    ("working", "failed"), ("blocked", "working"), ("blocked", "failed"), ("blocked", "skipped"),
    ("failed", "pending"), ("failed", "working"),
}  # fmt: skip
SHOWN = {"drafting": "pending", "ready": "pending", "cancelled": "skipped"}


def moves_in(table: dict[str, tuple[str, ...]]) -> set[tuple[str, str]]:
    return {(before, after) for before in table for after in table if is_legal(table, before, after)}


def is_legal(table: dict[str, tuple[str, ...]], before: str, after: str) -> bool:
    try:
        require_move(table, before, after)
    except Refusal as refusal:
        return (refusal.code, refusal.details) != (Code.ILLEGAL_TRANSITION, {"from": before, "to": after})
    return True


@requirement("S1.opt.objective.moves")
def test_a_goal_moves_by_its_table_and_the_same_status_is_no_move() -> None:
    assert moves_in(GOAL_MOVES) == GOALS | {(status, status) for status in GOAL_MOVES}  # type: ignore[arg-type]


@requirement("S1.opt.plan.moves")
def test_a_plan_moves_by_its_table_as_others_see_it() -> None:
    found = {(SHOWN.get(a, a), SHOWN.get(b, b)) for a, b in moves_in(PLAN_MOVES)}  # type: ignore[arg-type]
    # Only a person here cancels a plan that works; the others' table has no move for that.
    assert {pair for pair in found if pair[0] != pair[1]} - {("working", "skipped")} == PLANS


def test_a_word_that_is_no_status_is_refused_as_such() -> None:
    with pytest.raises(Refusal) as refused:
        require_move(GOAL_MOVES, "submitted", "happy")
    assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "status")


@pytest.mark.parametrize(
    ("table", "before", "after", "way"),
    [
        (PLAN_MOVES, "drafting", "completed", ("ready", "working", "completed")),
        (PLAN_MOVES, "ready", "blocked", ("working", "blocked")),
        (PLAN_MOVES, "failed", "completed", ("working", "completed")),
        (PLAN_MOVES, "blocked", "blocked", ()),
        (GOAL_MOVES, "submitted", "completed", ("working", "completed")),
        (GOAL_MOVES, "failed", "working", ("planning", "working")),
    ],
)
def test_what_its_parts_bring_about_is_reached_by_legal_moves_only(
    table: dict[str, tuple[str, ...]], before: str, after: str, way: tuple[str, ...]
) -> None:
    assert walk(table, before, after) == way


@pytest.mark.parametrize(("before", "after"), [("completed", "working"), ("skipped", "ready"), ("cancelled", "ready")])
def test_no_way_leads_on_from_an_end(before: str, after: str) -> None:
    with pytest.raises(Refusal):
        walk(PLAN_MOVES, before, after)


@requirement("S1.opt.cascade")
@pytest.mark.parametrize("after", ["working", "blocked", "completed", "failed"])
def test_whatever_their_parts_come_to_a_plan_and_a_goal_that_are_open_can_follow(after: str) -> None:
    for table, ends in ((PLAN_MOVES, ("completed", "skipped", "cancelled")), (GOAL_MOVES, ("completed", "cancelled"))):
        for before in table.keys() - set(ends):
            way = walk(table, before, after)
            assert way[-1:] == ((after,) if before != after else ())
            for one, other in zip((before, *way), way, strict=False):
                require_move(table, one, other)
