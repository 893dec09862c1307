"""Finding tasks by words: a bounded scan that counts occurrences."""

from msgspec import structs

from carrel.kernel import Access
from carrel.kernel.limits import TASK_SEARCH_PAGE_ROWS, TASK_SEARCH_ROWS_MAX
from carrel.storage import Tx
from carrel.visibility import tasks_seen
from carrel.work import store
from carrel.work.model import Searchable
from carrel.work.permissions import actor_of
from carrel.work.shapes import TaskShape, task_shapes

# A match counts most in the title, least in the reason why a task is blocked.
_WEIGHTS = {"title": 3, "description": 2, "blocked_reason": 1}


class FoundTask(TaskShape, frozen=True, kw_only=True):
    """A task found by a search; `score` is 1 if every field matches."""

    score: float


def search_tasks(tx: Tx, access: Access, query: str, *, limit: int) -> list[FoundTask]:
    """Return the tasks that contain the words and that the caller may read: best first, then newest."""
    wanted, scores = " ".join(query.split()).casefold(), dict[str, float]()
    before, left = None, TASK_SEARCH_ROWS_MAX
    while wanted and left > 0:
        page = store.searchable_tasks(tx, access, before=before, limit=min(left, TASK_SEARCH_PAGE_ROWS))
        scores |= {one.id: score for one in page if (score := _score(one, wanted))}
        if len(page) < TASK_SEARCH_PAGE_ROWS:
            break
        before, left = page[-1].id, left - len(page)
    return _found(tx, access, scores, limit)


def _score(task: Searchable, wanted: str) -> float:
    texts = {name: " ".join((getattr(task, name) or "").split()).casefold() for name in _WEIGHTS}
    return sum(weight for name, weight in _WEIGHTS.items() if wanted in texts[name]) / sum(_WEIGHTS.values())


def _found(tx: Tx, access: Access, scores: dict[str, float], limit: int) -> list[FoundTask]:
    # Refuses callers who have nothing to do with tasks.
    actor_of(tx, access)
    ranked = sorted(scores, key=lambda task_id: (scores[task_id], task_id), reverse=True)
    seen = tasks_seen(tx, access, ranked)
    best = [task_id for task_id in ranked if task_id in seen][:limit]
    readable = sorted(store.tasks_by_id(tx, access, best), key=lambda task: best.index(task.id))
    return [
        FoundTask(**structs.asdict(shape), score=round(scores[shape.id], 3))
        for shape in task_shapes(tx, access, readable)
    ]
