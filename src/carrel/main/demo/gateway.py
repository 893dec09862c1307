"""The model of the demo: it says and does what its next cue says, and without one what the built-in agent would."""

import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct, structs

from carrel.gateway import BuiltinGateway, Call, Gateway, GatewayFault, OnSend, OnText, Step, StepAnswer
from carrel.kernel import Usage

# Stands for the lanes of sub-agents, whose keys are unknown in advance.
SUBAGENTS = "subagents"
_CHARS_PER_TOKEN = 4
_PIECES = 6


class Say(Struct, frozen=True):
    """Text that ends the turn."""

    text: str


class Use(Struct, frozen=True):
    """A tool call; `{task}` in its arguments stands for the task of the run."""

    tool: str
    arguments: dict[str, Any]


class Fault(Struct, frozen=True):
    """A step that fails for good."""

    message: str


Act = Say | Use | Fault
Pace = Callable[[int], Awaitable[None]]


class DemoGateway(Gateway):
    """Answers from cues: one cue for each run of a lane, one act of the cue for each step."""

    name = "demo"
    translates = False
    takes_context = True

    def __init__(self, pace: Pace) -> None:
        self._builtin = BuiltinGateway("demo")
        self._pace = pace
        self._cues: defaultdict[str, deque[tuple[Act, ...]]] = defaultdict(deque)
        self._acts: dict[str, deque[Act]] = {}

    def cue(self, key: str, *acts: Act) -> None:
        """Say what the next run of a lane that has no cue yet does; `key` may be SUBAGENTS."""
        self._cues[key].append(acts)

    async def take(self, step: Step, on_text: OnText, on_send: OnSend | None = None) -> StepAnswer:
        """Return the next act of the run's cue."""
        body = json.loads(step.body)
        act = self._next_act(body)
        text = act.text if isinstance(act, Say) else ""
        await self._pace(len(text))
        if isinstance(act, Fault):
            raise GatewayFault("gateway_refused", act.message, retryable=False)
        if act is None:
            answer = await self._builtin.take(step, on_text)
        else:
            answer = _calling(act, body) if isinstance(act, Use) else _saying(text, on_text)
        return structs.replace(answer, model=body["model"], usage=_usage(body, step.body, answer))

    def _next_act(self, body: dict[str, Any]) -> Act | None:
        run_id = str(body["metadata"]["runId"])
        if run_id not in self._acts:
            key = _lane_of(str(body["user"]))
            cues = self._cues[SUBAGENTS if ":subagent:" in key and not self._cues[key] else key]
            if not cues:
                # Only people are told that no model is connected.
                return None if ":web:" in key else Say("Noted.")
            self._acts[run_id] = deque(cues.popleft())
        acts = self._acts[run_id]
        act = acts.popleft() if acts else Say("Done.")
        if isinstance(act, Say | Fault):
            del self._acts[run_id]
        return act

    async def check(self) -> None:
        """Always reachable."""

    async def models(self) -> tuple[str, ...]:
        """Return the models that the demo's agents name."""
        return ("demo-large", "demo-small")

    async def close(self) -> None:
        """There is nothing to close."""


def _lane_of(address: str) -> str:
    key, _, generation = address.partition("@")[0].rpartition(":v")
    return key if generation.isdigit() else address


def _saying(text: str, on_text: OnText) -> StepAnswer:
    size = max(1, len(text) // _PIECES)
    for start in range(0, len(text), size):
        on_text(text[start : start + size])
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "id": "msg_demo", "role": "assistant", "status": "completed", "content": content}
    return StepAnswer(text=text, calls=(), usage=Usage(), model="", output=[item])


def _calling(act: Use, body: dict[str, Any]) -> StepAnswer:
    arguments = json.dumps(act.arguments).replace("{task}", str(body["metadata"].get("taskId", "")))
    made = sum(item.get("type") == "function_call" for item in body["input"] if isinstance(item, dict))
    call = Call(call_id=f"call_{made}", name=act.tool, arguments=arguments)
    item = {"type": "function_call", "id": f"fc_{made}", "call_id": call.call_id, "name": act.tool}
    output = [item | {"arguments": arguments, "status": "completed"}]
    return StepAnswer(text="", calls=(call,), usage=Usage(), model="", output=output)


def _usage(body: dict[str, Any], sent: bytes, answer: StepAnswer) -> Usage:
    """Count tokens like a server with a cache: the text before the messages is the same in every step."""
    sent_tokens = len(sent) // _CHARS_PER_TOKEN
    cached = len(json.dumps(body.get("tools") or [])) // _CHARS_PER_TOKEN
    said = len(answer.text) + sum(len(call.arguments) for call in answer.calls)
    output = 20 + said // _CHARS_PER_TOKEN
    total = {"cached_tokens": min(sent_tokens, cached), "total_tokens": sent_tokens + output}
    return Usage(input_tokens=sent_tokens, output_tokens=output, **total)
