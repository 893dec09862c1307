"""Building a context: read the board, recall and search in parallel within a time limit, then lay out the block.

A part that is slow, busy or broken is left out, and the context says so. Nothing is awaited in a transaction.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from logging import getLogger
from typing import TypeVar

from msgspec import Struct, structs

from carrel.access import SpaceScope, effective_spaces
from carrel.agents import agent_by_id
from carrel.board import BoardQuery, NewLog, Ranked, board_search, infer_space, routes_of
from carrel.context import budget, layers, store
from carrel.context.budget import lay_out
from carrel.context.depth import is_low_signal, recalls, result_counts
from carrel.context.model import Context, Line, each_once
from carrel.context.request import ContextRequest
from carrel.context.semantic import SCORE_MIN, Recalling, is_said_in, recalled_lines
from carrel.context.session_position import SessionPosition, look_ahead, read_position
from carrel.context.store import Timeline, TimelineEntry
from carrel.journal import Entry, unseen_messages
from carrel.kernel import METRICS, Access, Code, Refusal, elapsed_seconds, is_control_text
from carrel.kernel.limits import CONTEXT_QUERY_CHARS_MAX, CONTEXT_ROUTES_SHOWN, SMALL_BOARD_ROWS_MAX
from carrel.kernel.settings import Recall, Settings
from carrel.memory import as_said, recall
from carrel.search import Search
from carrel.storage import Database, Tx
from carrel.visibility import LaneRecall, Recalls

_log = getLogger("carrel.context")
T = TypeVar("T")
# Builds a part of a context within a number of seconds.
Work = Callable[[float], Awaitable[T]]
# Temporary refusals, and how a context reports them.
_PASSING = {Code.SEARCH_BUSY: "search_busy", Code.STORAGE_UNAVAILABLE: "timeout"}


class Board(Struct, frozen=True, kw_only=True):
    """What was read of the board: for which session, within which spaces, and the lines of layer A."""

    session: SessionPosition
    # Whether it is a task lane and covers only the task, or its topic.
    is_narrow: bool
    scope: SpaceScope
    # Whether the session recalls itself or the board.
    recall: Recall
    # The caller with the limits of a run of the session, and the same limited to those spaces.
    reader: Access
    seen: Access
    lines: tuple[Line, ...]
    # The tasks being worked on; which of them are shown depends on what is recalled.
    working: tuple[layers.WorkingTask, ...]
    # Entries that are neither recalled nor in the timeline: they contain the question itself, or are shown anyway.
    left_out: frozenset[str]


def read_board(tx: Tx, access: Access, request: ContextRequest, settings: Settings) -> Board:
    """Read layer A except memory: the session's location, the tasks being worked on, and the newest messages."""
    if request.key is not None:
        look_ahead(tx, access, request.key)
    name, access = str(request.key) if request.key is not None else request.reference, _reader(tx, access, request)
    scope = effective_spaces(
        tx,
        access,
        space_id=request.space_id,
        allowed_ids=request.allowed_space_ids,
        inferred=None if name is None else infer_space(tx, access, name),
    )
    seen = access if scope.allowed is None else structs.replace(access, space_ids=scope.allowed)
    session = read_position(tx, seen, request.key, request.reference or name, request.session_id)
    is_narrow = session.is_of_task and settings.context.task_lane != "space"
    # Without a session, an agent reads for its own.
    own_name = str(access.current) if name is None and access.current is not None else name
    lane, spaces = Recalls(tx, access).of(own_name), scope.narrowed_for(access)
    lane = structs.replace(lane, recall=request.recall or lane.recall)
    asked_in = store.entries_marked(tx, access, map(NewLog.marked, request.without_keys))
    known = _known_of_thread(tx, seen, session, request)
    left_out = asked_in | request.shown.ids | known.keys()
    said = (request.question, *request.shown.texts.values(), *known.values()) if request.form == "run" else ()
    lines = _lines(tx, seen, session, request, lane, asked_in, left_out, said, is_narrow=is_narrow)
    return Board(
        session=session,
        is_narrow=is_narrow,
        scope=scope,
        recall=lane.recall,
        reader=access,
        seen=seen,
        lines=tuple(lines),
        working=tuple(_working_tasks(tx, seen, spaces, session, request, settings)),
        left_out=left_out,
    )


def read_small_board(tx: Tx, access: Access, request: ContextRequest, settings: Settings) -> Board | None:
    """Read the board if it is small enough for a short read; else None."""
    is_small = store.is_small_board(tx, access, SMALL_BOARD_ROWS_MAX)
    return read_board(tx, access, request, settings) if is_small else None


