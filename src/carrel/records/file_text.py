"""The text of a file, whatever its name and encoding. Pure."""

import re

# Formats that are never text, even if their bytes happen to be readable.
_BINARY = re.compile(r"image/(?!svg)|audio/|video/|font/|application/(?:pdf|gzip|.*zip|x-tar|vnd\.openxmlformats)")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Characters that no text has; tabs, line ends, form feeds and terminal escapes are common.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def text_of(content: bytes, mime_type: str) -> str | None:
    """Return the text of a file; None if it is not text."""
    if _BINARY.match(mime_type):
        return None
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if not mime_type.startswith("text/"):
            return None
        # Tables saved on Windows do not declare their encoding.
        text = content.decode("cp1252", errors="replace")
    return None if _CONTROL.search(text) else text
