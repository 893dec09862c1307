"""The order of tasks within a column of the board: where a task goes, and how room is made for it.

Tasks are ordered by rank, then by id, so that the order is the same for everyone. Ranks are fractions: a task between
two others gets a rank between theirs. If none is left, the ranks around it are spread anew.
"""

from msgspec import UNSET, structs

from carrel.access import hold_account
from carrel.kernel import Access, invalid
from carrel.kernel.limits import TASK_RANK_GAP_MIN, TASKS_SPREAD_AT_ONCE
from carrel.storage import Tx
from carrel.visibility import tasks_seen
from carrel.work import store
from carrel.work.activities import publish
from carrel.work.model import Status, Task, TaskChange


def first_rank(tx: Tx, access: Access, status: Status) -> float:
    """Return the rank of a task that enters a column: it comes first, where whoever moved it finds it."""
    lowest = store.lowest_rank(tx, access, status)
    return 0.0 if lowest is None else lowest - 1


def hold_order(tx: Tx, access: Access, change: TaskChange) -> None:
    """Lock the order of the board if a change puts a task next to another; before any task is locked.

    Two reorderings at once would otherwise deadlock, or spread the same tasks twice.
    """
    if change.before_id is not UNSET and change.after_id is not UNSET:
        raise invalid("afterId", "Send beforeId or afterId, not both.")
    if _neighbour_id(change) is None:
        return
    if change.sort_index is not UNSET:
        raise invalid("position", "Send position, beforeId or afterId, not several of them.")
    hold_account(tx, access)


def put_beside(tx: Tx, access: Access, task: Task, change: TaskChange) -> Task:
    """Put a locked task before or after another one, in the column that it is in now."""
    if (wanted := _neighbour_id(change)) is None:
        return task
    field, above = ("beforeId", True) if change.before_id is not UNSET else ("afterId", False)
    other = store.task_by_id(tx, access, wanted)
    if other is None or other.is_chat or not tasks_seen(tx, access, [wanted]):
        raise invalid(field, f"There is no task '{wanted[:80]}'.")
    if other.id == task.id:
        return task
    while (rank := _rank_beside(tx, access, task, other, above=above)) is None:
        _spread(tx, access, task, other)
        other = store.task_by_id(tx, access, wanted) or other
    if rank == task.sort_index:
        return task
    moved = store.save_task(tx, access, structs.replace(task, sort_index=rank))
    publish(tx, access, "task.updated", moved)
    return moved


def _neighbour_id(change: TaskChange) -> str | None:
    wanted = change.before_id if change.before_id is not UNSET else change.after_id
    return wanted if isinstance(wanted, str) else None


def _rank_beside(tx: Tx, access: Access, task: Task, other: Task, *, above: bool) -> float | None:
    """The rank between a task and the next one of the column; None if there is none left between them."""
    beside = store.tasks_beside(tx, access, task.status, other.sort_index, other.id, task.id, above=above, limit=1)
    if not beside:
        return other.sort_index + (-1 if above else 1)
    gap = abs(beside[0].sort_index - other.sort_index)
    return (beside[0].sort_index + other.sort_index) / 2 if gap >= TASK_RANK_GAP_MIN else None


def _spread(tx: Tx, access: Access, task: Task, other: Task) -> None:
    """Spread the ranks around a neighbour evenly, over as many tasks as needed to make room."""
    most = TASKS_SPREAD_AT_ONCE // 2
    while True:
        lower, upper = (
            store.tasks_beside(
                tx, access, task.status, other.sort_index, other.id, task.id, above=above, limit=most + 1
            )
            for above in (True, False)
        )
        # The outermost ones keep their ranks, unless they are the ends of the column.
        start = lower.pop().sort_index if len(lower) > most else (lower or [other])[-1].sort_index - len(lower) - 1
        end = upper.pop().sort_index if len(upper) > most else (upper or [other])[-1].sort_index + len(upper) + 1
        around = [*reversed(lower), other, *upper]
        step = (end - start) / (len(around) + 1)
        # At an end of the column there is always enough room, so the loop ends.
        if step > 2 * TASK_RANK_GAP_MIN:
            break
        most *= 2
    held = {one: store.hold_task(tx, access, one) for one in sorted(each.id for each in around)}
    for at, each in enumerate(around, start=1):
        if (now := held[each.id]) is not None:
            changed = structs.replace(now, sort_index=start + at * step)
            publish(tx, access, "task.updated", store.save_task(tx, access, changed))
