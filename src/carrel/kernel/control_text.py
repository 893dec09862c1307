"""Texts with which a program and its agents control each other, and that nobody actually said. Pure."""

import re

_CONTROL = re.compile(
    r"(?:HEARTBEAT_OK|NO_REPLY|REPLY_SKIP|ANNOUNCE_SKIP)\Z"
    r"|\[cron:|\[System Message\]|Read HEARTBEAT\.md|Pre-compaction memory flush"
)


def is_control_text(text: str) -> bool:
    """Return whether a text is a heartbeat, comes from a timer, or is a keyword for "nothing to say"."""
    return _CONTROL.match(text.strip()) is not None
