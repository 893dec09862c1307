"""Compaction: what was said, shortened into one opaque item that a caller can bring back as the beginning of a talk.

No model is asked: each message is clipped, and the oldest are left out first.
"""

import base64
import binascii
import zlib
from collections.abc import Sequence

from carrel.kernel import clip, one_line
from carrel.kernel.limits import COMPACTION_CHARS_MAX, COMPACTION_LINE_CHARS_MAX
from carrel.surfaces.responses.errors import wrong

_MARK = "carrel-1."
_BYTES_MAX = COMPACTION_CHARS_MAX * 8


def compact(lines: Sequence[tuple[str, str]]) -> str:
    """What was said, as pairs of role and text, in one opaque text."""
    kept: list[str] = []
    room = COMPACTION_CHARS_MAX
    for role, text in reversed(lines):
        line = f"{role}: {clip(one_line(text), COMPACTION_LINE_CHARS_MAX)}"
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    words = "\n".join(["Summary of what was said before:", *reversed(kept)])
    return _MARK + base64.urlsafe_b64encode(zlib.compress(words.encode())).decode()


def read_compaction(param: str, content: str) -> str:
    """The words of a compaction that was made here."""
    try:
        if not content.startswith(_MARK):
            raise ValueError("made elsewhere")
        unpacking = zlib.decompressobj()
        words = unpacking.decompress(base64.urlsafe_b64decode(content.removeprefix(_MARK)), _BYTES_MAX).decode()
        if not unpacking.eof:
            raise ValueError("too long")
    except (ValueError, zlib.error, binascii.Error, UnicodeDecodeError) as error:
        raise wrong(param, "This is no compaction that was made here.") from error
    return words
