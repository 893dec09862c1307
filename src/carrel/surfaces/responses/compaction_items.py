"""Compaction items: a transcript shortened to one opaque item that a client can send back as earlier input.

No model is involved: each message is clipped, and the oldest are left out first.
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
    """Encode a transcript, given as pairs of role and text, in one opaque string."""
    kept: list[str] = []
    space = COMPACTION_CHARS_MAX
    for role, text in reversed(lines):
        line = f"{role}: {clip(one_line(text), COMPACTION_LINE_CHARS_MAX)}"
        space -= len(line) + 1
        if space < 0:
            break
        kept.append(line)
    words = "\n".join(["Summary of what was said before:", *reversed(kept)])
    return _MARK + base64.urlsafe_b64encode(zlib.compress(words.encode())).decode()


def read_compaction(param: str, content: str) -> str:
    """Return the text of a compaction item that this server created."""
    try:
        if not content.startswith(_MARK):
            raise ValueError("not ours")
        unpacking = zlib.decompressobj()
        words = unpacking.decompress(base64.urlsafe_b64decode(content.removeprefix(_MARK)), _BYTES_MAX).decode()
        if not unpacking.eof:
            raise ValueError("too long")
    except (ValueError, zlib.error, binascii.Error, UnicodeDecodeError) as error:
        raise wrong(param, "This is not a compaction item of this server.") from error
    return words
