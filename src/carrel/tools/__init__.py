"""What agents may do: one definition per tool, toolsets narrowed by wrapping, calls made once."""

from carrel.tools.model import Desk, Params, Result, Tool
from carrel.tools.session_tools import SESSION_TOOLS
from carrel.tools.toolset import Catalog, Permitted, Toolset, call_tool
from carrel.tools.turn_tools import TURN_TOOLS

CATALOG = Catalog((*SESSION_TOOLS, *TURN_TOOLS))

__all__ = ["CATALOG", "Catalog", "Desk", "Params", "Permitted", "Result", "Tool", "Toolset", "call_tool"]
