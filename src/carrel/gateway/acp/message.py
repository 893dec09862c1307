"""Turns a step's body into the prompt for a coding agent: the message, or the decision it asked for. Pure.

The agent keeps the session, so only new messages are sent. An agent that lost it gets the earlier conversation, and one
that was interrupted is told so, with what is known of its work, so that it checks before it does anything twice. A
stored prompt is read back here too.
"""

import json
from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct

from carrel.gateway.acp.actions import CALL, PERMISSION, PLAN, title_of
from carrel.gateway.items import (
    GivenFile,
    data_url,
    input_file,
    input_image,
    input_text,
    json_object,
    not_sent,
    read_file,
)
from carrel.gateway.model import Item, Step
from carrel.gateway.prompt import ASSISTANT, USER, content_blocks, read_items
from carrel.kernel import clip

_RESULT_CHARS_MAX = 300
# Not sent to a coding agent: it has instructions and tools of its own.
LEFT_OUT = ("instructions", "tools")


class Decision(Struct, frozen=True, kw_only=True):
    """The decision on a permission that the agent asked for, and the action it was for."""

    call_id: str
    name: str
    arguments: str
    is_allowed: bool
    why: str


class Capabilities(Struct, frozen=True):
    """What an agent accepts in a message besides text and links."""

    images: bool = False
    resources: bool = False


class AcpMessage(Struct, frozen=True, kw_only=True):
    """The step for the agent.

    `key` names its session here. `content` is the newest message; `is_later` means that it came after the question that
    `decision` answers. `asked` counts the questions of this run, and `actions` lists what is known of its work.
    """

    key: str
    content: list[Item]
    history: list[tuple[str, str]]
    decision: Decision | None
    is_later: bool
    asked: int
    actions: list[str]
    is_interrupted: bool

    @property
    def granted(self) -> tuple[str, str] | None:
        """An action that a person allowed but the agent never learned of: name and arguments; None if unknown."""
        decision = self.decision
        if decision is None or not decision.is_allowed or self.is_later or self.is_interrupted:
            return None
        return decision.name, decision.arguments


def read_step(step: Step) -> AcpMessage:
    """Read a step; raise ValueError if its body is not a request."""
    request, items, newest = read_items(step)
    metadata = request.metadata if isinstance(request.metadata, dict) else {}
    asked = [(index, item) for index, item in enumerate(items) if _is_call(item, PERMISSION)]
    last, call = asked[-1] if asked else (-1, {})
    return AcpMessage(
        # The session's id distinguishes installations whose lanes have the same name.
        key=sha256("\n".join((step.address, str(metadata.get("sessionId", "")))).encode()).hexdigest(),
        content=content_blocks(items[newest].get("content")) if newest >= 0 else [],
        history=list(_history(items[:newest] if newest >= 0 else [])),
        decision=_decision(call, items) if asked else None,
        is_later=newest > last,
        asked=len(asked),
        actions=list(_actions(items)),
        is_interrupted=step.lost_at is not None,
    )


def prompt_of(message: AcpMessage, takes: Capabilities, *, is_new: bool) -> list[Item]:
    """Return the blocks of a prompt; an `is_new` session also gets the earlier conversation."""
    blocks: list[Item] = []
    if is_new and message.history:
        blocks.append(_text(_told(message.history)))
    if note := _note(message):
        blocks.append(_text(note))
    return [*blocks, *message_blocks(message, takes)]


def message_blocks(message: AcpMessage, takes: Capabilities) -> list[Item]:
    return [_block(part, takes) for part in message.content] or [_text("")]


