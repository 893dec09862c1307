"""From a step's body to what is said to a remote agent: the message, its ids, and what was begun before. Pure.

A remote agent keeps its own transcript, so only the newest message goes to it. What is open at the remote is told by
the ids of the calls that its earlier answers were turned into: they stand in the body and name the remote's task.
"""

import json
import re
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from carrel.gateway.model import Item, Step

QUESTION = "q"
FILE = "f"
DECLINE = "d"
MESSAGE = "m"
_CALL = re.compile(r"a2a_(?P<kind>[qfdm])(?P<mark>[0-9a-f]*)_(?P<remote>.*)", re.DOTALL)
_EMBEDDED = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,]*)?;base64,(?P<raw>.*)", re.DOTALL)


class Saying(Struct, frozen=True, kw_only=True):
    """What a step wants of the remote.

    `remote_id` is the remote's task that the step belongs to, empty for a new one. `is_going_on`: nothing new is said,
    the calls of the last answer have been made. `calls` are those calls and all earlier ones of the run.
    """

    parts: list[Item]
    context_id: str
    remote_id: str
    is_going_on: bool
    calls: dict[str, Item]
    seed: str

    def message_id(self, again: int = 0) -> str:
        """The id under which this is said: the same whenever the same step is taken, however often."""
        return _name_of(self.seed, str(self.questions), *([str(again)] if again else []))

    @property
    def questions(self) -> int:
        """How many questions the remote has asked in this run."""
        return sum(kind_of_call(call_id) == QUESTION for call_id in self.calls)

    @property
    def last_kind(self) -> str:
        """What the newest call of the run was made from; empty when there is none."""
        return kind_of_call(next(reversed(self.calls), ""))


def read_step(step: Step) -> Saying:
    """What the step says; raises ValueError when its body is no request."""
    request = json.loads(step.body)
    if not isinstance(request, dict):
        raise ValueError("a request is an object")
    given = request.get("input", "")
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    items = [item for item in items if isinstance(item, dict)]
    newest = max((place for place, item in enumerate(items) if item.get("role") == "user"), default=-1)
    calls = {str(item["call_id"]): (place, item) for place, item in enumerate(items) if _is_ours(item)}
    last_id, (last, _) = next(reversed(calls.items()), ("", (-1, {})))
    found = request.get("metadata")
    metadata = found if isinstance(found, dict) else {}
    # An answer belongs to the task that asked; after anything else the run has nothing open at the remote.
    is_open = last > newest or kind_of_call(last_id) == QUESTION
    return Saying(
        parts=_parts(items[newest].get("content")) if newest >= 0 else [{"text": ""}],
        # The session's id keeps two installations apart whose lanes bear the same name.
        context_id=_name_of(step.address, str(metadata.get("sessionId", ""))),
        remote_id=_remote_of(last_id) if is_open else "",
        is_going_on=last > newest,
        calls={call_id: item for call_id, (_, item) in calls.items()},
        seed=str(metadata.get("runId") or sha256(step.body).hexdigest()),
    )


def call_id_of(kind: str, mark: str, remote_id: str) -> str:
    """The id of a call that carries the remote's task with it."""
    return f"a2a_{kind}{mark}_{quote(remote_id, safe='')}"


def kind_of_call(call_id: str) -> str:
    """What a call was made from; empty for one that is not ours."""
    found = _CALL.fullmatch(call_id)
    return found["kind"] if found else ""


def _remote_of(call_id: str) -> str:
    found = _CALL.fullmatch(call_id)
    return unquote(found["remote"]) if found else ""


def _is_ours(item: Item) -> bool:
    return item.get("type") == "function_call" and bool(kind_of_call(str(item.get("call_id"))))


def _name_of(*parts: str) -> str:
    return "carrel-" + sha256("\n".join(parts).encode()).hexdigest()[:32]


def _parts(content: Any) -> list[Item]:
    """The files of a message and what was said; what stands between them was put there for models."""
    if isinstance(content, str):
        return [{"text": content}]
    given = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    files = [part for part in map(_file, given) if part is not None]
    texts = [part["text"] for part in given if isinstance(part.get("text"), str)]
    said = [{"text": texts[-1]}] if texts and texts[-1] else []
    return [*files, *said] or [{"text": ""}]


def _file(part: Item) -> Item | None:
    address = part.get("image_url") or part.get("file_data") or part.get("file_url")
    if not isinstance(address, str):
        return None
    named = {"filename": part["filename"]} if isinstance(part.get("filename"), str) else {}
    embedded = _EMBEDDED.fullmatch(address)
    if embedded is None:
        return {"url": address} | named
    return {"raw": embedded["raw"], "mediaType": embedded["type"] or "application/octet-stream"} | named
