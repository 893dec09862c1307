"""From a request's input to what is said: the message, its files, outputs of the caller's functions, earlier talk."""

import base64
import binascii
import mimetypes
import re
from typing import Any

import msgspec
from msgspec import Struct

from carrel.kernel import NewAttachment
from carrel.kernel.limits import ATTACHMENT_BYTES_MAX, NAME_CHARS_MAX, RESPONSE_ITEMS_MAX, RESPONSE_OUTPUT_CHARS_MAX
from carrel.surfaces.responses.compaction_items import read_compaction
from carrel.surfaces.responses.errors import ResponsesError, wrong
from carrel.surfaces.responses.requests import Json

_ADDRESS = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,(?P<content>.*)", re.DOTALL)
_LINKS = ("http://", "https://")
_ROLES = ("user", "assistant", "system", "developer")


class Said(Struct, frozen=True, kw_only=True):
    """A message of the user; `links` are files that only have an address, as the caller gave them."""

    text: str
    files: tuple[NewAttachment, ...] = ()
    links: tuple[Json, ...] = ()


class Output(Struct, frozen=True, kw_only=True):
    """What a function of the caller's brought, and which field says so."""

    param: str
    call_id: str
    text: str
    parts: list[Json] | None


class Given(Struct, frozen=True, kw_only=True):
    """An input, read: the newest message of the user, what stands around it, and every output."""

    said: Said | None
    before: tuple[Json, ...]
    after: tuple[Json, ...]
    outputs: tuple[Output, ...]
    # The calls that the input itself repeats: their outputs are earlier talk.
    replayed: frozenset[str]


def read_input(given: str | list[Any] | None) -> Given:
    """The input, or the refusal of what in it cannot be read."""
    if given is None:
        raise wrong("input", "A response needs an input.")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if len(given) > RESPONSE_ITEMS_MAX:
        raise wrong("input", f"An input has at most {RESPONSE_ITEMS_MAX} items.")
    items = [_named_kind(f"input.{n}", item) for n, item in enumerate(given)]
    newest = max((n for n, item in enumerate(items) if _is_from_user(item)), default=None)
    read = [_read(f"input.{n}", item) for n, item in enumerate(items) if n != newest]
    cut = len(items) if newest is None else newest
    return Given(
        said=None if newest is None else _said(f"input.{newest}", items[newest]),
        before=tuple(item for item in read[:cut] if item is not None),
        after=tuple(item for item in read[cut:] if item is not None),
        outputs=tuple(
            _output(f"input.{n}", item) for n, item in enumerate(items) if item["type"] == "function_call_output"
        ),
        replayed=frozenset(item["call_id"] for item in items if item["type"] == "function_call"),
    )


def _named_kind(param: str, given: Any) -> Json:
    """The item under its type, which messages may leave out."""
    if not isinstance(given, dict):
        raise wrong(param, "An item is an object.")
    item: Json = given | {"type": "message"} if given.get("type") is None and "role" in given else given
    match item.get("type"):
        case "message":
            if item.get("role") not in _ROLES:
                raise wrong(f"{param}.role", f"A role is one of {', '.join(_ROLES)}.")
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
            raise wrong(param, "Items are not kept by their ids here; go on with previous_response_id.")
        case kind:
            raise wrong(f"{param}.type", f"An item of type {str(kind)[:80]} is not understood here.")
    return item


def _is_from_user(item: Json) -> bool:
    return (item["type"], item.get("role")) == ("message", "user")


def _read(param: str, item: Json) -> Json | None:
    """An item of earlier talk as a model is shown it; None for what is left out."""
    match item["type"]:
        case "message" if item["role"] == "assistant":
            part = {"type": "output_text", "text": _spoken(param, item), "annotations": []}
            return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        case "message":
            return {"type": "message", "role": item["role"], "content": _shown_parts(f"{param}.content", item)}
        case "function_call":
            call = {name: item[name] for name in ("type", "call_id", "name", "arguments")}
            return call | {"status": "completed"}
        case "function_call_output":
            output = _output(param, item)
            shown = output.text if output.parts is None else output.parts
            return {"type": "function_call_output", "call_id": output.call_id, "output": shown}
        case "compaction":
            words = read_compaction(f"{param}.encrypted_content", item["encrypted_content"])
            return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": words}]}
        case _:
            return None


def _parts(param: str, item: Json) -> list[tuple[str, Json]]:
    """The parts of a message, each with its place; plain text is one part."""
    content = item.get("content")
    if isinstance(content, str):
        return [(param, {"type": "input_text", "text": content})]
    if not isinstance(content, list):
        raise wrong(param, "A message's content is a text or a list of parts.")
    found = [(f"{param}.{n}", part) for n, part in enumerate(content)]
    for place, part in found:
        if not isinstance(part, dict):
            raise wrong(place, "A part is an object.")
    return found


