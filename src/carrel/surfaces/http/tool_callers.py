"""Who calls a tool from outside of a turn, by token and session header.

Tools over HTTP and over MCP both begin here, so that a key that opens one of them opens the other.
"""

from fnmatch import fnmatchcase

from msgspec import Struct
from starlette.requests import Request

from carrel.access import every_account
from carrel.agents import Agent, agent_by_id, default_agent
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, Access, Code, Refusal, SessionKey, system_access
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
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens, comes_from_here, identify_and, refuse_token_in_query
from carrel.tools import CATALOG, Caller, Toolset, Without, caller_at, toolset_for

SESSION_HEADER = "x-openclaw-session-key"


class Seat(Struct, frozen=True):
    """A caller, and whether its lane was there before: an agent's main lane may not have been spoken in yet."""

    caller: Caller
    has_lane: bool

    @property
    def toolset(self) -> Toolset:
        """The tools that may be called from here."""
        found: Toolset = toolset_for(CATALOG, self.caller)
        if self.caller.access.is_person:
            return found
        asks = self.caller.agent.profile.tools.ask
        why = "a person must agree first, and is asked within a turn only."
        return Without(found, lambda tool: any(fnmatchcase(tool.name, pattern) for pattern in asks), why)


async def seat_of(request: Request, house: House, wrong: WrongTokens) -> Seat:
    """Where the asker sits; Refusal for no token, a wrong one, or a session that is not the asker's."""
    refuse_token_in_query(request)
    reference = _reference(request)
    seat = await identify_and(request, house, wrong, lambda tx, access: _seat(tx, house, access, reference))
    if seat is not None:
        return seat
    trusts_keys = house.settings.agent_http.session_key_auth == "loopback"
    if reference is None or not trusts_keys or not comes_from_here(request, house):
        raise Refusal(Code.UNAUTHENTICATED, "Send a token: Authorization: Bearer <token>.")
    return await house.db.read(lambda tx: _seat(tx, house, _access_by_key(tx, reference), reference))


def _reference(request: Request) -> str | None:
    given = request.headers.getlist(SESSION_HEADER)
    if len(set(given)) > 1:
        raise Refusal(Code.INVALID_PARAMS, f"{SESSION_HEADER} stands twice; send one.", field=SESSION_HEADER)
    return given[0] if given else None


def _access_by_key(tx: Tx, reference: str) -> Access:
    """The agent whose session is named, where the settings let a key speak for itself on this machine."""
    try:
        named = parse_reference(reference).account or DEFAULT_ACCOUNT_SLUG
        account = next((found for found in every_account(tx) if named in (found.id, found.slug)), None)
        if account is None:
            raise _unknown()
        house_access = system_access(account.id, account.slug)
        agent_id = find_session(tx, house_access, reference).key.agent
    except Refusal as refusal:
        raise _unknown() from refusal
    return Access(
        account_id=account.id,
        account_slug=account.slug,
        kind="agent",
        actor_id=agent_id,
        name=agent_id,
        agent_id=agent_id,
    )


def _seat(tx: Tx, house: House, access: Access, reference: str | None) -> Seat:
    access.require("owner", "agent", "run")
    own, run, agent = _own(tx, access)
    found = FoundSession(own, lane_of(tx, access, own)) if reference is None else _named(tx, access, reference, own)
    if agent is None or agent.id != found.key.agent:
        agent = agent_by_id(tx, access, found.key.agent)
    if agent is None or not agent.enabled or (run is not None and found.key != own):
        raise _unknown()
    if found.lane is None and found.key != agent.base_key:
        raise _unknown()
    session = _generation(tx, access, found, agent, run)
    sandboxed = found.lane is not None and bool(found.lane.sandboxed)
    caller = caller_at(house.surroundings, access, agent, found.key, sandboxed=sandboxed, run=run, session=session)
    return Seat(caller, found.lane is not None)


def _own(tx: Tx, access: Access) -> tuple[SessionKey, Run | None, Agent | None]:
    """Where one sits who names no session: at one's run, else at the main lane of one's agent, who is known then."""
    if access.run_id is None:
        agent = default_agent(tx, access)
        return agent.base_key, None, agent
    run = run_by_id(tx, access, access.run_id)
    if run is None:
        raise Refusal(Code.UNAUTHENTICATED, "The run of this token is no more.")
    return run.session_key, run, None


def _named(tx: Tx, access: Access, reference: str, own: SessionKey) -> FoundSession:
    try:
        return find_session(tx, access, reference, own)
    except Refusal as refusal:
        if refusal.code is Code.AMBIGUOUS_SESSION:
            raise
        raise _unknown() from refusal


def _generation(tx: Tx, access: Access, found: FoundSession, agent: Agent, run: Run | None) -> Session | None:
    """The generation one sits in, if there is one; Refusal when it is closed and nothing runs there any more."""
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
        # What waits in the lane will be heard by its next generation; the base lane always has a next one.
        is_over = not live and found.key != agent.base_key
    if is_over:
        raise Refusal(Code.SESSION_CLOSED, f"{session.address} is closed, and nothing runs there any more.")
    return session


def _unknown() -> Refusal:
    return Refusal(
        Code.UNKNOWN_SESSION, f"{SESSION_HEADER} names no session of this token's agent; name one, or leave it out."
    )
