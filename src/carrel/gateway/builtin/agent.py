"""The built-in agent: it needs no model, quotes what it can see, and uses tools when asked to.

Equal requests get equal answers: it uses no clock, no randomness and no memory.
"""

import asyncio
import json
import re
from hashlib import sha256

from carrel.gateway.builtin.intents import InvalidRequest, ToolRequest, examples, find_requests
from carrel.gateway.builtin.phrases import (
    CONNECT,
    FOUND,
    HEARTBEAT_OK,
    INTRODUCTION,
    MOVE_HINT,
    NO_REPLY,
    NOTED,
    NOTHING,
    NOTICE,
    TAKEN_UP,
)
from carrel.gateway.builtin.recall import best_lines
from carrel.gateway.builtin.results import describe
from carrel.gateway.builtin.task_words import told_of
from carrel.gateway.builtin.ticks import is_tick, work_on
from carrel.gateway.builtin.view import View, read_view
from carrel.gateway.model import Call, GatewayFault, Item, OnSend, OnText, Step, StepAnswer, Usage, keep_nothing
from carrel.kernel import clip

MODEL = "builtin"
CHUNKS_MAX = 5
QUOTE_CHARS_MAX = 280

_GREETING = re.compile(
    r"(?:/?help|hello|hi|hey|good (?:morning|day|evening)|who are you|what can you do)\b.{0,30}", re.IGNORECASE
)
# The message of a heartbeat, which nobody has written.
_HEARTBEAT = re.compile(rf"Heartbeat\. .*answer {HEARTBEAT_OK}\.", re.DOTALL)
_QUESTION = re.compile(
    r"(?:what|who|whom|whose|when|where|why|how|which|is|are|was|were|do|does|did|can|could|will|would|should|has|have"
    r"|tell me|show|find|search|recall|list|quote|remind me|summari[sz]e)\b.*",
    re.IGNORECASE | re.DOTALL,
)


class BuiltinGateway:
    """Answers every step by itself, without a model."""

    translates = False
    takes_context = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> StepAnswer:
        """Return the answer, which depends on the step only."""
        try:
            view = read_view(step)
        except (ValueError, RecursionError):
            raise GatewayFault(
                "invalid_request", "The built-in agent received an invalid request.", retryable=False
            ) from None
        text, requests = answer(view)
        for chunk in _chunks(text):
            on_text(chunk)
            await asyncio.sleep(0)
        return _as_answer(text, requests, sha256(step.body).hexdigest())

    async def check(self) -> None:
        """Do nothing: it needs nobody."""

    async def models(self) -> tuple[str, ...]:
        """Return nothing: there is no model to choose."""
        return ()

    async def close(self) -> None:
        """Do nothing: nothing is kept between steps."""


def answer(view: View) -> tuple[str, list[ToolRequest]]:
    """Return the text of the answer, or the tools to call first; never both, and outside a tick no tool after a result.

    Only a request is obeyed: whatever a sub-agent's result or another agent's reply says, it is just text.
    """
    if is_tick(view):
        return work_on(view)
    if view.results:
        told = "\n\n".join(told_of(result) or describe(result) for result in view.results)
        return (_taken_up(view, told) if _is_assigned(view) else told), []
    if _is_assigned(view):
        return _take_up(view)
    if _is_heartbeat(view):
        return HEARTBEAT_OK, []
    if view.about is not None and view.about.is_for_information and not view.is_request:
        # Two agents that answered each other's answers would never stop.
        return NO_REPLY, []
    try:
        requests = find_requests(view) if view.is_request else []
    except InvalidRequest as error:
        return str(error), []
    return ("", requests) if requests else (_reply(view), [])


def _is_assigned(view: View) -> bool:
    return view.about is not None and view.about.is_assignment


def _is_heartbeat(view: View) -> bool:
    return not view.is_request and view.about is None and bool(_HEARTBEAT.fullmatch(view.message))


def _take_up(view: View) -> tuple[str, list[ToolRequest]]:
    """Read what a task is that was assigned, if that is possible here; its words are material and ask for nothing."""
    assert view.about is not None
    if "task_history" in view.tools:
        return "", [ToolRequest("task_history", {"taskId": view.about.task_id})]
    return _taken_up(view, ""), []


def _taken_up(view: View, told: str) -> str:
    assert view.about is not None
    named = f"{view.about.task_id}: {view.about.title}" if view.about.title else view.about.task_id
    can = [MOVE_HINT] if "task_status" in view.tools else []
    return "\n".join([f"{TAKEN_UP} {named}", *([told] if told else []), "", NOTICE, *can])


def _reply(view: View) -> str:
    message = view.message
    if not message or _GREETING.fullmatch(message):
        return _help(view)
    quotes = [f"> {clip(line.text, QUOTE_CHARS_MAX)} ({line.source})" for line in best_lines(message, view.lines)]
    if message.endswith("?") or _QUESTION.fullmatch(message):
        return "\n".join([FOUND, *quotes]) if quotes else _with_notice(NOTHING, view)
    return "\n".join([_with_notice(NOTED, view), *([FOUND, *quotes] if quotes else [])])


def _with_notice(sentence: str, view: View) -> str:
    """Return the sentence, followed by the notice about this agent if the session has not seen it yet."""
    return sentence if any(NOTICE in text for text in view.answers) else f"{sentence} {NOTICE}"


def _help(view: View) -> str:
    ways = [f"- {example}" for example in examples(view.tools)]
    if view.tools:
        ways.append(f'- use <tool> {{"argument": "value"}}, with one of: {", ".join(sorted(view.tools))}')
    return "\n".join([INTRODUCTION, *(["", "You can say:", *ways] if ways else []), "", CONNECT])


def _chunks(text: str) -> list[str]:
    """Split the text between words into a few pieces, as a model would stream it."""
    words = re.findall(r"\s*\S+\s*", text)
    size = -(-len(words) // CHUNKS_MAX) or 1
    return ["".join(words[start : start + size]) for start in range(0, len(words), size)]


def _as_answer(text: str, requests: list[ToolRequest], seed: str) -> StepAnswer:
    calls = tuple(
        Call(
            call_id="call_" + sha256(f"{seed}:{number}".encode()).hexdigest()[:24],
            name=request.tool,
            arguments=json.dumps(request.arguments, ensure_ascii=False),
        )
        for number, request in enumerate(requests)
    )
    output: list[Item] = [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        | {"id": "fc_" + call.call_id.removeprefix("call_"), "status": "completed"}
        for call in calls
    ]
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        head = {"type": "message", "id": "msg_" + seed[:24], "role": "assistant", "status": "completed"}
        output.insert(0, {**head, "content": content})
    return StepAnswer(text=text, calls=calls, usage=Usage(cost_usd=0.0), model=MODEL, output=output)
