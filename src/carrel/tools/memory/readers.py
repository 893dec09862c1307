"""Whose memory a caller may read: agents their own session's and task's, people that of all they may see."""

from contextlib import suppress

from carrel.agents import agent_by_id, default_agent, named_agent
from carrel.goals import Goal, Plan, find_goal, goal_of_task, plan_of_task
from carrel.kernel import METRICS, Access, Code, Refusal, SessionKey, not_found
from carrel.memory import Memory, Reader, Scope, in_chain, memory_by_id, scope_chain
from carrel.modes import auto_runs_by_id
from carrel.runs import Run, run_by_id
from carrel.sessions import find_session, lane_of, visible_lanes_called
from carrel.storage import Tx
from carrel.tools.model import Caller
from carrel.visibility import may_see, private_to
from carrel.work import readable_task

# The runs that a person may have caused: by a message, or in the thread of a task.
_BY_PERSONS = ("external_user", "notification", "a2a")


def goal_worked_for(
    tx: Tx, access: Access, key: SessionKey, task_id: str | None, run: Run | None = None
) -> Goal | None:  # fmt: skip
    """Return the goal of a task, in the task's own lane and in the goal's session; None elsewhere.

    None as well if the reader, or whoever caused the run, may not read that session.
    """
    goal = None if task_id is None else goal_of_task(tx, access, task_id)
    if goal is None or not (key.task_id == task_id or key == goal.session_key):
        return None
    return goal if _may_read_session(tx, access, goal, run) else None


def plan_worked_on(tx: Tx, access: Access, key: SessionKey, task_id: str, run: Run) -> Plan | None:
    """Return the plan of a task, in the task's own lane; None as well if its session may not be read."""
    plan = plan_of_task(tx, access, task_id) if key.task_id == task_id else None
    return plan if plan is not None and _may_read_session(tx, access, plan, run) else None


def _may_read_session(tx: Tx, access: Access, goal: Goal | Plan, run: Run | None) -> bool:
    if run is None:
        return may_see(tx, access, goal.session_key, goal.made_by)
    owner = private_to(tx, access, str(goal.session_key)) if lane_of(tx, access, goal.session_key) else goal.made_by
    if owner in (None, run.actor_id, run.behalf):
        return True
    if run.behalf is not None:
        # Somebody else caused the run, however many agents passed it on.
        return False
    if run.provenance_kind not in _BY_PERSONS:
        return True
    # Carrel itself and agents act for the session that told them to.
    return run.actor_id in ("", "system") or agent_by_id(tx, access, run.actor_id) is not None


def memory_reader(tx: Tx, caller: Caller) -> Reader:
    """Return the memory reader of a tool's caller: the chain of its session and of its run's task and goal."""
    return _reader_of_run(tx, caller.access, caller.key, caller.run)


def reader_of(tx: Tx, access: Access, key: SessionKey, task_id: str | None, run: Run | None = None) -> Reader:
    """Return the memory reader of a lane: it reads in the session whose goal the run works for, else in its own."""
    goal = goal_worked_for(tx, access, key, task_id, run)
    return _reader(key if goal is None else goal.session_key, task_id, goal)


def context_reader(tx: Tx, access: Access, key: SessionKey) -> Reader | None:
    """Return whose memory the context of a session shows; an agent is shown none but its own."""
    if access.view is None:
        # A lane of a task may be named before anything was said in it.
        return reader_of(tx, access, key, key.task_id) if may_see(tx, access, key, access.actor_id) else None
    return _own_reader(tx, access) if key == access.current else None


def reader_named(
    tx: Tx, access: Access, session: str, *, goal_id: str | None = None, task_id: str | None = None
) -> Reader:  # fmt: skip
    """Return the reader of a session, a goal and a task that the caller may see; an agent names only its own."""
    if access.view is None:
        key = find_session(tx, access, session).key
        goal = None if goal_id is None else find_goal(tx, access, goal_id, key=key)
        return _reader(key, None if task_id is None else readable_task(tx, access, task_id)[0].id, goal)
    own = _own_reader(tx, access)
    with suppress(Refusal):
        is_own = find_session(tx, access, session).key == access.current
        named = {scope.goal_id for scope in own.chain} | {None}, {scope.task_id for scope in own.chain} | {None}
        if is_own and goal_id in named[0] and task_id in named[1]:
            return own
    raise _blocked(access, "session")


