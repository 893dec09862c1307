"""Heartbeats: an agent is woken in its main lane every few minutes, if it has something to look at.

That is: visible changes, and its own tasks that are due, have stalled, or wait for its response.

The due time and the last reported change are stored and move in the transaction that queues the heartbeat, so several
servers may do this side by side.
"""

from functools import partial
from logging import getLogger

import msgspec
from msgspec import structs

from carrel.agents import Agent, AgentChanged, agent_by_id
from carrel.heartbeats import store
from carrel.heartbeats.store import Heartbeat, TaskToLookAt, Trace
from carrel.kernel import (
    MS_PER_DAY,
    MS_PER_MINUTE,
    MS_PER_SECOND,
    Access,
    Envelope,
    Provenance,
    Refusal,
    SessionKey,
    iso,
    limits,
    one_line,
    system_access,
)
from carrel.runs import Rules, deliver
from carrel.storage import Database, StepDuty, Tx
from carrel.visibility import tasks_seen
from carrel.work import tasks_by_id

_log = getLogger("carrel.work")


def observe_agents(db: Database) -> None:
    """Register the observer of agents and their intervals."""
    db.observe(AgentChanged, _follow_agent)


def _follow_agent(tx: Tx, changed: AgentChanged) -> None:
    """Apply a new interval at once, and stop the heartbeats of a disabled agent."""
    agent, before = changed.agent, changed.before
    interval = _interval_ms(agent)
    if interval == (None if before is None else _interval_ms(before)):
        return
    if interval is None:
        store.delete_heartbeat(tx, changed.access, agent.id)
        return
    first = Heartbeat(account_id=changed.access.account_id, agent_id=agent.id, due_at=tx.now + interval, seq=tx.tick())
    store.put_heartbeat(tx, changed.access, first)
    tx.wake(store.HEARTBEATS.bell)


def _interval_ms(agent: Agent) -> int | None:
    """The time between two heartbeats; None for an agent without heartbeats."""
    minutes = agent.profile.heartbeat_minutes
    if not agent.enabled or minutes <= 0:
        return None
    at_most = min(minutes * MS_PER_MINUTE, limits.HEARTBEAT_DAYS_MAX * MS_PER_DAY)
    return max(int(at_most), limits.HEARTBEAT_SECONDS_MIN * MS_PER_SECOND)


def heartbeat_duty(db: Database, rules: Rules) -> StepDuty[Heartbeat]:
    """Return the duty that sends the agents of a store their heartbeats."""
    step = partial(_step, rules=rules)
    return StepDuty(
        db, store.HEARTBEATS, step, items_max=limits.HEARTBEATS_AT_A_TIME, retry_seconds=limits.HEARTBEAT_RETRY_SECONDS
    )


def _step(tx: Tx, item: Heartbeat, rules: Rules) -> None:
    """Queue a heartbeat for one agent if it is still due and something changed."""
    access = system_access(item.account_id)
    held = store.hold_heartbeat(tx, access, item.agent_id)
    if held is None or held.due_at > tx.now:
        return
    agent = agent_by_id(tx, access, item.agent_id)
    assert agent is not None, "an agent is never deleted"
    if (interval := _interval_ms(agent)) is None:
        store.delete_heartbeat(tx, access, agent.id)
    else:
        store.put_heartbeat(tx, access, _beat(tx, access, agent, held, interval, rules))


def _beat(tx: Tx, access: Access, agent: Agent, held: Heartbeat, interval: int, rules: Rules) -> Heartbeat:
    """Queue a heartbeat if something changed; return when the next is due."""
    following = structs.replace(held, due_at=tx.now + interval)
    if store.heartbeat_is_live(tx, access, str(agent.base_key)):
        return following
    upto = min(tx.horizon(), tx.tick())
    traces = store.traces_since(tx, access, held.seq, upto, limit=limits.HEARTBEAT_ENTRIES_MAX)
    more = len(traces) == limits.HEARTBEAT_ENTRIES_MAX
    changed, tasks = _changes(tx, access, agent, traces)
    soon = tx.now + limits.HEARTBEAT_DUE_DAYS * MS_PER_DAY
    due = store.tasks_to_look_at(tx, access, agent.id, soon=soon, limit=limits.HEARTBEAT_TASKS_MAX)
    if not changed and not due and more:
        # The next look continues from there, at once.
        return structs.replace(held, due_at=tx.now, seq=traces[-1].seq)
    if (changed or due) and not _queue(tx, access, agent, _text(tx, access, tasks, due, more=more), rules):
        return following
    return structs.replace(following, seq=max(held.seq, upto))


def _changes(tx: Tx, access: Access, agent: Agent, traces: list[Trace]) -> tuple[bool, list[str]]:
    """Return whether something changed for an agent, and the ids of the changed tasks."""
    news = [trace for trace in traces if not _is_own(trace, agent)]
    own = structs.replace(access, kind="agent", agent_id=agent.id, space_ids=access.narrowed(agent.profile.space_ids))
    viewed = dict.fromkeys(trace.task_id for trace in news if trace.task_view and trace.task_id)
    seen = tasks_seen(tx, own, viewed)
    tasks = [task_id for task_id in viewed if task_id in seen]
    in_its_lanes = any(trace.key is not None and SessionKey.stored(trace.key).agent == agent.id for trace in news)
    return in_its_lanes or bool(tasks), tasks


def _is_own(trace: Trace, agent: Agent) -> bool:
    """Whether the agent itself wrote it, or it is the message of a heartbeat."""
    is_heartbeat = msgspec.json.decode(trace.provenance, type=Provenance).kind == "heartbeat"
    return is_heartbeat or (trace.author_kind == "agent" and trace.author == agent.id)


def _queue(tx: Tx, access: Access, agent: Agent, text: str, rules: Rules) -> bool:
    envelope = Envelope.internal(agent.base_key, text, Provenance(kind="heartbeat", actor=agent.id))
    try:
        deliver(tx, access, envelope, rules)
    except Refusal as refusal:
        # A lane that refuses messages now may accept the next heartbeat.
        _log.warning("heartbeat_refused", extra={"agent_id": agent.id, "error": refusal.message})
        return False
    return True


def _text(tx: Tx, access: Access, changed: list[str], due: list[TaskToLookAt], *, more: bool) -> str:
    """The message of a heartbeat: every task with its title and why it is named."""
    reasons = {task.id: _why(tx, task) for task in due}
    for task_id in changed:
        reasons.setdefault(task_id, []).append("something new")
    named = dict(list(reasons.items())[: limits.HEARTBEAT_TASKS_MAX])
    titles = {task.id: one_line(task.title) for task in tasks_by_id(tx, access, named)}
    lines = [f'- {task_id} "{titles[task_id]}": {", ".join(why)}' for task_id, why in named.items()]
    if more or len(reasons) > len(named):
        lines.append("- and others, with something new")
    what = "\n".join(["Look at these tasks:", *lines]) if lines else "Something new was said in your sessions."
    return f"Heartbeat. {what}"


def _why(tx: Tx, task: TaskToLookAt) -> list[str]:
    late = task.due_date is not None and task.due_date < tx.now
    due = [] if task.due_date is None else [f"{'overdue since' if late else 'due'} {iso(task.due_date)}"]
    stalled = ["it has stalled: no turn has said that it is done"] if task.is_stalled else []
    return due + stalled + (["you were asked for a response"] if task.is_asked else [])
