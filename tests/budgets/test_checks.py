"""What a budget bounds: tokens, runs and money, under many runs at once, across restarts and days."""

from datetime import datetime

import pytest

from carrel.kernel.settings import BudgetPer, BudgetSettings, PriceSettings, RunsSettings, Settings
from carrel.monitoring import explain
from carrel.notifications import OWNERS, newest_notifications
from tests.budgets.limited import AT_ONCE, DAY_SECONDS, TOKENS_PER_STEP, Limited, limited_server
from tests.harness.watched_database import WatchedDatabase
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, text

MANY = 100
WAITS = "state = 'queued' AND held_for IS NOT NULL"


def echo(_request: Request) -> Answer:
    return text("done")


async def send_many(server: Limited, count: int = MANY) -> None:
    for at in range(count):
        await server.send("go on", f"hook:lane-{at:03}")


@requirement("P.budget.bound")
async def test_a_hundred_runs_at_once_overrun_a_budget_by_no_more_than_was_in_flight(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.rule = lambda _request: text("done", before=gate)
    limit = 10 * TOKENS_PER_STEP
    await limited.limit(tokens=limit)
    await send_many(limited)
    gateway.wait_for_requests(AT_ONCE)
    gate.open()
    await limited.until_at_rest()
    in_flight = AT_ONCE * TOKENS_PER_STEP
    assert limit <= await limited.spent() < limit + in_flight
    answered = len(gateway.requests)
    assert await limited.count("state = 'completed'") == answered
    assert await limited.count(WAITS) == MANY - answered
    await limited.kill()
    limited.start()
    await limited.until_at_rest()
    assert len(gateway.requests) == answered, "a restart sends nothing"
    await limited.allow()
    await limited.until_at_rest()
    assert 2 * limit <= await limited.spent() < 2 * limit + in_flight
    await limited.limit(tokens=1_000_000)
    await limited.until_at_rest()
    assert await limited.count("state = 'completed' AND attempt = 1") == MANY
    assert len(gateway.requests) == MANY


@requirement("P.budget.bound")
async def test_of_a_hundred_runs_at_once_exactly_as_many_begin_as_a_budget_has(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    await limited.limit("account", runs=7)
    await send_many(limited)
    await limited.until_at_rest()
    assert (len(gateway.requests), await limited.count("state = 'completed'")) == (7, 7)
    assert await limited.count(WAITS) == MANY - 7


@requirement("P.budget.days")
async def test_what_waits_for_a_budget_of_a_day_goes_on_when_the_next_day_begins(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    await limited.limit(tokens=1)
    await limited.ask("one")
    waiting = await limited.send("two")
    await limited.until_at_rest()
    limited.advance(DAY_SECONDS)
    assert (await limited.settled(waiting)).state == "completed"
    assert (await limited.budget()).spent.tokens == TOKENS_PER_STEP


@requirement("P.budget.step")
async def test_a_turn_stops_between_two_steps_and_goes_on_where_it_was(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("agents_list", {})), text("these"))
    await limited.limit(tokens=TOKENS_PER_STEP)
    run = await limited.send("who is there?")
    await limited.until_at_rest()
    assert await limited.spent() == TOKENS_PER_STEP, "counted before the run ended"
    held = await limited.run(run)
    assert (held.state, held.attempt, held.error_code) == ("queued", 0, "budget_used_up")
    await limited.allow()
    assert (await limited.settled(run)).reply == "these"
    assert len(gateway.requests) == 2
    assert (await limited.budget()).spent.runs == 1


@requirement("P.budget.step")
async def test_a_budget_that_is_set_during_a_turn_holds_from_its_next_step_on(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(calls(("agents_list", {}), before=gate), text("these"))
    run = await limited.send("who is there?")
    await gate.reached()
    await limited.limit(tokens=1)
    gate.open()
    await limited.until_at_rest()
    assert (await limited.run(run)).error_code == "budget_used_up"
    assert len(gateway.requests) == 1


@requirement("P.budget.why")
async def test_what_waits_for_a_budget_says_which_and_until_when(limited: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = echo
    await limited.limit(tokens=TOKENS_PER_STEP)
    await limited.ask("one")
    run = await limited.send("two")
    await limited.until_at_rest()
    held = await limited.run(run)
    why = await limited.read(lambda tx: explain(tx, limited.access, held))
    (reason,) = why.reasons
    assert reason.code == "budget_used_up"
    assert reason.text == ("Budget limit of agent Main, 18 tokens a day, is used up; it renews at 00:00 UTC.")
    assert "allow it once" in reason.actions
    assert held.last_fault is not None
    assert held.last_fault.told() == reason.text
    behind = await limited.send("three")
    why = await limited.read(lambda tx: explain(tx, limited.access, behind))
    assert "is waiting: Budget limit of agent Main" in why.reasons[0].text


@requirement("P.budget.warning")
async def test_owners_are_told_once_when_a_budget_is_nearly_and_when_it_is_wholly_used_up(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    await limited.limit(tokens=6 * TOKENS_PER_STEP)

    async def told() -> list[str]:
        found = await limited.read(lambda tx: newest_notifications(tx, limited.access, OWNERS, limit=10))
        return [f"{one.type}: {one.body}" for one in found]

    for _ in range(4):
        await limited.ask("go on")
    assert await told() == []
    await limited.ask("go on")
    warning = "budget: Budget limit of agent Main is 83% used: 90 tokens of 108 tokens a day."
    assert await told() == [warning]
    await limited.ask("go on")
    used_up = "budget: Budget limit of agent Main, 108 tokens a day, is used up; it renews at 00:00 UTC."
    assert await told() == [used_up, warning]
    await limited.send("go on")
    await limited.until_at_rest()
    assert await told() == [used_up, warning]


@requirement("P.budget.scopes")
@pytest.mark.parametrize(
    ("scope", "per", "held_by", "free"),
    [
        ("account", "day", "limit:", 0),
        ("agent:main", "month", "limit:main", 1),
        ("agent", "day", "limit:main", 1),
        ("task:report", "forever", "limit:report", 2),
        ("task", "day", "limit:report", 2),
        ("session:agent:main:task:report", "month", "limit:agent:main:task:report", 2),
        ("session", "forever", "limit:agent:main:task:report", 2),
    ],
)
async def test_a_budget_limits_what_it_is_of_and_nothing_else(
    limited: Limited, gateway: ScriptedGateway, scope: str, per: BudgetPer, held_by: str, free: int
) -> None:
    gateway.rule = echo
    await limited.make_agent("other")
    await limited.limit(scope, per=per, tokens=1)
    await limited.ask("one", "task:report")
    waits = await limited.send("two", "task:report")
    others = [await limited.send("one", "task:minutes"), await limited.send("one", agent="other")]
    await limited.until_at_rest()
    assert (await limited.run(waits)).held_for == held_by
    assert [(await limited.run(other)).state for other in others].count("completed") == free


@requirement("P.budget.scopes")
async def test_a_budget_of_each_agent_counts_every_agent_by_itself_and_is_allowed_for_one(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    await limited.make_agent("other")
    await limited.limit("agent", runs=1)
    await limited.ask("one")
    assert (await limited.ask("one", agent="other")).state == "completed"
    held = [await limited.send("two"), await limited.send("two", agent="other")]
    await limited.until_at_rest()
    await limited.allow(subject="other")
    await limited.until_at_rest()
    assert [(await limited.run(run)).state for run in held] == ["queued", "completed"]


@requirement("P.budget.days")
async def test_a_budget_of_a_month_begins_anew_on_the_first_and_says_so(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    await limited.limit(per="month", tokens=1)
    await limited.ask("one")
    waits = await limited.send("two")
    await limited.until_at_rest()
    renews_at = (await limited.budget()).renews_at
    assert renews_at is not None
    assert renews_at[8:] == "01T00:00:00.000Z"
    now = await limited.read(lambda tx: tx.now)
    seconds = (datetime.fromisoformat(renews_at).timestamp() * 1000 - now) / 1000
    assert "renews on " in ((await limited.run(waits)).error_message or "")
    limited.advance(seconds - 60)
    await limited.until_at_rest()
    assert (await limited.run(waits)).state == "queued"
    limited.advance(60)
    assert (await limited.settled(waits)).state == "completed"


@requirement("P.budget.scopes")
async def test_a_budget_that_is_forever_lasts_longer_than_a_day(limited: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = echo
    await limited.limit("task:report", per="forever", tokens=1)
    await limited.ask("one", "task:report")
    waits = await limited.send("two", "task:report")
    for _ in range(2):
        await limited.until_at_rest()
        limited.advance(DAY_SECONDS)
    await limited.until_at_rest()
    held = await limited.run(waits)
    assert held.held_for == "limit:report"
    assert "raises it, or allows it once more" in (held.error_message or "")


@requirement("P.budget.warn")
async def test_a_budget_that_only_warns_tells_owners_and_holds_nothing(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    await limited.limit(name="early", action="warn", tokens=TOKENS_PER_STEP)
    for _ in range(3):
        assert (await limited.ask("go on")).state == "completed"
    told = await limited.read(lambda tx: newest_notifications(tx, limited.access, OWNERS, limit=10))
    assert [one.body for one in told] == [
        "Budget early of agent Main, 18 tokens a day, is used up; work goes on, because this budget only warns."
    ]
    await limited.limit(tokens=1)
    waits = await limited.send("go on")
    await limited.until_at_rest()
    assert (await limited.run(waits)).held_for == "limit:main", "of several budgets the one that waits holds"


@requirement("P.budget.cost")
async def test_a_budget_in_dollars_counts_what_tokens_cost_by_their_price(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    priced = Settings(
        prices={"scripted-model": PriceSettings(input=1_000_000, output=1_000_000)},
        runs=RunsSettings(concurrency=AT_ONCE),
    )
    async with limited_server(store_url, gateway, priced) as server:
        await server.limit(usd=20)
        await server.ask("one")
        assert (await server.budget()).spent.usd == 18.0
        await server.ask("two")
        await server.send("three")
        await server.until_at_rest()
        assert await server.count(WAITS) == 1


@requirement("P.budget.settings")
async def test_an_owners_budget_replaces_that_of_the_settings(store_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = echo
    by_settings = Settings(budgets={"limit": BudgetSettings(scope="agent", runs=1)})
    async with limited_server(store_url, gateway, by_settings) as server:
        await server.ask("one")
        await server.send("two")
        await server.until_at_rest()
        assert await server.count(WAITS) == 1
        assert (await server.budget(subject="main")).source == "settings"
        await server.limit(runs=2)
        await server.until_at_rest()
        assert await server.count("state = 'completed'") == 2
        assert (await server.budget()).source == "owner"


@requirement("P.budget.wall")
async def test_a_budget_holds_in_its_own_account_only(limited: Limited, gateway: ScriptedGateway) -> None:
    gateway.rule = echo
    other = await limited.another_account("other")
    await limited.limit(tokens=1)
    await limited.ask("one")
    await limited.send("two")
    free = await limited.send("three", access=other)
    await limited.until_at_rest()
    assert (await limited.run(free)).state == "completed"
    assert await limited.count(WAITS) == 1


@requirement("P.budget.deadline")
async def test_a_run_whose_sender_does_not_wait_that_long_fails_with_the_reason(
    limited: Limited, gateway: ScriptedGateway
) -> None:
    gateway.rule = echo
    await limited.limit(tokens=1)
    await limited.ask("one")
    ended = await limited.ask("two", timeout_seconds=60)
    assert (ended.state, ended.error_code) == ("failed", "budget_used_up")
    assert "is used up" in (ended.error_message or "")


@requirement("P.budget.cheap")
async def test_without_budgets_none_is_asked_for(limited: Limited, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("agents_list", {})), text("these"))
    assert isinstance(limited.db, WatchedDatabase)
    cost = limited.db.count_anew()
    await limited.ask("who is there?")
    assert [one.site for one in cost.statements if "budgets." in one.site] == []
    assert sum("usage.store" in one.site for one in cost.statements) == 3, "one for the run, one for each step"
