"""From a reference, or the want of one, to the lane it means."""

from msgspec import Struct

from carrel.access import account_of
from carrel.kernel import Access, Code, Refusal, SessionKey, invalid, not_found
from carrel.sessions import agent_store, store
from carrel.sessions.model import MAIN_AGENT, Agent, Lane, Session
from carrel.sessions.spellings import Spelling, read_spelling
from carrel.sessions.tool_visibility import Sight, refusal_of
from carrel.sessions.visibility import may_address, may_see, require_sight
from carrel.storage import Tx


class FoundSession(Struct, frozen=True):
    """Where a reference leads: a lane that may not exist yet, and the generation it asked for, if it asked."""

    key: SessionKey
    lane: Lane | None
    session: Session | None = None


def default_agent(tx: Tx, access: Access) -> Agent:
    """The caller's own agent, else the account's default one."""
    agent_id = access.agent_id or account_of(tx, access).settings.get("defaultAgentId") or MAIN_AGENT
    return named_agent(tx, access, str(agent_id))


def named_agent(tx: Tx, access: Access, name: str) -> Agent:
    """The agent of that id, slug or former slug, within what the caller may address."""
    agent = agent_store.agent_by_slug(tx, access, name)
    if agent is None or not may_address(access, agent.base_key):
        raise not_found("agent")
    return agent


def find_session(
    tx: Tx, access: Access, reference: str, current: SessionKey | None = None, sight: Sight | None = None
) -> FoundSession:
    """The lane a reference means, made or not; what is another's is not found.

    Where a name fits several lanes, those out of `sight` do not count beside those in it.
    """
    spelling = read_spelling(reference)
    _check_account(tx, access, spelling)
    if spelling.current:
        if current is None:
            raise invalid("sessionKey", "'current' means the caller's own session, and this call comes from none.")
        return _place(tx, access, current, None)
    if spelling.session_id is not None:
        session = store.session_by_id(tx, access, spelling.session_id)
        if session is None:
            raise _unknown(spelling.session_id)
        return _place(tx, access, SessionKey.stored(session.key), session)
    if spelling.bare is not None:
        return _bare(tx, access, spelling.bare, sight)
    assert spelling.rest is not None
    agent = named_agent(tx, access, spelling.slug) if spelling.slug else default_agent(tx, access)
    key = SessionKey.of(agent.id, spelling.rest)
    session = None if spelling.generation is None else _generation(tx, access, key, spelling.generation)
    return _place(tx, access, key, session)


def find_lane(
    tx: Tx, access: Access, reference: str, current: SessionKey | None = None, sight: Sight | None = None
) -> tuple[Lane, Session | None]:
    """An existing lane and the generation meant: the one named, else the open one, else the newest."""
    place = find_session(tx, access, reference, current, sight)
    if place.lane is None:
        raise not_found("session")
    if place.session is not None:
        return place.lane, place.session
    found = store.generations_of(tx, access, place.lane.key)
    return place.lane, found[0] if found else None


def lane_for_work(
    tx: Tx, access: Access, *, agent: str | None, reference: str | None, task_id: str | None, task_scoped: bool
) -> SessionKey:
    """The lane something said to an agent is for: the one named, else its Task's, else the agent's main lane."""
    if reference is not None:
        key = find_session(tx, access, reference).key
        if task_id is not None and key.task_id not in (None, task_id):
            raise invalid("taskId", f"{key} is the lane of Task {key.task_id}; another Task has a lane of its own.")
        return key
    speaker = named_agent(tx, access, agent) if agent is not None else default_agent(tx, access)
    if task_id is not None and task_scoped:
        return SessionKey.of(speaker.id, f"task:{task_id}")
    return speaker.base_key


def _check_account(tx: Tx, access: Access, spelling: Spelling) -> None:
    if spelling.account is not None and spelling.account not in (access.account_id, account_of(tx, access).slug):
        raise not_found("session")


def _generation(tx: Tx, access: Access, key: SessionKey, generation: int) -> Session:
    found = next((s for s in store.generations_of(tx, access, str(key)) if s.generation == generation), None)
    if found is None:
        raise not_found("session")
    return found


def _bare(tx: Tx, access: Access, conversation: str, sight: Sight | None) -> FoundSession:
    # Only what the caller may see counts, or the refusal itself would tell of the rest.
    found = store.lanes_by_conversation(tx, access, conversation)
    lanes = [lane for lane in found if may_see(access, lane.session_key, lane.made_by)]
    if sight is not None and len(lanes) > 1:
        in_sight = [lane for lane in lanes if refusal_of(tx, access, sight, lane.session_key) is None]
        # Out of sight they are all alike: whichever it is, the rule that hides it is what the caller will be told.
        lanes = in_sight or lanes[:1]
    if len(lanes) > 1:
        raise Refusal(
            Code.AMBIGUOUS_SESSION,
            f"'{conversation}' fits {len(lanes)} sessions; name one by its full key.",
            details={"sessionKeys": [lane.key for lane in lanes]},
        )
    if not lanes:
        raise _unknown(conversation)
    return _place(tx, access, lanes[0].session_key, None)


def _place(tx: Tx, access: Access, key: SessionKey, session: Session | None) -> FoundSession:
    lane = store.lane_of(tx, access, key)
    if lane is not None:
        require_sight(access, lane)
    elif not may_address(access, key):
        raise not_found("session")
    return FoundSession(key, lane, session)


def _unknown(name: str) -> Refusal:
    return Refusal(
        Code.NOT_FOUND, f"There is no session '{name[:80]}' here; use a full session key from the list of sessions."
    )
