"""Files that a call passes inline: checked strictly, never corrected. Nothing is written here."""

import base64
import unicodedata
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from carrel.kernel import REDACTED, clip
from carrel.kernel.limits import FILE_NAME_BYTES_MAX
from carrel.kernel.settings import SpawnAttachmentsSettings
from carrel.tools.model import Params
from carrel.workspaces import MANIFEST, NewFile

_SHOWN_CHARS_MAX = 80
# What a stored call keeps of a file.
_STORED = ("name", "encoding", "mimeType")


class InlineFile(Params, frozen=True, kw_only=True):
    """One file, with its content as text or base64."""

    name: Annotated[str, Meta(description="name of the file")]
    content: Annotated[str, Meta(description="its text, or base64")]
    encoding: Annotated[Literal["utf8", "base64"], Meta(description="of the content")] = "utf8"
    mime_type: Annotated[str, Meta(description="type of the file")] | None = None


class WrongFiles(Exception):
    """Files that are refused, with a code that says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def checked_files(given: tuple[InlineFile, ...], settings: SpawnAttachmentsSettings) -> tuple[NewFile, ...]:
    """Return the files as bytes; raise WrongFiles for invalid ones."""
    if len(given) > settings.max_files:
        raise WrongFiles("attachments_file_count_exceeded", f"At most {settings.max_files} files can be attached.")
    seen: set[str] = set()
    files: list[NewFile] = []
    for file in given:
        _check_name(file.name)
        if file.name in seen:
            raise WrongFiles("attachments_duplicate_name", f"Two files are named {_shown(file.name)}.")
        seen.add(file.name)
        files.append(NewFile(file.name, _content(file, settings.max_file_bytes)))
    if sum(len(file.content) for file in files) > settings.max_total_bytes:
        message = f"The files have more than {settings.max_total_bytes} bytes together."
        raise WrongFiles("attachments_total_bytes_exceeded", message)
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
        raise WrongFiles("attachments_invalid_name", f"{_shown(name)} is not a valid file name.")


def _content(file: InlineFile, bytes_max: int) -> bytes:
    if file.encoding == "utf8":
        plain = file.content.encode()
        if len(plain) > bytes_max:
            raise WrongFiles("attachments_file_bytes_exceeded", f"{_shown(file.name)} has more than {bytes_max} bytes.")
        return plain
    found = _decoded(file.content, bytes_max)
    if found is None:
        message = f"The content of {_shown(file.name)} is not valid base64, or has more than {bytes_max} bytes."
        raise WrongFiles("attachments_invalid_base64_or_too_large", message)
    return found


def _decoded(text: str, bytes_max: int) -> bytes | None:
    if len(text) > -(-bytes_max // 3) * 4 or not text.isascii():
        return None
    try:
        found = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    # Only canonical base64 is accepted: no stray bits or padding.
    return found if len(found) <= bytes_max and base64.b64encode(found).decode() == text else None


def _shown(name: str) -> str:
    return ascii(clip(name, _SHOWN_CHARS_MAX))


def without_content(arguments: str, names: tuple[str, ...]) -> str:
    """Return a call's arguments as they may be stored: of files only the names, of unknown fields nothing."""
    try:
        given = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        given = None
    if not isinstance(given, dict):
        # Unreadable arguments may contain a file's content.
        return msgspec.json.encode({"unreadable": REDACTED}).decode()
    unknown = [name for name in given if name not in names]
    if "attachments" not in given and not unknown:
        return arguments
    stored: dict[str, Any] = {name: REDACTED if name in unknown else value for name, value in given.items()}
    if "attachments" in given:
        files = given["attachments"]
        stored["attachments"] = [_stored_file(file) for file in files] if isinstance(files, list) else REDACTED
    return msgspec.json.encode(stored).decode()


def _stored_file(file: Any) -> Any:
    if not isinstance(file, dict):
        return REDACTED
    stored = {name: file[name] for name in _STORED if isinstance(file.get(name), str)}
    return stored | ({"content": REDACTED} if "content" in file else {})
