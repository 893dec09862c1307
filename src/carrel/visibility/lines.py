"""Which events and entries a caller may see.

Whoever sees a lane sees its entries; an entry about a task or topic, without a lane, is seen with that. Callers limited
to spaces see only what those spaces show. A read that names spaces shows what is in them; unsorted messages of a lane
then count as in the default space.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct, structs

from carrel.journal import DEFAULT_SPACE, Entry, Event, deletions_of
from carrel.kernel import Access, SessionKey
from carrel.notifications import mailbox_of
from carrel.storage import Tx
from carrel.visibility.item_store import entries_seen, tasks_seen, topics_seen
from carrel.visibility.lane_store import lanes_named
from carrel.visibility.lanes import may_see

_OF_ENTRIES = ("log.appended", "log.updated")
_ENDS = ("log.deleted", "topic.deleted")


class OfLane(Protocol):
    """Something that belongs to a lane or, without a key, to an agent."""

    @property
    def key(self) -> str | None: ...
    @property
    def agent_id(self) -> str | None: ...


Thing = TypeVar("Thing", bound=OfLane)
Line = TypeVar("Line", Entry, Event)


class _Id(Struct):
    id: str


class _Body(Struct, rename="camel"):
    """What the body of an event names: its entry, or the last location of something."""

    log: _Id | None = None
    space_ids: tuple[str, ...] = ()


_body = msgspec.json.Decoder(_Body).decode


def visible_events(tx: Tx, access: Access, events: list[Event], spaces: tuple[str, ...] | None = None) -> list[Event]:
    """Return the events that the caller may see; if spaces are given, only those in them."""
    return _on_board(tx, access, events, {event.seq for event in _of_seen_lanes(tx, access, events)}, spaces)


def visible_entries(
    tx: Tx, access: Access, entries: list[Entry], spaces: tuple[str, ...] | None = None
) -> list[Entry]:  # fmt: skip
    """Return the entries that the caller may see; if spaces are given, only those in them."""
    return _on_board(tx, access, entries, {entry.seq for entry in in_seen_lanes(tx, access, entries)}, spaces)


def in_seen_lanes(tx: Tx, access: Access, things: Sequence[Thing]) -> list[Thing]:
    """Return the things in lanes that the caller may see."""
    if access.kind in ("owner", "system"):
        return list(things)
    lanes = lanes_named(tx, access, {thing.key for thing in things if thing.key is not None})
    return [thing for thing in things if _is_seen(tx, access, lanes, thing)]


def _of_seen_lanes(tx: Tx, access: Access, events: list[Event]) -> list[Event]:
    """The events for the caller's mailbox, and those of lanes that it may see."""
    mailbox = mailbox_of(access)
    open_to_it = [event for event in events if event.recipient is None or event.recipient == mailbox]
    if access.kind in ("owner", "system"):
        return open_to_it
    keys = {event.key for event in open_to_it if event.key is not None}
    lanes, deleted = lanes_named(tx, access, keys), deletions_of(tx, access, keys)
    return [
        event
        for event in open_to_it
        # The deletion of a private lane is addressed to those who saw it, so this one is about a shared lane. Events
        # before a lane's deletion belong to the deleted lane, not to a later one with the same key.
        if event.recipient is not None
        or (access.kind == "user" and event.name == "session.deleted")
        or _is_seen(tx, access, lanes if event.seq > deleted.get(event.key or "", 0) else {}, event)
    ]


def _is_seen(tx: Tx, access: Access, lanes: dict[str, bool], thing: OfLane) -> bool:
    if thing.key is None:
        return access.is_person or thing.agent_id == access.agent_id
    seen = lanes.get(thing.key)
    # Nobody can tell any more whose a deleted chat was.
    return may_see(tx, access, SessionKey.stored(thing.key), made_by="") if seen is None else seen


def _on_board(
    tx: Tx, access: Access, lines: list[Line], with_lane: set[int], spaces: tuple[str, ...] | None
) -> list[Line]:  # fmt: skip
    """The lines that the caller may see; those in `with_lane` are of visible lanes."""
    board = _Board(tx, access, lines)
    seen = [line for line in lines if board.shows(line, line.seq in with_lane)]
    if spaces is None:
        return seen
    named = _Board(tx, access, seen, spaces)
    return [line for line in seen if named.shows(line, with_lane=True)]


class _Board:
    """The visible part of the board, looked up at once for many lines."""

    def __init__(
        self, tx: Tx, access: Access, lines: Sequence[Entry | Event], spaces: tuple[str, ...] | None = None
    ) -> None:  # fmt: skip
        self._access = structs.replace(access, space_ids=access.narrowed(spaces))
        self._limited = "*" not in self._access.space_ids
        self._by_space = spaces is not None
        self._ends: dict[int, tuple[str, ...]] = {}
        # An event records where its entry was; the current location decides.
        self._entry_of: dict[int, str] = {}
        for line in lines:
            if isinstance(line, Entry):
                self._entry_of[line.seq] = line.id
            elif line.name in (*_OF_ENTRIES, *_ENDS) and (self._limited or access.view is not None):
                body = _body(line.body)
                self._ends[line.seq] = body.space_ids
                if body.log is not None and line.name in _OF_ENTRIES:
                    self._entry_of[line.seq] = body.log.id
        self._entries = entries_seen(tx, access, self._entry_of.values(), spaces)
        self._tasks = tasks_seen(tx, access, [line.task_id for line in lines if line.task_id is not None], spaces)
        self._topics = topics_seen(tx, access, [line.topic_id for line in lines if line.topic_id is not None], spaces)

    def shows(self, line: Entry | Event, with_lane: bool) -> bool:
        """Return whether the caller may see a line; `with_lane` says that its lane is visible."""
        if isinstance(line, Event) and line.recipient is not None and not self._by_space:
            # A notification belongs to its recipient; one about a task is for those who may see the task.
            return with_lane and (line.task_id is None or line.task_id in self._tasks)
        if line.seq in self._entry_of:
            return (with_lane or line.key is None) and self._entry_of[line.seq] in self._entries
        if isinstance(line, Event) and line.name in _ENDS:
            return (with_lane if line.key is not None else self._is_shared(line)) and self._was_seen(line)
        if isinstance(line, Event) and line.name.startswith("space."):
            return line.space_id is not None and self._access.covers([line.space_id])
        is_on_board = line.task_id is not None or line.topic_id is not None
        return (with_lane or (line.key is None and is_on_board)) and self._shows_location(line)

    def _shows_location(self, line: Entry | Event) -> bool:
        """Whether something is visible through the task or topic it is about."""
        if line.task_id is not None:
            return line.task_id in self._tasks
        if line.topic_id is not None:
            return line.topic_id in self._topics
        return not self._by_space or self._access.covers([DEFAULT_SPACE])

    def _is_shared(self, line: Event) -> bool:
        """Whether the caller may see something without a lane: agents see sorted entries, a sandbox its own task."""
        view = self._access.view
        if view is None or line.name == "topic.deleted":
            return view is not None or self._access.agent_id is None
        if view.sandboxed:
            return line.task_id is not None and line.task_id == view.key.task_id
        return line.task_id is not None or line.topic_id is not None

    def _was_seen(self, line: Event) -> bool:
        """Whether something was visible at its last location; what was only in a lane is decided by the lane."""
        has_location = line.task_id is not None or line.topic_id is not None or line.space_id is not None
        is_alone = line.key is not None and not has_location and not self._by_space
        return not self._limited or is_alone or self._access.covers(self._ends[line.seq])
