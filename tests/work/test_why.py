"""Why a task is not moving: every code, and what can be done."""

from carrel.access import make_user
from carrel.runs import NeedsInput
from carrel.work import Task, explain_task
from tests.work.desk import Desk, lane


async def codes(desk: Desk, task: Task) -> tuple[bool, list[str]]:
    why = await desk.read(lambda tx: explain_task(tx, desk.access, task.id))
    assert all(reason.text and (reason.actions or reason.code == "archived") for reason in why.reasons)
    return why.moving, [reason.code for reason in why.reasons]


async def test_a_task_at_rest_says_so(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    await desk.move(task, "in_progress")
    await desk.work_off()
    await desk.move(task, "blocked", reason="no paint")
    assert await codes(desk, task) == (False, ["blocked"])
    await desk.move(task, "in_progress")
    await desk.work_off()
    await desk.move(task, "review")
    assert await codes(desk, task) == (False, ["waiting_approval"])
    await desk.move(task, "done")
    assert await codes(desk, task) == (False, ["done"])
    await desk.move(task, "archived")
    assert await codes(desk, task) == (False, ["archived"])


async def test_a_task_that_waits_for_another_or_for_somebody_says_so(desk: Desk) -> None:
    other = await desk.create()
    assert await codes(desk, other) == (False, ["nobody_assigned"])
    task = await desk.create("writer", dependencies=(other.id,))
    await desk.work_off()
    assert await codes(desk, task) == (False, ["waiting_dependency", "waiting_input"])
    await desk.move(other, "archived")
    assert await codes(desk, task) == (False, ["waiting_input"])
    await desk.disable("writer")
    assert await codes(desk, task) == (False, ["agent_disabled"])


async def test_a_task_that_only_people_have_is_up_to_them(desk: Desk) -> None:
    ada = await desk.db.write(lambda tx: make_user(tx, desk.access, name="Ada", slug="ada", email=None, role="member"))
    task = await desk.create(assigned_user_ids=(ada.id,))
    why = await desk.read(lambda tx: explain_task(tx, desk.access, task.id))
    assert [reason.text for reason in why.reasons] == ["It is up to Ada."]
    assert why.reasons[0].actions == ["move it to in_progress", "assign an agent"]


async def test_a_task_that_is_worked_on_moves(desk: Desk) -> None:
    task = await desk.create("writer")
    held = await desk.take_one()
    await desk.admit(held)
    assert (await codes(desk, task))[0]
    await desk.end(held, NeedsInput(question="which?"))
    moving, found = await codes(desk, task)
    assert (moving, len(found)) == (False, 1)
    assert await desk.live(lane("writer", task))
