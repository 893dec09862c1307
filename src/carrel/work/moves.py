"""Moving tasks between statuses. A task that is done or archived closes its sessions in the same transaction."""

from msgspec import Struct, structs

from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.notices import Recipient
from carrel.runs import Rules, cancel
from carrel.sessions import close_generation
from carrel.storage import Tx
from carrel.work import run_store, store
from carrel.work.activities import publish, record
from carrel.work.audience import audience_of, notify_about
from carrel.work.model import (
    CLOSING,
    MOVES,
    NEEDS_ASSIGNEE,
    REASON_NOT_GIVEN,
    Status,
    Task,
    check_texts,
    illegal,
    path,
    read_status,
    statuses_meant,
)
from carrel.work.permissions import Actor, readable_task
from carrel.work.positions import first_rank

_STOPPED = "Stopped by {name}."


class Moved(Struct, frozen=True, kw_only=True):
    """A task after a move, and what the move ended."""

    task: Task
    changed: bool
    closed_sessions: tuple[str, ...] = ()
    cancelled_runs: tuple[str, ...] = ()


def move_task(
    tx: Tx, access: Access, task_id: str, to: str, rules: Rules, *, reason: str | None = None,
    expected: str | None = None, walk: bool = False,
) -> Moved:  # fmt: skip
    """Move a task one step, or with `walk` along the shortest legal path. Moving it to its status does nothing.

    `reason` says why it is blocked or archived. With `expected`, a task in any other status stays as it is.
    """
    task, actor = readable_task(tx, access, task_id, hold=True)
    return move_held(tx, access, actor, task, to, rules, reason=reason, expected=expected, walk=walk)


def move_held(
    tx: Tx, access: Access, actor: Actor, task: Task, to: str, rules: Rules, *, reason: str | None = None,
    expected: str | None = None, walk: bool = False,
) -> Moved:  # fmt: skip
    has_assignee = bool(store.assignees_of(tx, access, [task.id]))
    after = read_status(to, has_assignee=has_assignee)
    require_expected(task, expected)
    actor.require("archive" if after == "archived" else "change")
    if after == task.status:
        return Moved(task=task, changed=False)
    refuse_chat(task)
    if after != "archived":
        actor.require_status(task, after)
    if not walk and actor.kind != "agent" and after not in MOVES[task.status]:
        raise illegal(task.status, after)
    way = path(task.status, after)
    check_texts("-", "", reason, ())
    _require_needs(tx, access, task, way, reason, has_assignee=has_assignee)
    moved = enter_status(tx, access, actor, task, after, rules, reason=reason)
    if after == "archived" and reason:
        record(tx, access, actor, moved.task, "updated", f"Reason: {reason}", reason=reason)
    return moved


def require_expected(task: Task, expected: str | None) -> None:
    if expected is not None and task.status not in statuses_meant(expected):
        raise Refusal(Code.CONFLICT, f"The task is {task.status}, not {expected}.", details={"status": task.status})


def refuse_chat(task: Task) -> None:
    """Refuse to move the orchestrator chat, which has no status of its own."""
    if task.is_chat:
        raise Refusal(Code.FORBIDDEN, "The orchestrator chat is not work: it cannot be moved, stopped or archived.")


def _require_needs(
    tx: Tx, access: Access, task: Task, way: tuple[Status, ...], reason: str | None, *, has_assignee: bool
) -> None:  # fmt: skip
    needing = next((status for status in way if status in NEEDS_ASSIGNEE), None)
    if needing is not None and not has_assignee:
        raise Refusal(Code.ASSIGNEE_REQUIRED, f"A task that is {needing} needs an assignee; assign somebody first.")
    require_reason(way[-1], reason)


def require_reason(status: str, reason: str | None) -> None:
    """Refuse to block a task without a reason."""
    if status == "blocked" and not (reason or "").strip():
        message = "Say why the task is blocked, in blockedReason."
        raise Refusal(Code.BLOCKED_REASON_REQUIRED, message, field="blockedReason")


