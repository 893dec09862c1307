"""Silent replies: what an agent answers when it has nothing to say. They are not shown as replies."""

import re

REPLY_SKIP = "REPLY_SKIP"
ANNOUNCE_SKIP = "ANNOUNCE_SKIP"
NO_REPLY = "NO_REPLY"
HEARTBEAT_OK = "HEARTBEAT_OK"
# Gateways return these in place of an answer that they did not get, or got only partly.
_PLACEHOLDERS = ("NO_", "No response from OpenClaw.", "No response from agent.", "No reply from agent.")
_SILENT = (REPLY_SKIP, ANNOUNCE_SKIP, NO_REPLY, HEARTBEAT_OK, *_PLACEHOLDERS)
_ADDRESSEES = re.compile(r"(?:@[\w-]+\s+)+")


def visible_reply(reply: str | None) -> str | None:
    """Return the text of a reply; None if it is empty or a silent reply, whoever it is addressed to."""
    words = (reply or "").strip()
    return words if words and _unaddressed(words) not in _SILENT else None


def may_be_silent(begun: str) -> bool:
    """Return whether a reply with this beginning may still turn out to be silent."""
    return any(word.startswith(_unaddressed(begun.strip())) for word in _SILENT)


def _unaddressed(words: str) -> str:
    """The words without the mentions before them."""
    found = _ADDRESSEES.match(words)
    return words[found.end() :] if found else words
