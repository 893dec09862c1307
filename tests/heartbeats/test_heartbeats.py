"""Heartbeats: when an agent is woken, for what, and what becomes of its answer."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from carrel.access import owner_of_default
from carrel.agents import change_agent, require_agent
from carrel.heartbeats import heartbeat_duty
from carrel.heartbeats.store import HEARTBEATS
from carrel.journal import NewEntry, append_entry, entries_of_session, entries_of_task
from carrel.kernel import MS_PER_DAY, Access, Provenance, SessionKey, iso
from carrel.kernel.limits import HEARTBEAT_ENTRIES_MAX, STALL_PAUSES_MINUTES
from carrel.runs import NeedsInput, Run
from carrel.sessions import insert_lane
from carrel.work import (
    NewTask,
    TaskChange,
    assign_task,
    change_task,
    create_task,
    post_message,
    request_responses,
)
from carrel.work.run_store import Stall, newest_run_of_task, put_stall
from carrel.work.store import answer_request
from tests.delivery.tasks import assign, make_task
from tests.harness.engine import LEASE_MS, Engine, open_engine
from tests.harness.server import Server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text

WRITER = SessionKey.of("writer", "main")


class Office(Engine):
    """An engine whose owner works on tasks while one agent gets heartbeats."""

    owner: Access

    async def beat(self) -> list[Run]:
        """Let the duty look until nothing is due; return the writer's heartbeats that are not over."""
        duty = heartbeat_duty(self.db, self.rules)
        while await duty.round() == 0:
            pass
        return [run for run in await self.runs(WRITER) if run.provenance_kind == "heartbeat" and not run.ended]

    async def finish(self) -> None:
        """End the one run that is due."""
        held = await self.take_one()
        await self.start_turn(held)
        await self.end(held)

    async def task(self, title: str = "A secret plan", **more: Any) -> str:
        """Create a task as the owner; return its id."""
        new = NewTask(title=title, **more)
        return (await self.db.write(lambda tx: create_task(tx, self.owner, new, self.rules))).id

    async def post(self, task_id: str, words: str) -> None:
        """Write to a thread as the owner."""
        await self.db.write(lambda tx: post_message(tx, self.owner, task_id, words, self.rules))

    async def profile(self, *, enabled: bool = True, **changes: Any) -> None:
        """Change the writer's profile."""

        def work(tx: Any) -> None:
            agent = require_agent(tx, self.access, "writer")
            profile = structs.replace(agent.profile, **changes)
            change_agent(tx, self.access, structs.replace(agent, profile=profile, enabled=enabled))

        await self.db.write(work)


@pytest.fixture
async def office(store_url: str) -> AsyncIterator[Office]:
    """An account with an agent `writer` that gets a heartbeat every half minute."""
    async with open_engine(store_url) as engine:
        opened = Office(engine.db, engine.clock, engine.access, engine.rules)
        opened.owner = await opened.read(owner_of_default)
        await opened.make_agent("writer", heartbeat_minutes=0.5)
        yield opened


@requirement("S0.heartbeat")
async def test_a_heartbeat_is_queued_in_the_main_lane_once_the_minutes_are_over(office: Office) -> None:
    task_id = await office.task()
    assert await office.beat() == []
    office.advance(30)
    (run,) = await office.beat()
    assert (run.key, run.task_id, run.state) == (str(WRITER), None, "queued")
    assert run.text == f'Heartbeat. Look at these tasks:\n- {task_id} "A secret plan": something new'
    assert await office.runs(SessionKey.of("writer", f"task:{task_id}")) == [], "no task lane is touched"


@requirement("S0.heartbeat")
async def test_none_is_queued_while_one_is_queued_running_or_waiting(office: Office) -> None:
    task_id = await office.task()
    office.advance(30)
    (first,) = await office.beat()

    async def is_alone() -> bool:
        await office.post(task_id, "more")
        office.advance(31)
        return [run.id for run in await office.beat()] == [first.id]

    assert await is_alone()
    (held,) = await office.take(lease_ms=10 * LEASE_MS)
    await office.start_turn(held)
    assert await is_alone()
    await office.end(held, NeedsInput(question="Which one?"))
    assert await is_alone()
    await office.cancel(first)
    office.advance(31)
    (second,) = await office.beat()
    assert second.id != first.id


async def test_a_heartbeat_that_two_servers_have_taken_is_queued_once(office: Office) -> None:
    task_id = await office.task()
    office.advance(30)
    one, other = heartbeat_duty(office.db, office.rules), heartbeat_duty(office.db, office.rules)
    ((item,), (same,)) = [await office.read(lambda tx, duty=duty: duty.take(tx, 10)) for duty in (one, other)]  # type: ignore[misc]
    await one.do(item)
    await office.finish()
    await office.post(task_id, "more")
    await other.do(same)
    assert len(await office.runs(WRITER)) == 1, "the next one is due in half a minute"


