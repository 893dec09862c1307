"""Callers of tools outside a turn: from an access and a session reference to a lane and the tools allowed there.

Every surface that offers tools uses this, so a token or key that works on one of them works on all.
"""

from msgspec import Struct, structs

from carrel.access import every_account
from carrel.agents import Agent, agent_by_id, default_agent
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, METRICS, Access, Code, Refusal, SessionKey, system_access
from carrel.modes import PLANNING
from carrel.runs import Run, live_runs_of_lane, run_by_id
from carrel.sessions import (
    FoundSession,
    Session,
    find_session,
    generations_of,
    lane_of,
    open_session_of,
    parse_reference,
    session_by_id,
)
from carrel.storage import Tx
from carrel.tools.caller import caller_at
from carrel.tools.catalog import CATALOG
from carrel.tools.model import Caller, ToolServices
from carrel.tools.refusals import note_refusal
from carrel.tools.tool_rules import matches, needs_approval
from carrel.tools.toolset import Permitted, Toolset, Without, toolset_for

# The tool without which an agent sees no session but its own.
_LOOKING = "sessions_history"
_APPROVAL = "it needs a person's approval, which can only be requested within a turn."


class ExternalCaller(Struct, frozen=True):
    """A caller outside a turn, and whether its lane exists: an agent's main lane may not have been used yet."""

    caller: Caller
    has_lane: bool

    @property
    def toolset(self) -> Toolset:
        """The tools that may be called from here."""
        found: Toolset = toolset_for(CATALOG, self.caller)
        if self.caller.access.is_person:
            return found
        rules = self.caller.agent.profile.tools
        return Without(found, lambda tool: needs_approval(tool, rules), _APPROVAL)


def access_by_session_key(tx: Tx, reference: str) -> Access:
    """Return the access of the agent whose session is named, for callers that are trusted with a session key alone."""
    try:
        named = parse_reference(reference).account or DEFAULT_ACCOUNT_SLUG
        account = next((found for found in every_account(tx) if named in (found.id, found.slug)), None)
        if account is None:
            raise _unknown()
        system = system_access(account.id, account.slug)
        agent_id = find_session(tx, system, reference).key.agent
        agent = agent_by_id(tx, system, agent_id)
        if agent is None:
            raise _unknown()
    except Refusal as refusal:
        raise _unknown() from refusal
    return Access(
        account_id=account.id,
        account_slug=account.slug,
        kind="agent",
        actor_id=agent_id,
        name=agent_id,
        agent_id=agent_id,
        space_ids=agent.profile.space_ids,
    )


def external_caller(tx: Tx, tool_services: ToolServices, access: Access, reference: str | None) -> ExternalCaller:
    """Return the caller at the session that is named, else at the caller's own; Refusal for a session of another."""
    access.require("owner", "agent", "run")
    own, run, agent = _own_session(tx, access)
    found = FoundSession(own, lane_of(tx, access, own)) if reference is None else _named(tx, access, reference, own)
    if agent is None or agent.id != found.key.agent:
        agent = agent_by_id(tx, access, found.key.agent)
    if run is not None and found.key != own:
        METRICS.count("routing.session_mismatch.blocked.count", access.account_id)
        raise _unknown()
    if agent is None or not agent.enabled:
        raise _unknown()
    if found.lane is None and found.key != agent.base_key:
        raise _unknown()
    session = _generation(tx, access, found, agent, run)
    caller = caller_at(tx, tool_services, access, agent, found.lane or found.key, run=run, session=session)
    return ExternalCaller(caller, found.lane is not None)


