"""Searching the board: what a caller finds, and nothing that it may not see.

The index may be behind: results are read from the store again, and only what the caller may see now is returned, in its
current state.
"""

from typing import Generic, Literal, TypeVar

from msgspec import Struct, structs

from carrel.access import SpaceScope, effective_spaces
from carrel.agents import every_agent
from carrel.board.document_store import FoundTask, FoundTopic, found_tasks, found_topics, ids_in_session
from carrel.board.documents import BoardDocuments
from carrel.board.entries import readable_entry
from carrel.board.locations import infer_space, lane_meant, named_by
from carrel.journal import Entry, clean, entries_by_id
from carrel.kernel import MS_PER_SECOND, Access, SessionKey, elapsed_seconds, not_found
from carrel.kernel.limits import SEARCH_FOUND_MAX, SEARCH_OWN_TASKS_MAX, SEARCH_SHOWN_COMPARED_MAX
from carrel.kernel.settings import Recall
from carrel.search import FoundOf, Hit, Query, Search, SearchQuery, SearchResult, Subject, has_kept_documents
from carrel.storage import Database, Tx
from carrel.visibility import Recalls, Viewer, may_see, tasks_worked_on

T = TypeVar("T")


class BoardQuery(Query, frozen=True, kw_only=True):
    """What to search for on the board, and from where; at a task, only what was said since its last reopening."""

    scope: SpaceScope = SpaceScope()
    # The session that searches, by default the caller's own: a lane's key, or a name under which a program sends
    # entries.
    session_key: str | None = None
    # Search as a run of that session would: people find what was said elsewhere, lanes do not.
    as_run: bool = False
    with_pending: bool = True
    # What that session should recall, instead of the choice made for it.
    recall: Recall | None = None
    # Entries that the caller already has.
    without: frozenset[str] = frozenset()


class Ranked(Struct, Generic[T], frozen=True):
    """Something that was found, and why."""

    item: T
    hit: Hit


class BoardFound(FoundOf[Ranked[FoundTopic], Ranked[FoundTask], Ranked[Entry]], frozen=True, kw_only=True):
    """Results, best first; the wait for its turn, and the total time."""

    duration_ms: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.topics or self.tasks or self.logs or self.notes)


def scope_of_search(
    tx: Tx, access: Access, *, session_key: str | None, space_id: str | None = None,
    allowed_ids: tuple[str, ...] | None = None,
) -> tuple[str | None, SpaceScope]:  # fmt: skip
    """Return the session that searches and its spaces: given ones, else those of its session.

    Refusal `forbidden` for the session of a lane that the caller may not see.
    """
    session = None if session_key is None else lane_meant(tx, access, session_key) or session_key
    inferred = None if session is None or space_id is not None else infer_space(tx, access, session)
    return session, effective_spaces(tx, access, space_id=space_id, allowed_ids=allowed_ids, inferred=inferred)


async def board_search(db: Database, search: Search, access: Access, query: BoardQuery) -> BoardFound:
    """Return what a caller finds on the board within a scope, and never beyond what it may see.

    Refusal `invalid_params` for a text that is empty or too long, `search_busy` (with `retry_after_seconds`) if too
    many searches are running, `storage_unavailable` if it takes too long. A text that only consists of injected context
    finds nothing. The search stops if its caller goes away.
    """
    begun = elapsed_seconds()
    _search_query(access, query, Viewer(spaces=_spaces(access, query))).check()
    text = clean(query.text).strip()
    if not text:
        return BoardFound(dense=search.mode == "hybrid")
    wanted, tool_calls = structs.replace(query, text=text), search.finds_tool_calls
    asked = await db.read(lambda tx: _asked_unless_vain(tx, access, wanted, tool_calls=tool_calls))
    if asked is None:
        return BoardFound(dense=search.mode == "hybrid")
    found = await search.find(access, asked)
    seen = await db.long_read(lambda tx: _seen(tx, access, query, asked, found), urgent=query.quick, feed=False)
    return structs.replace(seen, duration_ms=round((elapsed_seconds() - begun) * MS_PER_SECOND))


