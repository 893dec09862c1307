"""Reads the input of a request: the user's message with its files, function outputs, and earlier items.

A transcript is compacted to one opaque item that a client can send back as earlier input. No model is involved: each
message is clipped, and the oldest are left out first.
"""

import base64
import binascii
import mimetypes
import re
import zlib
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from carrel.journal import as_report, entries_of_session
from carrel.kernel import MS_PER_SECOND, Access, NewAttachment, clip, limits, one_line
from carrel.storage import Tx
from carrel.surfaces.responses.errors import ResponsesError, wrong
from carrel.surfaces.responses.requests import Compact, Json
from carrel.surfaces.responses.targets import TargetHints, find_target

_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,(?P<content>.*)", re.DOTALL)
# What a compaction item of this server begins with, and how long its text may be.
COMPACTION_MARK = "carrel-1."
_COMPACTION_BYTES_MAX = limits.COMPACTION_CHARS_MAX * 8
_LINKS = ("http://", "https://")
_ROLES = ("user", "assistant", "system", "developer")
USAGE_DETAILS: Json = {
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


class UserMessage(Struct, frozen=True, kw_only=True):
    """A message of the user; `links` are files given by URL, in the caller's form."""

    text: str
    files: tuple[NewAttachment, ...] = ()
    links: tuple[Json, ...] = ()


class Output(Struct, frozen=True, kw_only=True):
    """The output of one of the caller's functions, and the field that holds it."""

    param: str
    call_id: str
    text: str
    parts: list[Json] | None


class ReadInput(Struct, frozen=True, kw_only=True):
    """An input: the user's newest message, the items before and after it, and every function output."""

    message: UserMessage | None
    before: tuple[Json, ...]
    after: tuple[Json, ...]
    outputs: tuple[Output, ...]
    # Calls that the input itself repeats with their outputs, which are part of the earlier conversation.
    made: dict[str, tuple[str, str]]


def read_input(given: str | list[Any]) -> ReadInput:
    """Read an input; ResponsesError for an item that cannot be read."""
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if len(given) > limits.RESPONSE_ITEMS_MAX:
        raise wrong("input", f"input may have at most {limits.RESPONSE_ITEMS_MAX} items.")
    items = [_with_type(f"input.{n}", item) for n, item in enumerate(given)]
    from_user = [n for n, item in enumerate(items) if (item["type"], item.get("role")) == ("message", "user")]
    newest = from_user[-1] if from_user else None
    read = [_read(f"input.{n}", item) for n, item in enumerate(items) if n != newest]
    cut = len(items) if newest is None else newest
    return ReadInput(
        message=None if newest is None else _user_message(f"input.{newest}", items[newest]),
        before=tuple(item for item in read[:cut] if item is not None),
        after=tuple(item for item in read[cut:] if item is not None),
        outputs=tuple(
            _output(f"input.{n}", item) for n, item in enumerate(items) if item["type"] == "function_call_output"
        ),
        made=answered_calls(items),
    )


def answered_calls(items: list[Json]) -> dict[str, tuple[str, str]]:
    """Return the calls that items have together with their outputs: name and arguments by id."""
    items = [item for item in items if isinstance(item.get("call_id"), str)]
    answered = {item["call_id"] for item in items if item["type"] == "function_call_output"}
    made = [item for item in items if item["type"] == "function_call" and item["call_id"] in answered]
    return {item["call_id"]: (item["name"], item["arguments"]) for item in made}


def _with_type(param: str, given: Any) -> Json:
    """Return the item with its type, which messages may leave out."""
    if not isinstance(given, dict):
        raise wrong(param, "An item must be an object.")
    item: Json = given | {"type": "message"} if given.get("type") is None and "role" in given else given
    match item.get("type"):
        case "message":
            if item.get("role") not in _ROLES:
                raise wrong(f"{param}.role", f"role must be one of {', '.join(_ROLES)}.")
        case "function_call":
            for name in ("call_id", "name", "arguments"):
                _text(param, item, name)
        case "function_call_output":
            _text(param, item, "call_id")
        case "compaction":
            _text(param, item, "encrypted_content")
        case "reasoning":
            pass
        case "item_reference":
            raise wrong(param, "Items cannot be referenced by id here; use previous_response_id.")
        case kind:
            raise wrong(f"{param}.type", f"Items of type {str(kind)[:80]} are not supported.")
    return item


def _read(param: str, item: Json) -> Json | None:
    """Return an earlier item as a model is shown it; None for one that is left out."""
    match item["type"]:
        case "message" if item["role"] == "assistant":
            part = {"type": "output_text", "text": _assistant_text(param, item), "annotations": []}
            return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        case "message":
            return {"type": "message", "role": item["role"], "content": _shown_parts(f"{param}.content", item)}
        case "function_call":
            return {name: item[name] for name in ("type", "call_id", "name", "arguments")} | {"status": "completed"}
        case "function_call_output":
            output = _output(param, item)
            shown = output.text if output.parts is None else output.parts
            return {"type": "function_call_output", "call_id": output.call_id, "output": shown}
        case "compaction":
            words = _compacted(f"{param}.encrypted_content", item["encrypted_content"])
            return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": words}]}
        case _:
            return None


def _compacted(param: str, content: str) -> str:
    """Return the text of a compaction item that this server created."""
    try:
        if not content.startswith(COMPACTION_MARK):
            raise ValueError("not ours")
        unpacking = zlib.decompressobj()
        words = unpacking.decompress(
            base64.urlsafe_b64decode(content.removeprefix(COMPACTION_MARK)), _COMPACTION_BYTES_MAX
        ).decode()
        if not unpacking.eof:
            raise ValueError("too long")
    except (ValueError, zlib.error, binascii.Error, UnicodeDecodeError) as error:
        raise wrong(param, "This is not a compaction item of this server.") from error
    return words


def _parts(param: str, item: Json) -> list[tuple[str, Json]]:
    """Return the parts of a message, each with its field; plain text is one part."""
    content = item.get("content")
    if isinstance(content, str):
        return [(param, {"type": "input_text", "text": content})]
    if not isinstance(content, list):
        raise wrong(param, "content must be a string or a list of parts.")
    if len(content) > limits.RESPONSE_ITEMS_MAX:
        raise wrong(param, f"content may have at most {limits.RESPONSE_ITEMS_MAX} parts.")
    found = [(f"{param}.{n}", part) for n, part in enumerate(content)]
    for at, part in found:
        if not isinstance(part, dict):
            raise wrong(at, "A part must be an object.")
    return found


def _assistant_text(param: str, item: Json) -> str:
    """Return the text of an earlier message of the agent."""
    words = []
    for at, part in _parts(f"{param}.content", item):
        match part.get("type"):
            case "refusal":
                words.append(_text(at, part, "refusal"))
            case "output_text" | "input_text" | "text":
                words.append(_text(at, part, "text"))
            case kind:
                raise _unknown_part(at, kind)
    return "".join(words)


def _shown_parts(param: str, item: Json) -> list[Json]:
    """Return the parts of an earlier message as a model is shown them."""
    shown = []
    for at, part in _parts(param, item):
        match part.get("type"):
            case "input_text" | "output_text" | "text":
                shown.append({"type": "input_text", "text": _text(at, part, "text")})
            case "input_image" | "input_file" if item.get("role", "user") == "user":
                _file_or_link(at, part)
                shown.append(_plain_file(part))
            case kind:
                raise _unknown_part(at, kind)
    return shown


def _user_message(param: str, item: Json) -> UserMessage:
    """Return the newest message; files sent as bytes become attachments."""
    words: list[str] = []
    files: list[NewAttachment] = []
    links: list[Json] = []
    for at, part in _parts(f"{param}.content", item):
        match part.get("type"):
            case "input_text" | "text":
                words.append(_text(at, part, "text"))
            case "input_image" | "input_file":
                file = _file_or_link(at, part)
                if file is None:
                    links.append(_plain_file(part))
                else:
                    files.append(file)
            case kind:
                raise _unknown_part(at, kind)
    text = "\n\n".join(word for word in words if word)
    if not text.strip() and not files and not links:
        raise wrong(f"{param}.content", "A message needs some text.")
    # The text of a message with nothing but URLs is those URLs.
    return UserMessage(
        text=text if text.strip() or files else links_text(links), files=tuple(files), links=tuple(links)
    )


def links_text(links: list[Json] | tuple[Json, ...]) -> str:
    """Return the URLs of files as text, for messages that cannot have parts."""
    return "\n".join(f"File: {link.get('image_url') or link.get('file_url')}" for link in links)


def _output(param: str, item: Json) -> Output:
    output = item.get("output")
    if isinstance(output, str):
        text, parts = output, None
    elif isinstance(output, list):
        shown = _shown_parts(f"{param}.output", {"content": output})
        text = "\n".join(part["text"] for part in shown if part["type"] == "input_text")
        parts = None if all(part["type"] == "input_text" for part in shown) else shown
    else:
        raise wrong(f"{param}.output", "output must be a string or a list of parts.")
    if len(text) > limits.RESPONSE_OUTPUT_CHARS_MAX:
        raise wrong(f"{param}.output", f"output may have at most {limits.RESPONSE_OUTPUT_CHARS_MAX} characters.")
    return Output(param=f"{param}.call_id", call_id=item["call_id"], text=text, parts=parts)


def _file_or_link(param: str, part: Json) -> NewAttachment | None:
    """Return the file when its bytes are given; None when it is a URL."""
    is_image = part["type"] == "input_image"
    name = "image_url" if is_image else "file_url" if part.get("file_data") is None else "file_data"
    url = part.get(name)
    if not isinstance(url, str) or not url:
        raise wrong(f"{param}.{name}", f"{name} is missing." if url is None else f"{name} must be a string.")
    named = part.get("filename")
    if named is not None and (not isinstance(named, str) or len(named) > limits.NAME_CHARS_MAX):
        raise wrong(
            f"{param}.filename", f"A file's name must be a string of at most {limits.NAME_CHARS_MAX} characters."
        )
    if url.startswith(_LINKS):
        return None
    mime_type, content = _bytes(f"{param}.{name}", url, named or "")
    if is_image and not mime_type.startswith("image/"):
        raise wrong(f"{param}.{name}", f"This is {mime_type}, not an image.")
    return NewAttachment(name=named or ("image" if is_image else "file"), mime_type=mime_type, content=content)


def _bytes(param: str, url: str, named: str) -> tuple[str, bytes]:
    match = _DATA_URL.fullmatch(url)
    if match is None and (param.endswith("_url") or url.startswith("data:")):
        raise wrong(param, "A file must be data:<type>;base64,<content> or an http(s) URL.")
    guessed = mimetypes.guess_type(named)[0] or "application/octet-stream"
    mime_type, text = (match["type"].lower(), match["content"]) if match else (guessed, url)
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise wrong(param, "This is not valid base64.") from error
    if not content or len(content) > limits.ATTACHMENT_BYTES_MAX:
        raise wrong(param, f"A file must have 1 to {limits.ATTACHMENT_BYTES_MAX} bytes.")
    return mime_type, content


def _plain_file(part: Json) -> Json:
    names = ("type", "image_url", "detail", "filename", "file_data", "file_url")
    return {name: part[name] for name in names if part.get(name) is not None}


def _text(param: str, item: Json, name: str) -> str:
    text = item.get(name)
    if not isinstance(text, str) or (not text and name in ("call_id", "name")):
        raise wrong(f"{param}.{name}", f"{name} is missing." if not text else f"{name} must be a string.")
    return text


def _unknown_part(param: str, kind: object) -> ResponsesError:
    return wrong(f"{param}.type", f"Parts of type {str(kind)[:80]} are not supported here.")


def instructions_in(items: tuple[Json, ...]) -> str:
    """Return the text of the system and developer messages among items."""
    instructing = [item for item in items if item.get("role") in ("system", "developer")]
    return "\n\n".join(part["text"] for item in instructing for part in item["content"])


def compacted(tx: Tx, access: Access, hints: TargetHints, request: Compact) -> Json:
    """Compact the transcript of the previous response, and the input of the request."""
    if request.input in (None, []) and request.previous_response_id is None:
        raise wrong("input", "There is nothing to compact: send an input or a previous_response_id.")
    target = find_target(tx, access, hints, set())
    lines: list[tuple[str, str]] = []
    if target.run is not None and target.run.session_id is not None:
        entries = entries_of_session(
            tx, access, target.run.session_id, limit=limits.HISTORY_ROWS_MAX, tool_results=False
        )  # fmt: skip
        said = [as_report(entry) for entry in entries if entry.role in ("user", "assistant", "system")]
        lines += [(entry.role, entry.content) for entry in said]
    if request.input is not None:
        read = read_input(request.input)
        message = [] if read.message is None else [("user", read.message.text)]
        lines += [*map(_line, read.before), *message, *map(_line, read.after)]
    item = {"type": "compaction", "id": tx.new_id("cmp"), "encrypted_content": _compact(lines), "created_by": "carrel"}
    return {
        "id": tx.new_id("resp"),
        "object": "response.compaction",
        "created_at": tx.now // MS_PER_SECOND,
        "output": [item],
        "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0} | USAGE_DETAILS,
    }


def _line(item: Json) -> tuple[str, str]:
    match item["type"]:
        case "function_call":
            return "call", f"{item['name']} {item['arguments']}"
        case "function_call_output":
            output = item["output"]
            return "output", output if isinstance(output, str) else " ".join(part.get("text", "") for part in output)
        case _:
            return item["role"], " ".join(part.get("text", "") for part in item["content"])


def _compact(lines: Sequence[tuple[str, str]]) -> str:
    """Encode a transcript, given as pairs of role and text, in one opaque string."""
    kept: list[str] = []
    space = limits.COMPACTION_CHARS_MAX
    for role, text in reversed(lines):
        line = f"{role}: {clip(one_line(text), limits.COMPACTION_LINE_CHARS_MAX)}"
        space -= len(line) + 1
        if space < 0:
            break
        kept.append(line)
    words = "\n".join(["Summary of what was said before:", *reversed(kept)])
    return COMPACTION_MARK + base64.urlsafe_b64encode(zlib.compress(words.encode())).decode()
