"""Decides whether an agent gets a run about a task, before a session is opened for it."""

from carrel.access import account_of
from carrel.agents import account_settings
from carrel.kernel import METRICS, Access
from carrel.notices import Notice, notices_of
from carrel.runs import Cancelled, Failed, Run
from carrel.storage import Tx
from carrel.work import store
from carrel.work.model import Task

# Statuses in which agents get no more news of a task.
_RESTS = ("done", "blocked")


def admit(tx: Tx, run: Run) -> Cancelled | Failed | None:
    """Record that a run about a task starts; or return how it ends if its agent may not get it.

    The task is locked, so that moves of it come before or after.
    """
    if run.task_id is None:
        return None
    access, task = run.access, store.hold_task(tx, run.access, run.task_id)
    if task is None:
        METRICS.count("routing.session_mismatch.blocked.count", run.account_id)
        message = "The task of this run is not in its account, so nothing was sent to the agent."
        return Failed(code="account_mismatch", message=message, reason="account_mismatch")
    if task.status == "archived":
        return Cancelled(reason="task_archived")
    if task.status == "done" and run.auto_run_id is not None:
        return Cancelled(reason="task_done")
    notices = notices_of(tx, access, [run.id]).get(run.id, [])
    if notices and all(one.author_kind == "agent" and one.seq < task.reopened_seq for one in notices):
        # Agents start afresh after a reopening, not with what they told each other before.
        return Cancelled(reason="task_done")
    if not _may_hear(tx, access, task, run, notices):
        return Cancelled(reason="policy")
    if notices:
        store.mark_seen(tx, access, task.id, "agent", run.agent_id, notices[-1].seq)
        store.deliver_request(tx, access, task.id, run.agent_id, run.id)
    return None


def is_reopened_since(tx: Tx, run: Run, reopened_seq: int) -> bool:
    """Return whether the task of a run was reopened after the reopening with that number."""
    task = None if run.task_id is None else store.task_by_id(tx, run.access, run.task_id)
    return task is not None and task.reopened_seq > reopened_seq


def _may_hear(tx: Tx, access: Access, task: Task, run: Run, notices: list[Notice]) -> bool:
    """Whether the reason for sending the run still holds: the task may have been finished or reassigned."""
    if task.is_chat:
        return bool(account_settings(account_of(tx, access))["orchestratorAgentId"] == run.agent_id)
    kinds = {notice.type for notice in notices}
    if task.status in _RESTS and kinds and kinds <= {"thread_update", "status_change"}:
        return False
    return kinds != {"assignment"} or store.is_assigned(tx, access, task.id, "agent", run.agent_id)
