"""The context that a run is shown besides its transcript, in a request and on its receipt. Pure."""

from msgspec import Struct

from carrel.context import Context, Explained, shown_to_run

NO_CONTEXT = Context()


class ShownItem(Explained, frozen=True, kw_only=True):
    """A line of the context as receipts explain it; its text is in the block."""

    score: float | None
    chars: int


class ShownContext(Struct, frozen=True, kw_only=True):
    """The context of a step: the block as it was sent, and each line of it explained."""

    block: str
    layers: list[str]
    items: list[ShownItem]
    omitted: dict[str, int]
    degraded: str | None


def text_of(context: Context) -> str:
    """Return the text before the message of a run; empty if there is nothing to show."""
    return shown_to_run(context.block) if context.block else ""


def shown_context(context: Context) -> ShownContext:
    """Return the context of a run as its receipt shows it."""
    return ShownContext(
        block=context.block,
        layers=list(context.layers),
        items=[ShownItem.of(one, chars=len(one.line)) for one in context.lines],
        omitted=context.omitted,
        degraded=context.degraded,
    )
