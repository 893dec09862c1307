"""Runs as A2A tasks, and a run's events as the updates of a stream or a push notification, in the JSON of A2A 1.0.

The JSON is built directly, without protobuf: a list has up to a hundred tasks, and most clients speak JSON of 1.0.
"""

from base64 import b64encode
from collections.abc import Sequence

import msgspec

from carrel.goals import Goal, PlanPosition, goal_of_task, plan_positions
from carrel.journal import Entry, Event, talk_of_runs
from carrel.kernel import Access, iso
from carrel.kernel.limits import A2A_HISTORY_MESSAGES, A2A_LEVELS_MAX
from carrel.monitoring import queue_order
from carrel.records import REPLY_ARTIFACT, Artifact, artifact_part, artifacts_of, attachments_by_id
from carrel.runs import Run, queue_position
from carrel.storage import Tx
from carrel.surfaces.a2a.protobuf_json import Json, path_beyond

# The number of a task's change, and the update that reports it.
Update = tuple[int, Json]
# A message of a history, after its time and its place among what happened at that time.
Dated = tuple[int, int, Json]

SUBMITTED = "TASK_STATE_SUBMITTED"
WORKING = "TASK_STATE_WORKING"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
COMPLETED = "TASK_STATE_COMPLETED"
CANCELED = "TASK_STATE_CANCELED"
FAILED = "TASK_STATE_FAILED"
REJECTED = "TASK_STATE_REJECTED"
ENDED = (COMPLETED, CANCELED, FAILED, REJECTED)
SETTLED = (INPUT_REQUIRED, AUTH_REQUIRED, *ENDED)
# Of a run by its state, or by what has happened to it.
_STATES = {
    "queued": SUBMITTED,
    "running": WORKING,
    "started": WORKING,
    # To the client, a run between two attempts is still working.
    "retrying": WORKING,
    "held": WORKING,
    "rescued": WORKING,
    "completed": COMPLETED,
    "cancelled": CANCELED,
}
# A part is nested four levels deeper in a task than in a request.
_PART_LEVELS_MAX = A2A_LEVELS_MAX - 4
_PART_NAMES = {"text": "text", "bytes": "raw", "url": "url"}
_decode = msgspec.json.Decoder().decode


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a task to include; `history` None means the default number of messages."""

    history: int | None = None
    artifacts: bool = True
    # Whether messages in the history include the bytes of their files.
    files: bool = True


def original_of(tx: Tx, access: Access, run: Run) -> Json:
    """Return the request that created the run as JSON, without the bytes of its files.

    A run started by its plan was not requested over A2A; its message is the text for the agent.
    """
    if run.original is not None:
        return _decode(run.original)  # type: ignore[no-any-return]
    goal = None if run.task_id is None else goal_of_task(tx, access, run.task_id)
    context_id = run.session_key.conversation if goal is None else context_of_goal(goal)
    told = {"messageId": run.message_id, "contextId": context_id, "role": "ROLE_USER", "parts": [{"text": run.text}]}
    return {"message": told}


def context_of(tx: Tx, access: Access, run: Run) -> str:
    """Return the contextId under which the caller knows the run's lane or objective."""
    return str(original_of(tx, access, run)["message"]["contextId"])


def context_of_goal(goal: Goal) -> str:
    """Return the contextId of a goal's session: the end of its key, which is a hash if the client's id was too long."""
    return goal.session_key.rest.rpartition(":")[2]


def state_of(run: Run) -> str:
    return WORKING if run.state == "queued" and run.attempt else _state(run.state, run.waiting_for, run.reason)


def _state(word: str, waiting_for: str | None, reason: str | None) -> str:
    if word == "waiting":
        return AUTH_REQUIRED if waiting_for == "auth" else INPUT_REQUIRED
    if word == "failed":
        return REJECTED if reason == "rejected" else FAILED
    return _STATES[word]


