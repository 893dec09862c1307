"""Which tools the model of a run is shown: those that the kind of the run needs, and one of several that do the same.

The others can still be called, as over HTTP and MCP: the toolset alone decides what a caller may use.
"""

from functools import lru_cache
from typing import Literal

from carrel.tools.model import Caller, Tool
from carrel.tools.tool_rules import matches
from carrel.tools.toolset import Toolset

# A step of an exchange only says something: it is shown no tools.
Profile = Literal["chat", "auto", "task", "orchestrator", "subagent", "heartbeat", "exchange step"]

_UNSHOWN = (
    # task_history shows the same and more.
    "task_load", "task_get", "task_thread", "clawboard_get_task",
    # task_update, and memory_add with `supersedes`.
    "clawboard_update_task", "memory_update",
    # The request already contains what they return, or only people and programs need it.
    "clawboard_context", "session_status", "memory_read",
)  # fmt: skip
_GOALS = ("goal_*", "plan_*")
_OTHER_SESSIONS = ("sessions_list", "sessions_history")
# In chats task_update also sets the status, and messages name their files.
_NOT_IN_CHATS = (
    "task_status", "response_request", "plan_get", "clawboard_get_topic", "clawboard_create_note", "file_list",
)  # fmt: skip
_BY_PROFILE: dict[Profile, tuple[str, ...]] = {
    "chat": (*_NOT_IN_CHATS, "goal_update", "goal_plan_tasks"),
    "auto": _NOT_IN_CHATS,
    "task": (*_GOALS, *_OTHER_SESSIONS),
    # It gives work to others as tasks.
    "orchestrator": (*_GOALS, *_OTHER_SESSIONS, "sessions_spawn", "agents_list", "artifact_add"),
    "subagent": (*_GOALS, "response_request", "task_status"),
    "heartbeat": (*_GOALS, *_OTHER_SESSIONS, "task_update", "decline", "artifact_add", "clawboard_create_note"),
}  # fmt: skip


def shown_tools(toolset: Toolset, caller: Caller) -> tuple[Tool, ...]:
    """Return the tools of a toolset that the model of the caller's run is shown, in a stable order.

    Tools that the agent's profile allows by name are always shown. In plan mode all are, as few remain.
    """
    profile = profile_of(caller)
    if is_exchange_step(caller):
        return ()
    named = tuple(pattern for pattern in caller.agent.profile.tools.allow if pattern != "*")
    hidden = _UNSHOWN if caller.is_planning else (*_UNSHOWN, *_BY_PROFILE[profile])
    return _shown(toolset, named, hidden)


# Every step asks this of the same few toolsets.
@lru_cache(maxsize=256)
def _shown(toolset: Toolset, named: tuple[str, ...], hidden: tuple[str, ...]) -> tuple[Tool, ...]:
    def is_shown(tool: Tool) -> bool:
        return tool.server is not None or matches(tool.names, named) or not matches(tool.names, hidden)

    return tuple(filter(is_shown, toolset.offered()))


def is_exchange_step(caller: Caller) -> bool:
    """Return whether a caller's run only says something within an exchange between sessions."""
    return profile_of(caller) == "exchange step"


def profile_of(caller: Caller) -> Profile:
    """Return the kind of a caller's run."""
    run = caller.own_run
    kind = run.provenance_kind
    if kind == "reply_back" or (kind == "announce" and not _brings_result(caller)):
        return "exchange step"
    if kind == "heartbeat":
        return "heartbeat"
    if caller.key.kind == "subagent":
        return "subagent"
    if run.task_id is None:
        return "auto" if kind == "auto" else "chat"
    return "orchestrator" if caller.actor.is_orchestrator else "task"


def _brings_result(caller: Caller) -> bool:
    """Whether an announcement brings a sub-agent's result to the session that asked for it and now goes on."""
    return caller.key.kind != "subagent" and caller.own_run.source().source_tool == "sessions_spawn"
