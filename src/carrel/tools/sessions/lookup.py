"""The tools that look at sessions: list them, read one, get its status, and list the agents that may be spawned."""

from typing import Annotated

from msgspec import Meta, to_builtins

from carrel.agents import agent_by_id
from carrel.journal import entries_by_session, entries_of_session
from carrel.kernel import MS_PER_MINUTE, clip, iso, limits
from carrel.modes import auto_runs_of_session, plan_state
from carrel.runs import live_runs_of_lane
from carrel.sessions import Lane, LaneFilter, Session, children_of, find_lane, kinds_listed_as, lane_rows
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Shown, Tool
from carrel.tools.sessions.rows import clip_messages, session_row, shown_key
from carrel.tools.sessions.shapes import KnownAgent, KnownAgents, ListedSessions, SessionHistory, Status, TeamMember
from carrel.tools.sessions.spawn_rules import spawnable_agents
from carrel.visibility import entries_seen, is_narrowed
from carrel.work import team_of

Reference = Annotated[
    str, Meta(min_length=1, max_length=limits.SESSION_REFERENCE_CHARS_MAX, description="key of a session")
]


class SessionsList(Params, frozen=True, kw_only=True):
    """Which sessions to list; numbers out of range are clamped."""

    kinds: Annotated[tuple[str, ...], Meta(max_length=100, description="main, group, cron, hook, node or other")] = ()
    limit: Annotated[int, Meta(description="how many")] = limits.LIST_ROWS_DEFAULT
    active_minutes: (
        Annotated[float, Meta(ge=1, le=52_560_000, description="only those used within these minutes")] | None
    ) = None
    message_limit: Annotated[int, Meta(description="how many last messages of each")] = 0


class SessionsHistory(Params, frozen=True, kw_only=True):
    """Which transcript, and how much of it."""

    session_key: Reference
    limit: Annotated[int, Meta(description="how many messages")] = limits.HISTORY_ROWS_DEFAULT
    include_tools: Annotated[bool, Meta(description="also results of tools")] = False


class SessionStatus(Params, frozen=True, kw_only=True):
    """Which session; the caller's own by default."""

    session_key: Annotated[Reference, Meta(description="your own by default")] = "current"


class AgentsList(Params, frozen=True, kw_only=True):
    """No parameters."""


def visible_lane(tx: Tx, caller: Caller, reference: str) -> tuple[Lane, Session | None]:
    """Return the lane of a reference, if the caller may see it; the refusal names the rule."""
    return find_lane(tx, caller.account_access, reference, caller.key, caller.visibility)


def _sessions_list(tx: Tx, caller: Caller, params: SessionsList) -> Result:
    since = None if params.active_minutes is None else tx.now - int(params.active_minutes * MS_PER_MINUTE)
    wanted = LaneFilter(kinds=kinds_listed_as(list(params.kinds)), updated_since=since)
    rows = lane_rows(tx, caller.own_access, wanted, before=None, limit=max(1, min(params.limit, limits.LIST_ROWS_MAX)))
    shown = [to_builtins(session_row(tx, caller.access, caller.key.agent, row)) for row in rows]
    if count := max(0, min(params.message_limit, limits.ROW_MESSAGES_MAX)):
        entries = entries_by_session(tx, caller.access, [row.session.id for row in rows if row.session], limit=count)
        seen = entries_seen(tx, caller.own_access, [entry.id for said in entries.values() for entry in said])
        for row, line in zip(rows, shown, strict=True):
            said = entries.get(row.session.id if row.session else "", [])
            line["messages"] = clip_messages([entry for entry in said if entry.id in seen])["messages"]
    mode = "all" if caller.visibility.whole_account else caller.visibility.mode
    hidden = is_narrowed(tx, caller.own_access)
    return Result(value={"count": len(shown), "sessions": shown, "visibility": {"mode": mode, "hidden": hidden}})


def _sessions_history(tx: Tx, caller: Caller, params: SessionsHistory) -> Result:
    lane, session = visible_lane(tx, caller, params.session_key)
    limit = max(1, min(params.limit, limits.HISTORY_ROWS_MAX))
    entries = []
    if session:
        entries = entries_of_session(tx, caller.access, session.id, limit=limit, tool_results=params.include_tools)
    seen = entries_seen(tx, caller.own_access, [entry.id for entry in entries])
    of = {"sessionKey": shown_key(caller.key.agent, lane.session_key), "sessionId": session.id if session else None}
    return Result(value=of | clip_messages([entry for entry in entries if entry.id in seen]))


def _session_status(tx: Tx, caller: Caller, params: SessionStatus) -> Result:
    lane, session = visible_lane(tx, caller, params.session_key)
    live = live_runs_of_lane(tx, caller.access, lane.key)
    agent = caller.agent if lane.agent_id == caller.agent.id else agent_by_id(tx, caller.access, lane.agent_id)
    planning = plan_state(tx, caller.access, lane.session_key)
    busy = any(run.state == "running" for run in live)
    closed = session is not None and session.closed_at is not None
    return Result(
        value={
            "sessionKey": shown_key(caller.key.agent, lane.session_key),
            "sessionId": session.id if session else None,
            "generation": session.generation if session else 0,
            "state": "busy" if busy else "closed" if closed else "idle",
            "queuedRuns": sum(run.state == "queued" for run in live),
            "model": lane.model or (agent.profile.model if agent else "") or None,
            "contextTokens": lane.last_tokens,
            "totalTokens": lane.total_tokens,
            "planMode": {"enabled": planning.enabled, "activePlanId": planning.active_plan_id},
            "autoRuns": [auto.id for auto in auto_runs_of_session(tx, caller.access, lane.session_key)],
            "children": len(children_of(tx, caller.access, lane.key)),
            "lastActivityAt": iso(lane.updated_at),
        }
    )


def _agents_list(tx: Tx, caller: Caller, _params: AgentsList) -> Result:
    may_reach_others = caller.actor.may("request") or caller.actor.may("assign")
    others = team_of(tx, caller.access, caller.agent.id) if may_reach_others else ()
    shown = [(one, clip(one.description, limits.TEAM_DESCRIPTION_CHARS_MAX)) for one in others]
    known = KnownAgents(
        requester=caller.agent.id,
        allow_any="*" in caller.agent.profile.subagents.allow_agents,
        agents=[KnownAgent.of(agent, configured=True) for agent in spawnable_agents(tx, caller)],
        team=[TeamMember.of(one, description=description, open_tasks=one.load) for one, description in shown],
    )
    return Result(value=to_builtins(known))


SESSION_TOOLS = (
    Tool("sessions_list", "list the sessions that it may see",
         "List the sessions you may see, most recently used first.",
         "read", SessionsList, _sessions_list, ListedSessions, shown=Shown(without=("limit",))),
    Tool("sessions_history", "read the transcript of a session",
         "Read the transcript of a session you may see: its newest messages, oldest first.",
         "read", SessionsHistory, _sessions_history, SessionHistory),
    Tool("session_status", "read the status of a session",
         "Get the status of a session: state, generation, queue and token use. Your own by default.",
         "read", SessionStatus, _session_status, Status),
    Tool("agents_list", "list the other agents",
         "List the agents you may spawn or ask.",
         "read", AgentsList, _agents_list, KnownAgents),
)  # fmt: skip