def _note(message: AcpMessage) -> str:
    """What the agent must know before it reads the message again."""
    lines: list[str] = []
    if message.is_interrupted:
        lines.append("Carrel was interrupted while you worked on the message below, so a part of it may be done.")
    elif message.decision is not None and not message.is_later:
        lines.append("Your turn on the message below had ended while a question of yours was open.")
    if lines and message.actions:
        lines += ["What is known of your work on it:", *(f"- {line}" for line in message.actions)]
    decision = message.decision
    if decision is not None and (lines or not message.is_later):
        answer = "was given" if decision.is_allowed else "was not given"
        why = f" ({decision.why})" if decision.why and not decision.is_allowed else ""
        lines.append(f'The permission that you asked for, "{title_of(decision.arguments)}", {answer} by a person{why}.')
    if not lines:
        return ""
    rest = "Look at the state of the workspace first, do not repeat what is done, and go on from there."
    return "\n".join([*lines, rest])


def _told(history: list[tuple[str, str]]) -> str:
    said = (f"{'You' if role == ASSISTANT else 'User'}: {text}" for role, text in history)
    return "\n\n".join(["What was said in this conversation before:", *said])


def _history(items: list[Item]) -> Iterator[tuple[str, str]]:
    for item in items:
        if item.get("role") in (USER, ASSISTANT):
            texts = [block["text"] for block in content_blocks(item.get("content")) if block.get("type") == "text"]
            yield str(item["role"]), "\n".join(texts)


def _actions(items: list[Item]) -> Iterator[str]:
    results = {str(item.get("call_id")): item for item in items if item.get("type") == "function_call_output"}
    for item in items:
        if _is_call(item, CALL) and item.get("name") != PLAN:
            result = json_object(results.get(str(item["call_id"]), {}).get("output"))
            became = "done" if result.get("ok") is True else "not known to have succeeded"
            said = clip(str(result.get("text", "")), _RESULT_CHARS_MAX) if result.get("ok") is not True else ""
            yield f"{title_of(str(item.get('arguments')))}: {became}" + (f" ({said})" if said else "")


def _decision(call: Item, items: list[Item]) -> Decision | None:
    call_id = str(call["call_id"])
    outputs = (item for item in reversed(items) if item.get("type") == "function_call_output")
    output = next((item for item in outputs if item.get("call_id") == call_id), None)
    if output is None:
        return None
    result = json_object(output.get("output"))
    error = result.get("error")
    return Decision(
        call_id=call_id,
        name=str(call.get("name")),
        arguments=str(call.get("arguments")),
        is_allowed=result.get("ok") is True,
        why=str(error.get("message", "")) if isinstance(error, dict) else "",
    )


def _block(part: Item, takes: Capabilities) -> Item:
    if part.get("type") == "text":
        return _text(part["text"])
    file = read_file(part)
    if file.is_image and file.data and takes.images:
        return {"type": "image", "data": file.data, "mimeType": file.media_type}
    if file.text is not None and takes.resources:
        return {"type": "resource", "resource": {"uri": _address(file), "text": file.text, "mimeType": file.media_type}}
    if file.text is not None:
        return _text(f"{_address(file)}:\n{file.text}")
    if file.url:
        return {"type": "resource_link", "uri": file.url, "name": file.name or file.url}
    return _text(not_sent(file))


def _address(file: GivenFile) -> str:
    return f"attachment:///{file.name or 'file'}"


def _text(text: str) -> Item:
    return {"type": "text", "text": text}


def _is_call(item: Item, kind: str) -> bool:
    return item.get("type") == "function_call" and str(item.get("call_id")).startswith(kind)


def read_prompt(body: str) -> list[Item]:
    """Return the prompt of a sent step; nothing if it only answered a question."""
    said = json.loads(body) if body else {}
    if "prompt" not in said:
        return []
    return [{"type": "message", "role": "user", "content": [_content(block) for block in said["prompt"]]}]


def remote_id_of(body: str) -> str:
    """Return the agent's session that a stored step was sent to; empty if there is none."""
    return str(json.loads(body).get("sessionId", "")) if body else ""


def _content(block: Item) -> Item:
    match block["type"]:
        case "text":
            return input_text(block["text"])
        case "image":
            return input_image(data_url(block["mimeType"], block["data"]))
        case "resource":
            return input_text(f"{block['resource']['uri']}:\n{block['resource']['text']}")
    return input_file(block["uri"])
