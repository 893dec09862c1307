"""Search results as every surface shows them."""

from typing import Any, TypeVar

from msgspec import structs

from carrel.access import SpaceScope
from carrel.board.document_store import FoundItem
from carrel.board.entries import LogFields, log_shape
from carrel.board.search import BoardFound, Ranked
from carrel.journal import Entry
from carrel.kernel import Shape, clip, iso
from carrel.search import HitReason, SearchMode

H = TypeVar("H", bound=Shape)


class _ItemHit(FoundItem[str], frozen=True, kw_only=True):
    score: float
    reason: HitReason


class TopicHit(_ItemHit, frozen=True, kw_only=True):
    """A topic that was found."""

    name: str


class TaskHit(_ItemHit, frozen=True, kw_only=True):
    """A task that was found."""

    topic_id: str | None
    title: str
    priority: int


class LogHit(LogFields, frozen=True, kw_only=True):
    """An entry or a note that was found."""

    score: float
    reason: HitReason


class SearchMeta(Shape, frozen=True, kw_only=True):
    """Where and how the search looked; `allowedSpaceIds` is null for everything."""

    source_space_id: str | None
    resolved_from: str | None
    allowed_space_ids: list[str] | None
    gate_wait_ms: int
    duration_ms: int
    dense: bool


class SearchShape(Shape, frozen=True, kw_only=True):
    """Search results, best first; `mode` says whether meanings were compared, or only words."""

    query: str
    mode: SearchMode
    topics: list[TopicHit]
    tasks: list[TaskHit]
    logs: list[LogHit]
    notes: list[LogHit]
    matched_topic_ids: list[str]
    matched_task_ids: list[str]
    matched_log_ids: list[str]
    search_meta: SearchMeta


def search_shape(text: str, scope: SpaceScope, found: BoardFound, *, chars_max: int) -> SearchShape:
    """Return search results as shown, with long texts cut."""
    return SearchShape(
        query=text,
        mode=found.mode,
        topics=[_item(TopicHit, one, chars_max) for one in found.topics],
        tasks=[_item(TaskHit, one, chars_max) for one in found.tasks],
        logs=[_log(one, chars_max) for one in found.logs],
        notes=[_log(one, chars_max) for one in found.notes],
        matched_topic_ids=[one.item.id for one in found.topics],
        matched_task_ids=[one.item.id for one in found.tasks],
        matched_log_ids=[one.item.id for one in found.logs],
        search_meta=SearchMeta.of(
            found,
            source_space_id=scope.source,
            resolved_from=scope.resolved_from,
            allowed_space_ids=None if scope.allowed is None else list(scope.allowed),
        ),
    )


def _hit(shape: type[H], ranked: Ranked[Any], item: dict[str, Any], chars_max: int) -> H:
    cut = {name: clip(item[name], chars_max) for name in ("description", "digest", "content") if item.get(name)}
    reason = {name: round(value, 3) for name, value in structs.asdict(ranked.hit.reason).items()}
    shown = item | cut | {"score": round(ranked.hit.score, 3), "reason": HitReason(**reason)}
    return shape(**{name: shown[name] for name in shape.__struct_fields__})


def _item(shape: type[H], ranked: Ranked[Any], chars_max: int) -> H:
    item = structs.asdict(ranked.item)
    return _hit(shape, ranked, item | {name: iso(item[name]) for name in ("created_at", "updated_at")}, chars_max)


def _log(ranked: Ranked[Entry], chars_max: int) -> LogHit:
    return _hit(LogHit, ranked, structs.asdict(log_shape(ranked.item, {})), chars_max)