def found_entry(tx: Tx, access: Access, entry_id: str) -> Entry:
    """Return an entry that the caller may find or otherwise see; any other is refused as not found."""
    entries = entries_by_id(tx, access, [entry_id])
    anything = BoardQuery(text="")
    asked, rule = _asked(tx, access, anything), _EntryRule(tx, access, anything)
    documents = BoardDocuments().documents(tx, access, [("entry", entry_id)], tool_calls=True)
    if entries and rule(entries[0]) and any(asked.finds(access.account_id, one) for one in documents):
        return entries[0]
    entry = readable_entry(tx, access, entry_id)
    if not rule(entry):
        raise not_found("entry")
    return entry


def _asked_unless_vain(tx: Tx, access: Access, query: BoardQuery, *, tool_calls: bool) -> SearchQuery | None:
    """The query for the index; None if it can find nothing, as on a board with nothing but this chat."""
    viewer = _viewer(tx, access, query)
    is_vain = _is_vain(tx, access, query, viewer, tool_calls=tool_calls)
    return None if is_vain else _asked(tx, access, query, viewer)


def _is_vain(tx: Tx, access: Access, query: BoardQuery, viewer: Viewer, *, tool_calls: bool) -> bool:
    """Whether the lane already has everything it could find: it recalls only itself, and nothing is kept."""
    if viewer.kind != "lane" or viewer.recalls_board or viewer.task_id or viewer.own_tasks or not viewer.session_key:
        return False
    if len(query.without) > SEARCH_SHOWN_COMPARED_MAX:
        return False
    most = len(query.without) + 1
    said = ids_in_session(tx, access, viewer.session_key, tool_calls=tool_calls, limit=most)
    return query.without.issuperset(said) and not has_kept_documents(tx, access)


def _asked(tx: Tx, access: Access, query: BoardQuery, viewer: Viewer | None = None) -> SearchQuery:
    """The query for the index: with the viewer and the names of agents."""
    names = tuple(agent.id for agent in every_agent(tx, access))
    return structs.replace(_search_query(access, query, viewer or _viewer(tx, access, query)), names=names)


def _viewer(tx: Tx, access: Access, query: BoardQuery) -> Viewer:
    """Who searches: a person, or a session with what it recalls. Agents search from their own lane."""
    spaces, everywhere = _spaces(access, query), query.scope.narrowed_for(access) is None
    if not query.as_run and (access.is_person or access.kind == "system"):
        kind: Literal["user", "owner"] = "user" if access.kind == "user" else "owner"
        return Viewer(kind=kind, spaces=spaces, user_id=access.actor_id, looks_everywhere=everywhere)
    recalls, own = Recalls(tx, access), None if access.current is None else str(access.current)
    named = query.session_key or own
    if named != own and access.view is not None:
        is_lane = recalls.is_lane(named) or named_by(named or "")[1] is not None
        # Only a program outside of runs has sessions under names of its own.
        named = own if is_lane or access.run_id is not None else named
    recall = query.recall or recalls.of(named).recall
    return Viewer(
        spaces=spaces,
        looks_everywhere=everywhere,
        session_key=named,
        task_id=named_by(named or "")[1],
        # A program that searches outside a run searches the board.
        recalls_board=recall == "space" or (access.run_id is None and not query.as_run),
        own_tasks=_own_tasks(tx, access, query, named),
    )


def _own_tasks(tx: Tx, access: Access, query: BoardQuery, session_key: str | None) -> tuple[str, ...]:
    """The tasks outside its spaces that an agent finds because it works on them.

    A search from a space, or one that names spaces, covers only those, except for the task that it is about or comes
    from.
    """
    if "*" in access.space_ids:
        return ()
    if query.scope.narrowed_for(access) is None:
        return tasks_worked_on(tx, access, limit=SEARCH_OWN_TASKS_MAX)
    task_id = query.task_id or named_by(session_key or "")[1]
    return () if task_id is None else tasks_worked_on(tx, access, task_id, limit=1)


