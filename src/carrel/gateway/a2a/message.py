"""Turns a step's body into the message for a remote agent: its parts, ids, and the task it continues. Pure.

A remote agent keeps its own transcript, so only the newest message is sent. Which remote task is open follows from the
call ids in the body: earlier answers of the remote were turned into calls, and their ids contain its task.
"""

import json
import re
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from carrel.a2a import read_message
from carrel.gateway.items import EMBEDDED, data_url, input_file, input_text
from carrel.gateway.model import Item, Step
from carrel.gateway.prompt import read_items

# Not sent to a remote agent: it has instructions, tools and a transcript of its own.
LEFT_OUT = ("instructions", "tools", "transcript")
QUESTION = "q"
FILE = "f"
DECLINE = "d"
MESSAGE = "m"
_CALL = re.compile(r"a2a_(?P<kind>[qfdm])(?P<mark>[0-9a-f]*)_(?P<remote>.*)", re.DOTALL)


class OutgoingMessage(Struct, frozen=True, kw_only=True):
    """The message of a step for the remote.

    `remote_id` is the remote task that the step continues, empty for a new one. If `is_continuation`, there is no new
    message: the calls of the last answer were made. `calls` are those and all earlier calls of the run.
    """

    parts: list[Item]
    context_id: str
    remote_id: str
    is_continuation: bool
    calls: dict[str, Item]
    seed: str

    def message_id(self, attempt: int = 0) -> str:
        """Return the message id: the same however often the same step is taken."""
        return _stable_id(self.seed, str(self.questions), *([str(attempt)] if attempt else []))

    @property
    def questions(self) -> int:
        """The number of questions the remote has asked in this run."""
        return sum(kind_of_call(call_id) == QUESTION for call_id in self.calls)

    @property
    def last_kind(self) -> str:
        """The kind of the newest call of the run; empty if there is none."""
        return kind_of_call(next(reversed(self.calls), ""))


def read_step(step: Step) -> OutgoingMessage:
    """Read the message of a step; raise ValueError if its body is not a request."""
    request, items, newest = read_items(step)
    calls = {str(item["call_id"]): (index, item) for index, item in enumerate(items) if _is_ours(item)}
    last_id, (last, _) = next(reversed(calls.items()), ("", (-1, {})))
    metadata = request.metadata if isinstance(request.metadata, dict) else {}
    # An answer continues the task that asked; otherwise the run has no open task at the remote.
    is_open = last > newest or kind_of_call(last_id) == QUESTION
    return OutgoingMessage(
        parts=_parts(items[newest].get("content")) if newest >= 0 else [{"text": ""}],
        # The session's id distinguishes installations whose lanes have the same name.
        context_id=_stable_id(step.address, str(metadata.get("sessionId", ""))),
        remote_id=_remote_of(last_id) if is_open else "",
        is_continuation=last > newest,
        calls={call_id: item for call_id, (_, item) in calls.items()},
        seed=str(metadata.get("runId") or sha256(step.body).hexdigest()),
    )


def read_sent_message(body: str) -> list[Item]:
    """Return the message of a sent request, as an input item of a model; nothing if none was sent."""
    request = json.loads(body) if body else {}
    message = request.get("params", request).get("message")
    if not isinstance(message, dict):
        return []
    content = [_content(part) for part in read_message(message)["parts"]]
    return [{"type": "message", "role": "user", "content": content}]


def _content(part: Item) -> Item:
    if "text" in part:
        return input_text(part["text"])
    address = data_url(part.get("mediaType", ""), part["raw"]) if "raw" in part else part.get("url", "")
    return input_file(address, part.get("filename"))


def call_id_of(kind: str, mark: str, remote_id: str) -> str:
    """Return a call id that contains the id of the remote task."""
    return f"a2a_{kind}{mark}_{quote(remote_id, safe='')}"


def kind_of_call(call_id: str) -> str:
    """Return the kind of one of our call ids; empty for any other."""
    found = _CALL.fullmatch(call_id)
    return found["kind"] if found else ""


def _remote_of(call_id: str) -> str:
    found = _CALL.fullmatch(call_id)
    return unquote(found["remote"]) if found else ""


def _is_ours(item: Item) -> bool:
    return item.get("type") == "function_call" and bool(kind_of_call(str(item.get("call_id"))))


def _stable_id(*parts: str) -> str:
    return "carrel-" + sha256("\n".join(parts).encode()).hexdigest()[:32]


def _parts(content: Any) -> list[Item]:
    """Return the files and the last text of a message; its other texts are context for models."""
    if isinstance(content, str):
        return [{"text": content}]
    given = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    files = [part for part in map(_file, given) if part is not None]
    texts = [part["text"] for part in given if isinstance(part.get("text"), str)]
    text = [{"text": texts[-1]}] if texts and texts[-1] else []
    return [*files, *text] or [{"text": ""}]


def _file(part: Item) -> Item | None:
    address = part.get("image_url") or part.get("file_data") or part.get("file_url")
    if not isinstance(address, str):
        return None
    named = {"filename": part["filename"]} if isinstance(part.get("filename"), str) else {}
    embedded = EMBEDDED.fullmatch(address)
    if embedded is None:
        return {"url": address} | named
    return {"raw": embedded["data"], "mediaType": embedded["type"] or "application/octet-stream"} | named
