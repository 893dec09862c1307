"""Kept facts: the session's memories of its own scopes and the shared ones."""

from carrel.context.model import KEPT_FACTS, MEMORY, Line
from carrel.memory import Recalled, fact_lines


def fact_section(recalled: list[Recalled], chars_max: int) -> list[Line]:
    """Return a line for each memory, narrowest scope first, together within the limit."""
    # The heading and the line breaks count as well.
    texts = fact_lines(recalled, chars_max - len(KEPT_FACTS) - len(recalled))
    return [_line(one, text) for one, text in zip(recalled, texts, strict=True)]


def _line(recalled: Recalled, text: str) -> Line:
    memory = recalled.memory
    return Line(
        id=memory.id,
        kind=MEMORY,
        section=KEPT_FACTS,
        scope=memory.read_scope,
        source=memory.source_run_id or memory.created_by,
        reason=recalled.reason,
        line=text,
        score=recalled.score,
    )
