"""One file out of a body of the type multipart/form-data, read in one pass."""

import re
from email.message import Message
from email.parser import HeaderParser

from carrel.kernel import NewAttachment, invalid
from carrel.kernel.limits import PART_HEADER_BYTES_MAX

MULTIPART = "multipart/form-data"
_OCTETS = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}")
_LINE = b"\r\n"


def read_file(content_type: str, body: bytes, field: str) -> NewAttachment:
    """Return the file in a field, which must be the only part."""
    boundary = _parameter(content_type, "boundary")
    if not boundary or len(boundary) > 70 or not boundary.isascii():
        raise invalid(field, "The header Content-Type must name the boundary between the parts.")
    # The first boundary has no line before it.
    parts = (_LINE + body).split(_LINE + b"--" + boundary.encode(), 3)
    if len(parts) != 3 or not parts[2].startswith(b"--"):
        raise invalid(field, f"Send exactly one part, with the name {field}.")
    head, found, content = parts[1].partition(_LINE + _LINE)
    if not found or len(head) > PART_HEADER_BYTES_MAX:
        raise invalid(field, "The part has no headers, or too many.")
    headers = HeaderParser().parsestr(head.decode(errors="replace").lstrip())
    if headers.get_param("name", header="content-disposition") != field:
        raise invalid(field, f"Send the file in a part with the name {field}.")
    return NewAttachment(name=_file_name(headers), mime_type=_media_type(headers), content=content)


def _file_name(headers: Message) -> str:
    """Return the name of a file; browsers percent-encode quotation marks and line breaks in it."""
    return (headers.get_filename() or "").replace("%22", '"').replace("%0D", " ").replace("%0A", " ").replace("\0", "")


def _parameter(header: str, name: str) -> str:
    message = Message()
    message["content-type"] = header.replace("\r", " ").replace("\n", " ")
    found = message.get_param(name)
    return found if isinstance(found, str) else ""


def _media_type(headers: Message) -> str:
    """Return the media type that a part names; ignore one that is not valid as a header."""
    named = str(headers.get("content-type", "")).partition(";")[0].strip().lower()
    return named if _MEDIA_TYPE.fullmatch(named) else _OCTETS
