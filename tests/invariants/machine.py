"""A Hypothesis state machine over lanes and generations; two tests run it, one on each engine."""

import asyncio
import random
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from carrel.kernel import SessionKey
from carrel.kernel.settings import RunsSettings, SessionsSettings, Settings
from carrel.main.assembly import open_store
from carrel.runs import Claim, ClaimLost, Failed, NeedsInput, Outcome, Rules, Run, answer, run_by_id, stop_lane
from carrel.runs.model import Cancelled
from carrel.runs.pruner import prune
from carrel.sessions import close_generation
from carrel.storage import Database
from tests.harness.blank_stores import blank_sqlite
from tests.harness.engine import DONE, Engine, FakeClock, end_and_claim, engine_on, lane_key, words

T = TypeVar("T")
LANES = tuple(lane_key(name) for name in "abc")
OUTCOMES: tuple[Outcome, ...] = (
    DONE,
    Failed(code="bad_request", message="no"),
    Failed(code="unreachable", message="no answer", retryable=True),
    NeedsInput(question="which?"),
    Cancelled(reason="stopped"),
)
RULES = Rules(runs=RunsSettings(attempts_max=3, timeout_minutes=0, lane_queue_max=6))
SETTINGS = Settings(
    runs=RunsSettings(retention_days=0.5, waiting_days=1), sessions=SessionsSettings(closed_retention_days=1)
)
lanes = st.sampled_from(LANES)


