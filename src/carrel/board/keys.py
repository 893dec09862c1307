"""Session keys on the board: its own, those of providers, and opaque buckets. Pure."""

import re

from carrel.board.model import Location
from carrel.kernel import Grammar

_BOARD_KEY = re.compile(
    rf"(?:agent:[^:|]+:)?clawboard:(?:topic:({Grammar.LANE_ID})|task:({Grammar.LANE_ID}):({Grammar.LANE_ID}))(?:\|.*)?",
    re.DOTALL,
)


def board_key(session_key: str | None) -> Location | None:
    """Return the topic, and maybe the task in it, that a key of the board names; None for any other key."""
    found = _BOARD_KEY.fullmatch(session_key or "")
    if found is None:
        return None
    return Location(found[1] or found[2], found[3])


def effective_key(
    session_key: str | None, conversation_id: str | None = None, thread_id: str | None = None,
    channel_id: str | None = None,
) -> str | None:  # fmt: skip
    """Return the effective session key: one of the board, else the provider's conversation, else the sent one."""
    if board_key(session_key) is not None:
        return session_key
    if conversation_id:
        return f"{conversation_id}|thread:{thread_id}" if thread_id else conversation_id
    return session_key or (f"channel:{channel_id}" if channel_id else None)
