"""Assigning: the moves it causes, who is notified, and how often."""

from carrel.kernel import Code
from carrel.work import TaskChange, change_task, task_shape
from tests.requirements.mark import requirement
from tests.work.desk import Desk


@requirement("S0.work.assign", "S0.fanout.assign", "S0.fanout.run")
async def test_assigning_moves_the_task_out_of_the_inbox_and_notifies_once(desk: Desk) -> None:
    ada = await desk.person("ada")
    task = await desk.create()
    for _ in range(2):
        assigned = await desk.assign(task, "writer", user_ids=("ada",))
        assert assigned.status == "assigned"
    assert await desk.told(task) == [("writer", "assignment")]
    (note,) = await desk.mailbox(ada.actor_id)
    assert (note.type, note.task_id, note.read_at) == ("assignment", task.id, None)
    assert note.title == "Olga assigned you to: Write the report"
    assert await desk.subscribers(task) == {"owners", "writer", ada.actor_id}
    assert len(await desk.events("task.assigned")) == 1


@requirement("S0.work.assign")
async def test_taking_the_last_assignee_off_moves_the_task_back_and_ends_the_subscription(desk: Desk) -> None:
    task = await desk.create("writer", "critic")
    assert (await desk.assign(task, "writer", remove=True)).status == "assigned"
    assert (await desk.assign(task, "writer", remove=True)).status == "assigned", "taken off twice is once"
    assert (await desk.assign(task, "critic", remove=True)).status == "inbox"
    assert await desk.subscribers(task) == {"owners"}
    started = await desk.create("writer")
    await desk.move(started, "in_progress")
    assert (await desk.assign(started, "writer", remove=True)).status == "in_progress"


async def test_an_assignment_that_was_taken_back_is_not_heard(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.assign(task, "writer", remove=True)
    held = await desk.take_one()
    refused = await desk.admit(held)
    assert (await desk.run(held.id)).reason == "policy", refused
    assert await desk.sessions(task) == []


async def test_who_assigns_themselves_is_not_notified(desk: Desk) -> None:
    ada = await desk.person("ada")
    task = await desk.create(access=ada)
    await desk.assign(task, user_ids=("ada",), access=ada)
    assert await desk.mailbox(ada.actor_id) == []


async def test_what_cannot_be_assigned_is_refused(desk: Desk) -> None:
    task = await desk.create()
    assert await desk.refused(desk.assign(task, "nobody")) == Code.INVALID_PARAMS
    assert await desk.refused(desk.assign(task, user_ids=("nobody",))) == Code.INVALID_PARAMS
    assert await desk.refused(desk.assign(task, "critic", access=desk.agent("writer"))) == Code.FORBIDDEN
    await desk.disable("critic")
    assert await desk.refused(desk.assign(task, "writer", "critic")) == Code.FORBIDDEN
    assert (await desk.task(task)).status == "inbox", "all or none"
    await desk.move(task, "archived")
    assert await desk.refused(desk.assign(task, "writer")) == Code.ILLEGAL_TRANSITION


async def test_a_task_has_a_limited_number_of_assignees(desk: Desk) -> None:
    for n in range(200):
        await desk.make_agent(f"agent-{n:03}")
    task = await desk.create(*(f"agent-{n:03}" for n in range(200)))
    assert await desk.refused(desk.assign(task, "writer")) == Code.LIMIT_REACHED


async def test_a_list_of_assignees_replaces_those_of_its_kind(desk: Desk) -> None:
    ada = await desk.person("ada")
    task = await desk.create("writer", assigned_user_ids=("ada",))
    change = TaskChange(assigned_agent_ids=("critic",))
    await desk.db.write(lambda tx: change_task(tx, desk.access, task.id, change, desk.rules))
    changed = await desk.task(task)
    shape = await desk.read(lambda tx: task_shape(tx, desk.access, changed))
    assert (shape.assigned_agent_ids, shape.assigned_user_ids) == (["critic"], [ada.actor_id])
    assert shape.status == "assigned"


@requirement("S0.orch.fanout")
async def test_what_the_orchestrator_assigns_is_taken_up_at_once(desk: Desk) -> None:
    await desk.coordinate()
    task = await desk.create()
    assert (await desk.assign(task, "writer", access=desk.agent("chief"))).status == "in_progress"
    assert await desk.told(task) == [("writer", "assignment")]
