"""Context: what gathering it costs other lanes, and what it costs itself on a board that grows."""

from bench.context import board, commits
from bench.figures import Figure


def measure(durability: str) -> list[Figure]:
    """Commits beside turns that gather, and `GET /api/context` among more and more entries."""
    return [*commits.measure(durability), *board.measure(durability)]
