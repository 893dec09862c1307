"""Creating, changing, listing and ordering tasks."""

from typing import Any

from carrel.access import remove_user
from carrel.kernel import Code
from carrel.storage import Tx
from carrel.work import Task, TaskChange, TaskFilter, change_task, list_tasks, reorder_tasks
from carrel.work.store import dependencies_of, parties_of
from tests.harness.tasks import ensure_task
from tests.requirements.mark import requirement
from tests.work.desk import Desk


async def change(desk: Desk, task: Task, **changes: Any) -> Task:
    changed = TaskChange(**changes)
    return (await desk.db.write(lambda tx: change_task(tx, desk.access, task.id, changed, desk.rules))).task


async def listed(desk: Desk, **wanted: Any) -> list[str]:
    found = await desk.read(lambda tx: list_tasks(tx, desk.access, TaskFilter(**wanted), before=None, limit=50))
    return [task.title for task in found]


@requirement("S0.x.create.status", "S0.work.needs")
async def test_a_task_begins_with_the_status_that_fits(desk: Desk) -> None:
    assert (await desk.create()).status == "inbox"
    assert (await desk.create("writer")).status == "assigned"
    assert (await desk.create("writer", status="doing")).status == "in_progress"
    assert (await desk.create(status="blocked", blocked_reason="paint")).blocked_reason == "paint"
    for status in ("review", "done", "archived", "nonsense"):
        assert await desk.refused(desk.create("writer", status=status)) == Code.INVALID_PARAMS
    for status in ("assigned", "in_progress"):
        assert await desk.refused(desk.create(status=status)) == Code.ASSIGNEE_REQUIRED
    assert await desk.refused(desk.create("writer", status="inbox")) == Code.INVALID_PARAMS
    assert await desk.refused(desk.create(status="blocked")) == Code.BLOCKED_REASON_REQUIRED


async def test_a_refused_task_leaves_nothing(desk: Desk) -> None:
    assert await desk.refused(desk.create("writer", dependencies=("none",))) == Code.INVALID_PARAMS
    assert await listed(desk, include_archived=True) == []
    assert await desk.events("task.created") == []


@requirement("S0.work.sizes")
async def test_what_is_too_large_is_refused(desk: Desk) -> None:
    assert await desk.refused(desk.create(title="x" * 2_001)) == Code.TOO_LONG
    assert await desk.refused(desk.create(metadata={"x": "y" * 16_400})) == Code.TOO_LONG
    task = await desk.create()
    assert await desk.refused(desk.post(task, "x" * 200_001)) == Code.TOO_LONG
    assert await desk.refused(change(desk, task, description="x" * 100_001)) == Code.TOO_LONG
    assert await desk.refused(desk.post(task, " ")) == Code.INVALID_PARAMS
    many = tuple([(await desk.create()).id for _ in range(101)])
    assert await desk.refused(change(desk, task, dependencies=many)) == Code.LIMIT_REACHED


async def test_dependencies_and_parents_form_no_circle(desk: Desk) -> None:
    one = await desk.create()
    two = await desk.create(dependencies=(one.id,))
    three = await desk.create(dependencies=(two.id,), parent_id=two.id)
    for target in (one, two, three):
        assert await desk.refused(change(desk, one, dependencies=(target.id,))) == Code.INVALID_PARAMS
    await change(desk, two, parent_id=one.id)
    for target in (one, two, three):
        assert await desk.refused(change(desk, one, parent_id=target.id)) == Code.INVALID_PARAMS
    await change(desk, two, dependencies=(), parent_id=None)
    changed = await change(desk, one, dependencies=(three.id, three.id))
    found = await desk.read(lambda tx: dependencies_of(tx, desk.access, [one.id, two.id]))
    assert found == {one.id: [three.id]}
    again = await change(desk, one, dependencies=(three.id,))
    assert again.seq == changed.seq, "the same dependencies are no change"


