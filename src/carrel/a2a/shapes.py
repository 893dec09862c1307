"""What A2A says, in one form: answers of protocol 0.3 are read into the shapes of 1.0, and messages written back.

Pure and lenient: a reader looks at the shape of each value and not at the version that was promised, because servers
mix the two. Unknown fields stay. Nothing is sent from here, and nothing is judged.
"""

from typing import Any

Item = dict[str, Any]
_STATE = "TASK_STATE_"
_ROLE = "ROLE_"
_EVENTS = {"task": "task", "message": "message", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}


def read_event(told: Item) -> Item:
    """One item of a stream, or what a send gave back, as 1.0 wraps it; empty when it is neither."""
    for name, read in _READERS.items():
        if isinstance(told.get(name), dict):
            return {name: read(told[name])}
    kind = _EVENTS.get(str(told.get("kind")))
    if kind is None:
        # Servers forget the word that tells the shapes apart; the shapes do it too.
        kind = "message" if "messageId" in told else "task" if "id" in told and "status" in told else None
    return {} if kind is None else {kind: _READERS[kind](told)}


def read_task(told: Item) -> Item:
    """A task in the form of 1.0."""
    task = _without_kind(told)
    task["status"] = read_status(told.get("status"))
    if "artifacts" in told:
        task["artifacts"] = [read_artifact(artifact) for artifact in items_of(told["artifacts"])]
    if "history" in told:
        task["history"] = [read_message(message) for message in items_of(told["history"])]
    return task


def read_status(told: Any) -> Item:
    """A status; one that is missing is unspecified."""
    status = dict(told) if isinstance(told, dict) else {}
    state = str(status.get("state") or "unspecified")
    status["state"] = state if state.startswith(_STATE) else state_name(state)
    if isinstance(status.get("message"), dict):
        status["message"] = read_message(status["message"])
    else:
        status.pop("message", None)
    return status


def state_name(word: str) -> str:
    """The full name of a state that is written short: `input-required` is TASK_STATE_INPUT_REQUIRED."""
    plain = word.strip().upper().replace("-", "_")
    return plain if plain.startswith(_STATE) else _STATE + plain


def state_word(name: str) -> str:
    """A state as people write it: TASK_STATE_INPUT_REQUIRED is `input-required`."""
    return name.removeprefix(_STATE).lower().replace("_", "-")


def read_message(told: Item) -> Item:
    """A message in the form of 1.0."""
    message = _without_kind(told)
    role = str(told.get("role") or "agent")
    message["role"] = role if role.startswith(_ROLE) else _ROLE + role.upper()
    message["parts"] = [read_part(part) for part in items_of(told.get("parts"))]
    return message


def read_artifact(told: Item) -> Item:
    """An artifact in the form of 1.0."""
    artifact = _without_kind(told)
    artifact["parts"] = [read_part(part) for part in items_of(told.get("parts"))]
    return artifact


def read_part(told: Item) -> Item:
    """A part in the flat form of 1.0: one of text, raw, url and data."""
    part = _without_kind(told)
    file = part.pop("file", None)
    if isinstance(file, dict):
        moved = {"raw": file.get("bytes"), "url": file.get("uri")}
        moved |= {"mediaType": file.get("mimeType"), "filename": file.get("name")}
        part |= {name: value for name, value in moved.items() if isinstance(value, str) and value}
    return part


def write_message_03(message: Item) -> Item:
    """A message of 1.0 as protocol 0.3 writes it."""
    role = str(message.get("role", "")).removeprefix(_ROLE).lower()
    return message | {
        "kind": "message",
        "role": role,
        "parts": [_write_part_03(part) for part in items_of(message.get("parts"))],
    }


def items_of(value: Any) -> list[Item]:
    """The objects in a list; empty when it is none."""
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


def _read_status_update(told: Item) -> Item:
    return _without_kind(told) | {"status": read_status(told.get("status"))}


def _read_artifact_update(told: Item) -> Item:
    artifact = told.get("artifact")
    return _without_kind(told) | {"artifact": read_artifact(artifact if isinstance(artifact, dict) else {})}


def _without_kind(told: Item) -> Item:
    return {name: value for name, value in told.items() if name != "kind" and value is not None}


_READERS = {
    "task": read_task,
    "message": read_message,
    "statusUpdate": _read_status_update,
    "artifactUpdate": _read_artifact_update,
}
