"""Context: what gathering it costs other lanes and itself on a board that grows; and how good it is."""

from pathlib import Path

from bench.context import board, commits, evidence
from bench.context import stores as both
from bench.figures import Figure
from bench.stores import POSTGRES, SQLITE

NAME = "context"


def measure(
    durability: str, data: Path | None = None, stores: tuple[str, ...] = (SQLITE, POSTGRES)
) -> list[Figure]:  # fmt: skip
    """Commits beside turns that gather, and contexts among more and more entries; with data, what the blocks hold."""
    if data is not None:
        return evidence.measure(data)
    alone = [*commits.measure(durability), *board.measure(durability)] if SQLITE in stores else []
    return alone + (both.measure(durability) if POSTGRES in stores else [])