async def test_what_is_walked_in_a_write_is_bounded(desk: Desk) -> None:
    deep = await desk.create()
    for _ in range(49):
        deep = await desk.create(parent_id=deep.id)
    assert await desk.refused(desk.create(parent_id=deep.id)) == Code.LIMIT_REACHED
    other = await desk.create()
    assert await desk.refused(change(desk, other, parent_id=deep.id)) == Code.LIMIT_REACHED

    def close_a_circle(tx: Tx) -> None:
        first = tx.one("SELECT min(id) FROM tasks WHERE account_id = :account", desk.access)
        values = {"parent": deep.id, "id": first[0] if first else ""}
        tx.run("UPDATE tasks SET parent_id = :parent WHERE account_id = :account AND id = :id", desk.access, **values)

    await desk.db.write(close_a_circle)
    assert await desk.refused(change(desk, other, parent_id=deep.id)) == Code.LIMIT_REACHED, "not an endless walk"
    leaves = [f"leaf_{n}" for n in range(1_000)]

    def make_leaves(tx: Tx) -> None:
        for leaf in leaves:
            ensure_task(tx, desk.access, leaf)

    await desk.db.write(make_leaves)
    middle = [(await desk.create(dependencies=tuple(leaves[n : n + 100]))).id for n in range(0, 1_000, 100)]
    assert await desk.refused(desk.create(dependencies=tuple(middle))) == Code.LIMIT_REACHED
    await desk.create(dependencies=tuple(middle[1:]))


async def test_a_change_of_nothing_is_no_change(desk: Desk) -> None:
    task = await desk.create(tags=("a", "b"))
    before = len(await desk.events("task.updated"))
    assert await change(desk, task, title=task.title, tags=("a", "b"), pinned=False, color=None) == task
    assert len(await desk.events("task.updated")) == before
    changed = await change(desk, task, title="New", pinned=True)
    assert (changed.title, changed.pinned, changed.seq > task.seq) == ("New", True, True)
    assert len(await desk.events("task.updated")) == before + 1


@requirement("S4.x.status.spelling")
async def test_a_change_walks_to_a_status_and_makes_the_task_the_actors_where_it_is_nobodys(desk: Desk) -> None:
    ada = await desk.person("ada")
    task = await desk.create()
    as_ada = await desk.db.write(lambda tx: change_task(tx, ada, task.id, TaskChange(status="done"), desk.rules))
    assert as_ada.task.status == "done"
    parties = await desk.read(lambda tx: parties_of(tx, desk.access, task.id))
    assert [party.party_id for party in parties if party.assigned_at is not None] == [ada.actor_id]


async def test_tasks_are_found_by_status_assignee_tag_and_pin(desk: Desk) -> None:
    await desk.create("writer", title="one", tags=('a "quoted" tag', "100%"), pinned=True)
    await desk.create(title="two", tags=("A", "100 percent", "a_b"))
    gone = await desk.create(title="gone", tags=("a",))
    await desk.move(gone, "archived")
    assert await listed(desk) == ["two", "one"]
    assert await listed(desk, include_archived=True) == ["gone", "two", "one"]
    assert await listed(desk, status="archived") == ["gone"]
    assert await listed(desk, assignee_id="writer") == ["one"]
    assert await listed(desk, pinned=True) == ["one"]
    assert await listed(desk, tag='a "quoted" tag') == ["one"]
    assert await listed(desk, tag="100%") == ["one"]
    assert await listed(desk, tag="A") == ["two"], "in the case in which it was given"
    assert await listed(desk, tag="axb") == []
    assert await listed(desk, tag="quoted") == []


async def test_an_order_keeps_the_places_among_all_others(desk: Desk) -> None:
    one, two, three = [await desk.create(title=title) for title in ("one", "two", "three")]
    await desk.db.write(lambda tx: reorder_tasks(tx, desk.access, (three.id, one.id)))
    indexes = {task.title: (await desk.task(task)).sort_index for task in (one, two, three)}
    assert sorted(indexes, key=lambda title: indexes[title]) == ["three", "two", "one"]
    missing = (one.id, "none")
    assert await desk.refused(desk.db.write(lambda tx: reorder_tasks(tx, desk.access, missing))) == Code.NOT_FOUND


async def test_a_user_who_is_removed_has_nothing_to_do_with_any_task(desk: Desk) -> None:
    ada = await desk.person("ada")
    task = await desk.create(assigned_user_ids=("ada",))
    both = await desk.create("writer", assigned_user_ids=("ada",))
    await desk.db.write(lambda tx: remove_user(tx, desk.access, ada.actor_id))
    assert await desk.subscribers(task) == {"owners"}
    assert ((await desk.task(task)).status, (await desk.task(both)).status) == ("inbox", "assigned")
    assert [each.id for each in await desk.post(task, "hello") if each.kind == "user"] == []
