"""A model in this process that does what a message says: echo, hold, ask back, fail."""

import asyncio
import json
from collections import defaultdict
from typing import Any

from carrel.gateway import Call, GatewayFault, OnSend, OnText, Step, StepAnswer
from carrel.kernel import Usage

WAIT_SECONDS_MAX = 20.0


class ScriptedAgent:
    """Answers by the last line of the newest message.

    - `hold <name>` waits until `release(name)`.
    - `ask <question>` asks back.
    - `fail` fails for good, `flaky` so that it is tried again, and `trip <name>` the same once it is released.
    - `do <list>` calls tools one after the other, each a pair of name and arguments; ["hold", <name>] waits.
    - `silence` gets an empty reply, `say <words>` just these words; everything else is echoed.

    Where its instructions ask for it, as in runs of a plan, it says with task_status that its task is done before it
    answers.
    """

    name = "scripted"
    translates = False
    takes_context = True

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.tokens: dict[str, str] = {}
        self._gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._reached: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def talk(self, at: int = -1) -> list[dict[str, Any]]:
        """Return the items of a request's input without the context block."""
        return [item for item in self.bodies[at]["input"] if item.get("role") != "developer"]

    def release(self, name: str) -> None:
        """Let everything held under that name go on, now and later."""
        self._gates[name].set()

    async def reached(self, name: str) -> None:
        """Return once a turn is held under that name."""
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await self._reached[name].wait()

    async def take(self, step: Step, on_text: OnText, on_send: OnSend | None = None) -> StepAnswer:
        body = json.loads(step.body)
        self.bodies.append(body)
        self.tokens[body["metadata"]["runId"]] = step.run_token
        said = newest_line(body["input"])
        word, _, rest = said.partition(" ")
        if word in ("hold", "trip"):
            await self._hold(rest)
        if word in ("fail", "flaky", "trip"):
            raise GatewayFault("scripted", f"Told to {said}.", retryable=word != "fail")
        if word == "ask" and body["input"][-1].get("role") == "user":
            return _calling("request_input", {"question": rest or "What now?"}, len(self.bodies))
        if word != "do" and _is_to_say_done(body):
            return _calling("task_status", {"taskId": body["metadata"]["taskId"], "status": "done"}, len(self.bodies))
        if word in ("silence", "say"):
            return _saying(rest, on_text)
        if word == "do" and (call := await self._next_call(json.loads(rest), body["input"])) is not None:
            return _calling(*call, len(self.bodies))
        return _saying("done" if word == "do" else f"echo: {said}", on_text)

    async def _next_call(self, steps: list[tuple[str, Any]], sent: list[dict[str, Any]]) -> tuple[str, Any] | None:
        """Return the first call that was not made in this turn yet, after waiting for the holds before it."""
        newest = max(at for at, item in enumerate(sent) if item.get("role") == "user")
        made = sum(item.get("type") == "function_call_output" for item in sent[newest:])
        for name, arguments in steps:
            if name == "hold":
                await self._hold(arguments)
            elif made:
                made -= 1
            else:
                return name, arguments
        return None

    async def _hold(self, name: str) -> None:
        self._reached[name].set()
        await self._gates[name].wait()

    async def check(self) -> None:
        pass

    async def models(self) -> tuple[str, ...]:
        return ("scripted",)

    async def close(self) -> None:
        for gate in self._gates.values():
            gate.set()


def newest_line(sent: Any) -> str:
    """Return the last line of the newest user message."""
    if isinstance(sent, str):
        return sent.strip().rpartition("\n")[2]
    content = next(item for item in reversed(sent) if item.get("role") == "user")["content"]
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(parts).strip().rpartition("\n")[2]


def _is_to_say_done(body: dict[str, Any]) -> bool:
    is_asked = "set it to done with task_status" in body.get("instructions", "")
    return is_asked and body["input"][-1].get("type") != "function_call_output"


def _saying(text: str, on_text: OnText) -> StepAnswer:
    for piece in (text[:6], text[6:]):
        on_text(piece)
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
    usage = Usage(input_tokens=3, output_tokens=2, total_tokens=5)
    return StepAnswer(text=text, calls=(), usage=usage, model="scripted", output=output)


def _calling(tool: str, arguments: dict[str, Any], number: int) -> StepAnswer:
    call = Call(call_id=f"call_{number}", name=tool, arguments=json.dumps(arguments))
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.call_id, "name": tool, "status": "completed"}
    output = [item | {"arguments": call.arguments}]
    return StepAnswer(text="", calls=(call,), usage=Usage(), model="scripted", output=output)
