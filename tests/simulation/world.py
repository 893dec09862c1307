"""A small world that can be replayed: clients, workers and a clock, all drawn from one seed, with crashes anywhere.

A crash comes before a transaction, inside it (everything is undone), or behind it (it is kept, and nobody was told).
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
from carrel.runs import Claim, ClaimLost, Completed, Failed, NeedsInput, Outcome, Rules, fence
from carrel.storage import Database, Tx
from tests.harness.engine import LEASE_MS, Engine, lane_key
from tests.harness.wrapped_database import WrappedDatabase

T = TypeVar("T")
CRASHES = 0.12
CALLS_PER_TURN_MAX = 3
ROUNDS_MAX = 4_000
RULES = Rules(runs=RunsSettings(attempts_max=4, timeout_minutes=0))
SYSTEM = Provenance(kind="internal_system")


class Crash(Exception):
    """A client or worker crashed in the middle of its work."""


class CrashingDatabase(WrappedDatabase):
    """A store whose callers may crash around any write."""

    def __init__(self, db: Database, chance: random.Random, crashes: Counter[str]) -> None:
        super().__init__(db)
        self.chance = chance
        self.crashes = crashes
        self.crashing = True

    async def write(self, work: Callable[[Tx], T]) -> T:
        where = self.chance.choice(("before", "inside", "behind")) if self.draw(CRASHES) else ""
        if where == "before":
            self._crash(where)

        def whole(tx: Tx) -> T:
            done = work(tx)
            if where == "inside":
                self._crash(where)
            return done

        done = await self.db.write(whole)
        if where == "behind":
            self._crash(where)
        return done

    def draw(self, likely: float) -> bool:
        """Return whether something happens that can only happen while there are crashes."""
        return self.crashing and self.chance.random() < likely

    def _crash(self, where: str) -> None:
        self.crashes[where] += 1
        raise Crash(where)


class World:
    """One seed's worth of history."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.chance = random.Random(seed)
        self.accepted: dict[str, str] = {}
        self.crashes: Counter[str] = Counter()
        self.open(engine)

    def open(self, engine: Engine) -> None:
        """Continue with the engine of a server that has just started."""
        self.db = CrashingDatabase(engine.db, self.chance, self.crashes)
        self.engine = Engine(self.db, engine.clock, engine.access, RULES)

    async def send(self, n: int) -> None:
        """A client sends a message and repeats it under the same id until it was accepted."""
        key, sender_id = lane_key(f"l{self.chance.randrange(3)}"), f"m-{n}"
        while sender_id not in self.accepted:
            try:
                self.accepted[sender_id] = (await self.engine.say(key, f"line {n}", sender_id=sender_id)).id
            except Crash:
                continue

    async def work(self, worker: str) -> bool:
        """A worker claims runs and takes turns until it crashes or has none left; return whether it did anything."""
        try:
            held = await self.engine.take(2, worker=worker)
            for one in held:
                await self._turn(one)
        except Crash:
            return True
        return bool(held)

    async def _turn(self, held: Claim) -> None:
        try:
            await self.engine.start_turn(held)
            # The same run always makes the same number of calls.
            for n in range(held.seq % (CALLS_PER_TURN_MAX + 1)):
                await self.db.write(lambda tx, n=n: self._call(tx, held, n))  # type: ignore[misc]
                if self.db.draw(0.05):
                    self.engine.advance(LEASE_MS / 1000)
            await self.engine.end(held, self._outcome())
        except ClaimLost:
            return

    def _call(self, tx: Tx, held: Claim, n: int) -> None:
        """Make one tool call with an effect, which here is a note in the journal."""
        fence(tx, held)
        if call_of(tx, held.access, held.id, f"call-{n}") is not None:
            return
        effect = NewEntry(type="note", role="system", content=f"{held.id} did {n}", author="tool", provenance=SYSTEM)
        append_entry(tx, held.access, effect)
        record_call(tx, held.access, held.id, f"call-{n}", tool="write", effect="write", result="done")

    def _outcome(self) -> Outcome:
        drawn = self.chance.random() if self.db.crashing else 1.0
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
        run = await self.engine.run(self.chance.choice(known)) if known else None
        if run is None or run.ended:
            return
        try:
            if run.state == "waiting":
                await self.engine.answer(run, "this one")
            elif self.chance.random() < 0.2:
                await self.engine.cancel(run)
        except Crash:
            return

    async def rescue(self) -> None:
        """Run the lifeline once, unless it crashes."""
        try:
            await self.engine.rescue()
        except Crash:
            return

    async def live(self, messages: int) -> None:
        """Let all act in an order that the seed decides."""
        sent = 0
        while sent < messages or self.chance.random() < 0.9:
            deed = self.chance.randrange(6)
            if deed == 0 and sent < messages:
                await self.send(sent)
                sent += 1
            elif deed == 1:
                await self.rescue()
            elif deed == 2:
                await self.meddle()
            elif deed == 3:
                self.engine.advance(self.chance.choice((1, 10, 70)))
            else:
                await self.work(f"worker-{deed}")

    async def settle(self) -> None:
        """Stop crashing: workers work, questions are answered, time passes."""
        self.db.crashing = False
        states: list[str] = []
        for _ in range(ROUNDS_MAX):
            await self.rescue()
            moved = await self.work("worker-last")
            states = [(await self.engine.run(run_id)).state for run_id in self.accepted.values()]
            if "waiting" in states:
                await self.meddle()
            elif not moved and not {"queued", "running"} & set(states):
                return
            self.engine.advance(30)
        raise AssertionError(f"not settled after {ROUNDS_MAX} rounds: {Counter(states)}")
