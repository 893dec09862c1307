"""The orchestrator: its one chat, and what it hears of everything."""

import asyncio

from msgspec import UNSET, structs

from carrel.access import make_space
from carrel.journal import DEFAULT_SPACE
from carrel.kernel import Code
from carrel.kernel.limits import OVERVIEW_TOP_TASKS
from carrel.sessions import Session
from carrel.work import TaskChange, TaskFilter, change_task, list_tasks, open_chat
from carrel.work.model import CHAT_TAG
from carrel.work.orchestrator import task_overview
from tests.requirements.mark import requirement
from tests.work.desk import ORCHESTRATOR, Desk, lane


@requirement("S0.orch.chat")
async def test_an_account_has_one_chat_that_is_in_no_list(desk: Desk) -> None:
    opened = await asyncio.gather(*(desk.db.write(lambda tx: open_chat(tx, desk.access)) for _ in range(5)))
    chat = await desk.coordinate()
    assert {each.id for each in opened} == {chat}
    await desk.settings(orchestratorAgentId="writer")
    assert await desk.coordinate() == chat
    rows = await desk.read(lambda tx: tx.all("SELECT id FROM tasks WHERE account_id = :account", desk.access))
    assert [row[0] for row in rows] == [chat]
    wanted = TaskFilter(include_archived=True)
    assert await desk.read(lambda tx: list_tasks(tx, desk.access, wanted, before=None, limit=10)) == []
    assert {one.count for one in await desk.read(lambda tx: task_overview(tx, desk.access))} == {0}
    assert (await desk.task(chat)).tags == (CHAT_TAG,)


@requirement("S0.orch.overview")
async def test_the_overview_counts_every_open_status_and_names_the_most_urgent_then_the_newest(desk: Desk) -> None:
    await desk.coordinate()
    ways = {
        "inbox": (), "assigned": ("writer",), "in_progress": ("writer",), "review": ("writer",), "blocked": ("writer",),
        "done": ("writer",), "archived": ("writer",),
    }  # fmt: skip
    for status, agents in ways.items():
        for priority in (3, 1, 2, 1):
            desk.advance(1)
            task = await desk.create(*agents, title=f"{status} {priority}", priority=priority)
            if status not in ("inbox", "assigned"):
                change = TaskChange(status=status, blocked_reason="paint" if status == "blocked" else UNSET)
                await desk.db.write(lambda tx, task=task, change=change: change_task(  # type: ignore[misc]
                    tx, desk.access, task.id, change, desk.rules))  # fmt: skip
    found = await desk.read(lambda tx: task_overview(tx, desk.access))
    assert [(one.status, one.count) for one in found] == [
        (status, 4) for status in ("inbox", "assigned", "in_progress", "review", "blocked")
    ]
    for one in found:
        assert [task.title for task in one.top] == [f"{one.status} {priority}" for priority in (1, 1, 2)]
        assert one.top[0].created_at > one.top[1].created_at


@requirement("S0.orch.overview")
async def test_the_overview_looks_at_the_newest_hundred_of_a_status(desk: Desk) -> None:
    await desk.coordinate()
    desk.advance(1)
    await desk.create(title="urgent and old", priority=1)
    for number in range(100):
        desk.advance(1)
        await desk.create(title=f"{number}", priority=3)
    inbox = (await desk.read(lambda tx: task_overview(tx, desk.access)))[0]
    assert (inbox.count, [task.title for task in inbox.top]) == (100, ["99", "98", "97"])


@requirement("S0.orch.chat")
async def test_the_chat_can_be_opened_but_not_changed_moved_assigned_or_archived(desk: Desk) -> None:
    chat = await desk.task(await desk.coordinate())
    for status in ("review", "blocked", "archived"):
        assert await desk.refused(desk.move(chat, status, reason="x")) == Code.FORBIDDEN
    assert await desk.refused(desk.assign(chat, "writer")) == Code.FORBIDDEN
    changing = desk.db.write(lambda tx: change_task(tx, desk.access, chat.id, TaskChange(title="x"), desk.rules))
    assert await desk.refused(changing) == Code.FORBIDDEN


