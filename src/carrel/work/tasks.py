"""Creating, changing, finding and ordering tasks."""

import re
from typing import Any

from msgspec import UNSET, UnsetType, structs

from carrel.access import hold_account
from carrel.kernel import Access, Code, Grammar, Refusal, invalid, limits, not_found
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.topics import read_priority
from carrel.visibility import tasks_seen
from carrel.work import store
from carrel.work.activities import publish, record
from carrel.work.assignments import Parties, assign, leaves_inbox_as, named_parties, replace_assignees
from carrel.work.directory import directory_of
from carrel.work.locations import location_of_new, place_of_changed, take_entries_along
from carrel.work.model import (
    CHAT_NAME,
    NEEDS_ASSIGNEE,
    REASON_NOT_GIVEN,
    CreatedBy,
    NewTask,
    Searchable,
    Task,
    TaskChange,
    TaskFilter,
    check_metadata,
    check_texts,
    read_status,
    statuses_meant,
)
from carrel.work.moves import Moved, enter_status, move_held, refuse_chat, require_expected, require_reason
from carrel.work.permissions import Actor, actor_of, readable_task
from carrel.work.positions import hold_order, put_beside
from carrel.work.shapes import TaskShape, task_shapes

_ID = re.compile(Grammar.CLIENT_ID)
# Fields that have no rule beyond their size.
_PLAIN = ("title", "description", "tags", "due_date", "snoozed_until", "pinned", "color", "sort_index", "metadata")
# What a changed field is called in the activity; only other dependencies change the number by themselves.
_CHANGED_NAMES = dict(zip(Task.__struct_fields__, Task.__struct_encode_fields__, strict=True)) | {"seq": "dependencies"}
# A match counts most in the title, least in the reason why a task is blocked.
_WEIGHTS = {"title": 3, "description": 2, "blocked_reason": 1}


def create_task(
    tx: Tx, access: Access, new: NewTask, rules: Rules, *, actor: Actor | None = None,
    created_by: CreatedBy | None = None,
) -> Task:  # fmt: skip
    """Create a task, assign it if requested, and notify the assignees.

    `actor` is who does it, if known; `created_by` is said of it unless that is a person or an agent.
    """
    actor = actor or actor_of(tx, access)
    actor.require("create")
    check_texts(new.title, new.description, new.blocked_reason, new.tags)
    check_metadata(new.metadata)
    _check_id(new.id)
    directory = directory_of(tx, access)
    parties = named_parties(tx, access, new.assigned_agent_ids, new.assigned_user_ids)
    if parties:
        actor.require("assign")
    usual = leaves_inbox_as(actor) if parties else "inbox"
    status = read_status(new.status or usual, has_assignee=bool(parties), first=True)
    _require_first(status, new, parties)
    task = insert_new(tx, access, actor, new, created_by)
    if actor.kind != "system":
        store.subscribe(tx, access, task.id, *actor.party)
    if directory.orchestrator is not None:
        store.subscribe(tx, access, task.id, "agent", directory.orchestrator)
    set_dependencies(tx, access, task, new.dependencies)
    record(tx, access, actor, task, "created", f"{actor.name} created the task.")
    publish(tx, access, "task.created", task)
    first = status if status in NEEDS_ASSIGNEE else None
    task = assign(tx, access, actor, task, parties, rules, first=first)
    if status != task.status:
        task = enter_status(tx, access, actor, task, status, rules, reason=new.blocked_reason, quiet=True).task
    return task


def _check_id(task_id: str | None) -> None:
    if task_id is not None and (task_id == CHAT_NAME or not _ID.fullmatch(task_id)):
        message = "An id begins with a letter or digit and has at most 128 letters, digits, hyphens, dots or"
        raise invalid("id", f"{message} underscores; {CHAT_NAME} is reserved.")


