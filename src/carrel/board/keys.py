"""Session keys of the board: its own, those of providers, and any other, which is kept as an opaque bucket. Pure."""

import re

from msgspec import Struct

from carrel.kernel import Grammar
from carrel.kernel.settings import IntakeSettings

_BOARD_KEY = re.compile(
    rf"(?:agent:[^:|]+:)?clawboard:(?:topic:({Grammar.LANE_ID})|task:({Grammar.LANE_ID}):({Grammar.LANE_ID}))(?:\|.*)?",
    re.DOTALL,
)


class BoardKey(Struct, frozen=True):
    """The topic, and maybe the task in it, that a session key of the board names."""

    topic_id: str
    task_id: str | None = None


def board_key(session_key: str | None) -> BoardKey | None:
    """Return what a key of the board names; None for any other key."""
    found = _BOARD_KEY.fullmatch(session_key or "")
    if found is None:
        return None
    return BoardKey(found[1]) if found[1] else BoardKey(found[2], found[3])


def effective_key(
    session_key: str | None, conversation_id: str | None = None, thread_id: str | None = None,
    channel_id: str | None = None,
) -> str | None:  # fmt: skip
    """Return the session key that counts: one of the board, else the provider's conversation, else what was sent."""
    if board_key(session_key) is not None:
        return session_key
    if conversation_id:
        return f"{conversation_id}|thread:{thread_id}" if thread_id else conversation_id
    return session_key or (f"channel:{channel_id}" if channel_id else None)


def is_ignored(session_key: str | None, settings: IntakeSettings) -> bool:
    """Return whether nothing of a session is recorded on the board."""
    return session_key is not None and session_key.startswith(settings.ignore_session_prefixes)
