"""The model of the trial: children work, fail, stall or stay silent as their task says; requesters only read."""

import random
import threading

from carrel.exchanges.prompts import NOTES_WANTED
from tests.exchanges.plays import newest_words
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, dropped, http_error, text

# What a child does with its work, and how often.
WORK = {"plain": 10, "slow": 6, "fail": 3, "flaky": 2, "stall": 2, "empty": 1, "drop": 1}
# Its reply in the announce step.
NOTES = {"noted": 10, "skip": 1, "mute": 1, "refuse": 1}
SLOW_SECONDS = (0.05, 0.5)
STALL_SECONDS = 3.0


def draw(chance: random.Random, weights: dict[str, int]) -> str:
    """Draw one of those, by weight."""
    return chance.choices(list(weights), weights=list(weights.values()))[0]


class TrialGateway(ScriptedGateway):
    """Plays every task `<number> <work> <notes>`."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rule = self._answer
        self._chance = random.Random(seed)
        self._failed: set[str] = set()

    def _answer(self, request: Request) -> Answer:
        if ":subagent:" not in request.headers["x-openclaw-session-key"]:
            return text("I see.")
        said = newest_words(request.json["input"])
        task = next(item for item in request.json["input"] if item.get("role") == "user")["content"][-1]["text"]
        number, work, notes = task.split()
        return self._notes(notes) if said.endswith(NOTES_WANTED) else self._work(number, work)

    def _work(self, number: str, work: str) -> Answer:
        result = f"result {number}"
        match work:
            case "fail":
                return http_error(400, f"no {number}")
            case "flaky" | "drop" if number not in self._failed:
                self._failed.add(number)
                return http_error(503, retry_after="1") if work == "flaky" else dropped()
            case "slow":
                return text(result, before=self._gate(self._chance.uniform(*SLOW_SECONDS)))
            case "stall":
                return text(result, before=self._gate(STALL_SECONDS))
            case "empty":
                return text("")
        return text(result)

    def _notes(self, notes: str) -> Answer:
        match notes:
            case "skip":
                return text("ANNOUNCE_SKIP")
            case "mute":
                return text("")
            case "refuse":
                return http_error(400, "no notes")
        return text("noted")

    def _gate(self, seconds: float) -> Gate:
        gate = Gate()
        timer = threading.Timer(seconds, gate.open)
        timer.daemon = True
        timer.start()
        return gate
