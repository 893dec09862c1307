"""Loops: work that continues by itself without new results is held until a person allows it to go on."""

from carrel.loops.model import Trace
from carrel.loops.repeat_guard import allow_loop, find_loop, hold_loop, needs_trace, note_answer, observe_runs
from carrel.loops.store import read_trace

__all__ = ["Trace", "allow_loop", "find_loop", "hold_loop", "needs_trace", "note_answer", "observe_runs", "read_trace"]