def _spaces(access: Access, query: BoardQuery) -> tuple[str, ...] | None:
    """The spaces to search; never more than the caller may see."""
    allowed = access.narrowed(query.scope.allowed)
    return None if "*" in allowed else allowed


def _search_query(access: Access, query: BoardQuery, viewer: Viewer) -> SearchQuery:
    # Results that are dropped on the second look must not leave gaps.
    spare = not query.with_pending or query.without or query.task_id or access.view is not None
    asked = {name: getattr(query, name) for name in Query.__struct_fields__}
    most = {f"{kind}s_max": SEARCH_FOUND_MAX[kind] for kind in ("log", "note") if spare and asked[f"{kind}s_max"]}
    return SearchQuery(viewer=viewer, **asked | most)


def _seen(tx: Tx, access: Access, query: BoardQuery, asked: SearchQuery, found: SearchResult) -> BoardFound:
    """The results in their current state, without what the caller may no longer see."""
    subjects: list[Subject] = [("topic", hit.id) for hit in found.topics]
    subjects += [("task", hit.id) for hit in found.tasks]
    subjects += [("entry", hit.id) for hit in (*found.logs, *found.notes)]
    now = BoardDocuments().documents(tx, access, subjects, tool_calls=True)
    seen: set[tuple[str, str]] = {(one.kind, one.id) for one in now if asked.finds(access.account_id, one)}
    topics = found_topics(tx, access, [hit.id for hit in found.topics])
    tasks = found_tasks(tx, access, [hit.id for hit in found.tasks])
    if asked.viewer.kind == "lane":
        # A digest repeats what was said: only lanes that may see that get it.
        own = asked.viewer.task_id
        if not asked.viewer.recalls_board:
            topics = {name: structs.replace(one, digest=None) for name, one in topics.items()}
        tasks = {name: one if name == own else structs.replace(one, digest=None) for name, one in tasks.items()}
    said = entries_by_id(tx, access, [hit.id for hit in (*found.logs, *found.notes)])
    rule = _EntryRule(tx, access, query)
    entries = {entry.id: entry for entry in said if rule(entry)}
    return BoardFound(
        topics=_ranked(found.topics, topics, seen, query.topics_max),
        tasks=_ranked(found.tasks, tasks, seen, query.tasks_max),
        logs=_ranked(found.logs, entries, seen, query.logs_max),
        notes=_ranked(found.notes, entries, seen, query.notes_max),
        dense=found.dense,
        gate_wait_ms=found.gate_wait_ms,
    )


def _ranked(hits: tuple[Hit, ...], items: dict[str, T], seen: set[tuple[str, str]], most: int) -> tuple[Ranked[T], ...]:
    kept = [Ranked(items[hit.id], hit) for hit in hits if hit.id in items and (hit.kind, hit.id) in seen]
    return tuple(kept[: max(0, most)])


class _EntryRule:
    """Which entries a caller is shown, among those in its spaces."""

    def __init__(self, tx: Tx, access: Access, query: BoardQuery) -> None:
        here = query.task_id or (None if access.current is None else access.current.task_id)
        self._tx = tx
        self._access = access
        self._query = query
        # The task whose lane searches, or that is searched.
        self._task = None if here is None else found_tasks(tx, access, [here]).get(here)
        self._lanes: dict[str, bool] = {}

    def __call__(self, entry: Entry) -> bool:
        query, task = self._query, self._task
        if entry.id in query.without or (entry.classification == "pending" and not query.with_pending):
            return False
        # A reopened task starts afresh.
        if task is not None and entry.task_id == task.id and entry.seq <= task.reopened_seq:
            return False
        view = self._access.view
        return view is None or not view.sandboxed or self._is_in_sandbox(entry)

    def _is_in_sandbox(self, entry: Entry) -> bool:
        """Whether a sandboxed caller may see the session that something was said in."""
        if entry.key is None:
            return self._task is not None and entry.task_id == self._task.id
        if entry.key not in self._lanes:
            self._lanes[entry.key] = may_see(self._tx, self._access, SessionKey.stored(entry.key), made_by="")
        return self._lanes[entry.key]
