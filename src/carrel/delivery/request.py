"""What is put to the gateway: the transcript and the new message as items, and the exact body around them. Pure."""

import base64
import math
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct

from carrel.delivery.approvals import is_about_approval
from carrel.delivery.prompt import Instructions
from carrel.delivery.transcript import since_heard
from carrel.journal import Entry
from carrel.kernel import TurnExtras, clip
from carrel.kernel.settings import DeliverySettings, GatewaySettings
from carrel.records import Attachment
from carrel.runs import Run, is_senders
from carrel.sessions import Session
from carrel.tools import Tool

Item = dict[str, Any]
_NOTHING = TurnExtras()
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")


class Asking(Struct, frozen=True, kw_only=True):
    """Everything one step of a turn is made from."""

    run: Run
    session: Session
    address: str
    gateway: GatewaySettings
    settings: DeliverySettings
    model: str
    # How many characters of talk are shown at most.
    room: int
    thinking: str | None
    instructions: Instructions
    tools: tuple[Tool, ...]
    own: list[Entry]
    earlier: list[Entry]
    earlier_unread: int
    attachments: dict[str, Attachment]
    extras: TurnExtras


class Asked(Struct, frozen=True):
    """The body, to the byte, how much of the talk it shows, and how many lines of the transcript had to stay out.

    `only_talk`: the sender has put nothing beside it that takes a part of what the model can hold.
    """

    body: bytes
    shown_chars: int
    history_shown: int
    history_omitted: int
    only_talk: bool


def ask(asking: Asking) -> Asked:
    """The request of one step."""
    own, kept, omitted = _fitting(asking)
    items = _items(asking, own, kept)
    is_inline = asking.settings.instructions == "inline"
    if is_inline:
        _lead(items, asking.instructions.text)
    body: dict[str, Any] = {"model": asking.model}
    if not is_inline:
        body["instructions"] = asking.instructions.text
    body["input"] = _as_text(items) if asking.gateway.history == "gateway" and len(items) == 1 else items
    body |= {
        "tools": [*(tool.function() for tool in asking.tools), *asking.extras.functions],
        "tool_choice": "auto",
        "stream": asking.gateway.stream,
    }
    if asking.thinking and asking.thinking != "off":
        body["reasoning"] = {"effort": asking.thinking}
    body |= _options(asking)
    body |= {"user": asking.address, "metadata": _metadata(asking)}
    shown_chars = sum(len(entry.content) for entry in (*own, *kept))
    extras = asking.extras
    beside = (asking.attachments, extras.instructions, extras.functions, extras.before, extras.after, extras.parts)
    return Asked(msgspec.json.encode(body), shown_chars, len(kept), omitted, not any(beside))


def _options(asking: Asking) -> dict[str, Any]:
    """What the sender wants of the model. A call that it insists on is made once, or the turn would never end."""
    options = dict(asking.extras.options)
    choice = options.get("tool_choice", "auto")
    if choice in ("auto", "none") or not any(entry.role == "toolCall" for entry in since_heard(asking.own)):
        return options
    is_list = isinstance(choice, dict) and choice.get("type") == "allowed_tools"
    return options | {"tool_choice": choice | {"mode": "auto"} if is_list else "auto"}


def _metadata(asking: Asking) -> dict[str, str]:
    run, heard = asking.run, [entry for entry in asking.own if not is_about_approval(entry)]
    named = {
        "runId": run.id,
        "sessionId": asking.session.id,
        "taskId": run.task_id or run.session_key.task_id,
        # What was said last: an answer has an id of its own.
        "messageId": next((said.message_id for said in reversed(heard) if said.role == "user"), None),
        "deliveryInstructionProfileVersion": asking.instructions.version,
    }
    return {name: value for name, value in named.items() if value is not None}


