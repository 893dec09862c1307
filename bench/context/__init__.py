"""Context: what gathering it costs other lanes and itself on a board that grows; and how good it is."""

from pathlib import Path

from bench.context import board, commits, evidence
from bench.figures import Figure

NAME = "context"


def measure(durability: str, data: Path | None = None) -> list[Figure]:
    """Commits beside turns that gather, and contexts among more and more entries; with data, what the blocks hold."""
    if data is not None:
        return evidence.measure(data)
    return [*commits.measure(durability), *board.measure(durability)]
