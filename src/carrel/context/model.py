"""The context of a session: the request, its lines, and the resulting block. Pure."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from carrel.access import SpaceScope
from carrel.kernel import Shape
from carrel.kernel.limits import CONTEXT_LINES_DEFAULT, CONTEXT_TEXT_CHARS_DEFAULT
from carrel.kernel.settings import Recall

Depth = Literal["auto", "cheap", "full", "patient"]
DEPTHS: tuple[Depth, ...] = ("auto", "cheap", "full", "patient")
# The layout of a block: for programs that know Clawboard's, or for runs.
Form = Literal["clawboard", "run"]
Layer = Literal[
    "A:board_session", "A:working_set", "A:routing_memory", "A:timeline", "A:memory", "B:semantic"
]  # fmt: skip

LOCATION = "Active board location:"
WORKING_TOPICS = "Working set topics:"
WORKING_TASKS = "Working set tasks:"
ROUTING = "Session routing memory (newest last):"
TIMELINE = "Recent session timeline:"
KEPT_FACTS = "Kept facts:"
RECALLED_TOPICS = "Semantic recall topics:"
RECALLED_TASKS = "Semantic recall tasks:"
NOTES = "Curated notes:"
RECALLED_LOGS = "Semantic recall logs:"
# The line kind of kept facts.
MEMORY = "memory"


class Explained(Shape, frozen=True, kw_only=True):
    """What a line of a block is about, where it comes from, and why it was chosen."""

    id: str
    kind: str
    section: str
    scope: str
    source: str
    reason: str


class Line(Explained, frozen=True, kw_only=True):
    """One line of a block. `score` is set if lines were ranked."""

    line: str
    score: float | None = None


def each_once(lines: Iterable[Line]) -> list[Line]:
    """Return lines that show each thing once; only routing memory, which records every message, may repeat it."""
    shown: set[tuple[str, str]] = set()
    kept: list[Line] = []
    for line in lines:
        if line.section == ROUTING or (line.kind, line.id) not in shown:
            kept.append(line)
        if line.section != ROUTING:
            shown.add((line.kind, line.id))
    return kept


class ContextLimits(Struct, frozen=True, kw_only=True):
    """How much is shown at most; for topics, tasks and entries None means the usual number of the mode."""

    max_chars: int = CONTEXT_TEXT_CHARS_DEFAULT
    working_set: int = CONTEXT_LINES_DEFAULT
    timeline: int = CONTEXT_LINES_DEFAULT
    topics: int | None = None
    tasks: int | None = None
    logs: int | None = None


class Context(Struct, frozen=True, kw_only=True):
    """A block and its content: layers in order, a reason for each line, and how many lines did not fit.

    `degraded` says what is missing: `search_busy`, `timeout`, or the part that failed.
    """

    mode: Depth = "auto"
    block: str = ""
    layers: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    omitted: dict[str, int] = {}
    degraded: str | None = None
    scope: SpaceScope = SpaceScope()
    recall: Recall = "space"

    def of(self, *sections: str) -> list[Line]:
        """Return the shown lines of some sections."""
        return [line for line in self.lines if line.section in sections]
