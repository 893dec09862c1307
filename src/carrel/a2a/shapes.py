"""The JSON shapes of A2A: values of protocol 0.3 are read into the shapes of 1.0, and messages written back.

Readers are lenient: they look at the shape of each value and not at the declared version, because servers mix the two.
Unknown fields are kept.
"""

from collections.abc import Callable
from typing import Any

Item = dict[str, Any]
_STATE = "TASK_STATE_"
_ROLE = "ROLE_"
_EVENTS = {"task": "task", "message": "message", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}


def read_event(value: Item) -> Item:
    """Return a stream event or the result of a send as 1.0 wraps it; empty if it is neither."""
    for name, read in _READERS.items():
        if isinstance(value.get(name), dict):
            return {name: read(value[name])}
    kind = _EVENTS.get(str(value.get("kind")))
    if kind is None:
        # Some servers omit `kind`; the fields tell the shapes apart too.
        kind = "message" if "messageId" in value else "task" if "id" in value and "status" in value else None
    return {} if kind is None else {kind: _READERS[kind](value)}


def read_task(value: Item) -> Item:
    task = _without_kind(value)
    task["status"] = read_status(value.get("status"))
    if "artifacts" in value:
        task["artifacts"] = [read_artifact(artifact) for artifact in items_of(value["artifacts"])]
    if "history" in value:
        task["history"] = [read_message(message) for message in items_of(value["history"])]
    return task


def read_status(value: Any) -> Item:
    """Return a status in the form of 1.0; a missing one is unspecified."""
    status = dict(value) if isinstance(value, dict) else {}
    state = str(status.get("state") or "unspecified")
    status["state"] = state if state.startswith(_STATE) else state_name(state)
    if isinstance(status.get("message"), dict):
        status["message"] = read_message(status["message"])
    else:
        status.pop("message", None)
    return status


def state_name(short: str) -> str:
    """Return the full name of a state: `input-required` is TASK_STATE_INPUT_REQUIRED."""
    plain = short.strip().upper().replace("-", "_")
    return plain if plain.startswith(_STATE) else _STATE + plain


def short_state(name: str) -> str:
    """Return the short form of a state: TASK_STATE_INPUT_REQUIRED is `input-required`."""
    return name.removeprefix(_STATE).lower().replace("_", "-")


def read_message(value: Item) -> Item:
    """Return a message in the form of 1.0."""
    message = _without_kind(value)
    role = str(value.get("role") or "agent")
    message["role"] = role if role.startswith(_ROLE) else _ROLE + role.upper()
    message["parts"] = [read_part(part) for part in items_of(value.get("parts"))]
    return message


def read_artifact(value: Any) -> Item:
    """Return an artifact in the form of 1.0; a missing one is empty."""
    artifact = _without_kind(value if isinstance(value, dict) else {})
    return artifact | {"parts": [read_part(part) for part in items_of(artifact.get("parts"))]}


def read_part(value: Item) -> Item:
    """Return a part in the flat form of 1.0: one of text, raw, url and data."""
    part = _without_kind(value)
    file = part.pop("file", None)
    if isinstance(file, dict):
        moved = {"raw": file.get("bytes"), "url": file.get("uri")}
        moved |= {"mediaType": file.get("mimeType"), "filename": file.get("name")}
        part |= {name: value for name, value in moved.items() if isinstance(value, str) and value}
    return part


def write_message_03(message: Item) -> Item:
    """Return a message of 1.0 as protocol 0.3 writes it."""
    role = str(message.get("role", "")).removeprefix(_ROLE).lower()
    parts = [_write_part_03(part) for part in items_of(message.get("parts"))]
    return message | {"kind": "message", "role": role, "parts": parts}


def items_of(value: Any) -> list[Item]:
    """Return the objects in a list; empty if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _write_part_03(part: Item) -> Item:
    kept = {"metadata": part["metadata"]} if "metadata" in part else {}
    if "text" in part:
        return kept | {"kind": "text", "text": part["text"]}
    if "data" in part:
        return kept | {"kind": "data", "data": part["data"]}
    moved = {"bytes": part.get("raw"), "uri": part.get("url")}
    moved |= {"mimeType": part.get("mediaType"), "name": part.get("filename")}
    return kept | {"kind": "file", "file": {name: value for name, value in moved.items() if value is not None}}


def _without_kind(value: Item) -> Item:
    return {name: inner for name, inner in value.items() if name != "kind" and inner is not None}


_READERS: dict[str, Callable[[Item], Item]] = {
    "task": read_task,
    "message": read_message,
    "statusUpdate": lambda value: _without_kind(value) | {"status": read_status(value.get("status"))},
    "artifactUpdate": lambda value: _without_kind(value) | {"artifact": read_artifact(value.get("artifact"))},
}
