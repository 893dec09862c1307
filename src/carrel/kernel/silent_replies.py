"""Silence: what an agent answers when it has nothing to say; kept like every reply, and shown to nobody as one."""

REPLY_SKIP = "REPLY_SKIP"
ANNOUNCE_SKIP = "ANNOUNCE_SKIP"
NO_REPLY = "NO_REPLY"
_SILENT = (REPLY_SKIP, ANNOUNCE_SKIP, NO_REPLY)


def spoken(reply: str | None) -> str | None:
    """What a reply says; None for one that says nothing or says that it says nothing."""
    words = (reply or "").strip()
    return words if words and words not in _SILENT else None


def may_be_silence(begun: str) -> bool:
    """True while a reply that begins so may still come to say nothing."""
    return any(word.startswith(begun.strip()) for word in _SILENT)
