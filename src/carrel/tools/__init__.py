"""What agents may do: one definition per tool, toolsets narrowed by wrapping, calls made once."""

from carrel.tools.calling import (
    bounded,
    call_tool,
    effect_of,
    finish_waiting,
    finished,
    hold_caller,
    ready_for,
    refuse_call,
)
from carrel.tools.desks import desk_at, run_desk
from carrel.tools.model import Desk, NoSideRoom, OpenSideRoom, Params, Readied, Result, Surroundings, Tool, Wait
from carrel.tools.send_tool import SEND_TOOLS
from carrel.tools.session_rows import session_row, shown_key
from carrel.tools.session_shapes import PlanMode, SessionHistory, SessionRow
from carrel.tools.session_tools import SESSION_TOOLS
from carrel.tools.spawn_tool import SPAWN_TOOLS, workspace_of
from carrel.tools.toolset import Catalog, Permitted, Toolset, Without, toolset_for
from carrel.tools.transcript import message_shape
from carrel.tools.turn_tools import TURN_TOOLS

CATALOG = Catalog((*SEND_TOOLS, *SESSION_TOOLS, *SPAWN_TOOLS, *TURN_TOOLS))

__all__ = [
    "CATALOG",
    "Catalog",
    "Desk",
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
    "desk_at",
    "effect_of",
    "finish_waiting",
    "finished",
    "hold_caller",
    "message_shape",
    "ready_for",
    "refuse_call",
    "run_desk",
    "session_row",
    "shown_key",
    "toolset_for",
    "workspace_of",
]