@requirement("S0.heartbeat")
async def test_none_is_queued_when_nothing_has_changed_but_what_the_agent_did_itself(office: Office) -> None:
    task_id = await office.task()
    office.advance(30)
    await office.beat()
    await office.finish()

    def write(tx: Any) -> None:
        own = NewEntry(
            type="conversation", role="assistant", content="I did something.", author="writer", author_kind="agent",
            provenance=Provenance(kind="internal_system"), key=str(WRITER), task_id=task_id, task_view="thread",
        )  # fmt: skip
        beat = NewEntry(
            type="conversation", role="user", content="Heartbeat.", author="system", key=str(WRITER),
            provenance=Provenance(kind="heartbeat"),
        )  # fmt: skip
        for entry in (own, beat):
            append_entry(tx, office.access, entry)

    await office.db.write(write)
    for _ in range(3):
        office.advance(30)
        assert await office.beat() == []
    await office.post(task_id, "something new")
    office.advance(30)
    assert len(await office.beat()) == 1


@requirement("S0.heartbeat", "A.stalled")
async def test_own_tasks_that_are_due_or_have_stalled_are_looked_at_although_nothing_has_changed(
    office: Office,
) -> None:
    now = office.clock.now_ms()
    dates = {"Late": now - MS_PER_DAY, "Soon": now + MS_PER_DAY // 2, "Far": now + 3 * MS_PER_DAY, "Stuck": None}
    made = {
        title: await office.task(title, assigned_agent_ids=("writer",), due_date=date) for title, date in dates.items()
    }
    await office.task("Another's", due_date=now)
    move = TaskChange(status="in_progress")
    await office.db.write(lambda tx: change_task(tx, office.owner, made["Stuck"], move, office.rules))
    while taken := await office.take(10):
        for held in taken:
            await office.start_turn(held)
            await office.end(held)
    office.advance(30)
    await office.beat()
    await office.finish()
    await office.db.write(lambda tx: give_up(tx, office, made["Stuck"]))
    office.advance(30)
    (run,) = await office.beat()
    assert run.text.split("\n")[1:] == [
        f'- {made["Late"]} "Late": overdue since {iso(now - MS_PER_DAY)}',
        f'- {made["Soon"]} "Soon": due {iso(now + MS_PER_DAY // 2)}',
        f'- {made["Stuck"]} "Stuck": it has stalled: no turn has said that it is done',
    ]


def give_up(tx: Any, office: Office, task_id: str) -> None:
    """Have a task taken up as often as is allowed."""
    run = newest_run_of_task(tx, office.access, task_id)
    assert run is not None
    times = len(STALL_PAUSES_MINUTES)
    account_id = office.access.account_id
    stall = Stall(account_id=account_id, task_id=task_id, run_id=run.id, taken_up=times, due_at=None)
    put_stall(tx, office.access, stall)


@requirement("S0.heartbeat")
async def test_a_response_that_the_agent_owes_is_looked_at_until_it_is_given(office: Office) -> None:
    task_id = await office.task()
    office.advance(30)
    await office.beat()
    await office.finish()
    asking = partial(request_responses, task_id=task_id, slugs=("writer",), message="Is it good?", rules=office.rules)
    await office.db.write(lambda tx: asking(tx, office.owner))
    office.advance(30)
    (run,) = await office.beat()
    assert "you were asked for a response" in run.text
    await office.cancel(run)
    await office.db.write(lambda tx: answer_request(tx, office.access, task_id, "writer"))
    office.advance(30)
    assert await office.beat() == []


@requirement("S0.heartbeat")
async def test_what_is_said_in_a_lane_of_the_agent_wakes_it_and_what_is_said_elsewhere_does_not(
    office: Office,
) -> None:
    def say(agent: str) -> Any:
        entry = NewEntry(
            type="conversation", role="user", content="hello", author="user",
            provenance=Provenance(kind="external_user"), key=f"agent:{agent}:hook:x",
        )  # fmt: skip

        def work(tx: Any) -> None:
            insert_lane(tx, office.access, SessionKey.of(agent, "hook:x"))
            append_entry(tx, office.access, entry)

        return work

    await office.db.write(say("main"))
    office.advance(30)
    assert await office.beat() == []
    await office.db.write(say("writer"))
    office.advance(30)
    (run,) = await office.beat()
    assert "Something new was said in your sessions." in run.text


@requirement("S0.heartbeat")
async def test_a_task_that_the_agent_may_not_read_does_not_wake_it(office: Office) -> None:
    await office.profile(space_ids=("space-elsewhere",))
    task_id = await office.task()
    office.advance(30)
    assert await office.beat() == []
    await office.db.write(lambda tx: assign_task(tx, office.owner, task_id, office.rules, agent_ids=("writer",)))
    office.advance(30)
    (run,) = await office.beat()
    assert task_id in run.text


@requirement("S0.heartbeat")
async def test_another_interval_takes_effect_at_once_and_a_disabled_agent_gets_none(office: Office) -> None:
    rung = office.db.bell(HEARTBEATS.bell).version
    await office.profile(heartbeat_minutes=60)
    assert office.db.bell(HEARTBEATS.bell).version > rung
    await office.task()
    office.advance(30)
    assert await office.beat() == []
    await office.profile(heartbeat_minutes=0.1)
    await office.task()
    office.advance(6)
    assert len(await office.beat()) == 1
    await office.finish()
    for change in ({"enabled": False}, {"heartbeat_minutes": 0}):
        await office.profile(**change)
        await office.task()
        office.advance(3_600)
        assert await office.beat() == []
        assert await due(office) == []


@requirement("S0.heartbeat")
async def test_another_change_of_the_agent_moves_no_heartbeat(office: Office) -> None:
    before = await due(office)
    office.advance(20)
    await office.profile(description="Writes reports.")
    assert await due(office) == before


async def due(office: Office) -> list[int]:
    """When heartbeats are due."""
    sql = "SELECT due_at FROM heartbeats WHERE account_id = :account"
    return [row[0] for row in await office.read(lambda tx: tx.all(sql, office.access))]


@pytest.mark.parametrize("minutes", [1e-9, 1e300])
async def test_an_interval_has_bounds(office: Office, minutes: float) -> None:
    await office.profile(heartbeat_minutes=minutes)
    (at,) = await due(office)
    assert 1_000 <= at - office.clock.now_ms() <= 366 * 86_400_000


async def test_many_entries_of_others_are_looked_at_in_parts_and_nothing_is_missed(office: Office) -> None:
    def chatter(tx: Any) -> None:
        entry = NewEntry(
            type="conversation", role="user", content="hello", author="user",
            provenance=Provenance(kind="external_user"), key="agent:main:hook:x",
        )  # fmt: skip
        insert_lane(tx, office.access, SessionKey.of("main", "hook:x"))
        for _ in range(2 * HEARTBEAT_ENTRIES_MAX):
            append_entry(tx, office.access, entry)

    await office.db.write(chatter)
    task_id = await office.task()
    office.advance(30)
    (run,) = await office.beat()
    assert task_id in run.text


async def test_several_servers_queue_one_heartbeat(office: Office) -> None:
    await office.task()
    office.advance(30)
    await asyncio.gather(*(heartbeat_duty(office.db, office.rules).round() for _ in range(5)))
    assert len(await office.beat()) == 1


async def test_an_agent_that_had_an_interval_before_there_were_heartbeats_is_looked_at_once(office: Office) -> None:
    def seed(tx: Any) -> None:
        """As the migration does for every agent."""
        tx.run("DELETE FROM heartbeats WHERE account_id = :account", office.access)
        for agent_id in ("main", "writer"):
            sql = "INSERT INTO heartbeats (account_id, agent_id, due_at, seq) VALUES (:account, :agent_id, 0, :seq)"
            tx.run(sql, office.access, agent_id=agent_id, seq=tx.tick())

    await office.db.write(seed)
    assert await office.beat() == []
    assert await due(office) == [office.clock.now_ms() + 30_000]


@requirement("S0.heartbeat", "S0.x.silence", "S0.x.base.growth")
async def test_the_answer_to_a_heartbeat_is_posted_nowhere_and_its_profile_is_its_own(
    server: Server, gateway: ScriptedGateway
) -> None:
    await server.make_agent("writer")
    gateway.script(text("I begin."), text("HEARTBEAT_OK"))
    task_id = await make_task(server, "A secret plan")
    await assign(server, task_id, "writer")
    run = await server.ask("Heartbeat.", agent="writer", kind="heartbeat")
    request = gateway.requests[-1]
    assert request.headers["x-openclaw-session-key"] == "agent:writer:main:v1"
    assert "This is a heartbeat" in request.json["instructions"]
    assert run.instructions_version, "a heartbeat carries a profile of instructions"
    assert "secret" not in request.body.decode()
    assert (run.state, run.reply, run.note) == ("completed", "", "no_reply")
    assert len(gateway.requests) == 2, "nobody waits for an answer"
    said = await server.read(lambda tx: entries_of_session(tx, server.access, run.session_id or "", limit=10))
    assert [entry.role for entry in said] == ["user"]


@requirement("S0.heartbeat")
async def test_a_heartbeat_may_write_to_the_thread_of_a_task_and_other_runs_of_the_agent_may_not(
    server: Server, gateway: ScriptedGateway
) -> None:
    await server.make_agent("writer")
    gateway.script(text("I begin."))
    task_id = await make_task(server, "The report")
    await assign(server, task_id, "writer")
    writing = calls(("task_message", {"taskId": task_id, "content": "It is late."}))
    for kind in ("external_user", "heartbeat"):
        gateway.script(writing, text("HEARTBEAT_OK"))
        await server.ask("Look after your tasks.", agent="writer", kind=kind)
    thread = await server.read(lambda tx: entries_of_task(tx, server.access, task_id, "thread", limit=10))
    assert [entry.content for entry in thread] == ["I begin.", "It is late."]
