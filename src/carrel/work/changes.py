"""What has changed since a number, as far as a caller may see it."""

from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from carrel import visibility
from carrel.access import Space, SpaceScope, every_space, spaces_changed
from carrel.journal import ChangePage, changes_since, entries_by_id
from carrel.kernel import Access
from carrel.storage import Tx
from carrel.topics import Departure, Topic, TopicFilter, departures_between, list_topics, topics_changed
from carrel.work import store
from carrel.work.model import Task, TaskFilter
from carrel.work.permissions import actor_of
from carrel.work.tasks import list_tasks

_EVERYTHING = SpaceScope()


class SeenChanges(Struct, frozen=True, kw_only=True):
    """The visible part of a page of changes, and the ids of what has left the caller's view."""

    page: ChangePage
    spaces: list[Space]
    topics: list[Topic]
    tasks: list[Task]
    left_topics: list[str]
    left_tasks: list[str]
    left_entries: list[str]


def visible_changes(tx: Tx, access: Access, after: int, *, limit: int, scope: SpaceScope = _EVERYTHING) -> SeenChanges:
    """Return the visible changes after a number, up to a limit of each kind."""
    page = changes_since(tx, access, after, limit=limit)
    if not page.reset and _connected_anew(tx, access, scope, after, page):
        # The visible spaces have changed, and with them everything the caller should have.
        page = changes_since(tx, access, -1, limit=limit)
    if page.reset:
        return _present(tx, access, page, scope, limit)
    spaces = scope.allowed
    # The first page also has what existed before changes were numbered.
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
    seen = structs.replace(access, space_ids=access.narrowed(spaces))
    return SeenChanges(
        page=_seen(tx, access, page, scope),
        spaces=[space for space in spaces_changed(tx, access, since, upto) if seen.covers([space.id])],
        topics=[topic for topic in topics if topic.seq <= upto],
        tasks=[task for task in tasks if task.id in read],
        **_departed(tx, access, [one for one in left if one.seq <= upto], scope, lost),
    )


def _connected_anew(tx: Tx, access: Access, scope: SpaceScope, after: int, page: ChangePage) -> bool:
    """Whether the spaces visible to a read may have changed since that number."""
    if scope.source is None:
        return False
    changed = {space.id for space in spaces_changed(tx, access, after, page.seq)}
    return scope.source in changed or any(event.name == "space.deleted" for event in page.deletions)


def _reached(found: Sequence[Task | Topic | Departure], limit: int, seq: int) -> int:
    """The number up to which a page is complete, if it was read one row further."""
    return found[limit - 1].seq if len(found) > limit else seq


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
    entries = visibility.visible_entries(tx, access, page.entries, scope.allowed)
    deletions = visibility.visible_events(tx, access, page.deletions, scope.allowed)
    return structs.replace(page, entries=entries, deletions=deletions)


def _departed(
    tx: Tx, access: Access, left: list[Departure], scope: SpaceScope, lost: list[str]
) -> dict[str, list[str]]:  # fmt: skip
    """What the caller can no longer see after departures from its spaces; entries only of its own lanes."""
    ids = {kind: [*dict.fromkeys(one.item_id for one in left if one.kind == kind)] for kind in ("topic", "task", "log")}
    topics = visibility.topics_seen(tx, access, ids["topic"], scope.allowed)
    tasks = _readable(tx, access, ids["task"], scope)
    present = visibility.visible_entries(tx, access, entries_by_id(tx, access, ids["log"]), scope.allowed)
    entries = {entry.id for entry in present}
    of_lanes = visibility.in_seen_lanes(tx, access, [one for one in left if one.kind == "log"])
    return {
        "left_topics": [one for one in ids["topic"] if one not in topics],
        "left_tasks": [one for one in dict.fromkeys([*ids["task"], *lost]) if one not in tasks],
        "left_entries": [*dict.fromkeys(one.item_id for one in of_lanes if one.item_id not in entries)],
    }


def _readable(tx: Tx, access: Access, task_ids: Collection[str], scope: SpaceScope = _EVERYTHING) -> set[str]:
    """Return the tasks that the caller may see, in the spaces of a read."""
    seen = visibility.tasks_seen(tx, access, task_ids)
    return seen if scope.allowed is None else seen & visibility.tasks_seen(tx, access, task_ids, scope.allowed)


def _lost(tx: Tx, access: Access, hidden: list[str]) -> list[str]:
    """Of unreadable tasks, those that the caller was once party to; it never learns of the others."""
    if not hidden:
        return []
    known = store.tasks_known_to(tx, access, hidden, *actor_of(tx, access).party)
    return [task_id for task_id in hidden if task_id in known]