def _fitting(asking: Asking) -> tuple[list[Entry], list[Entry], int]:
    """What this run heard and did, the transcript before it within its bound, and how many lines had to stay out.

    The oldest are left out first, and whole.
    """
    own = [entry for entry in asking.own if not is_about_approval(entry)]
    earlier = [entry for entry in asking.earlier if not is_about_approval(entry)]
    unread = asking.earlier_unread
    if asking.gateway.history == "gateway":
        earlier, unread = [], 0
    extras = asking.extras
    room = asking.room - sum(len(entry.content) for entry in own)
    if extras.before or extras.after:
        room -= len(msgspec.json.encode((extras.before, extras.after)))
    kept: list[Entry] = []
    for entry in reversed(earlier):
        # A line without words takes room too: whoever has none left shows nothing more.
        room -= max(1, len(entry.content))
        if room < 0:
            break
        kept.append(entry)
    return own, kept, unread + len(earlier) - len(kept)


def _items(asking: Asking, own: list[Entry], kept: list[Entry]) -> list[Item]:
    """The transcript, and what this run heard and did in its place."""
    shown = [entry for _, entry in sorted([*((entry.seq, entry) for entry in kept), *_places(own)], key=itemgetter(0))]
    items: list[Item] = []
    for entry in shown:
        around = asking.extras if entry.id == asking.run.message_id else _NOTHING
        items += [*around.before, _item(asking, entry), *around.after]
    return items


def _places(own: list[Entry]) -> list[tuple[float, Entry]]:
    """What this run heard and did, each with its place in the talk.

    An answer is written down when it comes and heard when its turn begins: other runs of the lane may have had theirs
    in between, and what they said is not what is answered now. So it stands right before what the run did next. What
    a sender's function brought is such an answer too, and its call stands with it.
    """
    placed: list[tuple[float, Entry]] = []
    place = math.inf
    for entry in reversed(own):
        place = place if entry.role == "user" or is_senders(entry) else entry.seq
        placed.append((place, entry))
    return placed[::-1]


def _item(asking: Asking, entry: Entry) -> Item:
    details = entry.details or {}
    match entry.role:
        case "toolCall":
            return {
                "type": "function_call",
                "call_id": details["callId"],
                "name": details["name"],
                "arguments": details["arguments"],
                "status": "completed",
            }
        case "toolResult":
            output = details.get("output", entry.content)
            return {"type": "function_call_output", "call_id": details["callId"], "output": output}
        case "assistant":
            part: Item = {"type": "output_text", "text": entry.content, "annotations": []}
            return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        case role:
            if entry.run_id != asking.run.id:
                return {"type": "message", "role": role, "content": [_text(entry.content)]}
            files = [_file(asking.attachments[name]) for name in entry.attachment_ids if name in asking.attachments]
            if entry.id == asking.run.message_id:
                files += asking.extras.parts
            said = _text(clip(entry.content, asking.settings.input_chars_max))
            # What was said stands alone and last, so that nothing put beside it can be taken for it.
            return {"type": "message", "role": role, "content": [*files, *_anchors(asking.run), said]}


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _anchors(run: Run) -> list[Item]:
    """What a task lane's message is tied to; a plain chat needs none."""
    task_id = run.task_id or run.session_key.task_id
    return [_text(f"[message {run.message_id} · task {task_id}]")] if task_id else []


def _file(attachment: Attachment) -> Item:
    address = f"data:{attachment.mime_type};base64,{base64.b64encode(attachment.content).decode()}"
    if attachment.mime_type in _IMAGES:
        return {"type": "input_image", "image_url": address, "detail": "auto"}
    return {"type": "input_file", "filename": attachment.name, "file_data": address}


def _lead(items: list[Item], text: str) -> None:
    """Put the policy in front of the newest user message; for gateways that know no instructions."""
    newest = next(item for item in reversed(items) if item.get("role") == "user")
    newest["content"].insert(0, _text(text))


def _as_text(items: list[Item]) -> str | list[Item]:
    """One message as plain text, where it is nothing but text."""
    content = items[0]["content"]
    only_text = all(part["type"] == "input_text" for part in content)
    return "\n\n".join(part["text"] for part in content) if only_text else items
