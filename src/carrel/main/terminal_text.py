"""Text for a terminal: nothing in it acts on the terminal or turns a line around."""

import re

# Agents and strangers write much of what is shown and logged. A control character could redraw the terminal or type
# into it; a bidirectional one could show the characters of a line in another order than they have.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def terminal_text(text: str) -> str:
    """Return `text` without the control characters that a terminal would act on."""
    return _CONTROLS.sub("�", text)


def terminal_json(text: str) -> str:
    """Return JSON that means the same and in which those characters are escaped."""
    return _CONTROLS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
