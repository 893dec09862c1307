"""Text rules that every room shares: buffering, clipping and single lines."""

import re

_BREAKS = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
# Section delimiters of instructions and input; a title must not be able to open or close one.
_DELIMITERS = re.compile(r"={3,}|-{3,}|\[/?(?:CARREL|CLAWBOARD)_CONTEXT_(?:BEGIN|END)\]|<{2,}|>{2,}|`{3,}|#{2,}")
CUT = "…"
_CONTROL = re.compile(
    r"(?:HEARTBEAT_OK|NO_REPLY|REPLY_SKIP|ANNOUNCE_SKIP)\Z"
    r"|\[cron:|\[System Message\]|Read HEARTBEAT\.md|Pre-compaction memory flush"
)


class TextBuffer:
    """Text that arrives in pieces; joined only when read, because joining at every piece would copy it all."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    @property
    def text(self) -> str:
        """The whole text so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


def clip(text: str, chars_max: int) -> str:
    """Return `text` cut to at most `chars_max` characters, ending in `…` if it was cut."""
    if len(text) <= chars_max:
        return text
    return text[: chars_max - 1] + CUT if chars_max > 0 else ""


def plain_word(word: str) -> str:
    """Return a choice in its canonical spelling: "In Progress" becomes `in_progress`."""
    return word.strip().casefold().replace(" ", "_").replace("-", "_")


def one_line(text: str) -> str:
    """Return `text` without line breaks and section delimiters, safe to put inside instructions."""
    return " ".join(_DELIMITERS.sub(" ", _BREAKS.sub(" ", text)).split())


def is_control_text(text: str) -> bool:
    """Return whether a text is a heartbeat, comes from a timer, or is a keyword for "nothing to say"."""
    return _CONTROL.match(text.strip()) is not None
