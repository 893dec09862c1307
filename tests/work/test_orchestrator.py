"""The orchestrator: its one chat, and what it hears of everything."""

import asyncio

import pytest

from carrel.kernel import Code
from carrel.sessions import Session
from carrel.work import TaskChange, TaskFilter, change_task, list_tasks, open_chat
from carrel.work.model import CHAT_TAG
from carrel.work.orchestrator import task_overview
from tests.requirements.mark import requirement
from tests.work.desk import ORCHESTRATOR, Desk, lane

pytestmark = pytest.mark.anyio


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
    heard = {held.session_key.agent: await desk.hear(held) for held in taken}
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


async def test_the_orchestrator_needs_no_flag(desk: Desk) -> None:
    await desk.coordinate()
    chief = desk.agent(ORCHESTRATOR)
    task = await desk.create("writer", access=chief)
    await desk.post(task, "begin", chief)
    assert ("writer", "assignment") in await desk.told(task)
    await desk.move(task, "review", "done", access=chief)
    assert (await desk.move(task, "archived", access=chief)).task.status == "archived"