def task_json(tx: Tx, access: Access, run: Run, detail: Detail) -> Json:
    return tasks_json(tx, access, [run], detail)[0]


def tasks_json(tx: Tx, access: Access, runs: Sequence[Run], detail: Detail) -> list[Json]:
    """Return runs as tasks, in the same order."""
    limit = A2A_HISTORY_MESSAGES if detail.history is None else detail.history
    started = [run.id for run in runs if run.session_id is not None]
    entries = talk_of_runs(tx, access, started) if limit and started else {}
    positions, places = _queue_positions(tx, access, runs), plan_positions(tx, access, runs)
    return [
        _task(tx, access, run, entries.get(run.id, []), limit, detail, _metadata(run, positions, places))
        for run in runs
    ]


def _task(tx: Tx, access: Access, run: Run, entries: list[Entry], limit: int, detail: Detail, metadata: Json) -> Json:
    original = original_of(tx, access, run)
    context_id = original["message"]["contextId"]
    text = {"waiting": run.question, "completed": run.reply, "failed": run.error_message}.get(run.state)
    if run.state == "queued" and run.last_fault is not None:
        text = run.last_fault.told()
    task: Json = {
        "id": run.id,
        "contextId": context_id,
        "status": _status(state_of(run), run.updated_at, run.id, context_id, run.changes, text),
    }
    artifacts = _artifacts(tx, access, run) if detail.artifacts else []
    if artifacts:
        task["artifacts"] = artifacts
    if limit:
        dated = dated_history(tx, access, run, entries, detail, original["message"])
        task["history"] = [message for _, _, message in dated][-limit:]
    task["metadata"] = original.get("metadata", {}) | metadata
    return task


def _metadata(run: Run, positions: dict[str, int | None], places: dict[str, PlanPosition]) -> Json:
    metadata: Json = {"queuedAt": iso(run.created_at), "sessionKey": run.key, "generation": run.changes}
    if positions.get(run.id):
        metadata["queuePosition"] = positions[run.id]
    place = places.get(run.task_id or "")
    if place is not None:
        metadata |= {"opt/v1/objectiveId": place.goal_id, "opt/v1/planId": place.plan_id}
        metadata |= {"opt/v1/taskIndex": place.index, "opt/v1/dependencies": list(place.dependencies)}
    return metadata | ({"reason": run.reason} if run.reason else {})


def _queue_positions(tx: Tx, access: Access, runs: Sequence[Run]) -> dict[str, int | None]:
    """Return the queue positions of the queued runs; a lane with several of them is read once."""
    queued = [run for run in runs if state_of(run) == SUBMITTED]
    keys = [run.key for run in queued]
    lanes = {key: queue_order(tx, access, key) for key in set(keys) if keys.count(key) > 1}
    return {run.id: lanes[run.key].get(run.id) if run.key in lanes else queue_position(tx, run) for run in queued}


def dated_history(
    tx: Tx, access: Access, run: Run, entries: list[Entry], detail: Detail, sent: Json | None = None
) -> list[Dated]:  # fmt: skip
    """Return the messages of this task only; a queued task has just its input, which is `sent`."""
    message = original_of(tx, access, run)["message"] if sent is None else sent

    def as_sent(entry: Entry) -> Json:
        original = (entry.details or {}).get("original")
        if entry.id == run.message_id:
            return _as_sent(tx, access, run, message, run.attached(), detail)
        if original is not None:
            return _as_sent(tx, access, run, _decode(original)["message"], entry.attachment_ids, detail)
        role = "ROLE_USER" if entry.role == "user" else "ROLE_AGENT"
        return _message(entry.id, role, entry.content, run.id, message["contextId"])

    dated = [(entry.created_at, entry.seq, as_sent(entry)) for entry in entries]
    if not any(entry.id == run.message_id for entry in entries):
        dated.insert(0, (run.created_at, run.seq, _as_sent(tx, access, run, message, run.attached(), detail)))
    return dated


