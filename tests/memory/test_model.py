"""No sequence of keeping, promoting and forgetting lets a reader recall what is outside its chain."""

import asyncio
import random
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from carrel.kernel import Refusal
from carrel.kernel.settings import RunsSettings
from carrel.main.assembly import open_store
from carrel.memory import Memory, Reader
from carrel.runs import Rules
from tests.harness.blank_stores import BlankDatabases, blank_sqlite
from tests.harness.engine import Engine, FakeClock, engine_on
from tests.invariants.engines import on_postgresql
from tests.memory.places import Notebook, reader
from tests.requirements.mark import requirement

T = TypeVar("T")
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
# The same names in every place, so that only the places tell them apart.
readers = st.builds(
    reader,
    st.sampled_from(("web:c1", "web:c2", "cli:c1", "main")),
    st.sampled_from(("main", "other")),
    task=st.sampled_from((None, "t1", "t2")),
    goal=st.sampled_from((None, None, "g1")),
)
accounts, words = st.integers(0, 1), st.sampled_from(("alpha", "beta", "alpha beta", "gamma"))
types = st.sampled_from(("task_state", "decision", "fact"))
Place = tuple[int, str, str]


class Memories(RuleBasedStateMachine):
    """Readers in two accounts, and a model of what is where."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.Runner()
        self.kept: dict[tuple[int, str], tuple[Memory, Place]] = {}

    def store_url(self) -> str:
        """The URL of a blank store."""
        self._folder = tempfile.TemporaryDirectory()
        return blank_sqlite(Path(self._folder.name))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    @initialize()
    def open(self) -> None:
        clock = FakeClock()

        async def make() -> list[Notebook]:
            db = open_store(self.store_url(), durability="normal", clock=clock, chance=random.Random(1))
            engine: Engine = await engine_on(db, clock, Rules(runs=RunsSettings()))
            return [Notebook(engine), Notebook(engine, await engine.another_account("twin"))]

        self.books = self.do(make())

    def teardown(self) -> None:
        if hasattr(self, "books"):
            self.do(self.books[0].engine.db.close())
        self._loop.close()

    def reachable(self, account: int, by: Reader) -> set[str]:
        places = {(account, *place) for place in by.scope_keys()}
        return {name for (_, name), (_, place) in self.kept.items() if place in places}

    @rule(account=accounts, by=readers, text=words, kind=types)
    def keep(self, account: int, by: Reader, text: str, kind: Any) -> None:
        scope = by.scope_for(kind)
        memory = self.do(self.books[account].keep(text, scope, by.agent_id, type=kind))
        self.kept[account, memory.id] = memory, (account, memory.read_scope, memory.agent_id)

    @rule(account=accounts, by=readers, at=st.integers(0, 50))
    def promote(self, account: int, by: Reader, at: int) -> None:
        memory = self._found(account, by, at)
        if memory is not None and memory.scope != "global":
            everywhere = self.do(self.books[account].promote(memory))
            self.kept[account, everywhere.id] = everywhere, (account, "global", "")

    @rule(account=accounts, by=readers, at=st.integers(0, 50))
    def forget(self, account: int, by: Reader, at: int) -> None:
        memory = self._found(account, by, at)
        if memory is not None:
            self.do(self.books[account].forget(memory))
            del self.kept[account, memory.id]

    def _found(self, account: int, by: Reader, at: int) -> Memory | None:
        """Look one of all memories up by its id: it is found exactly if it is in the chain."""
        if not self.kept:
            return None
        (_, name), (memory, _) = list(self.kept.items())[at % len(self.kept)]
        try:
            found = self.do(self.books[account].found(by, memory))
        except Refusal:
            assert name not in self.reachable(account, by)
            return None
        assert name in self.reachable(account, by)
        return found

    @rule(account=accounts, by=readers, question=words)
    def recall(self, account: int, by: Reader, question: str) -> None:
        recalled = self.do(self.books[account].recall(by, question, items_max=8))
        names, reachable = {one.memory.id for one in recalled}, self.reachable(account, by)
        assert names <= reachable
        memories = [memory for (_, name), (memory, _) in self.kept.items() if name in reachable]
        asked = set(question.split())
        assert bool(names) == any(
            memory.always_holds or not asked.isdisjoint(memory.content.split()) for memory in memories
        )


@requirement("S3.scope.bound", "S3.x.task.bound")
def test_no_recall_ever_returns_what_is_outside_the_chain() -> None:
    run_state_machine_as_test(
        Memories, settings=settings(max_examples=40, stateful_step_count=40, suppress_health_check=QUIET)
    )


@pytest.mark.timeout(120)
def test_no_recall_returns_what_is_outside_the_chain_on_postgresql(blank_databases: BlankDatabases) -> None:
    run_state_machine_as_test(
        on_postgresql(Memories, blank_databases),
        settings=settings(max_examples=4, stateful_step_count=20, suppress_health_check=QUIET),
    )