def _require_first(status: str, new: NewTask, parties: Parties) -> None:
    if status in ("assigned", "in_progress") and not parties:
        raise Refusal(Code.ASSIGNEE_REQUIRED, f"A task that is {status} needs an assignee.", field="status")
    if status == "inbox" and parties:
        raise invalid("status", "A task in the inbox has no assignee; leave status out, or the assignees.")
    require_reason(status, new.blocked_reason)


def insert_new(
    tx: Tx, access: Access, actor: Actor, new: NewTask, created_by: CreatedBy | None = None, **place: Any
) -> Task:  # fmt: skip
    """Write a new task in the inbox; `place` names its plan and goal."""
    task = Task(
        id=new.id or tx.new_id("task"),
        seq=tx.tick(),
        parent_id=_parent(tx, access, new.parent_id),
        title=new.title,
        description=new.description,
        status="inbox",
        priority=read_priority(new.priority),
        tags=() if new.tags is UNSET else tuple(dict.fromkeys(new.tags)),
        due_date=new.due_date,
        snoozed_until=new.snoozed_until,
        pinned=new.pinned,
        color=new.color,
        sort_index=store.highest_sort_index(tx, access) + 1,
        metadata=new.metadata,
        created_by=created_by or ("agent" if actor.kind == "agent" else "user"),
        created_at=tx.now,
        updated_at=tx.now,
        status_at=tx.now,
        **location_of_new(tx, access, new),
        **place,
    )
    if not store.insert_task(tx, access, task):
        raise Refusal.of_taken_id(task.id)
    return task


def change_task(tx: Tx, access: Access, task_id: str, change: TaskChange, rules: Rules) -> Moved:
    """Change fields of a task; a status is reached along the shortest legal path."""
    hold_order(tx, access, change)
    task, actor = readable_task(tx, access, task_id, hold=True)
    actor.require("change")
    refuse_chat(task)
    require_expected(task, change.expected_status)
    check_texts(change.title, change.description, change.blocked_reason, change.tags)
    changed = _change_fields(tx, access, actor, task, change)
    changed = _change_assignees(tx, access, actor, changed, change, rules)
    moved = Moved(task=changed, changed=changed is not task)
    if change.status is not UNSET:
        moved = _change_status(tx, access, actor, changed, change, rules)
    placed = put_beside(tx, access, moved.task, change)
    return structs.replace(moved, task=placed, changed=moved.changed or placed is not moved.task)


def _change_fields(tx: Tx, access: Access, actor: Actor, task: Task, change: TaskChange) -> Task:
    given = {name: value for name in _PLAIN if (value := getattr(change, name)) is not UNSET}
    if change.priority is not UNSET:
        given["priority"] = read_priority(change.priority)
    given |= place_of_changed(tx, access, task, change)
    if change.parent_id is not UNSET:
        given["parent_id"] = _parent(tx, access, change.parent_id, task_id=task.id)
    if change.blocked_reason is not UNSET and task.status == "blocked" and change.status in (UNSET, "blocked"):
        given["blocked_reason"] = change.blocked_reason or REASON_NOT_GIVEN
    if "metadata" in given:
        check_metadata(given["metadata"])
    different = {name: value for name, value in given.items() if getattr(task, name) != value}
    if change.dependencies is not UNSET and set_dependencies(tx, access, task, change.dependencies):
        different["seq"] = task.seq
    if not different:
        return task
    changed = store.save_task(tx, access, structs.replace(task, **different))
    take_entries_along(tx, access, task, changed)
    fields = sorted(map(_CHANGED_NAMES.__getitem__, different))
    record(tx, access, actor, changed, "updated", f"{actor.name} changed {', '.join(fields)}.", fields=fields)
    publish(tx, access, "task.updated", changed)
    return changed


