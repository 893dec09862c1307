"""The model of a world: it repeats every mark it is shown and calls tools, as a seed decides, and keeps what it got."""

import asyncio
import json
import random
from typing import Any

from carrel.gateway import Call, OnSend, OnText, Step, StepAnswer
from carrel.kernel import Usage
from tests.canary.checks import Received, outside_readings
from tests.canary.marks import Mark, marks_in

REPEATED_MAX = 16
SILENT = ("", "NO_REPLY")
ANY_TIME = 1_000


class RepeatingModel:
    """A gateway in this process. What leaks once is repeated in the reply, and so leaks further."""

    name = "repeating"
    translates = False
    takes_context = True

    def __init__(self, seed: int) -> None:
        self.received: list[Received] = []
        # Set while turns may go on; the world clears it to do something in the middle of them.
        self.going = asyncio.Event()
        self.going.set()
        self._seed = seed
        self._number = 0

    async def take(self, step: Step, on_text: OnText, on_send: OnSend | None = None) -> StepAnswer:
        """Keep a request and answer it."""
        body = json.loads(step.body)
        address, _, account = step.address.partition("@")
        key, _, generation = address.rpartition(":v")
        request = Received(account or "default", key, int(generation), step.body.decode())
        self.received.append(request)
        await self.going.wait()
        # By what it was asked, so that a seed decides the same whatever comes first.
        newest = json.dumps(body["input"][-1:])
        chance = random.Random(f"{self._seed}/{step.address}/{newest}")
        call = self._call(request, body, chance)
        if call is not None:
            return call
        return _saying(self._reply(request, chance), on_text)

    def _mark(self, request: Received) -> Mark:
        self._number += 1
        agent, _, rest = request.key.removeprefix("agent:").partition(":")
        if rest.startswith("task:"):
            return Mark(request.account, rest[5:], f"v{request.generation}", agent, self._number)
        return Mark(request.account, f"{agent}+{rest}", "0", "reply", self._number)

    def _reply(self, request: Received, chance: random.Random) -> str:
        if chance.random() < 0.08:
            return chance.choice(SILENT)
        seen = sorted(marks_in(outside_readings(request.body)), key=lambda mark: mark.number)[-REPEATED_MAX:]
        return " ".join(map(str, [self._mark(request), *seen]))

    def _call(self, request: Received, body: dict[str, Any], chance: random.Random) -> StepAnswer | None:
        """A call of one of the tools for tasks, at the beginning of some turns."""
        offered = {tool.get("name") for tool in body["tools"]}
        task = body["metadata"].get("taskId")
        if task is None or body["input"][-1].get("type") == "function_call_output" or chance.random() < 0.6:
            return None
        wanted: dict[str, dict[str, Any]] = {
            "task_history": {"taskId": chance.choice((task, "t1", "t2", "t3"))},
            "task_load": {"taskId": task},
            "task_status": {"taskId": task, "status": chance.choice(("in_progress", "review", "done"))},
            "response_request": {
                "taskId": task,
                "recipientSlugs": [chance.choice(("main", "writer", "checker"))],
                # A request is an act of its own, whatever was heard before: it belongs to the moment it is made.
                "message": str(self._mark(request)._replace(when=str(ANY_TIME), what="request")),
            },
        }
        known = sorted(offered & wanted.keys())
        return _calling(name := chance.choice(known), wanted[name], len(self.received)) if known else None

    async def check(self) -> None:
        """Do nothing: it is there."""

    async def models(self) -> tuple[str, ...]:
        """Name its one model."""
        return ("repeating",)

    async def close(self) -> None:
        """Let everything end."""
        self.going.set()


def _saying(text: str, on_text: OnText) -> StepAnswer:
    on_text(text)
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
    return StepAnswer(text=text, calls=(), usage=Usage(), model="repeating", output=output)


def _calling(tool: str, arguments: dict[str, Any], number: int) -> StepAnswer:
    call = Call(call_id=f"call_{number}", name=tool, arguments=json.dumps(arguments, ensure_ascii=False))
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.call_id, "name": tool, "status": "completed"}
    return StepAnswer(
        text="", calls=(call,), usage=Usage(), model="repeating", output=[item | {"arguments": call.arguments}]
    )
