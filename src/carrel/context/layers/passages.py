"""Passages: messages close to each other are read together, in the order they were said. Pure."""

from collections.abc import Iterable

from carrel.board import Ranked
from carrel.journal import Entry

# Two messages belong to one passage if at most one message between them was not found.
_APART_MAX = 2


def in_passages(found: Iterable[Ranked[Entry]], limit: int) -> list[Ranked[Entry]]:
    """Return results, given best first, in reading order: at most `limit` passages, the best line's first."""
    passages: list[list[Ranked[Entry]]] = []
    for one in found:
        near = next((passage for passage in passages if any(_is_near(one, other) for other in passage)), None)
        if near is not None:
            near.append(one)
        elif len(passages) < limit:
            passages.append([one])
    return [one for passage in passages for one in sorted(passage, key=lambda one: one.item.seq)]


def _is_near(one: Ranked[Entry], other: Ranked[Entry]) -> bool:
    return (
        one.item.session_key is not None
        and one.item.session_key == other.item.session_key
        and (one.item.topic_id, one.item.task_id) == (other.item.topic_id, other.item.task_id)
        and abs(one.hit.position - other.hit.position) <= _APART_MAX
    )
