"""The order of tasks within a column: put next to another, kept, spread anew, the same after concurrent moves."""

import asyncio
import random
from itertools import pairwise

import pytest

from carrel.kernel import Refusal
from carrel.kernel.limits import TASK_RANK_GAP_MIN, TASKS_SPREAD_AT_ONCE
from carrel.work import Task, TaskChange, TaskFilter, change_task, list_tasks
from tests.harness.engine import within
from tests.work.desk import Desk


async def column(desk: Desk, status: str = "inbox") -> list[Task]:
    wanted = TaskFilter(status=status)
    return await desk.read(lambda tx: list_tasks(tx, desk.access, wanted, by_position=True, limit=500))


async def titles(desk: Desk, status: str = "inbox") -> str:
    return "".join(task.title for task in await column(desk, status))


async def put(desk: Desk, task: Task, **where: str) -> Task:
    change = TaskChange(**where)  # type: ignore[arg-type]
    return (await desk.db.write(lambda tx: change_task(tx, desk.access, task.id, change, desk.rules))).task


async def test_a_task_is_put_before_or_after_another(desk: Desk) -> None:
    a, b, c, d = [await desk.create(title=name) for name in "abcd"]
    assert await titles(desk) == "abcd"
    await put(desk, d, before_id=b.id)
    assert await titles(desk) == "adbc"
    await put(desk, a, after_id=c.id)
    assert await titles(desk) == "dbca"
    await put(desk, c, before_id=d.id)
    assert await titles(desk) == "cdba"
    # Where it is already, and next to itself: nothing changes.
    assert (await put(desk, c, before_id=c.id)).seq == (await column(desk))[0].seq


async def test_a_task_that_enters_a_column_comes_first_unless_it_is_put_elsewhere(desk: Desk) -> None:
    a, b, c = [await desk.create("writer", title=name) for name in "abc"]
    for task in (a, b):
        await put(desk, task, status="in_progress")
    assert await titles(desk, "in_progress") == "ba"
    await put(desk, c, status="in_progress", after_id=b.id)
    assert await titles(desk, "in_progress") == "bca"


async def test_neighbours_are_spread_when_no_number_is_left_between_them(desk: Desk) -> None:
    count = TASKS_SPREAD_AT_ONCE + 6
    tasks = [await desk.create(title=f"{at:02}") for at in range(count)]
    first, last = tasks[0], tasks[-1]
    order = [task.title for task in tasks]
    # Each goes right behind the first, so that the gap there is halved every time.
    for task in tasks[1:-1]:
        await put(desk, task, after_id=first.id)
        order.remove(task.title)
        order.insert(1, task.title)
    ranks = [task.sort_index for task in await column(desk)]
    assert [task.title for task in await column(desk)] == order
    assert all(below - above >= TASK_RANK_GAP_MIN / 2 for above, below in pairwise(ranks))
    assert (await column(desk))[-1].id == last.id


@pytest.mark.parametrize(
    "where", [{"before_id": "nothing"}, {"before_id": "a", "after_id": "b"}, {"before_id": "a", "sort_index": 1.0}]
)
async def test_a_place_that_means_nothing_is_refused(desk: Desk, where: dict[str, str]) -> None:
    task = await desk.create()
    with pytest.raises(Refusal):
        await put(desk, task, **where)


@pytest.mark.parametrize("seed", range(3))
async def test_concurrent_moves_leave_one_order_with_every_task_in_it_once(desk: Desk, seed: int) -> None:
    chance = random.Random(seed)
    tasks = [await desk.create(title=str(at)) for at in range(8)]

    async def drag() -> None:
        for _ in range(6):
            task, other = chance.sample(tasks, 2)
            await put(desk, task, **{chance.choice(("before_id", "after_id")): other.id})

    await within(asyncio.gather(drag(), drag(), drag()), 30)
    listed = await column(desk)
    assert sorted(task.title for task in listed) == sorted(task.title for task in tasks)
    assert listed == sorted(listed, key=lambda task: (task.sort_index, task.id))
    assert listed == await column(desk)
