"""Silent replies: what an agent answers when it has nothing to say. They are stored but not shown as replies."""

REPLY_SKIP = "REPLY_SKIP"
ANNOUNCE_SKIP = "ANNOUNCE_SKIP"
NO_REPLY = "NO_REPLY"
_SILENT = (REPLY_SKIP, ANNOUNCE_SKIP, NO_REPLY)


def visible_reply(reply: str | None) -> str | None:
    """Return the text of a reply; None if it is empty or a silent reply."""
    words = (reply or "").strip()
    return words if words and words not in _SILENT else None


def may_be_silent(begun: str) -> bool:
    """Return whether a reply that starts like this may still turn out to be silent."""
    return any(word.startswith(begun.strip()) for word in _SILENT)
