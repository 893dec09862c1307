"""The request of one step: transcript and message as items, and the exact body around them. Pure."""

import math
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct

from carrel.context import Context
from carrel.delivery.approvals import is_about_approval
from carrel.delivery.context import NO_CONTEXT, text_of
from carrel.delivery.files import file_names, file_part, shown_files
from carrel.delivery.heading import GAP, files_of
from carrel.delivery.history import chars_of, newest_within, remembered
from carrel.delivery.prompt import Instructions, Scope, standing_instructions, with_more, with_request
from carrel.delivery.prompt_tasks import asked_again
from carrel.delivery.reasoning import reasoning_before
from carrel.delivery.senders import LINE, as_said, have_several_senders, line_of_earlier
from carrel.delivery.snapshot import BUILTIN, Snapshot
from carrel.delivery.transcript import since_heard
from carrel.journal import Entry
from carrel.kernel import TurnExtras, clip
from carrel.kernel.limits import EARLIER_RESULTS_PART
from carrel.kernel.settings import DeliverySettings
from carrel.records import Attachment
from carrel.runs import is_sender_call
from carrel.tools import Tool, is_exchange_step, shown_tools

Item = dict[str, Any]
_NO_EXTRAS = TurnExtras()
# Messages from a person or a program, also through an agent that calls tools for it. Results of sub-agents and steps
# of exchanges are not among them: anybody may have caused their text.
_REQUESTS = frozenset({"external_user", "a2a", "cron", "hook", "inter_session", "spawn"})
# The model to ask for if none was named: the field is required, and servers with one model ignore it.
ANY_MODEL = "default"


class Request(Struct, frozen=True, kw_only=True):
    """A request, to the byte, and how much of the transcript it shows."""

    body: bytes
    # The position of the run's newest message in the input, and whether a person or a program wrote it.
    message_at: int | None
    is_request: bool
    model: str
    instructions: Instructions
    history_chars_max: int
    shown_chars: int
    history_shown: int
    history_omitted: int
    # Whether the sender added nothing else that takes up the model's context window.
    only_talk: bool
    context: Context


def model_of(snapshot: Snapshot) -> str:
    """Return the model to ask for; the built-in agent gets its own name, whatever the agent would get elsewhere."""
    settings = snapshot.connection.settings
    if settings.kind == "builtin":
        return BUILTIN
    named = snapshot.extras.model or snapshot.lane.model or snapshot.agent.profile.model
    return named or settings.model or ANY_MODEL


def build_request(
    snapshot: Snapshot, settings: DeliverySettings, *, history_chars_max: int, context: Context = NO_CONTEXT,
    silences: int = 0,
) -> Request:  # fmt: skip
    """Build the request of one step, with the context that was gathered for its run.

    After `silences`, answers that said nothing, tell the agent so: the same question would get the same answer.
    """
    block = text_of(context)
    extras, gateway = snapshot.extras, snapshot.connection.settings
    tools, model = shown_tools(snapshot.toolset, snapshot.caller), model_of(snapshot)
    instructions = _instructions(snapshot, tools)
    if silences:
        instructions = with_more(instructions, asked_again(snapshot.told, silences))
    own, kept, omitted = _within(snapshot, history_chars_max)
    items, message_at = _items(snapshot, settings, own, kept, block)
    inline = settings.instructions == "inline" and gateway.kind != "openclaw"
    if inline:
        _prepend(items, instructions.text)
    body: dict[str, Any] = {"model": model}
    if not inline:
        body["instructions"] = instructions.text
    # Not for a remote agent: its gateway takes the message out of its item.
    as_text = gateway.history == "gateway" and len(items) == 1 and snapshot.connection.gateway.takes_context
    body["input"] = _as_text(items) if as_text else items
    body |= {
        "tools": [*(tool.function(snapshot.caller.actor) for tool in tools), *extras.functions],
        "tool_choice": "auto",
        "stream": gateway.stream,
    }
    thinking = snapshot.lane.thinking_level or snapshot.agent.profile.thinking
    if thinking and thinking != "off":
        body["reasoning"] = {"effort": thinking}
    body |= _options(snapshot)
    body |= {"user": snapshot.address, "metadata": _metadata(snapshot, instructions)}
    added = (snapshot.attachments, extras.instructions, extras.functions, extras.before, extras.after, extras.parts)
    return Request(
        body=msgspec.json.encode(body),
        message_at=message_at,
        is_request=_is_request(snapshot, _newest(own)),
        model=model,
        instructions=instructions,
        history_chars_max=history_chars_max,
        shown_chars=_heading_chars(snapshot) + sum(len(entry.content) for entry in own) + sum(map(chars_of, kept)),
        history_shown=len(kept),
        history_omitted=omitted,
        only_talk=not any(added),
        context=context,
    )


