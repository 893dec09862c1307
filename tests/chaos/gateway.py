"""The model behind the chaos: answers by what the message asks for, and notes when each request began and ended."""

import asyncio
import random
import threading
import time
from dataclasses import dataclass

from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, http_error, text

SLOW_SECONDS = (0.1, 0.8)
KINDS = {"plain": 10, "slow": 5, "write": 4, "twice": 1, "fail": 1}


@dataclass
class Interval:
    """One request: for which lane, about which message, from when to when; `ended` stays open while it is answered."""

    lane: str
    number: int
    began: float
    ended: float = float("inf")


def draw_kind(chance: random.Random) -> str:
    """What the next message asks the model to do."""
    return chance.choices(list(KINDS), weights=list(KINDS.values()))[0]


def reply_to(lane: str, number: int) -> str:
    """The one right reply to a message."""
    return f"heard {lane} {number}"


class ChaosGateway(ScriptedGateway):
    """Plays every message `<lane> <number> <kind>` by its kind."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.intervals: list[Interval] = []
        self.rule = self._answer
        self._chance = random.Random(seed)
        self._failed: set[tuple[str, int]] = set()

    async def _play(
        self, answer: Answer, wants_stream: bool, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        # The answer was chosen a moment ago on this very loop, so the newest interval without an owner is ours.
        interval = self.intervals[-1] if wants_stream and self.intervals else None
        try:
            return await super()._play(answer, wants_stream, reader, writer)
        finally:
            if interval is not None:
                interval.ended = time.monotonic()

    def _answer(self, request: Request) -> Answer:
        items = request.json["input"]
        said = next(item for item in reversed(items) if item.get("role") == "user")["content"][-1]["text"]
        lane, number, kind = said.split()
        self.intervals.append(Interval(lane, int(number), time.monotonic()))
        if items[-1].get("type") == "function_call_output":
            # Held half of the time: a server that dies now has changed something and not answered.
            return text(reply_to(lane, int(number)), before=self._gate() if self._chance.random() < 0.5 else None)
        match kind:
            case "write":
                return calls(("artifact_add", {"name": "one", "text": said}))
            case "twice":
                both = [("artifact_add", {"name": name, "text": said}) for name in ("one", "two")]
                return calls(*both)
            case "fail" if (lane, int(number)) not in self._failed:
                self._failed.add((lane, int(number)))
                return http_error(503, retry_after="1")
            case "slow":
                return text(reply_to(lane, int(number)), before=self._gate())
            case _:
                return text(reply_to(lane, int(number)))

    def _gate(self) -> Gate:
        gate = Gate()
        timer = threading.Timer(self._chance.uniform(*SLOW_SECONDS), gate.open)
        timer.daemon = True
        timer.start()
        return gate
