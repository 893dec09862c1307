"""A context as surfaces show it: the block, and its content as data."""

from msgspec import UNSET, UnsetType

from carrel.context.model import (
    KEPT_FACTS,
    LOCATION,
    NOTES,
    RECALLED_LOGS,
    RECALLED_TASKS,
    RECALLED_TOPICS,
    ROUTING,
    TIMELINE,
    WORKING_TASKS,
    WORKING_TOPICS,
    Context,
    Depth,
    Explained,
    Line,
)
from carrel.kernel import Shape
from carrel.kernel.settings import Recall

_BULLET = "- "


class ContextItem(Explained, frozen=True, kw_only=True):
    """A line of a block with its reasons; its text is in the block."""

    chars: int
    score: float | UnsetType = UNSET


class ContextRow(Shape, frozen=True, kw_only=True):
    """A topic, task, message, note or kept fact that a block shows."""

    id: str
    kind: str
    scope: str
    text: str
    reason: str
    score: float | UnsetType = UNSET


class BoardSession(Shape, frozen=True, kw_only=True):
    """The topic and the task of a session."""

    topic: ContextRow | None
    task: ContextRow | None


class WorkingSet(Shape, frozen=True, kw_only=True):
    """What is being worked on."""

    topics: list[ContextRow]
    tasks: list[ContextRow]


class Recalled(Shape, frozen=True, kw_only=True):
    """What a search found."""

    topics: list[ContextRow]
    tasks: list[ContextRow]
    notes: list[ContextRow]
    logs: list[ContextRow]


class ContextScope(Shape, frozen=True, kw_only=True):
    """The spaces that were searched, and how they were determined; null for all that the caller may see."""

    source_space_id: str | None
    resolved_from: str | None
    allowed_space_ids: list[str] | None
    # Whether the session recalls only itself, or the board.
    recall: Recall


class ContextData(Shape, frozen=True, kw_only=True):
    """What a block shows, by section, and how many lines did not fit."""

    scope: ContextScope
    working_set: WorkingSet
    routing_memory: list[ContextRow]
    timeline: list[ContextRow]
    memory: list[ContextRow]
    omitted: dict[str, int]
    items: list[ContextItem]
    board_session: BoardSession | UnsetType = UNSET
    semantic: Recalled | UnsetType = UNSET
    degraded: str | UnsetType = UNSET


class ContextShape(Shape, frozen=True, kw_only=True):
    """A context as surfaces show it."""

    ok: bool = True
    mode: Depth
    layers: list[str]
    block: str
    data: ContextData | UnsetType = UNSET
    session_key: str | UnsetType = UNSET
    q: str | UnsetType = UNSET


def context_shape(context: Context, *, session_key: str | None, question: str, with_data: bool = True) -> ContextShape:
    """Return a context as surfaces show it."""
    return ContextShape(
        session_key=session_key or UNSET,
        q=question or UNSET,
        mode=context.mode,
        layers=list(context.layers),
        block=context.block,
        data=_data(context) if with_data else UNSET,
    )


def _data(context: Context) -> ContextData:
    location = _rows(context, LOCATION)
    found = Recalled(
        topics=_rows(context, RECALLED_TOPICS),
        tasks=_rows(context, RECALLED_TASKS),
        notes=_rows(context, NOTES),
        logs=_rows(context, RECALLED_LOGS),
    )
    allowed = context.scope.allowed
    return ContextData(
        scope=ContextScope(
            source_space_id=context.scope.source,
            resolved_from=context.scope.resolved_from,
            allowed_space_ids=None if allowed is None else list(allowed),
            recall=context.recall,
        ),
        board_session=_board_session(location) if location else UNSET,
        working_set=WorkingSet(topics=_rows(context, WORKING_TOPICS), tasks=_rows(context, WORKING_TASKS)),
        routing_memory=_rows(context, ROUTING),
        timeline=_rows(context, TIMELINE),
        memory=_rows(context, KEPT_FACTS),
        semantic=found if "B:semantic" in context.layers else UNSET,
        omitted=context.omitted,
        degraded=context.degraded or UNSET,
        items=[_item(line) for line in context.lines],
    )


def _board_session(location: list[ContextRow]) -> BoardSession:
    by_kind = {row.kind: row for row in location}
    return BoardSession(topic=by_kind.get("topic"), task=by_kind.get("task"))


def _rows(context: Context, section: str) -> list[ContextRow]:
    return [
        ContextRow.of(line, text=line.line.removeprefix(_BULLET), score=_score(line))
        for line in context.lines
        if line.section == section
    ]


def _item(line: Line) -> ContextItem:
    return ContextItem.of(line, chars=len(line.line), score=_score(line))


def _score(line: Line) -> float | UnsetType:
    return UNSET if line.score is None else line.score
