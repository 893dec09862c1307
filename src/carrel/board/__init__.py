"""The board: what comes in, and where it belongs."""

from carrel.board.filters import ATTEMPTS_EXHAUSTED, UNALLOCATED, is_tool_trace, verdict
from carrel.board.intake import record
from carrel.board.keys import BoardKey, board_key, effective_key, is_ignored
from carrel.board.model import LogSource, NewLog, Place

__all__ = [
    "ATTEMPTS_EXHAUSTED", "UNALLOCATED", "BoardKey", "LogSource", "NewLog", "Place", "board_key", "effective_key",
    "is_ignored", "is_tool_trace", "record", "verdict",
]  # fmt: skip
