"""Turns a finished or waiting remote task into the answer of a step: text, or equivalent tool calls. Pure.

Files, links and structured results become artifacts of our run, and questions and refusals become those of our agent.
Only text ends a turn, so the calls that keep the rest come first, and the text is read again afterwards.
"""

import json
from collections.abc import Iterator
from hashlib import sha256

from carrel.a2a import RemoteTask
from carrel.gateway.a2a.connection import RemoteFaults
from carrel.gateway.a2a.message import DECLINE, FILE, MESSAGE, QUESTION, OutgoingMessage, call_id_of
from carrel.gateway.answers import build_answer
from carrel.gateway.items import call_item, json_object, message_item, text_part
from carrel.gateway.model import Item, StepAnswer
from carrel.kernel import clip
from carrel.kernel.limits import NAME_CHARS_MAX, QUESTION_CHARS_MAX, TOOL_CALLS_PER_ROUND_MAX

_KINDS = {"input-required": "input", "auth-required": "auth"}
_NO_QUESTION = {
    "input": "The remote agent needs more information before it can continue.",
    "auth": "The remote agent needs authorization before it can continue.",
}
_MESSAGE_TEXT = "0"


def answer_of(task: RemoteTask, message: OutgoingMessage, model: str, faults: RemoteFaults) -> StepAnswer:
    """Return the answer of a remote task that has finished or waits; raise GatewayFault if it failed."""
    match task.state:
        case "completed" if task.message is not None:
            items = _message_items(task)
        case "completed":
            items = _file_items(task, message)[:TOOL_CALLS_PER_ROUND_MAX] or as_message(task.text)
        case "input-required" | "auth-required":
            items = _question_items(task, message)
        case "rejected" if message.last_kind != DECLINE:
            reason = _clean(task.status_text) or "The remote agent refused without giving a reason."
            arguments = {"reason": clip(reason, QUESTION_CHARS_MAX)}
            items = [_call(call_id_of(DECLINE, "", task.id), "decline", arguments)]
        case _:
            raise faults.of_end(task.state, task.status_text)
    return as_answer(items, message, model, faults)


def as_answer(items: list[Item], message: OutgoingMessage, model: str, faults: RemoteFaults) -> StepAnswer:
    return build_answer(items, {"model": model}, seed=message.seed, faults=faults)


def as_message(text: str) -> list[Item]:
    """Return a text as an output message; no item for an empty text."""
    return [message_item(text_part(text))] if text else []


def kept_message(message: OutgoingMessage) -> str:
    """Return the text of a message whose other parts were kept; the first of those calls holds it."""
    item = message.calls.get(call_id_of(MESSAGE, _MESSAGE_TEXT, ""), {})
    text = json_object(item.get("arguments")).get("text")
    return text if isinstance(text, str) else ""


def _question_items(task: RemoteTask, message: OutgoingMessage) -> list[Item]:
    kind = _KINDS[task.state]
    question = clip(_clean(task.status_text) or _NO_QUESTION[kind], QUESTION_CHARS_MAX)
    if message.is_continuation and message.last_kind == QUESTION:
        # Our agent may not ask questions, so the question becomes its answer.
        return as_message(question)
    # Numbered by the earlier questions, so that the id stays the same however often the step is taken.
    asked = call_id_of(QUESTION, str(message.questions), task.id)
    question_call = _call(asked, "request_input", {"question": question, "kind": kind})
    return [*_file_items(task, message)[: TOOL_CALLS_PER_ROUND_MAX - 1], question_call]


def _file_items(task: RemoteTask, message: OutgoingMessage) -> list[Item]:
    """Return the calls that keep non-text parts, except those already made."""
    calls: list[Item] = []
    for artifact in task.artifacts:
        for index, arguments in _kept_parts(artifact):
            # By artifact and part index, so that later parts do not change earlier ids.
            mark = sha256(f"{artifact.get('artifactId')}\n{index}".encode()).hexdigest()[:8]
            if (call_id := call_id_of(FILE, mark, task.id)) not in message.calls:
                calls.append(_call(call_id, "artifact_add", arguments))
    return calls


def _message_items(task: RemoteTask) -> list[Item]:
    """Return the items of a direct message; with files, its text is kept too, since no task holds it."""
    files = list(_kept_parts(task.message or {}))
    text = _clean(task.status_text)
    if not files:
        return as_message(task.status_text)
    calls = [_call(call_id_of(MESSAGE, f"{index + 1:x}", ""), "artifact_add", arguments) for index, arguments in files]
    kept = [_call(call_id_of(MESSAGE, _MESSAGE_TEXT, ""), "artifact_add", {"text": text, "name": "message"})]
    return [*(kept if text else []), *calls][:TOOL_CALLS_PER_ROUND_MAX]


def _kept_parts(whole: Item) -> Iterator[tuple[int, Item]]:
    for index, part in enumerate(whole["parts"]):
        match part:
            case {"raw": str() as raw}:
                arguments: Item = {"dataBase64": _plain_base64(raw)}
            case {"url": str() as url}:
                arguments = {"url": url}
            case {"data": structured}:
                arguments = {"data": structured}
            case _:
                continue
        named = {"filename": part.get("filename"), "mediaType": part.get("mediaType")}
        named["name"] = whole.get("name") or part.get("filename")
        texts = {name: value for name, value in named.items() if isinstance(value, str) and value}
        yield index, arguments | {name: clip(value, NAME_CHARS_MAX) for name, value in texts.items()}


def _plain_base64(raw: str) -> str:
    """Return base64 in the standard alphabet with padding; senders may use the URL-safe one without."""
    plain = raw.replace("-", "+").replace("_", "/").rstrip("=")
    return plain + "=" * (-len(plain) % 4)


def _call(call_id: str, name: str, arguments: Item) -> Item:
    return call_item(call_id, name, json.dumps(arguments, ensure_ascii=False))


def _clean(text: str) -> str:
    """Return text without NUL characters, which every tool rejects."""
    return text.replace("\x00", "").strip()
