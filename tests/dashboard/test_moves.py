"""The dashboard offers the moves of tasks that the server accepts."""

import re
from pathlib import Path

from carrel.work.model import MOVES

SOURCE = Path(__file__).parents[2] / "dashboard" / "src" / "data" / "moves.ts"


def test_the_dashboard_knows_the_moves_that_the_server_knows() -> None:
    table = SOURCE.read_text().partition("export const MOVES")[2].partition("};")[0]
    known = {name: tuple(re.findall(r'"(\w+)"', moves)) for name, moves in re.findall(r"(\w+): \[(.*?)\]", table)}
    assert known == MOVES
