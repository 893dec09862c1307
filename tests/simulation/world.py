"""A small world that can be replayed: clients, workers and a clock, all drawn from one seed, with crashes anywhere.

A crash falls before a transaction, inside it (everything is undone), or behind it (it is kept, and nobody was told).
Whoever crashed has forgotten everything but what is stored.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from carrel.journal import NewEntry, append_entry
from carrel.kernel import Provenance
from carrel.kernel.settings import RunsSettings
from carrel.records import call_of, record_call
from carrel.runs import (
    Claim,
    ClaimLost,
    Completed,
    Failed,
    NeedsInput,
    Outcome,
    Rules,
    Run,
    answer,
    bind_session,
    cancel,
    deliver,
    fence,
    run_by_id,
)
from carrel.runs.claims import claim
from carrel.runs.leases import rescue_lost
from carrel.runs.outcomes import settle
from carrel.sessions import open_generation
from carrel.storage import Tx
from tests.engine import LEASE_MS, Engine, FakeClock, envelope, lane_key, words

T = TypeVar("T")
CRASHES = 0.12
CALLS_PER_TURN_MAX = 3
ROUNDS_MAX = 4_000
RULES = Rules(runs=RunsSettings(attempts_max=4, timeout_minutes=0))
HOUSE = Provenance(kind="internal_system")


class Crash(Exception):
    """Somebody is gone in the middle of what they did."""


class World:
    """One seed's worth of history."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine = engine
        self.chance = random.Random(seed)
        self.crashing = True
        self.crashes: Counter[str] = Counter()
        self.accepted: dict[str, str] = {}

    async def commit(self, work: Callable[[Tx], T]) -> T:
        """A transaction of somebody who may crash around it."""
        where = self.chance.choice(("before", "inside", "behind")) if self._draw(CRASHES) else ""
        if where == "before":
            self._crash(where)

        def whole(tx: Tx) -> T:
            done = work(tx)
            if where == "inside":
                self._crash(where)
            return done

        done = await self.engine.db.write(whole)
        if where == "behind":
            self._crash(where)
        return done

    def _draw(self, likely: float) -> bool:
        return self.crashing and self.chance.random() < likely

    def _crash(self, where: str) -> None:
        self.crashes[where] += 1
        raise Crash(where)

    async def speak(self, n: int) -> None:
        """A client says something and repeats it under the same name until it hears that it was accepted."""
        said = envelope(lane_key(f"l{self.chance.randrange(3)}"), f"line {n}", sender_id=f"m-{n}")
        while said.message.sender_id not in self.accepted:
            try:
                run = await self.commit(lambda tx: deliver(tx, self.engine.access, said, RULES))
            except Crash:
                continue
            self.accepted[f"m-{n}"] = run.id

    async def work(self, worker: str) -> bool:
        """A worker claims and takes its turns until it crashes or has none left; whether it did anything."""
        try:
            held = await self.commit(lambda tx: claim(tx, worker, LEASE_MS, 2))
            for one in held:
                await self._turn(one)
        except Crash:
            return True
        return bool(held)

    async def _turn(self, held: Claim) -> None:
        try:
            await self.commit(lambda tx: self._hear(tx, held))
            for n in range(_calls_of(held)):
                await self.commit(lambda tx, n=n: self._call(tx, held, n))  # type: ignore[misc]
                if self._draw(0.05):
                    self.engine.advance(LEASE_MS / 1000)
            outcome = self._outcome()
            await self.commit(lambda tx: settle(tx, held, outcome))
        except ClaimLost:
            return

    def _hear(self, tx: Tx, held: Claim) -> None:
        fence(tx, held)
        session = open_generation(tx, held.access, held.session_key)
        bind_session(tx, held, session.id, session.generation)

    def _call(self, tx: Tx, held: Claim, n: int) -> None:
        """One tool call that changes the world: here the journal is the world."""
        fence(tx, held)
        if call_of(tx, held.access, held.id, f"call-{n}") is not None:
            return
        effect = NewEntry(type="note", role="system", content=f"{held.id} did {n}", author="tool", provenance=HOUSE)
        append_entry(tx, held.access, effect)
        record_call(tx, held.access, held.id, f"call-{n}", tool="write", effect="write", result="done")

    def _outcome(self) -> Outcome:
        drawn = self.chance.random() if self.crashing else 1.0
        if drawn < 0.15:
            return Failed(code="unreachable", message="no answer", retryable=True)
        if drawn < 0.2:
            return Failed(code="bad_request", message="no")
        if drawn < 0.3:
            return NeedsInput(question="which?")
        return Completed(reply="done")

    async def meddle(self) -> None:
        """A person answers or cancels something."""
        known = sorted(self.accepted.values())
        run = await self.run(self.chance.choice(known)) if known else None
        if run is None or run.ended:
            return
        try:
            if run.state == "waiting":
                await self.commit(lambda tx: answer(tx, self.engine.access, run.id, words("this one")))
            elif self.chance.random() < 0.2:
                await self.commit(lambda tx: cancel(tx, self.engine.access, run.id, "stopped"))
        except Crash:
            return

    async def rescue(self) -> None:
        try:
            await self.commit(rescue_lost)
        except Crash:
            return

    async def run(self, run_id: str) -> Run:
        found = await self.engine.db.read(lambda tx: run_by_id(tx, self.engine.access, run_id))
        assert found is not None, f"{run_id} was accepted and is gone"
        return found

    async def live(self, messages: int) -> None:
        """Let everybody act in an order that the seed decides."""
        said = 0
        while said < messages or self.chance.random() < 0.9:
            deed = self.chance.randrange(6)
            if deed == 0 and said < messages:
                await self.speak(said)
                said += 1
            elif deed == 1:
                await self.rescue()
            elif deed == 2:
                await self.meddle()
            elif deed == 3:
                self.engine.advance(self.chance.choice((1, 10, 70)))
            else:
                await self.work(f"worker-{deed}")

    async def come_to_rest(self) -> None:
        """No more crashes: every worker is there, every question is answered, time goes by."""
        self.crashing = False
        states: list[str] = []
        for _ in range(ROUNDS_MAX):
            await self.rescue()
            moved = await self.work("worker-last")
            states = [(await self.run(run_id)).state for run_id in self.accepted.values()]
            if "waiting" in states:
                await self.meddle()
            elif not moved and not {"queued", "running"} & set(states):
                return
            self.engine.advance(30)
        raise AssertionError(f"no rest after {ROUNDS_MAX} rounds: {Counter(states)}")


def _calls_of(held: Claim) -> int:
    """How many calls a run's turn makes: always the same for the same run."""
    return held.seq % (CALLS_PER_TURN_MAX + 1)


def clock_of(engine: Engine) -> FakeClock:
    """The world's own clock."""
    assert isinstance(engine.clock, FakeClock)
    return engine.clock
