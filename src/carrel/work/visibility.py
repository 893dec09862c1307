"""Which events, entries and changes a caller may see.

What is in a lane is seen with the lane, as everywhere; what is about a task or topic and in no lane is seen with that.
Whoever is limited to spaces sees of both only what is visible in them. What is said in a lane and placed nowhere on the
board is the lane's alone; a read that names spaces counts it to the default one.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from carrel import sessions
from carrel.access import Space, SpaceScope, every_space, spaces_changed
from carrel.journal import (
    DEFAULT_SPACE,
    ChangePage,
    Entry,
    Event,
    changes_since,
    entries_by_id,
)
from carrel.kernel import Access
from carrel.storage import Tx
from carrel.topics import (
    Departure,
    Topic,
    TopicFilter,
    departures_between,
    list_topics,
    topics_by_id,
    topics_changed,
)
from carrel.work import store
from carrel.work.model import Task, TaskFilter
from carrel.work.permissions import actor_of, may_read
from carrel.work.tasks import list_tasks

Line = TypeVar("Line", Entry, Event)
_EVERYTHING = SpaceScope()


class SeenChanges(Struct, frozen=True, kw_only=True):
    """What a caller may see of a page of changes, and the ids of what has left its view."""

    page: ChangePage
    spaces: list[Space]
    topics: list[Topic]
    tasks: list[Task]
    left_topics: list[str]
    left_tasks: list[str]
    left_entries: list[str]


class _Named(Struct, rename="camel"):
    """What the body of an event names."""

    log: "_Id | None" = None
    space_ids: tuple[str, ...] = ()


class _Id(Struct):
    id: str


_named = msgspec.json.Decoder(_Named).decode


def visible_events(tx: Tx, access: Access, events: list[Event], scope: SpaceScope = _EVERYTHING) -> list[Event]:
    """Return the events that the caller may see; with a scope, those of them that are in the spaces it names."""
    in_lanes = {event.seq for event in sessions.visible_events(tx, access, events)}
    seen = _Board(tx, access, events).seen(events, in_lanes)
    return seen if scope.allowed is None else _within(tx, access, seen, scope)


def visible_changes(
    tx: Tx, access: Access, after: int, *, limit: int, scope: SpaceScope = _EVERYTHING
) -> SeenChanges:  # fmt: skip
    """Return what the caller may see of the changes after a number: at most so many of each kind."""
    page = changes_since(tx, access, after, limit=limit)
    if not page.reset and _connected_anew(tx, access, scope, after, page):
        # Which spaces are visible from there has changed, and with them what the caller should have.
        page = changes_since(tx, access, -1, limit=limit)
    if page.reset:
        return _present(tx, access, page, scope, limit)
    spaces = scope.allowed
    # The first page of all also has what was there before changes were numbered.
    since = after or -1
    tasks = store.tasks_changed(tx, access, since, page.seq, limit=limit + 1)
    topics = topics_changed(tx, access, since, page.seq, spaces=spaces, limit=limit + 1)
    left = departures_between(tx, access, after, page.seq, spaces=spaces or access.space_ids, limit=limit + 1)
    upto = min(_reached(tasks, limit, page.seq), _reached(topics, limit, page.seq), _reached(left, limit, page.seq))
    if upto < page.seq:
        page = changes_since(tx, access, after, limit=limit, upto=upto)
    tasks = [task for task in tasks if task.seq <= upto]
    named = [task.id for task in tasks]
    read, own = _readable(tx, access, named, scope), _readable(tx, access, named)
    lost = _lost(tx, access, [task_id for task_id in named if task_id not in own])
    return SeenChanges(
        page=_seen(tx, access, page, scope),
        spaces=_spaces(tx, access, since, upto, scope),
        topics=[topic for topic in topics if topic.seq <= upto],
        tasks=[task for task in tasks if task.id in read],
        **_departed(tx, access, [one for one in left if one.seq <= upto], scope, lost),
    )


def _connected_anew(tx: Tx, access: Access, scope: SpaceScope, after: int, page: ChangePage) -> bool:
    """Whether other spaces may be visible from the source of a read than after that number."""
    if scope.source is None:
        return False
    changed = {space.id for space in spaces_changed(tx, access, after, page.seq)}
    return scope.source in changed or any(event.name == "space.deleted" for event in page.deletions)


def _reached(found: Sequence[Task | Topic | Departure], limit: int, seq: int) -> int:
    """The number up to which a page reaches that was read one row past it."""
    return found[limit - 1].seq if len(found) > limit else seq


def _spaces(tx: Tx, access: Access, after: int, upto: int, scope: SpaceScope) -> list[Space]:
    seen = structs.replace(access, space_ids=access.narrowed(scope.allowed))
    return [space for space in spaces_changed(tx, access, after, upto) if seen.covers([space.id])]


def _present(tx: Tx, access: Access, page: ChangePage, scope: SpaceScope, limit: int) -> SeenChanges:
    spaces = scope.allowed
    wanted = TaskFilter(include_archived=True, spaces=spaces)
    return SeenChanges(
        page=_seen(tx, access, page, scope),
        spaces=[space for space in every_space(tx, access) if spaces is None or space.id in spaces],
        topics=list_topics(tx, access, TopicFilter(spaces=spaces), limit=limit),
        tasks=list_tasks(tx, access, wanted, before=None, limit=limit),
        left_topics=[],
        left_tasks=[],
        left_entries=[],
    )


def _seen(tx: Tx, access: Access, page: ChangePage, scope: SpaceScope) -> ChangePage:
    in_lanes = sessions.visible_changes(tx, access, page)
    entries = _Board(tx, access, page.entries).seen(page.entries, {entry.seq for entry in in_lanes.entries})
    deletions = visible_events(tx, access, page.deletions, scope)
    return page.narrowed(entries if scope.allowed is None else _within(tx, access, entries, scope), deletions)


def _departed(
    tx: Tx, access: Access, left: list[Departure], scope: SpaceScope, lost: list[str]
) -> dict[str, list[str]]:  # fmt: skip
    """Of what left spaces that the caller sees, what it sees no more; and of entries only those of its lanes."""
    ids = {kind: [*dict.fromkeys(one.item_id for one in left if one.kind == kind)] for kind in ("topic", "task", "log")}
    topics = {topic.id for topic in topics_by_id(tx, _narrowed(access, scope.allowed), ids["topic"])}
    tasks = _readable(tx, access, ids["task"], scope)
    page = ChangePage(seq=0, entries=entries_by_id(tx, access, ids["log"]), deletions=[])
    entries = {entry.id for entry in _seen(tx, access, page, scope).entries}
    gone = sessions.visible_events(tx, access, [_parting(one) for one in left if one.kind == "log"])
    return {
        "left_topics": [one for one in ids["topic"] if one not in topics],
        "left_tasks": [one for one in dict.fromkeys([*ids["task"], *lost]) if one not in tasks],
        "left_entries": [*dict.fromkeys(event.body for event in gone if event.body not in entries)],
    }


def _parting(left: Departure) -> Event:
    """A departure as the lanes judge it, which know events; its body is the id of the entry."""
    nothing = dict.fromkeys(("conversation", "generation", "run_id", "task_id", "topic_id"))
    return Event(
        seq=left.seq, name="left", at=0, key=left.key, space_id=left.space_id, agent_id=left.agent_id,
        body=left.item_id, **nothing,
    )  # fmt: skip


def _narrowed(access: Access, spaces: tuple[str, ...] | None) -> Access:
    return structs.replace(access, space_ids=access.narrowed(spaces))


class _Board:
    """What a caller may see of the board, looked up at once for many lines."""

    def __init__(self, tx: Tx, access: Access, lines: Sequence[Entry | Event], *, by_space: bool = False) -> None:
        self._access = access
        self._limited = "*" not in access.space_ids
        # Whether what is in a lane and placed nowhere counts to the default space.
        self._by_space = by_space
        bodies = {line.seq: _named(line.body) for line in lines if isinstance(line, Event) and self._reads(line)}
        self._ends = {seq: body.space_ids for seq, body in bodies.items()}
        # An event tells where its entry was; where it is now decides.
        named = {seq: body.log.id for seq, body in bodies.items() if body.log is not None}
        entries = {entry.id: entry for entry in entries_by_id(tx, access, named.values())}
        self._entries = {seq: entries.get(entry_id) for seq, entry_id in named.items()}
        # What is in a lane is looked up only for whoever does not see all spaces.
        placed = [*(line for line in lines if self._limited or line.key is None), *entries.values()]
        tasks = store.tasks_by_id(tx, access, {line.task_id for line in placed if line.task_id is not None})
        self._tasks = _readable_of(tx, access, tasks)
        # The orchestrator chat is not for other agents, whatever space it is in.
        self._chats = {task.id for task in tasks if task.is_chat} - self._tasks
        topics = {line.topic_id for line in placed if line.topic_id is not None}
        self._topics = {topic.id for topic in topics_by_id(tx, access, topics)}

    def _reads(self, event: Event) -> bool:
        return self._limited and event.name in ("topic.deleted", "log.appended", "log.updated", "log.deleted")

    def seen(self, lines: Sequence[Line], in_lanes: set[int]) -> list[Line]:
        """Return the lines that the caller may see, of which those in `in_lanes` are seen with their lanes."""
        return [line for line in lines if self._shows(line, line.seq in in_lanes)]

    def _shows(self, line: Entry | Event, with_lane: bool) -> bool:
        if getattr(line, "recipient", None) is not None and not self._by_space:
            return with_lane
        on_board = line.task_id is not None or line.topic_id is not None or _is_of_space(line)
        if line.key is None and on_board:
            return self._places(line)
        return with_lane and (not self._limited or self._places(line))

    def _places(self, line: Entry | Event) -> bool:
        """Whether something is visible where it is placed."""
        if isinstance(line, Entry):
            return self._has(line)
        if line.seq in self._entries:
            entry = self._entries[line.seq]
            return entry is not None and self._has(entry)
        if line.name in ("topic.deleted", "log.deleted"):
            # Where it was at its end.
            return not self._limited or self._is_alone(line) or self._access.covers(self._ends[line.seq])
        if _is_of_space(line):
            return self._has(line)
        if line.task_id is not None:
            return line.task_id in self._tasks
        if line.topic_id is not None:
            return not self._limited or line.topic_id in self._topics
        return not self._by_space or self._access.covers([DEFAULT_SPACE])

    def _has(self, line: Entry | Event) -> bool:
        if self._is_alone(line):
            return True
        if line.task_id is None and line.topic_id is None and line.space_id is None:
            return self._access.covers([DEFAULT_SPACE])
        own = line.space_id is not None and self._access.covers([line.space_id])
        return line.task_id not in self._chats and (own or line.task_id in self._tasks or line.topic_id in self._topics)

    def _is_alone(self, line: Entry | Event) -> bool:
        """Whether something is in a lane and nowhere else, which is up to the lane."""
        placed = line.task_id is not None or line.topic_id is not None or line.space_id is not None
        return line.key is not None and not placed and not self._by_space


def _is_of_space(line: Entry | Event) -> bool:
    return isinstance(line, Event) and line.name.startswith("space.")


def _within(tx: Tx, access: Access, lines: list[Line], scope: SpaceScope) -> list[Line]:
    """Return those lines that are visible in the spaces which a read names, whoever reads."""
    board = _Board(tx, _anybody(access, scope), lines, by_space=True)
    return board.seen(lines, {line.seq for line in lines})


def _anybody(access: Access, scope: SpaceScope) -> Access:
    """The access of somebody who sees all of these spaces and nothing else."""
    spaces = access.narrowed(scope.allowed)
    return Access(
        account_id=access.account_id, account_slug=access.account_slug, kind="owner", actor_id="", space_ids=spaces
    )


def _readable(tx: Tx, access: Access, task_ids: Iterable[str], scope: SpaceScope = _EVERYTHING) -> set[str]:
    return _readable_of(tx, access, store.tasks_by_id(tx, access, task_ids), scope)


def _readable_of(tx: Tx, access: Access, tasks: list[Task], scope: SpaceScope = _EVERYTHING) -> set[str]:
    readers = [access] if scope.allowed is None else [access, _anybody(access, scope)]
    for reader in readers if tasks else []:
        actor = actor_of(tx, reader)
        tasks = [task for task in tasks if may_read(tx, reader, actor, task)]
    return {task.id for task in tasks}


def _lost(tx: Tx, access: Access, hidden: list[str]) -> list[str]:
    """Of tasks that the caller may not read, those that it once had to do with; of all others it never learns."""
    if not hidden:
        return []
    known = store.tasks_known_to(tx, access, hidden, *actor_of(tx, access).party)
    return [task_id for task_id in hidden if task_id in known]