def reader_within(tx: Tx, access: Access, text: str, agent: str | None) -> Reader:
    """Return the reader of one scope alone; a scope outside the account or the caller's view is not found.

    Several agents may share a session's scope, each with a memory of its own: `agent` says which is meant.
    """
    scope = Scope.parse(text)
    agent_id = None if agent is None else named_agent(tx, access, agent).id
    if access.view is not None:
        own = _own_reader(tx, access)
        if scope not in own.chain or agent_id not in (None, own.agent_id):
            raise _blocked(access, "scope")
        return Reader(agent_id=own.agent_id, chain=(scope,))
    return Reader(agent_id=_agent_of(tx, access, scope, agent_id), chain=(scope,))


def visible_memory(tx: Tx, access: Access, memory_id: str, *, hold: bool = False) -> Memory:
    """Return a memory that the caller may see, by its id."""
    if access.view is not None:
        return in_chain(tx, access, _own_reader(tx, access), memory_id, hold=hold)
    memory = memory_by_id(tx, access, memory_id, hold=hold)
    if memory is None:
        raise not_found("memory")
    try:
        _require_visible(tx, access, Scope.parse(memory.read_scope), memory.agent_id)
    except Refusal as refusal:
        raise _blocked(access, "memory") from refusal
    return memory


def _reader(key: SessionKey, task_id: str | None, goal: Goal | None) -> Reader:
    chain = scope_chain(key.identity, goal_id=None if goal is None else goal.id, task_id=task_id)
    return Reader(agent_id=key.agent, chain=chain)


def _own_reader(tx: Tx, access: Access) -> Reader:
    """Return the memory reader of an agent or a run, wherever it asks."""
    assert access.current is not None, "an agent that may see anything has a session"
    run = None if access.run_id is None else run_by_id(tx, access, access.run_id)
    return _reader_of_run(tx, access, access.current, run)


def _reader_of_run(tx: Tx, access: Access, key: SessionKey, run: Run | None) -> Reader:
    """Return the memory reader of a run. A tick uses its auto run's goal; one that works on a task has none."""
    if run is None:
        return reader_of(tx, access, key, None)
    auto = None if run.auto_run_id is None else auto_runs_by_id(tx, access, [run.auto_run_id]).get(run.auto_run_id)
    if auto is not None and auto.goal_id is None:
        return _reader(key, run.task_id, None)
    return reader_of(tx, access, key, run.task_id, run)


def _agent_of(tx: Tx, access: Access, scope: Scope, agent_id: str | None) -> str:
    """Return the agent whose scope is meant, if the caller may see it; empty for scopes without an agent."""
    if scope.kind == "session" and agent_id is None:
        return _only_agent(tx, access, scope)
    if scope.kind == "goal":
        agent_id = agent_id or find_goal(tx, access, scope.goal_id).agent_id
    _require_visible(tx, access, scope, agent_id or "")
    return agent_id or ""


def _require_visible(tx: Tx, access: Access, scope: Scope, agent_id: str) -> None:
    match scope.kind:
        case "task":
            readable_task(tx, access, scope.task_id)
        case "session":
            key = scope.lane_of(agent_id)
            if key is None or not _may_see(tx, access, key):
                raise not_found("session")
        case "goal":
            goal = find_goal(tx, access, scope.goal_id)
            if goal.session_key != scope.lane_of(agent_id):
                raise not_found("goal")


def _may_see(tx: Tx, access: Access, key: SessionKey) -> bool:
    lane = lane_of(tx, access, key)
    if lane is None:
        # Every agent has a main session, even before anybody has spoken there.
        return key.kind == "main" and access.is_person and agent_by_id(tx, access, key.agent) is not None
    return may_see(tx, access, key, lane.made_by)


def _only_agent(tx: Tx, access: Access, scope: Scope) -> str:
    named = scope.lane_of("")
    called = [] if named is None else visible_lanes_called(tx, access, named.conversation)
    lanes = [lane for lane in called if lane.session_key.identity == scope.identity]
    if len(lanes) > 1:
        message = f"{len(lanes)} agents have a session {scope}; say whose it is with agentId."
        raise Refusal(Code.AMBIGUOUS_SESSION, message, details={"sessionKeys": [lane.key for lane in lanes]})
    if lanes:
        return lanes[0].agent_id
    if named is not None and named.kind == "main":
        return default_agent(tx, access).id
    raise not_found("session")


def _blocked(access: Access, what: str) -> Refusal:
    METRICS.count("memory.scope.cross_session_blocked.count", access.account_id)
    return not_found(what)
