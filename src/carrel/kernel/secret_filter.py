"""Redaction of secrets by their shape: tokens, API keys and private keys, in any text that is about to be shown.

A secret that is known word for word is removed from a model's stream by `carrel.gateway.secret_filter`.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, TypeVar

from carrel.kernel.text import CUT, clip

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
_SECRET_NAMES = re.compile(r"(?i)token|secret|passw|api_?key|authori[sz]ation|cookie|credential")
REDACTED = "[redacted]"
_DEPTH_MAX = 32
Item = TypeVar("Item")
# A secret whose beginning is cut off within this many characters is not recognized.
_BEGINNING_CHARS = 100


def redact(value: object, chars_max: int = sys.maxsize) -> str:
    """Return a text with everything that looks like a token or key replaced by `[redacted]`.

    Anything else is returned as JSON, without values named like `password` or nested too deeply. With `chars_max` the
    text is clipped, and only as much of a long value is read as that needs.
    """
    looked_at = chars_max + _BEGINNING_CHARS
    if not isinstance(value, str):
        value = json.dumps(_Excerpt(looked_at).of(value, _DEPTH_MAX), ensure_ascii=False, default=str)
    if len(value) <= looked_at:
        return clip(_SECRETS.sub(REDACTED, value), chars_max)
    return _SECRETS.sub(REDACTED, value[:looked_at])[:-_BEGINNING_CHARS][: chars_max - 1] + CUT


class _Excerpt:
    """As much of a value as fits into the given number of JSON characters, without values named like secrets."""

    def __init__(self, chars_max: int) -> None:
        self._left = chars_max

    def of(self, value: Any, depth_max: int) -> Any:
        # Every value takes at least one character.
        self._left -= 1
        if isinstance(value, str):
            return self._text(value)
        if not isinstance(value, Mapping | list | tuple):
            return value
        if depth_max == 0:
            return REDACTED
        if isinstance(value, Mapping):
            named = ((self._text(str(name)), inner) for name, inner in self._some(value.items()))
            return {
                name: REDACTED if _SECRET_NAMES.search(name) else self.of(inner, depth_max - 1) for name, inner in named
            }
        return [self.of(inner, depth_max - 1) for inner in self._some(value)]

    def _text(self, text: str) -> str:
        kept = text[: max(0, self._left)]
        self._left -= len(kept)
        return kept

    def _some(self, items: Iterable[Item]) -> Iterator[Item]:
        return takewhile(lambda _: self._left > 0, items)