def _instructions(snapshot: Snapshot, tools: tuple[Tool, ...]) -> Instructions:
    scope = Scope(
        key=snapshot.run.session_key,
        task_id=snapshot.run.task_id,
        told=snapshot.told,
        is_heartbeat=snapshot.run.provenance_kind == "heartbeat",
        is_exchange_step=is_exchange_step(snapshot.caller),
        is_planning=snapshot.caller.is_planning,
    )
    standing = standing_instructions(snapshot.agent, scope, tools, snapshot.briefing)
    return with_request(standing, snapshot.extras.instructions)


def _is_request(snapshot: Snapshot, newest: Entry) -> bool:
    """Whether a person or a program wrote the message; for a notification, whether people wrote all of it."""
    told = snapshot.told
    by_people = newest.provenance.kind == "notification" and told is not None and told.by_people
    return by_people or newest.provenance.kind in _REQUESTS


def _heading_chars(snapshot: Snapshot) -> int:
    return len(_head(snapshot, "", whole=True))


def _options(snapshot: Snapshot) -> dict[str, Any]:
    """Return the sender's options for the model. A required call is required only once, or the turn would never end."""
    options = dict(snapshot.extras.options)
    choice = options.get("tool_choice", "auto")
    if choice in ("auto", "none") or not any(entry.role == "toolCall" for entry in since_heard(snapshot.own)):
        return options
    is_list = isinstance(choice, dict) and choice.get("type") == "allowed_tools"
    return options | {"tool_choice": choice | {"mode": "auto"} if is_list else "auto"}


def _metadata(snapshot: Snapshot, instructions: Instructions) -> dict[str, str]:
    run, heard = snapshot.run, [entry for entry in snapshot.own if not is_about_approval(entry)]
    named = {
        "runId": run.id,
        "sessionId": snapshot.session.id,
        "taskId": run.task_id,
        "notificationId": run.source().notification_id or None,
        # From the newest message: an answer has an id of its own.
        "messageId": next((entry.message_id for entry in reversed(heard) if entry.role == "user"), None),
        "deliveryInstructionProfileVersion": instructions.version,
    }
    return {name: value for name, value in named.items() if value is not None}


