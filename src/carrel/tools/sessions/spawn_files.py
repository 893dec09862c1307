"""Files that a call hands over inline: checked strictly, never mended. Nothing is written here."""

import base64
import binascii
import unicodedata
from typing import Any, Literal

import msgspec

from carrel.kernel import REDACTED, clip
from carrel.kernel.limits import FILE_NAME_BYTES_MAX
from carrel.kernel.settings import SpawnAttachmentsSettings
from carrel.tools.model import Params
from carrel.workspaces import MANIFEST, NewFile

_SHOWN_CHARS_MAX = 80
# What a stored call tells of a file.
_TOLD = ("name", "encoding", "mimeType")


class InlineFile(Params, frozen=True, kw_only=True):
    """One file, its content as text or as base64."""

    name: str
    content: str
    encoding: Literal["utf8", "base64"] = "utf8"
    mime_type: str | None = None


class WrongFiles(Exception):
    """Files that are not taken, under the code that says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def checked_files(given: tuple[InlineFile, ...], settings: SpawnAttachmentsSettings) -> tuple[NewFile, ...]:
    """The files as bytes, or WrongFiles."""
    if len(given) > settings.max_files:
        raise WrongFiles("attachments_file_count_exceeded", f"At most {settings.max_files} files can be handed over.")
    seen: set[str] = set()
    files: list[NewFile] = []
    for file in given:
        _check_name(file.name)
        if file.name in seen:
            raise WrongFiles("attachments_duplicate_name", f"Two files are called {_shown(file.name)}.")
        seen.add(file.name)
        files.append(NewFile(file.name, _content(file, settings.max_file_bytes)))
    if sum(len(file.content) for file in files) > settings.max_total_bytes:
        raise WrongFiles(
            "attachments_total_bytes_exceeded", f"Together the files have at most {settings.max_total_bytes} bytes."
        )
    return tuple(files)


def _check_name(name: str) -> None:
    is_wrong = (
        not name.strip()
        or name in (".", "..")
        or name.casefold() == MANIFEST
        or any(sign in "/\\" or unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in name)
        or len(name.encode()) > FILE_NAME_BYTES_MAX
    )
    if is_wrong:
        raise WrongFiles("attachments_invalid_name", f"{_shown(name)} is no name that a file can be given here.")


def _content(file: InlineFile, bytes_max: int) -> bytes:
    if file.encoding == "utf8":
        plain = file.content.encode()
        if len(plain) > bytes_max:
            raise WrongFiles("attachments_file_bytes_exceeded", f"{_shown(file.name)} has more than {bytes_max} bytes.")
        return plain
    found = _decoded(file.content, bytes_max)
    if found is None:
        raise WrongFiles(
            "attachments_invalid_base64_or_too_large",
            f"The content of {_shown(file.name)} is no base64, or has more than {bytes_max} bytes.",
        )
    return found


def _decoded(text: str, bytes_max: int) -> bytes | None:
    if len(text) > -(-bytes_max // 3) * 4 or not text.isascii():
        return None
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Whatever would not be written so again has stray bits or stray padding.
    return found if len(found) <= bytes_max and base64.b64encode(found).decode() == text else None


def _shown(name: str) -> str:
    return ascii(clip(name, _SHOWN_CHARS_MAX))


def without_content(arguments: str, names: tuple[str, ...]) -> str:
    """A call's arguments as they may be kept: of files what they are called, and of unknown names nothing."""
    try:
        given = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        given = None
    if not isinstance(given, dict):
        # What cannot be read cannot be told from a file's content.
        return msgspec.json.encode({"unreadable": REDACTED}).decode()
    strays = [name for name in given if name not in names]
    if "attachments" not in given and not strays:
        return arguments
    kept: dict[str, Any] = {name: REDACTED if name in strays else value for name, value in given.items()}
    if "attachments" in given:
        files = given["attachments"]
        kept["attachments"] = [_told(file) for file in files] if isinstance(files, list) else REDACTED
    return msgspec.json.encode(kept).decode()


def _told(file: Any) -> Any:
    if not isinstance(file, dict):
        return REDACTED
    told = {name: file[name] for name in _TOLD if isinstance(file.get(name), str)}
    return told | ({"content": REDACTED} if "content" in file else {})
