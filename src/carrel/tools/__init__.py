"""What agents may do: one definition per tool, toolsets narrowed by wrapping, calls made once."""

from carrel.tools.caller import caller_at, run_caller
from carrel.tools.cleanup import Cleanup
from carrel.tools.invocation import (
    bounded,
    call_tool,
    effect_of,
    finish_waiting,
    finished,
    hold_caller,
    ready_for,
    refuse_call,
)
from carrel.tools.model import Caller, NoSideRoom, OpenSideRoom, Params, Readied, Result, Surroundings, Tool, Wait
from carrel.tools.sessions.lookup import SESSION_TOOLS
from carrel.tools.sessions.rows import session_row, shown_key
from carrel.tools.sessions.send import SEND_TOOLS
from carrel.tools.sessions.shapes import PlanMode, SessionHistory, SessionRow
from carrel.tools.sessions.spawn import SPAWN_TOOLS, workspace_of
from carrel.tools.toolset import Catalog, Permitted, Toolset, Without, toolset_for
from carrel.tools.transcript import message_shape
from carrel.tools.turns import TURN_TOOLS

CATALOG = Catalog((*SEND_TOOLS, *SESSION_TOOLS, *SPAWN_TOOLS, *TURN_TOOLS))

__all__ = [
    "CATALOG",
    "Caller",
    "Catalog",
    "Cleanup",
    "NoSideRoom",
    "OpenSideRoom",
    "Params",
    "Permitted",
    "PlanMode",
    "Readied",
    "Result",
    "SessionHistory",
    "SessionRow",
    "Surroundings",
    "Tool",
    "Toolset",
    "Wait",
    "Without",
    "bounded",
    "call_tool",
    "caller_at",
    "effect_of",
    "finish_waiting",
    "finished",
    "hold_caller",
    "message_shape",
    "ready_for",
    "refuse_call",
    "run_caller",
    "session_row",
    "shown_key",
    "toolset_for",
    "workspace_of",
]
