"""From a session reference, or the lack of one, to the lane it means."""

from msgspec import Struct

from carrel.access import account_of
from carrel.agents import default_agent, may_address, named_agent
from carrel.kernel import Access, Code, Refusal, SessionKey, invalid, not_found
from carrel.sessions import store
from carrel.sessions.model import Lane, Session
from carrel.sessions.references import SessionReference, parse_reference
from carrel.sessions.tool_visibility import ToolVisibility, why_hidden
from carrel.sessions.visibility import may_see, require_visible
from carrel.storage import Tx


class FoundSession(Struct, frozen=True):
    """What a reference means: a lane that may not exist yet, and the generation, if the reference named one."""

    key: SessionKey
    lane: Lane | None
    session: Session | None = None


def find_session(
    tx: Tx, access: Access, reference: str, current: SessionKey | None = None, visibility: ToolVisibility | None = None
) -> FoundSession:
    """Return the lane a reference means, whether or not it exists; another caller's lane is not found.

    If a name matches several lanes, those visible under `visibility` win over hidden ones.
    """
    parsed = parse_reference(reference)
    _check_account(tx, access, parsed)
    if parsed.current:
        if current is None:
            raise invalid("sessionKey", "'current' means the caller's own session, and this call was made outside one.")
        return _found(tx, access, current, None)
    if parsed.session_id is not None:
        session = store.session_by_id(tx, access, parsed.session_id)
        if session is None:
            raise _unknown(parsed.session_id)
        return _found(tx, access, SessionKey.stored(session.key), session)
    if parsed.bare is not None:
        return _bare(tx, access, parsed.bare, visibility)
    assert parsed.rest is not None
    agent = named_agent(tx, access, parsed.slug) if parsed.slug else default_agent(tx, access)
    key = SessionKey.of(agent.id, parsed.rest)
    session = None if parsed.generation is None else _generation(tx, access, key, parsed.generation)
    return _found(tx, access, key, session)


def find_lane(
    tx: Tx, access: Access, reference: str, current: SessionKey | None = None, visibility: ToolVisibility | None = None
) -> tuple[Lane, Session | None]:
    """Return an existing lane and the generation meant: the one named, else the open one, else the newest."""
    found = find_session(tx, access, reference, current, visibility)
    if found.lane is None:
        raise not_found("session")
    if found.session is not None:
        return found.lane, found.session
    generations = store.generations_of(tx, access, found.lane.key)
    return found.lane, generations[0] if generations else None


def lane_for_work(
    tx: Tx, access: Access, *, agent: str | None, reference: str | None, task_id: str | None, task_scoped: bool
) -> SessionKey:
    """Return the lane for a message to an agent: the one named, else its Task's, else the agent's main lane."""
    if reference is not None:
        key = find_session(tx, access, reference).key
        if task_id is not None and key.task_id not in (None, task_id):
            raise invalid("taskId", f"{key} is the lane of Task {key.task_id}; every other Task has its own lane.")
        return key
    addressed = named_agent(tx, access, agent) if agent is not None else default_agent(tx, access)
    if task_id is not None and task_scoped:
        return SessionKey.of(addressed.id, f"task:{task_id}")
    return addressed.base_key


def _check_account(tx: Tx, access: Access, parsed: SessionReference) -> None:
    if parsed.account is not None and parsed.account not in (access.account_id, account_of(tx, access).slug):
        raise not_found("session")


def _generation(tx: Tx, access: Access, key: SessionKey, generation: int) -> Session:
    found = next((s for s in store.generations_of(tx, access, str(key)) if s.generation == generation), None)
    if found is None:
        raise not_found("session")
    return found


def _bare(tx: Tx, access: Access, conversation: str, visibility: ToolVisibility | None) -> FoundSession:
    # Lanes the caller may not see do not count, or the refusal would reveal them.
    matching = store.lanes_by_conversation(tx, access, conversation)
    lanes = [lane for lane in matching if may_see(access, lane.session_key, lane.made_by)]
    if visibility is not None and len(lanes) > 1:
        visible = [lane for lane in lanes if why_hidden(tx, access, visibility, lane.session_key) is None]
        # If all are hidden, any of them will do: the caller is told only which rule hides it.
        lanes = visible or lanes[:1]
    if len(lanes) > 1:
        raise Refusal(
            Code.AMBIGUOUS_SESSION,
            f"'{conversation}' matches {len(lanes)} sessions; name one by its full key.",
            details={"sessionKeys": [lane.key for lane in lanes]},
        )
    if not lanes:
        raise _unknown(conversation)
    return _found(tx, access, lanes[0].session_key, None)


def _found(tx: Tx, access: Access, key: SessionKey, session: Session | None) -> FoundSession:
    lane = store.lane_of(tx, access, key)
    if lane is not None:
        require_visible(access, lane)
    elif not may_address(access, key.agent):
        raise not_found("session")
    return FoundSession(key, lane, session)


def _unknown(name: str) -> Refusal:
    return Refusal(
        Code.NOT_FOUND, f"There is no session '{name[:80]}'; use a full session key from the list of sessions."
    )
