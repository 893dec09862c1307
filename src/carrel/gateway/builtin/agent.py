"""The built-in agent: it needs no model, quotes what it can see, uses tools when asked to, and moves its own tasks.

Equal requests get equal answers: it uses no clock, no randomness and no memory.
"""

import json
import re
from hashlib import sha256

from carrel.gateway.answers import build_answer
from carrel.gateway.builtin import phrases
from carrel.gateway.builtin.intents import INTENTS, InvalidRequest, ToolRequest, find_requests
from carrel.gateway.builtin.phrases import NOTICE
from carrel.gateway.builtin.recall import best_lines
from carrel.gateway.builtin.results import describe
from carrel.gateway.builtin.view import ASSIGNED, DIRECT, FOR_INFORMATION, About, View, read_view
from carrel.gateway.faults import Faults
from carrel.gateway.items import call_item, json_object, message_item, text_part
from carrel.gateway.model import Gateway, GatewayFault, Item, OnSend, OnText, Step, StepAnswer, keep_nothing
from carrel.kernel import clip

MODEL = "builtin"
CHUNKS_MAX = 5
QUOTE_CHARS_MAX = 280

_GREETING = re.compile(
    r"(?:/?help|hello|hi|hey|good (?:morning|day|evening)|who are you|what can you do)\b.{0,30}", re.IGNORECASE
)
# Messages in which the server asks the agent to continue its task begin with this.
_TICK = "[AUTO] "
_READ, _MOVE = "task_history", "task_status"
# The next status of each status; a task that is done needs nothing more.
_NEXT = {"inbox": "in_progress", "assigned": "in_progress", "in_progress": "review", "review": "done"}
# The message of a heartbeat, which nobody wrote.
_HEARTBEAT = re.compile(r"Heartbeat\. (?:Look at these tasks:(?:\n- .*)+|Something new was said in your sessions\.)")
_QUESTION = re.compile(
    r"(?:what|who|whom|whose|when|where|why|how|which|is|are|was|were|do|does|did|can|could|will|would|should|has|have"
    r"|tell me|show|find|search|recall|list|quote|remind me|summari[sz]e)\b.*",
    re.IGNORECASE | re.DOTALL,
)


class BuiltinGateway(Gateway):
    """Answers every step by itself, without a model."""

    translates = False
    takes_context = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> StepAnswer:
        try:
            view = read_view(step)
        except (ValueError, RecursionError):
            raise GatewayFault(
                "invalid_request", "The built-in agent received an invalid request.", retryable=False
            ) from None
        text, requests = answer(view)
        # In a few pieces between words, as a model would stream it.
        words = re.findall(r"\s*\S+\s*", text)
        size = -(-len(words) // CHUNKS_MAX) or 1
        for start in range(0, len(words), size):
            on_text("".join(words[start : start + size]))
        seed = sha256(step.body).hexdigest()
        head = {"model": MODEL, "usage": {"cost_usd": 0.0}}
        return build_answer(_output(text, requests, seed), head, seed=seed, faults=Faults(self.name, ""))


def answer(view: View) -> tuple[str, list[ToolRequest]]:
    """Return the text of the answer, or the tools to call first; never both, and outside a tick no tool after a result.

    Only requests are obeyed: a sub-agent's result or another agent's reply is just text.
    """
    about, told = view.about, "\n\n".join(map(describe, view.results))
    if about is not None:
        # The server itself asks for work on a task: by a tick, or because a plan was approved.
        is_tick = about.reason == DIRECT and view.message.startswith(_TICK)
        if is_tick or (about.reason == ASSIGNED and about.by_server):
            return _work_on(view, about)
        if about.reason == ASSIGNED:
            # The words of a task ask for nothing, but the task is read if possible.
            return _read(about) if not view.results and _READ in view.tools else (_taken_up(view, about, told), [])
    if view.results:
        return told, []
    if about is None and not view.is_request and _HEARTBEAT.fullmatch(view.message):
        return phrases.HEARTBEAT_OK, []
    if about is not None and about.reason in FOR_INFORMATION and not view.is_request:
        # Two agents that answered each other's answers would never stop.
        return phrases.NO_REPLY, []
    try:
        requests = find_requests(view) if view.is_request else []
    except InvalidRequest as error:
        return str(error), []
    return ("", requests) if requests else (_reply(view), [])


def _read(about: About) -> tuple[str, list[ToolRequest]]:
    return "", [ToolRequest(_READ, {"taskId": about.task_id})]


def _work_on(view: View, about: About) -> tuple[str, list[ToolRequest]]:
    """Read the task, move it one step, and report: return the next call, or the words at the end."""
    if not view.results:
        return _read(about) if _READ in view.tools else (NOTICE, [])
    newest = view.results[-1]
    task = json_object(newest.output).get("task")
    # There is no task if the call has failed.
    status = str(task.get("status")) if isinstance(task, dict) else ""
    # A task that was just taken up is worked on in the next tick; one in review is finished in the same.
    following = None if newest.tool == _MOVE and status == "in_progress" else _NEXT.get(status)
    if following is not None and _MOVE in view.tools:
        return "", [ToolRequest(_MOVE, {"taskId": about.task_id, "status": following})]
    words = {"in_progress": [phrases.TOOK_UP, NOTICE], "done": [phrases.FINISHED]}.get(status, [])
    return "\n".join([describe(newest), *words]), []


def _taken_up(view: View, about: About, told: str) -> str:
    named = f"{about.task_id}: {about.title}" if about.title else about.task_id
    can = [phrases.MOVE_HINT] if _MOVE in view.tools else []
    return "\n".join([f"{phrases.TAKEN_UP} {named}", *([told] if told else []), "", NOTICE, *can])


def _reply(view: View) -> str:
    message = view.message
    if not message or _GREETING.fullmatch(message):
        return _help(view)
    quotes = [f"> {clip(line.text, QUOTE_CHARS_MAX)} ({line.source})" for line in best_lines(message, view.lines)]
    if message.endswith("?") or _QUESTION.fullmatch(message):
        return "\n".join([phrases.FOUND, *quotes]) if quotes else _with_notice(phrases.NOTHING, view)
    return "\n".join([_with_notice(phrases.NOTED, view), *([phrases.FOUND, *quotes] if quotes else [])])


def _with_notice(sentence: str, view: View) -> str:
    """Return the sentence, followed by the notice about this agent if the session has not seen it yet."""
    return sentence if any(NOTICE in text for text in view.answers) else f"{sentence} {NOTICE}"


def _help(view: View) -> str:
    ways = [f"- {intent.example}" for intent in INTENTS if intent.tool in view.tools]
    if view.tools:
        ways.append(f'- use <tool> {{"argument": "value"}}, with one of: {", ".join(sorted(view.tools))}')
    return "\n".join([phrases.INTRODUCTION, *(["", "You can say:", *ways] if ways else []), "", phrases.CONNECT])


def _output(text: str, requests: list[ToolRequest], seed: str) -> list[Item]:
    items = [message_item(text_part(text)) | {"id": "msg_" + seed[:24]}] if text else []
    for number, request in enumerate(requests):
        mark = sha256(f"{seed}:{number}".encode()).hexdigest()[:24]
        call = call_item(f"call_{mark}", request.tool, json.dumps(request.arguments, ensure_ascii=False))
        items.append(call | {"id": f"fc_{mark}"})
    return items
