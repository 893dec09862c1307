"""Entries that belong in no topic, such as a program's messages to itself. Pure; the same rules for old entries."""

from typing import Literal

from carrel.journal import ContextMarks, Entry, NewEntry, clean
from carrel.kernel import is_control_text

Verdict = tuple[Literal["classified", "failed"], str]

CONTEXT_NOISE = "context_injection_noise"
CONTROL_PLANE = "filtered_control_plane"
SUBAGENT_SCAFFOLD = "filtered_subagent_scaffold"
CRON_EVENT = "filtered_cron_event"
TOOL_ACTIVITY = "filtered_tool_activity"
UNANCHORED_TOOL_ACTIVITY = "filtered_unanchored_tool_activity"
OWN_REQUEST = "filtered_own_request"
UNALLOCATED = "unallocated"
ATTEMPTS_EXHAUSTED = "attempts_exhausted"
PRIVATE = "private"

CRON_CHANNEL = "cron-event"
_TOOL_TRACES = ("Tool call:", "Tool result:", "Tool error:")
_TOOL_ROLES = ("toolCall", "toolResult")
_SCAFFOLD = "[Subagent Context]"


def verdict(entry: Entry | NewEntry) -> Verdict | None:
    """Return how an entry that is not part of a conversation is classified; None for any other."""
    if entry.channel == CRON_CHANNEL:
        return "failed", CRON_EVENT
    if is_tool_trace(entry):
        anchored = entry.topic_id is not None or entry.task_id is not None
        return ("classified", TOOL_ACTIVITY) if anchored else ("failed", UNANCHORED_TOOL_ACTIVITY)
    if entry.type != "conversation":
        return None
    text = clean(entry.content).strip()
    # Nothing is left after removing injected context.
    if (not text or text.startswith((ContextMarks.HEADING, ContextMarks.RUN_HEADING))) and not entry.attachment_ids:
        return "failed", CONTEXT_NOISE
    if is_control_text(text) or entry.provenance.kind == "heartbeat":
        return "failed", CONTROL_PLANE
    if text.startswith(_SCAFFOLD) and is_subagent_key(entry.key or entry.bucket):
        return "failed", SUBAGENT_SCAFFOLD
    return None


def is_tool_trace(entry: Entry | NewEntry) -> bool:
    """Return whether an entry is a tool call, its result or its error."""
    return entry.type == "action" and (entry.role in _TOOL_ROLES or entry.content.startswith(_TOOL_TRACES))


def is_subagent_key(session_key: str | None) -> bool:
    """Return whether a session key, of a lane or of another system, names a sub-agent's session."""
    return session_key is not None and ":subagent:" in f":{session_key}:"
