"""The text of a file, whatever it is called and however it is encoded. Pure."""

import re

# Formats that are never text, also where their bytes happen to be readable.
_BINARY = re.compile(r"image/(?!svg)|audio/|video/|font/|application/(?:pdf|gzip|.*zip|x-tar|vnd\.openxmlformats)")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# What no text has; tabs, line ends, form feeds and the escapes of terminals are common.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def text_of(content: bytes, mime_type: str) -> str | None:
    """Return the text of a file; None where it is not one."""
    if _BINARY.match(mime_type):
        return None
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if not mime_type.startswith("text/"):
            return None
        # Tables that were saved on Windows say nothing of their encoding.
        text = content.decode("cp1252", errors="replace")
    return None if _CONTROL.search(text) else text