@requirement("S0.orch.fanout")
async def test_only_the_orchestrator_hears_its_chat_whoever_is_mentioned(desk: Desk) -> None:
    chat = await desk.coordinate()
    told = await desk.post(chat, "@writer @critic and @all: how is it going?")
    assert [(each.id, each.type) for each in told if each.kind == "agent"] == [(ORCHESTRATOR, "mention")]
    await desk.post(chat, "and you?")
    assert await desk.told(chat) == [(ORCHESTRATOR, "mention"), (ORCHESTRATOR, "thread_update")]
    await desk.say(lane("writer", chat), "hello")
    taken = await desk.take(3)
    heard = {held.session_key.agent: await desk.admit(held) for held in taken}
    assert isinstance(heard[ORCHESTRATOR], Session)
    assert not isinstance(heard["writer"], Session)


@requirement("S0.orch.chat")
async def test_other_agents_neither_find_nor_write_to_the_chat(desk: Desk) -> None:
    chat = await desk.task(await desk.coordinate())
    assert await desk.refused(desk.request(chat, "critic", access=desk.agent("writer"))) == Code.NOT_FOUND
    asked = await desk.request(chat, "critic", access=desk.agent(ORCHESTRATOR))
    assert [one.reason for one in asked.skipped] == ["not_found"]


@requirement("S0.fanout.subscribe")
async def test_the_orchestrator_hears_of_tasks_from_before_its_time(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    await desk.coordinate()
    await desk.post(task, "who is in charge?")
    assert await desk.told(task) == [(ORCHESTRATOR, "thread_update"), ("writer", "thread_update")]
    await desk.work_off()
    await desk.move(task, "in_progress", "review")
    assert (ORCHESTRATOR, "status_change") in await desk.told(task)


async def test_the_overview_counts_tasks_everywhere_and_shows_the_most_urgent(desk: Desk) -> None:
    await desk.db.write(lambda tx: make_space(tx, desk.access, "Elsewhere"))
    await desk.create("writer", title="assigned")
    for title, priority in (("first", 3), ("urgent", 1), *((f"later {n}", 3) for n in range(OVERVIEW_TOP_TASKS))):
        desk.advance(1)
        await desk.create(title=title, priority=priority, space_id="space-elsewhere")
    here = structs.replace(desk.agent(ORCHESTRATOR), space_ids=(DEFAULT_SPACE,))
    overview = {one.status: one for one in await desk.read(lambda tx: task_overview(tx, here))}
    newest_first = [f"later {n}" for n in reversed(range(OVERVIEW_TOP_TASKS))]
    assert {status: one.count for status, one in overview.items() if one.count} == {
        "inbox": OVERVIEW_TOP_TASKS + 2,
        "assigned": 1,
    }
    assert [task.title for task in overview["inbox"].top] == ["urgent", *newest_first[:-1]]


async def test_what_an_agent_writes_mentions_nobody(desk: Desk) -> None:
    await desk.coordinate()
    task = await desk.create("writer")
    await desk.work_off()
    told = await desk.post(task, "@critic, have a look", desk.agent(ORCHESTRATOR))
    assert [(each.id, each.type) for each in told if each.kind == "agent"] == [("writer", "thread_update")]
    assert "critic" not in await desk.subscribers(task)


async def test_the_orchestrator_needs_no_flag(desk: Desk) -> None:
    await desk.coordinate()
    chief = desk.agent(ORCHESTRATOR)
    task = await desk.create("writer", access=chief)
    await desk.post(task, "begin", chief)
    assert ("writer", "assignment") in await desk.told(task)
    await desk.move(task, "review", "done", access=chief)
    assert (await desk.move(task, "archived", access=chief)).task.status == "archived"
