"""The session that a context is for: a lane, or a name under which a program sends entries."""

from msgspec import Struct

from carrel.access import account_of
from carrel.agents import agent_by_id, agent_by_slug
from carrel.board import infer_space, routes_of
from carrel.context import store
from carrel.context.store import TaskRow, TopicRow
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.kernel.limits import CONTEXT_ROUTES_SHOWN
from carrel.sessions import find_session, open_session_of, parse_reference
from carrel.storage import Tx
from carrel.visibility import Recalls


class SessionPosition(Struct, frozen=True, kw_only=True):
    """A session, or none without a `name`; `buckets` are all names under which entries were sent."""

    # The name under which its routes are kept.
    name: str | None = None
    key: SessionKey | None = None
    session_id: str | None = None
    # The generation is about to begin and has no messages; the previous one is still open.
    is_fresh: bool = False
    buckets: tuple[str, ...] = ()
    # What the session is about, if the caller may see that.
    topic: TopicRow | None = None
    task: TaskRow | None = None

    @property
    def about(self) -> str:
        """What the session is about: the names of its topic and task."""
        topic = "" if self.topic is None else self.topic.name
        return f"{topic} {'' if self.task is None else self.task.title}".strip()

    @property
    def is_of_board(self) -> bool:
        """Whether it is the session of a topic or a task."""
        return self.key is not None and self.key.kind in ("task", "topic")

    @property
    def is_of_task(self) -> bool:
        return self.task_id is not None

    @property
    def task_id(self) -> str | None:
        """The task of the session, visible or not."""
        return None if self.key is None else self.key.task_id


def key_named(tx: Tx, access: Access, reference: str) -> SessionKey | None:
    """Return the lane of a session reference; None for any other text, which is a sender's own name.

    Refusal `forbidden` for a lane that the caller may not see, whether or not it exists.
    """
    try:
        return find_session(tx, access, reference, forbids_hidden=True).key
    except Refusal as refusal:
        if refusal.code is Code.FORBIDDEN or _names_lane(tx, access, reference):
            raise
        return None


def _names_lane(tx: Tx, access: Access, reference: str) -> bool:
    try:
        parsed = parse_reference(reference)
    except Refusal:
        return False
    return parsed.bare is None and (parsed.slug is None or agent_by_slug(tx, access, parsed.slug) is not None)


def look_ahead(tx: Tx, access: Access, key: SessionKey) -> None:
    """Prefetch what the context of every session needs."""
    name = str(key)
    tx.prefetch(
        lambda: agent_by_id(tx, access, key.agent),
        lambda: infer_space(tx, access, name),
        lambda: open_session_of(tx, access, name),
        lambda: Recalls(tx, access).of(name),
        lambda: routes_of(tx, access, name, CONTEXT_ROUTES_SHOWN),
        lambda: account_of(tx, access),
    )


def read_position(
    tx: Tx, seen: Access, key: SessionKey | None, reference: str | None, session_id: str | None = None
) -> SessionPosition:
    """Return a session with the visible part of what it is about; by default its open generation."""
    if key is None or reference is None:
        return SessionPosition(name=reference, buckets=() if reference is None else (reference,))
    opened = open_session_of(tx, seen, str(key))
    task = next(iter(store.tasks_named(tx, seen, [key.task_id])), None) if key.task_id else None
    topic_id = key.topic_id or (task.topic_id if task else None)
    topic = next(iter(store.topics_named(tx, seen, [topic_id], with_inactive=True)), None) if topic_id else None
    return SessionPosition(
        name=str(key),
        key=key,
        session_id=session_id or (None if opened is None else opened.id),
        is_fresh=session_id is not None and opened is not None and opened.id != session_id,
        buckets=tuple(dict.fromkeys((reference, str(key), *_board_names(key, topic_id)))),
        topic=topic,
        task=task,
    )


def _board_names(key: SessionKey, topic_id: str | None) -> list[str]:
    if topic_id is None:
        return []
    return [f"clawboard:topic:{topic_id}" if key.topic_id else f"clawboard:task:{topic_id}:{key.task_id}"]