def _within(snapshot: Snapshot, chars_max: int) -> tuple[list[Entry], list[Entry], int]:
    """Return the run's own entries, the newest of the transcript before them that fit, and how many do not."""
    own = [entry for entry in snapshot.own if not is_about_approval(entry)]
    # Some servers refuse calls of tools in the transcript if no tools are offered.
    has_tools = bool(snapshot.toolset.offered() or snapshot.extras.functions)
    earlier = remembered(snapshot.earlier, with_calls=has_tools)
    if snapshot.run.provenance_kind == "announce":
        # Its message quotes what was said in the exchange.
        quoted = f"\n{snapshot.run.text}\n"
        earlier = [entry for entry in earlier if f"\n{entry.content.strip()}\n" not in quoted]
    unread = snapshot.earlier_unread
    known = snapshot.at_gateway.session_seq
    if known >= 0:
        earlier, unread = [entry for entry in earlier if entry.seq > known], 0
    elif snapshot.connection.settings.history == "gateway":
        earlier, unread = [], 0
    extras = snapshot.extras
    left = chars_max - _heading_chars(snapshot) - sum(len(entry.content) for entry in own)
    if extras.before or extras.after:
        left -= len(msgspec.json.encode((extras.before, extras.after)))
    kept = newest_within(earlier, left, results_max=chars_max // EARLIER_RESULTS_PART)
    return own, kept, unread + len(earlier) - len(kept)


def _items(
    snapshot: Snapshot, settings: DeliverySettings, own: list[Entry], kept: list[Entry], block: str
) -> tuple[list[Item], int]:  # fmt: skip
    """Return the whole input in order, with the context before the run's message; and where its newest message is."""
    unsaid = snapshot.at_gateway.unsaid(own)
    positioned = [*((entry.seq, entry) for entry in kept), *_positions(unsaid)]
    items: list[Item] = []
    newest, message_at = _newest(own), 0
    is_known = all(entry.id != snapshot.run.message_id for entry in unsaid)
    if is_known and block:
        # A gateway that keeps history knows the message itself, but not what is shown beside it.
        items.append(_context(block))
    before, is_named = None, have_several_senders(entry for _, entry in positioned)
    for _, entry in sorted(positioned, key=itemgetter(0)):
        is_message = entry.id == snapshot.run.message_id
        if is_message and block:
            items.append(_context(block))
        around = snapshot.extras if is_message else _NO_EXTRAS
        items += around.before
        message_at = len(items) if entry is newest else message_at
        reasoning = reasoning_before(snapshot.reasoning, entry) if entry.run_id == snapshot.run.id else []
        items += [*reasoning, _item(snapshot, settings, entry, _line(snapshot, entry, before, is_named)), *around.after]
        before = entry
    return items, message_at


def _newest(own: list[Entry]) -> Entry:
    """Return the newest message of the run, which may be an answer to its question."""
    return next(entry for entry in reversed(own) if entry.role == "user")


def _positions(own: list[Entry]) -> list[tuple[float, Entry]]:
    """Return the run's own entries, each with its position in the transcript.

    An answer is stored when it arrives, but read when its turn begins; other runs of the lane may have spoken in
    between. So it is placed right before what the run did next. The output of a sender's function is such an answer
    too, and its call goes with it.
    """
    positioned: list[tuple[float, Entry]] = []
    position = math.inf
    for entry in reversed(own):
        position = position if entry.role == "user" or is_sender_call(entry) else entry.seq
        positioned.append((position, entry))
    return positioned[::-1]


def _line(snapshot: Snapshot, entry: Entry, before: Entry | None, is_named: bool) -> str:
    """Return the line before an entry; none for a remote agent, which would take it for the message."""
    if entry.role != "user" or not snapshot.connection.gateway.takes_context:
        return ""
    return line_of_earlier(entry, before, is_named=is_named)


def _item(snapshot: Snapshot, settings: DeliverySettings, entry: Entry, line: str) -> Item:
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
            shown = [file_part(file) for file in _files(snapshot, entry)]
            output = [_text(entry.content), *shown] if shown else output
            return {"type": "function_call_output", "call_id": details["callId"], "output": output}
        case "assistant":
            part: Item = {"type": "output_text", "text": entry.content, "annotations": []}
            return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        case role:
            is_own = entry.run_id == snapshot.run.id
            content = _message(snapshot, settings, entry, line) if is_own else _earlier_message(snapshot, entry, line)
            return {"type": "message", "role": role, "content": content}


def _message(snapshot: Snapshot, settings: DeliverySettings, entry: Entry, line: str) -> list[Item]:
    """Return the parts of a message of the run: files, what is said about it, and last the message.

    The message is a part of its own, so that nothing beside it can be mistaken for it.
    """
    is_message = entry.id == snapshot.run.message_id
    files, about_files = _given_files(snapshot, entry)
    files += snapshot.extras.parts if is_message else []
    head = _head(snapshot, line, whole=is_message)
    text = clip(as_said(entry.content), settings.input_chars_max - (len(head + GAP) if head else 0))
    return [*files, *(_text(beside) for beside in (about_files, head) if beside), _text(text)]


def _earlier_message(snapshot: Snapshot, entry: Entry, line: str) -> list[Item]:
    known = snapshot.earlier_files
    files = [known[name] for name in files_of(entry) if name in known]
    texts = (line, as_said(entry.content), file_names(files) if files else "")
    return [_text(text) for text in texts if text]


def _given_files(snapshot: Snapshot, entry: Entry) -> tuple[list[Item], str]:
    files = _files(snapshot, entry)
    if not snapshot.connection.gateway.takes_context:
        # Send a remote agent only the files: it would take any text beside them for the message.
        return [file_part(file) for file in files], ""
    return shown_files(files, may_read=any(tool.name == "file_read" for tool in snapshot.toolset.offered()))


def _files(snapshot: Snapshot, entry: Entry) -> list[Attachment]:
    return [snapshot.attachments[name] for name in files_of(entry) if name in snapshot.attachments]


def _context(block: str) -> Item:
    return {"type": "message", "role": "developer", "content": [_text(block)]}


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _head(snapshot: Snapshot, line: str, *, whole: bool) -> str:
    """Return the text before a message: for a task its heading, in a chat a line, for an answer its ids and a line."""
    if snapshot.told is not None:
        return snapshot.told.heading if whole else "\n".join(filter(None, (snapshot.told.anchors, line)))
    if not whole or not snapshot.connection.gateway.takes_context:
        return line
    return str(snapshot.note.get(LINE, ""))


def _prepend(items: list[Item], text: str) -> None:
    """Put the instructions in front of the newest user message, for gateways without an instructions field."""
    newest = next(item for item in reversed(items) if item.get("role") == "user")
    newest["content"].insert(0, _text(text))


def _as_text(items: list[Item]) -> str | list[Item]:
    """Return a single message as plain text if it is only text."""
    content = items[0]["content"]
    only_text = all(part["type"] == "input_text" for part in content)
    return GAP.join(part["text"] for part in content) if only_text else items