def _known_of_thread(tx: Tx, seen: Access, session: SessionPosition, request: ContextRequest) -> dict[str, str]:
    """The thread messages that a run in a task lane has already, and the unseen ones that come with it, by id."""
    if request.form != "run" or session.task is None:
        return {}
    known: dict[str, str] = {}

    def is_seen(entry: Entry) -> bool:
        if request.shown.has(entry) or is_said_in(entry, request.question):
            known[entry.id] = entry.content
        return entry.id in known

    unseen, _ = unseen_messages(tx, seen, session.task.id, is_seen, after=session.task.reopened_seq)
    return known | {entry.id: entry.content for entry in unseen}


def _reader(tx: Tx, access: Access, request: ContextRequest) -> Access:
    """The caller, limited to the spaces of the session's agent, because a context shows what a run would see."""
    agent = None if request.key is None else agent_by_id(tx, access, request.key.agent)
    return access if agent is None else structs.replace(access, space_ids=access.narrowed(agent.profile.space_ids))


def _working_tasks(
    tx: Tx, seen: Access, spaces: tuple[str, ...] | None, session: SessionPosition, request: ContextRequest,
    settings: Settings,
) -> list[layers.WorkingTask]:  # fmt: skip
    """The tasks being worked on; in a task lane only its own task, unless the settings widen it."""
    reach, limit = settings.context.task_lane, request.limits.working_set
    if not session.is_of_task or reach == "space":
        return layers.tasks_in_progress(tx, seen, spaces, None, limit=limit)
    own = session.task.topic_id if session.task is not None else None
    return layers.tasks_in_progress(tx, seen, spaces, own, limit=limit) if reach == "topic" and own else []


def _lines(
    tx: Tx, seen: Access, session: SessionPosition, request: ContextRequest, lane: LaneRecall,
    asked_in: frozenset[str], left_out: frozenset[str], said_anyway: tuple[str, ...], *, is_narrow: bool,
) -> list[Line]:  # fmt: skip
    """The lines of layer A. In a task lane nothing of other tasks is read, unless the settings widen it."""
    # An agent never sees messages of another lane that is not on the board.
    is_own = seen.view is None or session.name is None or session.key == seen.current or lane.on_board
    has_talk = session.name is not None and not session.is_fresh and is_own
    said = _said(tx, seen, session, request, lane, asked_in) if has_talk else []
    routes = [] if session.name is None else routes_of(tx, seen, session.name, CONTEXT_ROUTES_SHOWN)
    in_view = {topic.id for topic in store.topics_named(tx, seen, [route.topic_id for route in routes])}
    routes = [route for route in routes if route.topic_id in in_view]
    talk = [one for one in said if one.id not in left_out]
    in_run = request.form == "run"
    lines = layers.location_lines(session, digests=is_own, in_run=in_run, said=said_anyway)
    lines += layers.timeline_lines(talk, session.name or "")
    if is_narrow:
        routes = [route for route in routes if session.task is not None and route.task_id == session.task.id]
        return [*lines, *layers.routing_lines(routes)]
    routed = [route.topic_id for route in reversed(routes)]
    named = [one.topic_id for one in said if one.topic_id is not None]
    return [
        *lines,
        *layers.routing_lines(routes),
        *layers.topic_lines(tx, seen, routed, named, limit=request.limits.working_set, digests=lane.recall == "space"),
    ]


def shows_newest(request: ContextRequest, board: Board) -> bool:
    """Return whether an empty context shows the newest things: not in a task lane, nor unrelated things to a run."""
    return not board.is_narrow and request.form != "run"


def read_newest(tx: Tx, request: ContextRequest, board: Board) -> list[Line]:
    return layers.newest_lines(tx, board.seen, board.scope.narrowed_for(board.reader), limit=request.limits.working_set)


def _said(
    tx: Tx, seen: Access, session: SessionPosition, request: ContextRequest, lane: LaneRecall, asked_in: frozenset[str]
) -> list[TimelineEntry]:  # fmt: skip
    """The newest messages of a session, newest first; after a reopening of its task, only later ones."""
    spoken = Timeline(
        key=None if session.key is None else str(session.key),
        session_id=session.session_id,
        buckets=session.buckets,
        auto_run_id=request.auto_run_id,
        after=0 if session.task is None else session.task.reopened_seq,
        with_pending=request.with_pending,
        is_personal=lane.private_to is not None,
    )
    said = store.newest_said(tx, seen, spoken, limit=request.limits.timeline + len(asked_in))
    # Control texts say nothing; they may not have been sorted yet.
    heard = [one for one in said if one.id not in asked_in and not is_control_text(one.content)]
    return heard[: request.limits.timeline]


