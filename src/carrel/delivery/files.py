"""The files of a message in a request: as parts, or short texts as text, with their names. Pure."""

import base64
from collections.abc import Iterable
from textwrap import indent
from typing import Any

from carrel.kernel import clip, one_line
from carrel.kernel.limits import INLINE_FILES_CHARS_MAX, NAME_CHARS_MAX
from carrel.records import Attachment, FileShape, text_of

Item = dict[str, Any]
_PDF = "application/pdf"
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def file_part(file: Attachment) -> Item:
    address = f"data:{file.mime_type};base64,{base64.b64encode(file.content).decode()}"
    if file.mime_type in _IMAGES:
        return {"type": "input_image", "image_url": address, "detail": "auto"}
    return {"type": "input_file", "filename": file.name, "file_data": address}


def file_names(files: Iterable[FileShape]) -> str:
    """Return the text after an earlier message that names its files."""
    return f"[with {', '.join(_name(file) for file in files)}]"


def shown_files(files: list[Attachment], *, may_read: bool) -> tuple[list[Item], str]:
    """Return the parts that hold files, and a text with the rest: short texts, and names of images.

    A longer text is only named if the agent `may_read` it with a tool, since not every model can hold it.
    """
    parts, lines, left = list[Item](), list[str](), INLINE_FILES_CHARS_MAX
    for file in files:
        text = text_of(file.content, file.mime_type)
        is_short = text is not None and len(text) <= left
        if text is not None and is_short:
            left -= len(text)
            # Indented, so that no line of it can be taken for one of ours.
            lines.append(f"- {_described(file)}:\n{indent(text, '    ', lambda _line: True)}")
        elif text is not None and may_read:
            lines.append(f"- {_described(file)}: {len(text)} characters, to be read with file_read")
        else:
            parts.append(file_part(file))
            if file.mime_type in _IMAGES:
                lines.append(f"- {_described(file)}: image {_count(parts)} of this message")
            elif file.mime_type == _PDF and may_read:
                lines.append(f"- {_described(file)}: its text with file_read")
    return parts, "\n".join(["Files:", *lines]) if lines else ""


def _count(parts: list[Item]) -> int:
    return sum(part["type"] == "input_image" for part in parts)


def _described(file: FileShape) -> str:
    return f"{_name(file)} ({one_line(file.mime_type)}, {file.size_bytes} bytes)"


def _name(file: FileShape) -> str:
    return clip(one_line(file.name), NAME_CHARS_MAX) or "a file"