def enter_status(
    tx: Tx, access: Access, actor: Actor, task: Task, after: Status, rules: Rules, *, reason: str | None = None,
    quiet: bool = False,
) -> Moved:  # fmt: skip
    """Write a status with all its consequences; `quiet` notifies nobody."""
    if after == "inbox":
        _take_assignees_off(tx, access, actor, task)
    before = task.status
    reason = (reason or REASON_NOT_GIVEN) if after == "blocked" else None
    changed = structs.replace(
        task,
        status=after,
        status_at=tx.now,
        sort_index=first_rank(tx, access, after),
        blocked_reason=reason,
        archived_at=tx.now if after == "archived" else None,
    )
    changed = store.save_task(tx, access, changed)
    closed, cancelled = _close(tx, access, changed) if after in CLOSING else ((), ())
    summary = f"{actor.name} moved the task from {before} to {after}{f': {reason}' if reason else ''}."
    more = {"reason": reason} if reason else {}
    data = {"from": before, "to": after, **more, "closedSessions": list(closed), "cancelledRuns": list(cancelled)}
    record(tx, access, actor, changed, "moved", summary, **data)
    publish(tx, access, "task.moved", changed, **data, by={"kind": actor.kind, "id": actor.id})
    if not quiet:
        recipients = audience_of(tx, access, changed).of_move(actor.party, after)
        if actor.is_answering and actor.task_id == task.id:
            # Others wait for its answer: agents hear of the move together with the answer, see `run_ends`.
            recipients = [each for each in recipients if each.kind == "user"]
        notify_about(tx, access, actor, changed, summary, recipients, rules)
    return Moved(task=changed, changed=True, closed_sessions=closed, cancelled_runs=cancelled)


def agents_told_of_move(tx: Tx, access: Access, task: Task, actor: Actor) -> list[Recipient]:
    """Return the agents that are notified when an actor moves a task to this status."""
    return [each for each in audience_of(tx, access, task).of_move(actor.party, task.status) if each.kind == "agent"]


def _take_assignees_off(tx: Tx, access: Access, actor: Actor, task: Task) -> None:
    for party in store.assignees_of(tx, access, [task.id]).get(task.id, []):
        store.set_assigned(tx, access, task.id, party.kind, party.party_id, None)
        data = {"parties": [{"kind": party.kind, "id": party.party_id}]}
        record(tx, access, actor, task, "unassigned", f"{actor.name} took {party.party_id} off the task.", **data)


def _close(tx: Tx, access: Access, task: Task) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Cancel agents' pending runs on this task and close its sessions; a running run finishes in its session."""
    reason = CLOSING[task.status]
    waiting = [run for run in run_store.live_runs_of_task(tx, access, task.id) if run.state != "running"]
    closable = run_store.closable_lanes_of_task(tx, access, task.id)
    closed, cancelled = list[str](), list[str]()
    for key in sorted({*closable, *(run.key for run in waiting)}):
        # Closed first: cancelling a waiting run would otherwise close its session.
        session = close_generation(tx, access, SessionKey.stored(key), reason) if key in closable else None
        closed += [session.id] if session is not None else []
        cancelled += [run.id for run in waiting if run.key == key and cancel(tx, access, run.id, reason) is not None]
    return tuple(closed), tuple(cancelled)


def reopen_task(tx: Tx, access: Access, task_id: str) -> Task:
    """Move a done task back to review. Its agents start afresh with their next message."""
    task, actor = readable_task(tx, access, task_id, hold=True)
    actor.require("reopen")
    refuse_chat(task)
    if task.status != "done":
        message = f"Only a task that is done can be reopened; this one is {task.status}."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": task.status, "to": "review"})
    hop = {"from": "done", "to": "review"}
    entry = record(tx, access, actor, task, "moved", f"{actor.name} reopened the task.", **hop)
    # The digest describes what happened before, which agents that start afresh are not shown.
    anew = structs.replace(task, reopened_seq=entry.seq, digest=None, digest_updated_at=None)
    rank = first_rank(tx, access, "review")
    opened = store.save_task(tx, access, structs.replace(anew, status="review", status_at=tx.now, sort_index=rank))
    by = {"kind": actor.kind, "id": actor.id}
    publish(tx, access, "task.moved", opened, **hop, by=by, closedSessions=[], cancelledRuns=[])
    return opened


def stop_task(tx: Tx, access: Access, task_id: str, rules: Rules) -> Moved:
    """Cancel everything that runs or waits on a task, and block it if its status allows that."""
    task, actor = readable_task(tx, access, task_id, hold=True)
    actor.require("stop")
    refuse_chat(task)
    live = run_store.live_runs_of_task(tx, access, task.id)
    cancelled = tuple(run.id for run in live if cancel(tx, access, run.id, "stopped") is not None)
    if "blocked" not in MOVES[task.status]:
        return Moved(task=task, changed=False, cancelled_runs=cancelled)
    reason = _STOPPED.format(name=actor.name)
    moved = enter_status(tx, access, actor, task, "blocked", rules, reason=reason, quiet=True)
    return structs.replace(moved, cancelled_runs=cancelled)
