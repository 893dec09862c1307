"""Our tool names at OpenClaw, which refuses requests with tools that it or one of its plugins has. Pure.

Which those are depends on its configuration, so all of ours get a prefix.
"""

from msgspec import structs

from carrel.gateway.answers import is_call
from carrel.gateway.model import StepAnswer

PREFIX = "carrel_"
# Many models reject longer names.
_CHARS_MAX = 64
# Our tools that OpenClaw also has under the same names.
SHARED_TOOLS = frozenset(
    {"agents_list", "session_status", "sessions_history", "sessions_list", "sessions_send", "sessions_spawn"}
)
TOOLS_NOTE = (
    f"The tools named above have the prefix {PREFIX} here: task_get is {PREFIX}task_get. Those that are not listed "
    f"among your tools are called by tool_call, with this name as their id. Their results come as the next message."
)


def name_at_gateway(name: str) -> str:
    """Return the name under which a tool is sent."""
    return PREFIX + name if len(PREFIX + name) <= _CHARS_MAX else name


def own_name(name: str) -> str:
    """Return our name of a called tool."""
    return name.removeprefix(PREFIX)


def with_own_names(answer: StepAnswer) -> StepAnswer:
    """Return an answer whose calls use our names."""
    calls = tuple(structs.replace(call, name=own_name(call.name)) for call in answer.calls)
    output = [{**item, "name": own_name(item["name"])} if is_call(item) else item for item in answer.output]
    return structs.replace(answer, calls=calls, output=output)
