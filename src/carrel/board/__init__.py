"""The board: what comes in, and where it belongs."""

from carrel.board.filters import ATTEMPTS_EXHAUSTED, UNALLOCATED, is_tool_trace, verdict
from carrel.board.intake import record
from carrel.board.keys import BoardKey, board_key, effective_key, is_ignored
from carrel.board.model import LogSource, NewLog, Place
from carrel.board.route_store import Route
from carrel.board.routing import InferredFrom, infer_space, observe_sessions, prune_routes, remember_route, routes_of

__all__ = [
    "ATTEMPTS_EXHAUSTED", "UNALLOCATED", "BoardKey", "InferredFrom", "LogSource", "NewLog", "Place", "Route",
    "board_key", "effective_key", "infer_space", "is_ignored", "is_tool_trace", "observe_sessions", "prune_routes",
    "record", "remember_route", "routes_of", "verdict",
]  # fmt: skip