def with_view(tx: Tx, services: ToolServices, access: Access, *, tool: str = "", writes: bool = False) -> Access:
    """Return the access of an agent or a run, limited to what the session tools would show it.

    Refuse what the rules for `tool`, which does the same, forbid, and in plan mode whatever `writes`.
    """
    if access.agent_id is None:
        return access
    own, run, agent = _own_session(tx, access)
    agent = agent or agent_by_id(tx, access, own.agent)
    assert agent is not None, "a run always has an agent"
    if tool:
        _require_usable(tool, agent, own, services)
    lane = lane_of(tx, access, own)
    caller = ExternalCaller(caller_at(tx, services, access, agent, lane or own, run=run), lane is not None)
    if writes and caller.caller.is_planning:
        raise Refusal(Code.FORBIDDEN, f"An agent may not change this now: {PLANNING}")
    view = caller.caller.visibility
    if not any(tool.name == _LOOKING for tool in caller.toolset.offered()):
        view = structs.replace(view, mode="self", rule=f"{_LOOKING} is not offered here")
    # The agent may have been limited to other spaces while it follows the feed.
    return structs.replace(access, view=view, space_ids=access.narrowed(agent.profile.space_ids))


def note_refused_read(tx: Tx, access: Access, name: str, refusal: Refusal, *, is_hidden: bool) -> None:
    """Count a read that was refused to an agent or a run, if the tool of that name reads the same."""
    note_refusal(tx, access, _own_session(tx, access)[0], name, refusal, is_hidden=is_hidden)


def _require_usable(name: str, agent: Agent, own: SessionKey, services: ToolServices) -> None:
    """Refuse what an agent may not do with the tool of that name, or only with approval; rooms check its rights."""
    rules = agent.profile.tools
    tool = Permitted(CATALOG, rules).find(name)
    if own.kind == "subagent" and matches(tool.names, services.settings.tools.subagents.tools.deny):
        raise Refusal(Code.TOOL_NOT_ALLOWED, f"This is what the tool {name} does, which sub-agents may not use here.")
    if needs_approval(tool, rules):
        raise Refusal(Code.TOOL_NOT_ALLOWED, f"This is what the tool {name} does: {_APPROVAL} Call {name} there.")


def _own_session(tx: Tx, access: Access) -> tuple[SessionKey, Run | None, Agent | None]:
    """Return the session of the caller's run with that run, else the main lane of its agent with that agent."""
    if access.run_id is None:
        agent = default_agent(tx, access)
        return agent.base_key, None, agent
    run = run_by_id(tx, access, access.run_id)
    if run is None:
        raise Refusal(Code.UNAUTHENTICATED, "The run of this token no longer exists.")
    return run.session_key, run, None


def _named(tx: Tx, access: Access, reference: str, own: SessionKey) -> FoundSession:
    try:
        # An agent may be in any of its lanes, and the header says in which; what it sees follows from that.
        found = find_session(tx, structs.replace(access, kind="system"), reference, own)
        if access.agent_id not in (None, found.key.agent):
            raise _unknown()
        return found
    except Refusal as refusal:
        if refusal.code is Code.AMBIGUOUS_SESSION:
            raise
        raise _unknown() from refusal


def _generation(tx: Tx, access: Access, found: FoundSession, agent: Agent, run: Run | None) -> Session | None:
    """Return the generation the caller is in, if any; Refusal when it is closed and nothing runs there any more."""
    if run is not None:
        return session_by_id(tx, access, run.session_id) if run.session_id is not None else None
    if found.lane is None:
        return None
    session = found.session or open_session_of(tx, access, found.lane.key)
    if session is None and found.lane.generation:
        session = generations_of(tx, access, found.lane.key)[0]
    if session is None or session.closed_at is None:
        return session
    live = live_runs_of_lane(tx, access, found.lane.key)
    if found.session is not None:
        is_over = not any(one.state == "running" and one.session_id == session.id for one in live)
    else:
        # Messages queued in the lane go to its next generation; the base lane always has a next one.
        is_over = not live and found.key != agent.base_key
    if is_over:
        raise Refusal(Code.SESSION_CLOSED, f"{session.address} is closed and nothing runs there any more.")
    return session


def _unknown() -> Refusal:
    message = "The session key is not a session of this token's agent; name one, or leave it out."
    return Refusal(Code.UNKNOWN_SESSION, message)
