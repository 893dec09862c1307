"""What plan mode narrows: which tools a session may use while it plans. Pure."""

from fnmatch import fnmatchcase
from typing import Final

# The tool that writes the plan; it is only offered in plan mode.
SET_PLAN: Final = "plan_set_content"
# Tools that may be used in plan mode, beside those that only read.
_FOR_PLANNING = (SET_PLAN, "goal_*", "request_input")
PLANNING: Final = (
    "this session is in plan mode, where you may only look and plan. Write what you would do with plan_set_content; it "
    "is done once a person approves the plan or leaves plan mode."
)
NOT_PLANNING: Final = "this session is not in plan mode, which a person switches on, for example with /plan on."


def is_hidden_while_planning(name: str, effect: str, server: str | None) -> bool:
    """Return whether plan mode hides a tool: one that writes, of ours or of an MCP server."""
    # A server's tool may have a name that begins like one of ours.
    return effect == "write" and (server is not None or not any(fnmatchcase(name, each) for each in _FOR_PLANNING))
