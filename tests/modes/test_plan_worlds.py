"""Whatever is done to plan mode, in whatever order: it happens in one session of one account and nowhere else."""

from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carrel.goals import Plan
from carrel.kernel import Refusal, SessionKey
from carrel.modes import PlanState
from tests.harness.engine import MAIN, Engine, accounts_of
from tests.modes.planner import CHAT, OTHER, Planner
from tests.requirements.mark import requirement

KEYS = (CHAT, OTHER, MAIN, SessionKey.of("main", "cli:conversation1"), SessionKey.of("writer", "web:conversation1"))
ACTS = ("on", "off", "write", "approve", "cancel", "resume", "delete")
Place = tuple[int, SessionKey]
Seen = tuple[PlanState, list[Plan]]
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 1), st.sampled_from(KEYS)), min_size=4, max_size=15)


async def act(planner: Planner, what: str, key: SessionKey) -> None:
    """Do one thing to a session; what is not possible there is refused."""
    with suppress(Refusal):
        match what:
            case "on":
                await planner.on(key)
            case "off":
                await planner.off(key)
            case "write":
                await planner.write(key)
            case "delete":
                await planner.on(key)
                await planner.delete(key)
            case _:
                await planner.change(what, None, key)


async def look(planners: list[Planner]) -> dict[Place, Seen]:
    """Return the state and the plans of every session of every account."""
    return {
        (number, key): (await planner.state(key), await planner.plans(key))
        for number, planner in enumerate(planners)
        for key in KEYS
    }


def check(seen: Seen, key: SessionKey) -> None:
    """Check what holds for every session at any time."""
    state, plans = seen
    assert {plan.key for plan in plans} <= {str(key)}
    active = [plan.status for plan in plans if plan.id == state.active_plan_id]
    assert len(active) == (state.active_plan_id is not None), "the active plan is one of its own"
    assert state.enabled or "drafting" not in [plan.status for plan in plans], "no unwritten plan outlives plan mode"


@requirement("S3.inv.1", "S3.plan.isolated", "S3.plan.one")
@settings(max_examples=15, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(steps=STEPS)
async def test_every_act_changes_its_own_session_at_most(
    engine: Engine, steps: list[tuple[str, int, SessionKey]]
) -> None:
    # The examples share a store, so each has two accounts of its own.
    number = len(await accounts_of(engine.db))
    planners = [Planner(engine, await engine.another_account(f"world-{number + one}")) for one in (0, 1)]
    for planner in planners:
        await engine.make_agent("writer", planner.access)
    before = await look(planners)
    for what, account, key in steps:
        engine.advance(1)
        await act(planners[account], what, key)
        after = await look(planners)
        elsewhere = [place for place in after if place != (account, key)]
        assert [after[place] for place in elsewhere] == [before[place] for place in elsewhere]
        for place, seen in after.items():
            check(seen, place[1])
        before = after
