"""From a run to an A2A task, and from a run's event to what a stream or a webhook is told. Reads only.

Tasks are made as JSON of A2A 1.0 at once: a list shows a hundred of them, and most callers speak just that.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from carrel.journal import Entry, Event, talk_of_runs
from carrel.kernel import Access, iso
from carrel.kernel.limits import A2A_HISTORY_MESSAGES, A2A_LEVELS_MAX
from carrel.records import REPLY_ARTIFACT, Artifact, artifact_part, artifacts_of, attachments_by_id
from carrel.runs import Run, queue_order, queue_position
from carrel.storage import Tx
from carrel.surfaces.a2a.json_limits import place_beyond

Json = dict[str, Any]
# A number in the order of a task's changes, and what is told of it.
Update = tuple[int, Json]

SUBMITTED = "TASK_STATE_SUBMITTED"
WORKING = "TASK_STATE_WORKING"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
COMPLETED = "TASK_STATE_COMPLETED"
CANCELED = "TASK_STATE_CANCELED"
FAILED = "TASK_STATE_FAILED"
REJECTED = "TASK_STATE_REJECTED"
ENDED = (COMPLETED, CANCELED, FAILED, REJECTED)
RESTING = (INPUT_REQUIRED, AUTH_REQUIRED, *ENDED)
_TOLD = {
    "run.queued": SUBMITTED,
    "run.started": WORKING,
    # A run that is tried again has never stopped working.
    "run.retrying": WORKING,
    "run.rescued": WORKING,
    "run.completed": COMPLETED,
    "run.cancelled": CANCELED,
}
# A part lies four levels below what a request may have of them.
_SHOWN_LEVELS_MAX = A2A_LEVELS_MAX - 4
_PART_NAMES = {"text": "text", "bytes": "raw", "url": "url"}
_decode = msgspec.json.Decoder().decode


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a task is shown; `history` None means as much as is usual."""

    history: int | None = None
    artifacts: bool = True
    # Whether the messages of the history bring the bytes of their files.
    files: bool = True


def original_of(run: Run) -> Json:
    """The request that made the run, in A2A's JSON, without the bytes of its files."""
    return _decode(run.original or b"{}")  # type: ignore[no-any-return]


def context_of(run: Run) -> str:
    """The contextId under which the caller knows the run's lane."""
    return str(original_of(run)["message"]["contextId"])


def state_of(run: Run) -> str:
    """A run's state as A2A names it."""
    match run.state:
        case "queued":
            return WORKING if run.attempt else SUBMITTED
        case "running":
            return WORKING
        case "waiting":
            return _waiting(run.waiting_for)
        case "failed":
            return _failed(run.reason)
        case "completed":
            return COMPLETED
        case _:
            return CANCELED


def _waiting(for_what: str | None) -> str:
    return AUTH_REQUIRED if for_what == "auth" else INPUT_REQUIRED


def _failed(reason: str | None) -> str:
    return REJECTED if reason == "rejected" else FAILED


def render(tx: Tx, access: Access, run: Run, shown: Shown) -> Json:
    """One run as a task."""
    return render_all(tx, access, [run], shown)[0]


def render_all(tx: Tx, access: Access, runs: Sequence[Run], shown: Shown) -> list[Json]:
    """Runs as tasks, in the same order."""
    wanted = A2A_HISTORY_MESSAGES if shown.history is None else shown.history
    begun = [run.id for run in runs if run.session_id is not None]
    heard = talk_of_runs(tx, access, begun) if wanted and begun else {}
    places = _places(tx, access, runs)
    return [_task(tx, access, run, heard.get(run.id, []), wanted, places.get(run.id), shown) for run in runs]


def _task(tx: Tx, access: Access, run: Run, heard: list[Entry], wanted: int, place: int | None, shown: Shown) -> Json:
    original = original_of(run)
    context_id = original["message"]["contextId"]
    words = {"waiting": run.question, "completed": run.reply, "failed": run.error_message}.get(run.state)
    task: Json = {
        "id": run.id,
        "contextId": context_id,
        "status": _status(state_of(run), run.updated_at, run.id, context_id, run.changes, words),
    }
    artifacts = _artifacts(tx, access, run) if shown.artifacts else []
    if artifacts:
        task["artifacts"] = artifacts
    if wanted:
        task["history"] = _history(tx, access, run, original["message"], heard, shown)[-wanted:]
    task["metadata"] = original.get("metadata", {}) | _metadata(run, place)
    return task


def _metadata(run: Run, place: int | None) -> Json:
    found: Json = {"queuedAt": iso(run.created_at), "sessionKey": run.key, "generation": run.changes}
    if place:
        found["queuePosition"] = place
    return found | ({"reason": run.reason} if run.reason else {})


def _places(tx: Tx, access: Access, runs: Sequence[Run]) -> dict[str, int | None]:
    """The places of those that queue; a lane with several of them is counted once."""
    queued = [run for run in runs if state_of(run) == SUBMITTED]
    keys = [run.key for run in queued]
    lanes = {key: queue_order(tx, access, key) for key in set(keys) if keys.count(key) > 1}
    return {run.id: lanes[run.key].get(run.id) if run.key in lanes else queue_position(tx, run) for run in queued}