def read_facts(tx: Tx, access: Access, request: ContextRequest, settings: Settings) -> list[Line]:
    """Read the facts that fit a question, without those kept from messages that are shown anyway."""
    if request.reader is None:
        return []
    found = recall(tx, access, request.reader, request.question, items_max=settings.memory.recall_items_max)
    shown = request.shown.texts
    unshown = [
        one
        for one in found
        if as_said(one.memory.content) not in as_said(shown.get(one.memory.source_entry_id or "", ""))
    ]
    return layers.fact_section(unshown, settings.memory.recall_chars_max)


def about_board(request: ContextRequest, session: SessionPosition) -> bool:
    """Return whether a message only asks to continue the topic or the task of its session."""
    return session.is_of_board and is_low_signal(request.asked)


def recall_query(request: ContextRequest, board: Board, settings: Settings) -> BoardQuery:
    """Return the search query. In a task lane it covers only the task, unless the settings widen it."""
    session, shown = board.session, result_counts(request.mode, settings.context, request.limits)
    query = BoardQuery(
        text=request.asked,
        scope=board.scope,
        session_key=session.name,
        as_run=True,
        # Not the choice for the session: an agent may name one that recalls more than its own.
        recall=request.recall,
        with_pending=request.with_pending,
        without=board.left_out,
        quick=True,
        topics_max=shown.topics,
        tasks_max=shown.tasks,
        # Some of them may not be shown, and neighbouring ones form a single passage.
        logs_max=max(shown.logs * budget.SPARE_ENTRIES, request.limits.max_chars // budget.SPARE_LINE_CHARS)
        if shown.logs
        else 0,
        notes_max=shown.notes,
    )
    if not session.is_of_board:
        return query
    if about_board(request, session):
        # A short agreement says nothing; it refers to the topic or the task of the session.
        query = structs.replace(query, text=f"{request.asked} {session.about}"[:CONTEXT_QUERY_CHARS_MAX])
    if board.is_narrow:
        if settings.context.task_lane == "topic" and session.topic is not None:
            return structs.replace(query, topic_id=session.topic.id)
        return structs.replace(query, task_id=session.task_id, topics_max=0, tasks_max=0)
    about = session.topic.id if session.topic is not None and about_board(request, session) else None
    return structs.replace(query, topic_id=about)


def laid_out(
    access: Access, request: ContextRequest, board: Board | None, lines: list[Line], degraded: str | None
) -> Context:
    laid = lay_out(
        lines, question=request.asked, mode=request.mode, max_chars=request.limits.max_chars, form=request.form
    )
    METRICS.count("context.built.count", access.account_id, mode=request.mode)
    METRICS.observe("context.chars", access.account_id, len(laid.block))
    if degraded is not None:
        METRICS.count("context.degraded.count", access.account_id, reason=degraded)
    return Context(
        mode=request.mode,
        block=laid.block,
        layers=laid.layers,
        lines=laid.lines,
        omitted=laid.omitted,
        degraded=degraded,
        scope=SpaceScope() if board is None else board.scope,
        recall="own" if board is None else board.recall,
    )


def build_now(tx: Tx, access: Access, request: ContextRequest, settings: Settings) -> Context:
    """Build a context without a search, in an already open transaction."""
    board = read_board(tx, access, request, settings)
    lines = _put_together(request, board, read_facts(tx, access, request, settings), None)
    if not lines and shows_newest(request, board):
        lines = read_newest(tx, request, board)
    return laid_out(access, request, board, lines, None)


def _put_together(request: ContextRequest, board: Board, facts: list[Line], recalled: list[Line] | None) -> list[Line]:
    """All lines of a context; `recalled` is None if nothing was searched."""
    topic = board.session.topic
    tasks = layers.task_lines(board.working, None if topic is None else topic.id, recalled)
    found = [line for line in (*tasks, *(recalled or ())) if line.id != request.shown_task_id]
    return each_once([*board.lines, *facts, *found])


def _entries_shown(
    request: ContextRequest, session: SessionPosition, logs: tuple[Ranked[Entry], ...]
) -> tuple[Ranked[Entry], ...]:  # fmt: skip
    """The entries to show: those of an auto run only to its own ticks, other unsorted ones only to their generation."""
    own, generation = (None, request.auto_run_id), session.session_id

    def is_shown(entry: Entry) -> bool:
        allocated = entry.topic_id is not None or entry.task_id is not None
        is_ours = not entry.provenance.is_notice and entry.auto_run_id in own
        return is_ours and (allocated or entry.session_id in (None, generation))

    return tuple(one for one in logs if is_shown(one.item))


class Contexts:
    """Builds contexts, for runs and for other callers."""

    def __init__(self, db: Database, settings: Settings, search: Search) -> None:
        self._db = db
        self._settings = settings
        self._search = search

    async def build(self, access: Access, request: ContextRequest) -> Context:
        """Build a context, within the time limit of the settings."""
        until = elapsed_seconds() + self._settings.context.total_budget_ms / 1000
        missing: list[str] = []
        board = await self._part("board", partial(self._board, access, request), until, missing)
        if board is None:
            return laid_out(access, request, None, [], missing[0])
        async with asyncio.TaskGroup() as group:
            parts = {
                name: group.create_task(self._part(name, work, until, missing))
                for name, work in self._parts(access, request, board).items()
            }
        facts, recalled = (parts[name].result() if name in parts else None for name in ("memory", "semantic"))
        lines = _put_together(request, board, facts or [], recalled)
        if not lines and shows_newest(request, board):
            newest = partial(self._read, lambda tx: read_newest(tx, request, board))
            lines = await self._part("board", newest, until, missing) or []
        return laid_out(access, request, board, lines, missing[0] if missing else None)

    def _parts(self, access: Access, request: ContextRequest, board: Board) -> dict[str, Work[list[Line]]]:
        """The parts besides the board itself: kept facts and, if the question says enough, recall."""
        parts: dict[str, Work[list[Line]]] = {}
        if request.reader is not None:
            parts["memory"] = partial(self._read, lambda tx: read_facts(tx, access, request, self._settings))
        if recalls(request.mode, request.asked, in_board_session=board.session.is_of_board):
            parts["semantic"] = partial(self._recalled, access, request, board)
        return parts

    async def _part(self, name: str, work: Work[T], until: float, missing: list[str]) -> T | None:
        """Do one part of a context within its time; None, noted in `missing`, if that failed."""
        seconds = min(self._settings.context.fetch_timeout_ms / 1000, until - elapsed_seconds())
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                return await work(max(0.0, seconds))
        except TimeoutError:
            missing.append("timeout")
        except Refusal as refusal:
            if name == "board" and refusal.code not in _PASSING:
                raise
            missing.append(_PASSING.get(refusal.code, name))
        except Exception as error:  # boundary: whatever is wrong with a part, the run continues without it
            _log.warning("context_part_failed", extra={"part": name}, exc_info=error)
            missing.append(name)
        return None

    async def _board(self, access: Access, request: ContextRequest, seconds: float) -> Board:
        # On PostgreSQL a short read also runs in another thread, and does not see a single moment.
        if self._db.engine == "sqlite":
            small = await self._db.read(lambda tx: read_small_board(tx, access, request, self._settings))
            if small is not None:
                return small
        return await self._read(lambda tx: read_board(tx, access, request, self._settings), seconds)

    async def _read(self, work: Callable[[Tx], T], seconds: float) -> T:
        return await self._db.long_read(work, seconds_max=seconds, feed=False)

    async def _recalled(self, access: Access, request: ContextRequest, board: Board, _seconds: float) -> list[Line]:
        query = recall_query(request, board, self._settings)
        found = await board_search(self._db, self._search, board.reader, query)
        topic = board.session.topic
        if query.task_id is not None and topic is not None and query.notes_max:
            # A task lane is also shown the notes of its topic, except those of other tasks.
            of_topic = structs.replace(query, task_id=None, topic_id=topic.id, logs_max=0)
            notes = (await board_search(self._db, self._search, board.reader, of_topic)).notes
            found = structs.replace(found, notes=(*found.notes, *(one for one in notes if one.item.task_id is None)))
        if found.is_empty:
            return []
        found = structs.replace(found, logs=_entries_shown(request, board.session, found.logs))
        recalling = Recalling(
            question=request.asked,
            session=board.session,
            recall=board.recall,
            shown=result_counts(request.mode, self._settings.context, request.limits),
            max_chars=request.limits.max_chars,
            # "Go on" matches everything in the topic or the task of the session.
            score_min=0 if about_board(request, board.session) else SCORE_MIN,
        )
        return await self._db.read(lambda tx: recalled_lines(tx, board.seen, recalling, found))