def _change_assignees(tx: Tx, access: Access, actor: Actor, task: Task, change: TaskChange, rules: Rules) -> Task:
    agents, users = change.assigned_agent_ids, change.assigned_user_ids
    if agents is UNSET and users is UNSET:
        return task
    actor.require("assign")
    kinds = tuple(kind for kind, given in (("agent", agents), ("user", users)) if given is not UNSET)
    wanted = named_parties(tx, access, agents or (), users or ())
    return replace_assignees(tx, access, actor, task, wanted, kinds, rules)


def _change_status(tx: Tx, access: Access, actor: Actor, task: Task, change: TaskChange, rules: Rules) -> Moved:
    assert isinstance(change.status, str)
    reason = change.blocked_reason if isinstance(change.blocked_reason, str) else None
    if change.status == "blocked" and not (reason or "").strip():
        reason = REASON_NOT_GIVEN
    if change.status in ("doing", "in_progress", "done") and change.status != task.status:
        actor.require_status(task, "done" if change.status == "done" else "in_progress")
        if not store.assignees_of(tx, access, [task.id]):
            # Whoever starts an unassigned task becomes its assignee.
            task = assign(tx, access, actor, task, [actor.party], rules)
    moved = move_held(tx, access, actor, task, change.status, rules, reason=reason, walk=True)
    return structs.replace(moved, changed=True)


def set_dependencies(tx: Tx, access: Access, task: Task, others: tuple[str, ...]) -> bool:
    """Set a task's dependencies; False if nothing changes. Circles are refused."""
    wanted = tuple(sorted(set(others)))
    if list(wanted) == store.dependencies_of(tx, access, [task.id]).get(task.id, []):
        return False
    if len(wanted) > limits.TASK_DEPENDENCIES_MAX:
        message = f"A task has at most {limits.TASK_DEPENDENCIES_MAX} dependencies."
        raise Refusal(Code.LIMIT_REACHED, message, field="dependencies")
    known = {other.id for other in store.tasks_by_id(tx, access, tasks_seen(tx, access, wanted))}
    for other in wanted:
        if other not in known:
            raise invalid("dependencies", f"There is no task '{other[:80]}'.")
    _refuse_circle(tx, access, task.id, wanted)
    store.replace_dependencies(tx, access, task.id, wanted)
    return True


def _refuse_circle(tx: Tx, access: Access, task_id: str, others: tuple[str, ...]) -> None:
    seen, ahead = set[str](), set(others)
    while ahead:
        if task_id in ahead:
            raise invalid("dependencies", "A task cannot depend on itself, not even through others.")
        seen |= ahead
        if len(seen) > limits.TASK_DEPENDENCIES_IN_ALL_MAX:
            message = f"A task depends on at most {limits.TASK_DEPENDENCIES_IN_ALL_MAX} others in all."
            raise Refusal(Code.LIMIT_REACHED, message, field="dependencies")
        ahead = {other for each in store.dependencies_of(tx, access, ahead).values() for other in each} - seen


def _parent(tx: Tx, access: Access, parent_id: str | UnsetType | None, *, task_id: str | None = None) -> str | None:
    """Return the id of a task's new parent; circles and too deep nesting are refused."""
    if not parent_id:
        return None
    above = store.task_by_id(tx, access, parent_id)
    if above is None or not tasks_seen(tx, access, [parent_id]):
        raise invalid("parentId", f"There is no task '{parent_id[:80]}'.")
    # Bounded, since two concurrent changes may have closed a circle somewhere above.
    for _ in range(limits.TASK_DEPTH_MAX):
        if above is None:
            return parent_id
        if above.id == task_id:
            raise invalid("parentId", "A task cannot be a part of itself, not even through others.")
        above = None if above.parent_id is None else store.task_by_id(tx, access, above.parent_id)
    raise Refusal(Code.LIMIT_REACHED, f"Tasks are nested at most {limits.TASK_DEPTH_MAX} deep.", field="parentId")