def _history(tx: Tx, access: Access, run: Run, message: Json, heard: list[Entry], shown: Shown) -> list[Json]:
    """What was said in this task alone; a queued one has its input only."""
    said = [_heard(tx, access, run, message, entry, shown) for entry in heard]
    if not any(entry.id == run.message_id for entry in heard):
        said.insert(0, _whole(tx, access, run, message, run.attached() if shown.files else ()))
    return said


def _heard(tx: Tx, access: Access, run: Run, message: Json, entry: Entry, shown: Shown) -> Json:
    if entry.id == run.message_id:
        return _whole(tx, access, run, message, run.attached() if shown.files else ())
    kept = (entry.details or {}).get("original")
    if kept is not None:
        return _whole(tx, access, run, _decode(kept)["message"], entry.attachment_ids if shown.files else ())
    role = "ROLE_USER" if entry.role == "user" else "ROLE_AGENT"
    return _message(entry.id, role, entry.content, run.id, message["contextId"])


def _whole(tx: Tx, access: Access, run: Run, message: Json, files: tuple[str, ...]) -> Json:
    """A message just as it was sent: its files are put back, and it is named as part of its task."""
    raw = [part for part in message["parts"] if "raw" in part] if files else []
    for part, kept in zip(raw, attachments_by_id(tx, access, files) if raw else (), strict=False):
        part["raw"] = b64encode(kept.content).decode()
    return message | {"taskId": run.id}


def _artifacts(tx: Tx, access: Access, run: Run) -> list[Json]:
    found: dict[str, Json] = {}
    # As of the run in hand: what came after it is told as a change of its own.
    for part in (part for part in artifacts_of(tx, access, run.id) if part.change <= run.changes):
        found.setdefault(part.artifact_id, _artifact(part))["parts"].append(_part(part))
    return [*found.values(), *([_reply(run.reply)] if run.reply else [])]


def _artifact(part: Artifact) -> Json:
    return {"artifactId": part.artifact_id, **({"name": part.name} if part.name else {}), "parts": []}


def _reply(text: str) -> Json:
    return {"artifactId": REPLY_ARTIFACT, "name": REPLY_ARTIFACT, "parts": [{"text": text}]}


def _part(stored: Artifact) -> Json:
    content = _values(stored) if stored.kind == "data" else {_PART_NAMES[stored.kind]: stored.content}
    named = {"filename": stored.filename, "mediaType": stored.media_type}
    return content | {name: value for name, value in named.items() if value}


def _values(stored: Artifact) -> Json:
    values = _decode(stored.content)
    if place_beyond(values, _SHOWN_LEVELS_MAX) is None:
        return {"data": values}
    # What the protocol's types cannot hold is shown as it is written, or the task could be read in JSON of 1.0 alone.
    return {"text": stored.content, "mediaType": "application/json"}


def updates(tx: Tx, access: Access, run: Run, change: int, event: Event) -> list[Update]:
    """What a run's event is to a stream: one update, or the reply and then the end, each with its own number."""
    body = _decode(event.body)
    about = {"taskId": run.id, "contextId": context_of(run)}
    if event.name == "run.artifact":
        part = artifact_part(tx, access, run.id, body["part"])
        return [] if part is None else [(change, _added(about, change, part, append=body["append"]))]
    reply = body.get("reply")
    words = body.get("question") or reply
    if event.name == "run.failed":
        words = (body.get("error") or {}).get("message")
    status = _status(_told_state(event.name, body), event.at, run.id, about["contextId"], change, words)
    metadata = {"generation": change} | ({"reason": body["reason"]} if body.get("reason") else {})
    ended = (change, {"statusUpdate": about | {"status": status, "metadata": metadata}})
    if not reply:
        return [ended]
    shown = about | {"artifact": _reply(reply), "lastChunk": True, "metadata": {"generation": change - 1}}
    return [(change - 1, {"artifactUpdate": shown}), ended]


def _added(about: Json, change: int, part: Artifact, *, append: bool) -> Json:
    artifact = _artifact(part) | {"parts": [_part(part)]}
    added = about | {"artifact": artifact, **({"append": True} if append else {})}
    return {"artifactUpdate": added | {"metadata": {"generation": change}}}


def _told_state(name: str, body: Json) -> str:
    if name == "run.waiting":
        return _waiting(body.get("waitingFor"))
    return _failed(body.get("reason")) if name == "run.failed" else _TOLD[name]


def _status(state: str, at: int, run_id: str, context_id: str, change: int, words: str | None) -> Json:
    status: Json = {"state": state, "timestamp": iso(at)}
    if words:
        # Named after the change, so that whoever reads the task and whoever followed it see the same message.
        status["message"] = _message(f"{run_id}-{change}", "ROLE_AGENT", words, run_id, context_id)
    return status


def _message(message_id: str, role: str, text: str, run_id: str, context_id: str) -> Json:
    return {
        "messageId": message_id,
        "contextId": context_id,
        "taskId": run_id,
        "role": role,
        "parts": [{"text": text}],
    }