def _as_sent(tx: Tx, access: Access, run: Run, message: Json, files: tuple[str, ...], detail: Detail) -> Json:
    """Return a message as it was sent, with its files put back and the id of its task."""
    raw = [part for part in message["parts"] if "raw" in part] if files and detail.files else []
    for part, file in zip(raw, attachments_by_id(tx, access, files) if raw else (), strict=False):
        part["raw"] = b64encode(file.content).decode()
    return message | {"taskId": run.id}


def _artifacts(tx: Tx, access: Access, run: Run) -> list[Json]:
    artifacts: dict[str, Json] = {}
    for part in artifacts_of(tx, access, run.id):
        # A stream reports the parts after the change that `run` was read at as updates.
        if part.change <= run.changes:
            artifacts.setdefault(part.artifact_id, _artifact(part))["parts"].append(_part(part))
    return [*artifacts.values(), *([_reply(run.reply)] if run.reply else [])]


def _artifact(part: Artifact) -> Json:
    return {"artifactId": part.artifact_id, **({"name": part.name} if part.name else {}), "parts": []}


def _reply(text: str) -> Json:
    return {"artifactId": REPLY_ARTIFACT, "name": REPLY_ARTIFACT, "parts": [{"text": text}]}


def _part(stored: Artifact) -> Json:
    if stored.kind != "data":
        content: Json = {_PART_NAMES[stored.kind]: stored.content}
    elif path_beyond(value := _decode(stored.content), _PART_LEVELS_MAX) is None:
        content = {"data": value}
    else:
        # Too deep for protobuf: as structured data, only clients that use JSON of 1.0 could read the task.
        content = {"text": stored.content, "mediaType": "application/json"}
    about = {"filename": stored.filename, "mediaType": stored.media_type}
    return content | {name: value for name, value in about.items() if value}


def updates_of_event(tx: Tx, access: Access, run: Run, change: int, event: Event) -> list[Update]:
    """Return a run's event as updates: one, or the reply and then the end, each with its own number."""
    body = _decode(event.body)
    ids = {"taskId": run.id, "contextId": context_of(tx, access, run)}
    if event.name == "run.artifact":
        part = artifact_part(tx, access, run.id, body["part"])
        if part is None:
            return []
        added: Json = ids | {"artifact": _artifact(part) | {"parts": [_part(part)]}}
        added |= ({"append": True} if body["append"] else {}) | {"metadata": {"generation": change}}
        return [(change, {"artifactUpdate": added})]
    reply = body.get("reply")
    text = body.get("question") or reply
    if event.name == "run.failed":
        text = (body.get("error") or {}).get("message")
    elif event.name in ("run.retrying", "run.held"):
        text = body.get("note")
    state = _state(event.name.removeprefix("run."), body.get("waitingFor"), body.get("reason"))
    status = _status(state, event.at, run.id, ids["contextId"], change, text)
    metadata = {"generation": change} | ({"reason": body["reason"]} if body.get("reason") else {})
    status_update = (change, {"statusUpdate": ids | {"status": status, "metadata": metadata}})
    if not reply:
        return [status_update]
    artifact = ids | {"artifact": _reply(reply), "lastChunk": True, "metadata": {"generation": change - 1}}
    return [(change - 1, {"artifactUpdate": artifact}), status_update]


def _status(state: str, at: int, run_id: str, context_id: str, change: int, text: str | None) -> Json:
    status: Json = {"state": state, "timestamp": iso(at)}
    if text:
        # The id is made from the change, so that a read and a stream show the same message.
        status["message"] = _message(f"{run_id}-{change}", "ROLE_AGENT", text, run_id, context_id)
    return status


def _message(message_id: str, role: str, text: str, run_id: str, context_id: str) -> Json:
    return {"messageId": message_id, "contextId": context_id, "taskId": run_id, "role": role, "parts": [{"text": text}]}