def list_tasks(
    tx: Tx, access: Access, wanted: TaskFilter, *, before: tuple[int, str] | None = None,
    after: tuple[float, str] | None = None, by_position: bool = False, limit: int,
) -> list[Task]:  # fmt: skip
    """Return readable tasks, newest first, before a (time of creation, id); or `by_position`, after a (rank, id)."""
    # Refuses callers who have nothing to do with tasks.
    actor_of(tx, access)
    if wanted.assignee_id is not None:
        wanted = structs.replace(wanted, assignee_id=directory_of(tx, access).party_id(wanted.assignee_id))
    if wanted.related_to is not None:
        wanted = structs.replace(wanted, related_to=readable_task(tx, access, wanted.related_to)[0].id)
    beyond = after if by_position else before
    return store.listed_tasks(tx, access, wanted, by_position=by_position, beyond=beyond, limit=limit)


def reorder_tasks(
    tx: Tx, access: Access, ordered_ids: tuple[str, ...], *, topic_id: str | None = None, status: str | None = None
) -> None:  # fmt: skip
    """Put tasks into an order, optionally all of one topic or status; together they keep their positions."""
    actor_of(tx, access).require("change")
    statuses = None if status is None else statuses_meant(status)
    tasks = {task.id: task for task in store.tasks_by_id(tx, access, tasks_seen(tx, access, ordered_ids))}
    for task_id in ordered_ids:
        task = tasks.get(task_id)
        if task is None or task.is_chat:
            raise not_found("task")
        if topic_id is not None and task.topic_id != topic_id:
            raise invalid("orderedIds", f"{task_id} does not belong to that topic.")
        if statuses is not None and task.status not in statuses:
            raise invalid("orderedIds", f"{task_id} does not have that status.")
    hold_account(tx, access)
    indexes = sorted(task.sort_index for task in tasks.values())
    # Locked in order of id, so that two reorderings at once do not deadlock.
    locked = {task_id: store.hold_task(tx, access, task_id) for task_id in sorted(tasks)}
    for task_id, index in zip(dict.fromkeys(ordered_ids), indexes, strict=True):
        held = locked[task_id]
        if held is not None and held.sort_index != index:
            publish(tx, access, "task.updated", store.save_task(tx, access, structs.replace(held, sort_index=index)))


class FoundTask(TaskShape, frozen=True, kw_only=True):
    """A task found by a search; `score` is 1 if every field matches."""

    score: float


def search_tasks(tx: Tx, access: Access, query: str, *, limit: int) -> list[FoundTask]:
    """Return the tasks that contain the words and that the caller may read: best first, then newest."""
    wanted, scores = " ".join(query.split()).casefold(), dict[str, float]()
    before, left = None, limits.TASK_SEARCH_ROWS_MAX
    while wanted and left > 0:
        page = store.searchable_tasks(tx, access, before=before, limit=min(left, limits.TASK_SEARCH_PAGE_ROWS))
        scores |= {one.id: score for one in page if (score := _score(one, wanted))}
        if len(page) < limits.TASK_SEARCH_PAGE_ROWS:
            break
        before, left = page[-1].id, left - len(page)
    # Refuses callers who have nothing to do with tasks.
    actor_of(tx, access)
    ranked = sorted(scores, key=lambda task_id: (scores[task_id], task_id), reverse=True)
    seen = tasks_seen(tx, access, ranked)
    best = [task_id for task_id in ranked if task_id in seen][:limit]
    found = task_shapes(tx, access, sorted(store.tasks_by_id(tx, access, best), key=lambda task: best.index(task.id)))
    return [FoundTask(**structs.asdict(shape), score=round(scores[shape.id], 3)) for shape in found]


def _score(task: Searchable, wanted: str) -> float:
    texts = {name: " ".join((getattr(task, name) or "").split()).casefold() for name in _WEIGHTS}
    return sum(weight for name, weight in _WEIGHTS.items() if wanted in texts[name]) / sum(_WEIGHTS.values())
