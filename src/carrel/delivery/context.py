"""What a run is shown besides its transcript, and how it stands in a request. Pure."""

from collections.abc import Sequence

from msgspec import Struct

KEPT_FACTS = "Kept facts:"
MEMORY = "memory"
# The layer that kept facts make.
MEMORY_LAYER = "A:memory"


class ContextItem(Struct, frozen=True, kw_only=True):
    """One line that a run is shown, with where it comes from and why it was chosen."""

    id: str
    kind: str
    section: str
    scope: str
    source: str
    score: float
    reason: str
    line: str


class ShownItem(Struct, frozen=True, kw_only=True):
    """A line of the context as receipts explain it; its text is in the block."""

    id: str
    kind: str
    section: str
    scope: str
    source: str
    score: float
    reason: str
    chars: int


class ShownContext(Struct, frozen=True, kw_only=True):
    """The context of a step: the block as it was sent, and each line of it explained."""

    block: str
    layers: list[str]
    items: list[ShownItem]
    omitted: dict[str, int]
    degraded: str | None


def block_of(items: Sequence[ContextItem]) -> str:
    """Return the block that is put before the message; empty when there is nothing to show."""
    return "\n".join((KEPT_FACTS, *(item.line for item in items))) if items else ""


def shown_context(items: Sequence[ContextItem]) -> ShownContext:
    """Return the context of a run as its receipt shows it."""
    shown = [
        ShownItem(
            id=item.id,
            kind=item.kind,
            section=item.section,
            scope=item.scope,
            source=item.source,
            score=item.score,
            reason=item.reason,
            chars=len(item.line),
        )
        for item in items
    ]
    layers = [MEMORY_LAYER] if items else []
    return ShownContext(block=block_of(items), layers=layers, items=shown, omitted={}, degraded=None)
