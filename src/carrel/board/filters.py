"""Entries that belong in no topic, such as a program's messages to itself. Pure; the same rules for old entries."""

from typing import Literal

from carrel.journal import ContextMarks, Entry, NewEntry, clean
from carrel.kernel import is_control_text

# How an entry ends, and the code that says why.
Verdict = tuple[Literal["classified", "failed"], str]

_CONTEXT_NOISE: Verdict = ("failed", "context_injection_noise")
_CONTROL_PLANE: Verdict = ("failed", "filtered_control_plane")
_SUBAGENT_SCAFFOLD: Verdict = ("failed", "filtered_subagent_scaffold")
_CRON_EVENT: Verdict = ("failed", "filtered_cron_event")
_TOOL_ACTIVITY: Verdict = ("classified", "filtered_tool_activity")
_UNANCHORED_TOOL_ACTIVITY: Verdict = ("failed", "filtered_unanchored_tool_activity")
OWN_REQUEST: Verdict = ("failed", "filtered_own_request")
UNALLOCATED: Verdict = ("failed", "unallocated")
ATTEMPTS_EXHAUSTED: Verdict = ("failed", "attempts_exhausted")
PRIVATE: Verdict = ("classified", "private")

CRON_CHANNEL = "cron-event"
_TOOL_TRACES = ("Tool call:", "Tool result:", "Tool error:")
_TOOL_ROLES = ("toolCall", "toolResult")
_SCAFFOLD = "[Subagent Context]"


def verdict(entry: Entry | NewEntry) -> Verdict | None:
    """Return how an entry that is not part of a conversation is classified; None for any other."""
    if entry.channel == CRON_CHANNEL:
        return _CRON_EVENT
    if is_tool_trace(entry):
        return _UNANCHORED_TOOL_ACTIVITY if entry.topic_id is None and entry.task_id is None else _TOOL_ACTIVITY
    if entry.type != "conversation":
        return None
    text = clean(entry.content).strip()
    # Nothing is left after removing injected context.
    if (not text or text.startswith((ContextMarks.HEADING, ContextMarks.RUN_HEADING))) and not entry.attachment_ids:
        return _CONTEXT_NOISE
    if is_control_text(text) or entry.provenance.kind == "heartbeat":
        return _CONTROL_PLANE
    if text.startswith(_SCAFFOLD) and is_subagent_key(entry.key or entry.bucket):
        return _SUBAGENT_SCAFFOLD
    return None


def is_tool_trace(entry: Entry | NewEntry) -> bool:
    """Return whether an entry is a tool call, its result or its error."""
    return entry.type == "action" and (entry.role in _TOOL_ROLES or entry.content.startswith(_TOOL_TRACES))


def is_subagent_key(session_key: str | None) -> bool:
    """Return whether a session key, of a lane or of another system, names a sub-agent's session."""
    return session_key is not None and ":subagent:" in f":{session_key}:"