class Lanes(RuleBasedStateMachine):
    """Everything that can happen to lanes, in any order, with what must hold after each step."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.Runner()
        self._db: Database | None = None
        self.held: list[Claim] = []
        self.answered: set[str] = set()
        self.generations: dict[str, int] = {}
        self.said = 0

    def store_url(self) -> str:
        """The URL of a blank store."""
        self._folder = tempfile.TemporaryDirectory()
        return blank_sqlite(Path(self._folder.name))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return self.do(self.engine.db.read(lambda tx: tx.all(text)))

    def stored(self, held: Claim) -> Run | None:
        return self.do(self.engine.db.read(lambda tx: run_by_id(tx, self.engine.access, held.id)))

    @initialize(seed=st.integers(0, 1_000))
    def open(self, seed: int) -> None:
        self.clock = FakeClock()

        async def make() -> Engine:
            chance = random.Random(seed)
            self._db = open_store(self.store_url(), durability="normal", clock=self.clock, chance=chance)
            return await engine_on(self._db, self.clock, RULES)

        self.engine = self.do(make())

    def teardown(self) -> None:
        if self._db is not None:
            self.do(self._db.close())
        self._loop.close()

    @rule(key=lanes)
    def say(self, key: SessionKey) -> None:
        if len([run for run in self.do(self.engine.live(key)) if run.state == "queued"]) < 6:
            self.do(self.engine.say(key, f"line {self.said}", sender_id=f"m-{self.said}"))
            self.said += 1

    @rule(limit=st.integers(1, 3))
    def take(self, limit: int) -> None:
        self.held += self.do(self.engine.take(limit))

    @precondition(lambda self: self.held)
    @rule(at=st.integers(0, 20), outcome=st.sampled_from(OUTCOMES), onward=st.booleans())
    def end(self, at: int, outcome: Outcome, onward: bool) -> None:
        held = self.held.pop(at % len(self.held))
        before = self.stored(held)
        with suppress(ClaimLost):
            if onward:
                self.held += self.do(self.engine.db.write(lambda tx: end_and_claim(tx, held, outcome=outcome)))
            else:
                self.do(self.engine.end(held, outcome))
        after = self.stored(held)
        if before is None or before.ended or before.claim_no != held.claim_no:
            assert after is None or after.reply == (before and before.reply), "a claim that was over has written"
        elif after is not None and after.ended:
            assert held.id not in self.answered, "ended twice"
            self.answered.add(held.id)

    @rule(key=lanes, outcome=st.sampled_from(OUTCOMES), onward=st.booleans())
    def say_and_work(self, key: SessionKey, outcome: Outcome, onward: bool) -> None:
        """Take the path of most runs in one step, so that the search spends its steps on what is rare."""
        self.say(key)
        self.take(1)
        if self.held:
            self.end(len(self.held) - 1, outcome, onward)

    @precondition(lambda self: self.held)
    @rule(at=st.integers(0, 20))
    def hear(self, at: int) -> None:
        held = self.held[at % len(self.held)]
        try:
            generation = self.do(self.engine.start_turn(held))
        except ClaimLost:
            return
        assert generation >= self.generations.get(held.key, 1), "a number was issued again"
        self.generations[held.key] = generation

    @rule(key=lanes, at=st.integers(0, 20))
    def cancel(self, key: SessionKey, at: int) -> None:
        live = self.do(self.engine.live(key))
        if live:
            self.do(self.engine.cancel(live[at % len(live)].id))

    @rule(key=lanes)
    def answer(self, key: SessionKey) -> None:
        waiting = [run for run in self.do(self.engine.live(key)) if run.state == "waiting"]
        if waiting:
            self.do(self.engine.db.write(lambda tx: answer(tx, self.engine.access, waiting[0].id, words("this one"))))

    @rule(key=lanes)
    def stop(self, key: SessionKey) -> None:
        self.do(self.engine.db.write(lambda tx: stop_lane(tx, self.engine.access, str(key), "stopped")))

    @rule(key=lanes)
    def reset(self, key: SessionKey) -> None:
        """Close the generation; the next number must be a new one."""
        if self.do(self.engine.db.write(lambda tx: close_generation(tx, self.engine.access, key, "reset"))):
            self.generations[str(key)] = self.generations.get(str(key), 0) + 1

    @rule(seconds=st.sampled_from((1, 10, 61, 90_000)))
    def pass_time(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def rescue(self) -> None:
        self.do(self.engine.rescue())

    @rule()
    def prune(self) -> None:
        self.do(self.engine.db.write(lambda tx: prune(tx, SETTINGS)))

    @invariant()
    def lanes_hold(self) -> None:
        if self._db is None:
            return
        for key, depth, running, heads, queued in self.sql(
            "SELECT key, depth, (SELECT count(*) FROM runs r WHERE r.key = l.key AND state = 'running'), "
            "(SELECT count(*) FROM runs r WHERE r.key = l.key AND due_at IS NOT NULL), "
            "(SELECT count(*) FROM runs r WHERE r.key = l.key AND state = 'queued') FROM lanes l"
        ):
            assert running <= 1, f"{key} has {running} running runs"
            assert running + heads == min(1, depth), f"{key} has {heads} heads, {running} running, depth {depth}"
            assert depth == running + queued, f"{key} counts {depth}, holds {running + queued}"
        behind = self.sql(
            "SELECT 1 FROM runs h JOIN runs q ON q.account_id = h.account_id AND q.key = h.key AND q.seq < h.seq "
            "WHERE (h.due_at IS NOT NULL OR h.state = 'running') AND q.state = 'queued'"
        )
        assert not behind, "the head of a lane is not its oldest"
        strange = self.sql(
            "SELECT id FROM runs WHERE (ended_at IS NULL) <> (state IN ('queued', 'running', 'waiting')) "
            "OR (state = 'running') <> (worker IS NOT NULL) OR (due_at IS NOT NULL AND state <> 'queued')"
        )
        assert not strange, f"{strange} is in no state of the table"

    @invariant()
    def generations_hold(self) -> None:
        if self._db is None:
            return
        rows = self.do(
            self.engine.db.read(
                lambda tx: tx.all(
                    "SELECT l.key, l.generation, count(s.id), COALESCE(max(s.generation), 0), "
                    "sum(CASE WHEN s.id IS NOT NULL AND s.closed_at IS NULL THEN 1 ELSE 0 END) FROM lanes l "
                    "LEFT JOIN sessions s ON s.account_id = l.account_id AND s.key = l.key GROUP BY l.key, l.generation"
                )
            )
        )
        for key, issued, kept, newest, opened in rows:
            assert opened <= 1, f"{key} has {opened} open generations"
            assert newest <= issued, f"{key} holds a number that was never issued"
            assert kept <= issued
