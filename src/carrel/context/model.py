"""The context of a session: what is asked for, the lines it is made of, and the block they become. Pure."""

from typing import Literal

from msgspec import Struct

from carrel.access import SpaceScope
from carrel.kernel.limits import CONTEXT_LINES_DEFAULT, CONTEXT_TEXT_CHARS_DEFAULT
from carrel.kernel.settings import Recall

Mode = Literal["auto", "cheap", "full", "patient"]
MODES: tuple[Mode, ...] = ("auto", "cheap", "full", "patient")
Layer = Literal[
    "A:board_session", "A:working_set", "A:routing_memory", "A:timeline", "A:memory", "B:semantic"
]  # fmt: skip

PLACE = "Active board location:"
WORKING_TOPICS = "Working set topics:"
WORKING_TASKS = "Working set tasks:"
ROUTING = "Session routing memory (newest last):"
TIMELINE = "Recent session timeline:"
KEPT_FACTS = "Kept facts:"
RECALLED_TOPICS = "Semantic recall topics:"
RECALLED_TASKS = "Semantic recall tasks:"
NOTES = "Curated notes:"
RECALLED_LOGS = "Semantic recall logs:"
# What kept facts are called among the kinds of lines.
MEMORY = "memory"


class Place(Struct, frozen=True):
    """Where a section stands: its layer, and how much of the block is reserved for it, in parts of the whole."""

    layer: Layer
    parts: int
    # Printed the other way round than it is served, which is best first.
    newest_last: bool = False


# In the order of the block.
SECTIONS: dict[str, Place] = {
    PLACE: Place("A:board_session", 6),
    WORKING_TOPICS: Place("A:working_set", 4),
    WORKING_TASKS: Place("A:working_set", 6),
    ROUTING: Place("A:routing_memory", 3, newest_last=True),
    TIMELINE: Place("A:timeline", 8, newest_last=True),
    KEPT_FACTS: Place("A:memory", 8),
    RECALLED_TOPICS: Place("B:semantic", 3),
    RECALLED_TASKS: Place("B:semantic", 3),
    NOTES: Place("B:semantic", 6),
    RECALLED_LOGS: Place("B:semantic", 6),
}


class Line(Struct, frozen=True, kw_only=True):
    """One line of a block: where it comes from, and why it was chosen. `score` is there where lines were ranked."""

    id: str
    kind: str
    section: str
    scope: str
    source: str
    reason: str
    line: str
    score: float | None = None


class ContextLimits(Struct, frozen=True, kw_only=True):
    """How much is shown at most; of topics, tasks and entries None means as much as the mode shows."""

    max_chars: int = CONTEXT_TEXT_CHARS_DEFAULT
    working_set: int = CONTEXT_LINES_DEFAULT
    timeline: int = CONTEXT_LINES_DEFAULT
    topics: int | None = None
    tasks: int | None = None
    logs: int | None = None


class Context(Struct, frozen=True, kw_only=True):
    """A block with what it shows: its layers in order, each line explained, and how many lines found no room.

    `degraded` says what is missing: `search_busy`, `timeout`, or the part that failed.
    """

    mode: Mode = "auto"
    block: str = ""
    layers: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    omitted: dict[str, int] = {}
    degraded: str | None = None
    scope: SpaceScope = SpaceScope()
    recall: Recall = "space"

    def of(self, *sections: str) -> list[Line]:
        """Return the lines of some sections, as they are shown."""
        return [line for line in self.lines if line.section in sections]
