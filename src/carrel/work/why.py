"""Why a task is not moving: sentences that people understand, with what they can do about it."""

from carrel.kernel import Access, iso
from carrel.kernel.limits import STALL_PAUSES_MINUTES
from carrel.monitoring import Reason, Why, explain
from carrel.runs import UNLIMITED, Concurrency
from carrel.storage import Tx
from carrel.work import run_store, store
from carrel.work.directory import directory_of
from carrel.work.model import Party, Task
from carrel.work.permissions import readable_task

_ORDINALS = ("first", "second", "third", "fourth")


def explain_task(tx: Tx, access: Access, task_id: str, limits: Concurrency = UNLIMITED) -> Why:
    """Explain why a task is not moving."""
    task, _ = readable_task(tx, access, task_id)
    live = run_store.live_runs_of_task(tx, access, task.id)
    reasons = _at_rest(task)
    if not reasons:
        reasons = _dependencies(tx, access, task)
        for run in live:
            reasons += explain(tx, access, run, limits).reasons
        if not live:
            reasons += _nobody_works(tx, access, task)
    moving = any(run.state == "running" for run in live) or not reasons
    return Why(moving=moving, reasons=reasons)


def _at_rest(task: Task) -> list[Reason]:
    match task.status:
        case "done":
            return [_reason("done", "The task is done.", task.status_at, "reopen")]
        case "archived":
            return [_reason("archived", "The task is archived: nobody works on it any more.", task.status_at)]
        case "blocked":
            text = f"The task is blocked: {task.blocked_reason}"
            return [_reason("blocked", text, task.status_at, "move it to in_progress", "write to its thread")]
    return []


def _dependencies(tx: Tx, access: Access, task: Task) -> list[Reason]:
    others = store.tasks_by_id(tx, access, store.dependencies_of(tx, access, [task.id]).get(task.id, []))
    return [
        _reason(
            "waiting_dependency",
            f"It depends on {other.id} ({other.title}), which is {other.status}.",
            other.status_at,
            f"finish {other.id}",
        )
        for other in others
        if other.status not in ("done", "archived")
    ]


def _nobody_works(tx: Tx, access: Access, task: Task) -> list[Reason]:
    assignees = store.assignees_of(tx, access, [task.id]).get(task.id, [])
    if not assignees:
        return [_reason("nobody_assigned", "Nobody is assigned to the task.", task.status_at, "assign an agent")]
    if task.status == "review":
        text = "The task is in review: a person decides whether it is done."
        return [_reason("waiting_approval", text, task.status_at, "move it to done", "move it to in_progress")]
    directory = directory_of(tx, access)
    agents = [directory.agents[one.party_id] for one in assignees if one.kind == "agent"]
    disabled = [f"Agent {agent.name} is disabled." for agent in agents if not agent.enabled]
    reasons = [_reason("agent_disabled", text, None, "enable the agent") for text in disabled]
    return reasons or [_quiet(tx, access, task, assignees)]


def _quiet(tx: Tx, access: Access, task: Task, assignees: list[Party]) -> Reason:
    """Nothing runs or waits: say whose turn it is."""
    stall = run_store.stall_of(tx, access, task.id)
    if stall is not None and stall.due_at is not None:
        text = (
            "The last turn ended without saying that the task is done. It is taken up again "
            f"at {iso(stall.due_at)}, for the {_ORDINALS[stall.taken_up]} time of {len(STALL_PAUSES_MINUTES)}."
        )
        return _reason("waiting_retry", text, None, "write to its thread", "move it to review")
    if stall is not None and stall.taken_up >= len(STALL_PAUSES_MINUTES):
        text = f"The task has stalled: it was taken up {stall.taken_up} times, and no turn said that it is done."
        return _reason("waiting_input", text, None, "write to its thread", "move it to review", "assign another agent")
    names = ", ".join(map(directory_of(tx, access).named, assignees))
    if all(party.kind != "agent" for party in assignees):
        move = f"move it to {'review' if task.status == 'in_progress' else 'in_progress'}"
        return _reason("waiting_input", f"It is up to {names}.", task.status_at, move, "assign an agent")
    last = run_store.newest_run_of_task(tx, access, task.id)
    ended = "" if last is None else f" The last run of {last.agent_id} is {last.state}."
    text = f"Nothing is running or queued for {names}.{ended} A message in the thread gets the work going again."
    return _reason("waiting_input", text, None if last is None else last.ended_at, "write to its thread")


def _reason(code: str, text: str, since: int | None, *actions: str) -> Reason:
    return Reason(code=code, text=text, since=iso(since), actions=list(actions))