def _spoken(param: str, item: Json) -> str:
    """What an earlier message of the agent says."""
    words = []
    for place, part in _parts(f"{param}.content", item):
        name = "refusal" if part.get("type") == "refusal" else "text"
        words.append(_text(place, part, name))
    return "".join(words)


def _shown_parts(param: str, item: Json) -> list[Json]:
    """The parts of an earlier message as a model is shown them."""
    shown = []
    for place, part in _parts(param, item):
        match part.get("type"):
            case "input_text" | "output_text" | "text":
                shown.append({"type": "input_text", "text": _text(place, part, "text")})
            case "input_image" | "input_file" if item.get("role", "user") == "user":
                _file_or_link(place, part)
                shown.append(_plain_file(part))
            case kind:
                raise _unknown_part(place, kind)
    return shown


def _said(param: str, item: Json) -> Said:
    """What the newest message says; files whose bytes are given become attachments."""
    words: list[str] = []
    files: list[NewAttachment] = []
    links: list[Json] = []
    for place, part in _parts(f"{param}.content", item):
        match part.get("type"):
            case "input_text" | "text":
                words.append(_text(place, part, "text"))
            case "input_image" | "input_file":
                file = _file_or_link(place, part)
                if file is None:
                    links.append(_plain_file(part))
                else:
                    files.append(file)
            case kind:
                raise _unknown_part(place, kind)
    text = "\n\n".join(word for word in words if word)
    if not text.strip() and not files and not links:
        raise wrong(f"{param}.content", "A message needs some text.")
    # A message in which nothing but an address stands says the address.
    return Said(text=text if text.strip() or files else links_text(links), files=tuple(files), links=tuple(links))


def links_text(links: list[Json] | tuple[Json, ...]) -> str:
    """Addresses of files in words, for where no parts can stand."""
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
        raise wrong(f"{param}.output", "An output is a text or a list of parts.")
    if len(text) > RESPONSE_OUTPUT_CHARS_MAX:
        raise wrong(f"{param}.output", f"An output has at most {RESPONSE_OUTPUT_CHARS_MAX} characters.")
    return Output(param=f"{param}.call_id", call_id=item["call_id"], text=text, parts=parts)


def _file_or_link(param: str, part: Json) -> NewAttachment | None:
    """The file whose bytes are given; None for one that has an address elsewhere."""
    is_image = part["type"] == "input_image"
    name = "image_url" if is_image or part.get("file_data") is None else "file_data"
    if not is_image and name == "image_url":
        name = "file_url"
    address = part.get(name)
    if not isinstance(address, str) or not address:
        raise wrong(f"{param}.{name}", f"{name} is missing." if address is None else f"{name} is a text.")
    if address.startswith(_LINKS):
        return None
    named = part.get("filename")
    if named is not None and (not isinstance(named, str) or len(named) > NAME_CHARS_MAX):
        raise wrong(f"{param}.filename", f"A file's name has at most {NAME_CHARS_MAX} characters.")
    mime_type, content = _bytes(f"{param}.{name}", address, named or "")
    if is_image and not mime_type.startswith("image/"):
        raise wrong(f"{param}.{name}", f"This is no image but {mime_type}.")
    return NewAttachment(name=named or ("image" if is_image else "file"), mime_type=mime_type, content=content)


def _bytes(param: str, address: str, named: str) -> tuple[str, bytes]:
    match = _ADDRESS.fullmatch(address)
    if match is None and (param.endswith("_url") or address.startswith("data:")):
        raise wrong(param, "A file is given as data:<type>;base64,<content> or by an address that begins http.")
    guessed = mimetypes.guess_type(named)[0] or "application/octet-stream"
    mime_type, text = (match["type"].lower(), match["content"]) if match else (guessed, address)
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise wrong(param, "This is no base64.") from error
    if not content or len(content) > ATTACHMENT_BYTES_MAX:
        raise wrong(param, f"A file has 1 to {ATTACHMENT_BYTES_MAX} bytes.")
    return mime_type, content


def _plain_file(part: Json) -> Json:
    names = ("type", "image_url", "detail", "filename", "file_data", "file_url")
    return {name: part[name] for name in names if part.get(name) is not None}


def _text(param: str, item: Json, name: str) -> str:
    text = item.get(name)
    if not isinstance(text, str) or (not text and name in ("call_id", "name")):
        raise wrong(f"{param}.{name}", f"{name} is missing." if not text else f"{name} is a text.")
    return text


def _unknown_part(param: str, kind: object) -> ResponsesError:
    return wrong(f"{param}.type", f"A part of type {str(kind)[:80]} is not understood here.")


def words_of(items: tuple[Json, ...]) -> str:
    """What the system and developer messages among items say."""
    told = [item for item in items if item.get("role") in ("system", "developer")]
    return "\n\n".join(part["text"] for item in told for part in item["content"])


def size_of(items: tuple[Json, ...]) -> int:
    """How many bytes items take."""
    return len(msgspec.json.encode(items))
