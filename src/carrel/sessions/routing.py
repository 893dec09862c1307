"""Finds the lane that a session reference, or its absence, means."""

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from carrel.access import account_of
from carrel.agents import Agent, agent_by_slug, default_agent, may_address, named_agent
from carrel.kernel import Access, Code, Refusal, SessionKey, ToolVisibility, invalid, not_found
from carrel.sessions import store
from carrel.sessions.model import Lane, Session
from carrel.sessions.references import SessionReference, parse_reference
from carrel.storage import Tx
from carrel.visibility import may_see, require_visible, why_hidden

# The reads of a lane that its finder will need next, for `Tx.prefetch`.
ReadsAhead = Callable[[SessionKey], Iterable[Callable[[], object]]]


def _nothing(_key: SessionKey) -> tuple[()]:
    """Read nothing ahead."""
    return ()


class FoundSession(Struct, frozen=True):
    """What a reference means: a lane that may not exist yet, and the generation if it named one."""

    key: SessionKey
    lane: Lane | None
    session: Session | None = None


def find_session(
    tx: Tx, access: Access, reference: str, current: SessionKey | None = None, visibility: ToolVisibility | None = None,
    *, forbids_hidden: bool = False, ahead: ReadsAhead = _nothing,
) -> FoundSession:  # fmt: skip
    """Return the lane a reference means, whether or not it exists; one the caller may not see is not found.

    With `visibility`, a key that it hides is forbidden with the rule's name, whether or not it exists. With
    `forbids_hidden`, so is every lane that the caller may not see, if the reference is a full one. What the caller will
    read of the lane next, `ahead`, is prefetched with it.
    """
    try:
        return _find(tx, access, reference, current, visibility, ahead)
    except Refusal as refusal:
        if forbids_hidden and _means_a_lane(tx, access, reference):
            name = reference[:80]
            message = f"You may not see the session '{name}'; leave sessionKey out, or name a session that you see."
            raise Refusal(Code.FORBIDDEN, message, field="sessionKey") from refusal
        raise


def _means_a_lane(tx: Tx, access: Access, reference: str) -> bool:
    """Return whether a full reference means a lane of the account; other texts may be the caller's own names."""
    try:
        everyone = structs.replace(access, kind="system", view=None)
        return parse_reference(reference).bare is None and bool(_find(tx, everyone, reference, None, None))
    except Refusal:
        return False


def _find(
    tx: Tx, access: Access, reference: str, current: SessionKey | None, visibility: ToolVisibility | None,
    ahead: ReadsAhead = _nothing,
) -> FoundSession:  # fmt: skip
    parsed = parse_reference(reference)
    _check_account(tx, access, parsed)
    if parsed.current:
        current = current or access.current
        if current is None:
            raise invalid("sessionKey", "'current' means the caller's own session, and this call was made outside one.")
        return _found(tx, access, current, None)
    if parsed.session_id is not None:
        session = store.session_by_id(tx, access, parsed.session_id)
        if session is None:
            raise _unknown(parsed.session_id)
        key = SessionKey.stored(session.key)
        _require_shown(tx, access, visibility, key)
        return _found(tx, access, key, session)
    if parsed.bare is not None:
        return _bare(tx, access, parsed.bare, visibility)
    assert parsed.rest is not None
    named = SessionKey(parsed.slug, parsed.rest) if parsed.slug else None
    if named is not None:
        # Most agents are still called by their id, and then the lane is that of the reference.
        tx.prefetch(lambda: _agent(tx, access, parsed.slug), lambda: store.lane_of(tx, access, named), *ahead(named))
    key = SessionKey.of(_agent(tx, access, parsed.slug).id, parsed.rest)
    if key != named:
        # A number that was drawn ahead was drawn under the lock of another lane.
        tx.invalidate()
    # Before anything is looked up, so that no refusal reveals what exists.
    _require_shown(tx, access, visibility, key)
    found = _found(tx, access, key, None)
    if parsed.generation is None:
        return found
    return FoundSession(key, found.lane, _generation(tx, access, key, parsed.generation))


def find_lane(
    tx: Tx, access: Access, reference: str, current: SessionKey | None = None, visibility: ToolVisibility | None = None
) -> tuple[Lane, Session | None]:
    """Return an existing lane and the generation meant: the named one, else the open one, else the newest."""
    found = find_session(tx, access, reference, current, visibility)
    if found.lane is None:
        raise not_found("session")
    if found.session is not None:
        return found.lane, found.session
    generations = store.generations_of(tx, access, found.lane.key)
    return found.lane, generations[0] if generations else None


def lane_for_work(
    tx: Tx, access: Access, *, agent: str | None, reference: str | None, task_id: str | None, task_scoped: bool,
    ahead: ReadsAhead = _nothing,
) -> SessionKey:  # fmt: skip
    """Return the lane for a message to an agent: the named one, else its Task's, else the agent's main lane."""
    if reference is not None:
        key = find_session(tx, access, reference, ahead=ahead).key
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


def _agent(tx: Tx, access: Access, slug: str | None) -> Agent:
    if access.view is None or slug is None:
        return named_agent(tx, access, slug) if slug else default_agent(tx, access)
    # An agent may name the sessions of others that it sees; for all others the answer is the same.
    agent = agent_by_slug(tx, access, slug)
    if agent is None:
        raise not_found("session")
    return agent


def _require_shown(tx: Tx, access: Access, visibility: ToolVisibility | None, key: SessionKey) -> None:
    why = None if visibility is None else why_hidden(tx, access, visibility, key)
    if why is not None:
        raise Refusal(Code.FORBIDDEN, why)


def _generation(tx: Tx, access: Access, key: SessionKey, generation: int) -> Session:
    found = next((s for s in store.generations_of(tx, access, str(key)) if s.generation == generation), None)
    if found is None:
        raise not_found("session")
    return found


def _bare(tx: Tx, access: Access, conversation: str, visibility: ToolVisibility | None) -> FoundSession:
    lanes = visible_lanes_called(tx, access, conversation)
    if visibility is not None:
        lanes = [lane for lane in lanes if why_hidden(tx, access, visibility, lane.session_key) is None]
    if len(lanes) > 1:
        raise Refusal(
            Code.AMBIGUOUS_SESSION,
            f"'{conversation}' matches {len(lanes)} sessions; name one by its full key.",
            details={"sessionKeys": [lane.key for lane in lanes]},
        )
    if not lanes:
        raise _unknown(conversation)
    return _found(tx, access, lanes[0].session_key, None)


def visible_lanes_called(tx: Tx, access: Access, conversation: str) -> list[Lane]:
    """Return the visible lanes that a bare conversation key may mean."""
    lanes = store.lanes_by_conversation(tx, access, conversation)
    return [lane for lane in lanes if may_see(tx, access, lane.session_key, lane.made_by)]


def _found(tx: Tx, access: Access, key: SessionKey, session: Session | None) -> FoundSession:
    lane = store.lane_of(tx, access, key)
    if lane is not None:
        require_visible(tx, access, lane.session_key, lane.made_by)
    elif not (may_address(access, key.agent) if access.view is None else may_see(tx, access, key, made_by="")):
        raise not_found("session")
    return FoundSession(key, lane, session)


def _unknown(name: str) -> Refusal:
    return Refusal(
        Code.NOT_FOUND, f"There is no session '{name[:80]}'; use a full session key from the list of sessions."
    )
