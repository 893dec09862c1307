"""Whether an agent hears a run about a task; decided before a session is opened for it."""

from carrel.access import account_of
from carrel.agents import account_settings
from carrel.kernel import METRICS, Access
from carrel.runs import Cancelled, Failed, Run
from carrel.storage import Tx
from carrel.work import notice_store, store
from carrel.work.model import Task
from carrel.work.notice_store import Notice

# What agents are not told of once their task has come to rest.
_RESTS = ("done", "blocked")


def hear(tx: Tx, run: Run) -> Cancelled | Failed | None:
    """Record that a run about a task is heard; or return how it ends, when its agent may not hear it.

    The task is locked: what moves it at this moment comes before or after.
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
    notices = notice_store.notices_of(tx, access, [run.id]).get(run.id, [])
    if notices and all(one.author_kind == "agent" and one.seq < task.reopened_seq for one in notices):
        # What agents said to each other before the task was done is not where they begin anew.
        return Cancelled(reason="task_done")
    if not _may_hear(tx, access, task, run, notices):
        return Cancelled(reason="policy")
    if notices:
        store.mark_seen(tx, access, task.id, "agent", run.agent_id, notices[-1].seq)
        notice_store.deliver_request(tx, access, task.id, run.agent_id, run.id)
    return None


def is_reopened_since(tx: Tx, run: Run, reopened_seq: int) -> bool:
    """Return whether the task of a run was reopened after the reopening with that number."""
    task = None if run.task_id is None else store.task_by_id(tx, run.access, run.task_id)
    return task is not None and task.reopened_seq > reopened_seq


def _may_hear(tx: Tx, access: Access, task: Task, run: Run, notices: list[Notice]) -> bool:
    """Whether what was due when it was sent still is: a task may have come to rest, or have been given to others."""
    if task.is_chat:
        return bool(account_settings(account_of(tx, access))["orchestratorAgentId"] == run.agent_id)
    kinds = {notice.type for notice in notices}
    if task.status in _RESTS and kinds and kinds <= {"thread_update", "status_change"}:
        return False
    return kinds != {"assignment"} or store.is_assigned(tx, access, task.id, "agent", run.agent_id)
