"""Text rules that every room shares: clipping, single lines, and what must never be shown."""

import re

_BREAKS = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
# Section delimiters of instructions and input; a title must not be able to open or close one.
_DELIMITERS = re.compile(r"={3,}|-{3,}|\[/?CLAWBOARD_CONTEXT_(?:BEGIN|END)\]|<{2,}|>{2,}|`{3,}|#{2,}")
_SECRETS = re.compile(
    r"crl_[a-z]+_[A-Za-z0-9]+_[A-Za-z0-9]+"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|(?i:bearer)\s+[A-Za-z0-9._~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
REDACTED = "[redacted]"
CUT = "…"


class Gathered:
    """Text that comes in pieces; put together only when asked for, since at every piece the whole would be copied."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]

    def add(self, piece: str) -> None:
        """Add what comes next."""
        self._pieces.append(piece)

    @property
    def text(self) -> str:
        """All of it so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


def clip(text: str, chars_max: int) -> str:
    """`text`, never longer than `chars_max`, with a mark where it was cut."""
    if len(text) <= chars_max:
        return text
    return text[: chars_max - 1] + CUT if chars_max > 0 else ""


def one_line(text: str) -> str:
    """`text` without line breaks and section delimiters, fit to stand inside instructions."""
    return " ".join(_DELIMITERS.sub(" ", _BREAKS.sub(" ", text)).split())


def redact(text: str) -> str:
    """`text` with tokens, keys and private keys of known shapes taken out."""
    return _SECRETS.sub(REDACTED, text)
