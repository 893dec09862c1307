"""A Hypothesis state machine over sessions, goals, tasks, plan mode, auto runs and memory, in two accounts.

What every session reads and does is compared with a model that knows only who did what where. Two tests run it, one on
each engine.
"""

import asyncio
import random
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from carrel.goals import PlannedTask, add_goal_task, delete_goal, make_goal
from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import MEMORY_NEWEST_MAX
from carrel.kernel.settings import AutoSettings, RunsSettings
from carrel.main.assembly import open_store
from carrel.memory import Memory, NewMemory, keep, memories_listed, promote, recall
from carrel.modes import (
    AutoTicks,
    NewAutoRun,
    auto_runs_of_session,
    disable_plan_mode,
    enable_plan_mode,
    plan_state,
    start_auto,
    stop_auto,
)
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.runs import Rules, remove_lane
from carrel.sessions import lane_of, make_lane
from carrel.storage import Database, Tx
from carrel.tools import reader_of
from tests.harness.blank_stores import blank_sqlite
from tests.harness.engine import DONE, Engine, FakeClock, engine_on
from tests.harness.tasks import ensure_task

T = TypeVar("T")
AGENTS = ("main", "writer")
# The same name with every agent and in every account, so that only agent and account tell them apart.
KEYS = tuple(SessionKey.of(agent, "web:chat-0001") for agent in AGENTS)
STANDALONE = ("t1", "t2")
places = st.tuples(st.integers(0, 1), st.sampled_from(KEYS))
# How often a server renews what it holds, so that no other takes it over.
_RENEWAL_SECONDS = 10
TYPES = ("task_state", "decision", "preference")
Place = tuple[int, SessionKey]


class Shelf(NamedTuple):
    """A scope of the model: what is kept there, and who reads it, follows from its name."""

    account: int
    kind: str
    name: str


class Worlds(RuleBasedStateMachine):
    """Whatever can be done to sessions, in any order, and what must hold after each step."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.Runner()
        self._db: Database | None = None
        self.planning: dict[Place, tuple[bool, int | None]] = {}
        # By task: its goal and the session of that; standalone tasks have none.
        self.goal_of: dict[tuple[int, str], tuple[str, Place] | None] = {
            (account, task): None for account in (0, 1) for task in STANDALONE
        }
        self.goals: dict[tuple[int, str], Place] = {}
        self.kept: dict[Shelf, set[str]] = {}
        self.ids: dict[tuple[int, str], str] = {}
        self.auto: dict[str, Place] = {}
        self.stopped: dict[str, int] = {}
        self.said = 0

    def store_url(self) -> str:
        """The URL of a blank store."""
        self._folder = tempfile.TemporaryDirectory()
        return blank_sqlite(Path(self._folder.name))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    def write(self, work: Callable[[Tx], T]) -> T:
        return self.do(self.engine.db.write(work))

    def read(self, work: Callable[[Tx], T]) -> T:
        return self.do(self.engine.read(work))

    @initialize(seed=st.integers(0, 1_000))
    def open(self, seed: int) -> None:
        self.clock = FakeClock()

        async def make() -> Engine:
            self._db = open_store(self.store_url(), durability="normal", clock=self.clock, chance=random.Random(seed))
            return await engine_on(self._db, self.clock, Rules(runs=RunsSettings()))

        self.engine = self.do(make())
        self.accounts: list[Access] = [self.engine.access, self.do(self.engine.another_account("twin"))]
        for access in self.accounts:
            self.do(self.engine.make_agent("writer", access))
            for task in STANDALONE:
                self.write(partial(ensure_task, access=access, task_id=task))
        started = self.clock.now_ms()
        self.ticks = AutoTicks(self.engine.db, self.engine.rules, AutoSettings(), "server", started_at=started)

    def teardown(self) -> None:
        if self._db is not None:
            self.do(self._db.close())
        self._loop.close()

    # What is done.

    @rule(place=places, on=st.booleans())
    def switch_plan_mode(self, place: Place, on: bool) -> None:
        (account, key), rules = place, self.engine.rules
        access = self.accounts[account]
        before = self.planning.get(place, (False, None))
        self.clock.advance(1)
        if on:
            self.write(lambda tx: enable_plan_mode(tx, access, key))
        else:
            self.write(lambda tx: disable_plan_mode(tx, access, key, rules))
        if before[0] != on:
            self.planning[place] = on, self.clock.now_ms()

    @rule(place=places)
    def make_goal(self, place: Place) -> None:
        account, key = place
        access = self.accounts[account]

        def work(tx: Tx) -> tuple[str, str]:
            make_lane(tx, access, key)
            goal = make_goal(tx, access, key, name="Ship it")
            return goal.id, add_goal_task(tx, access, goal, PlannedTask(title="Do it")).id

        goal_id, task_id = self.write(work)
        self.goals[account, goal_id] = place
        self.goal_of[account, task_id] = goal_id, place

    @precondition(lambda self: self.goals)
    @rule(at=st.integers(0, 20))
    def delete_goal(self, at: int) -> None:
        account, goal_id = list(self.goals)[at % len(self.goals)]
        self.write(lambda tx: delete_goal(tx, self.accounts[account], goal_id, self.engine.rules))
        self._forget_goal(account, goal_id)

    @rule(place=places, by=st.sampled_from(KEYS), kind=st.sampled_from(TYPES))
    def keep_for_a_goal(self, place: Place, by: SessionKey, kind: Any) -> None:
        """Make a goal and keep something on its task in whatever session: the search finds that too rarely in steps."""
        self.make_goal(place)
        self._keep((place[0], by), list(self.goal_of)[-1][1], kind)

    @rule(place=places, at=st.integers(0, 20), kind=st.sampled_from(TYPES), with_task=st.booleans())
    def keep(self, place: Place, at: int, kind: Any, with_task: bool) -> None:
        self._keep(place, self._task(place[0], at) if with_task else None, kind)

    def _keep(self, place: Place, task_id: str | None, kind: Any) -> None:
        (account, key), text = place, f"note {self.said}"
        self.said += 1
        access = self.accounts[account]

        def work(tx: Tx) -> str:
            make_lane(tx, access, key)
            reader = reader_of(tx, access, key, task_id)
            return keep(tx, access, reader.scope_for(kind), reader.agent_id, NewMemory(type=kind, content=text)).id

        self.ids[account, text] = self.write(work)
        chain = self._chain(place, task_id)
        wanted = {"task_state": "task", "decision": "goal", "preference": "session"}[kind]
        order = ["task", "goal", "session"]
        shelf = next(one for one in chain if one.kind in order[order.index(wanted) :])
        self.kept.setdefault(shelf, set()).add(text)

    @precondition(lambda self: self.ids)
    @rule(at=st.integers(0, 50))
    def promote(self, at: int) -> None:
        account, text = list(self.ids)[at % len(self.ids)]
        access, everything = self.accounts[account], self._everything(account)
        if text in everything and text not in self.kept.get(Shelf(account, "global", ""), set()):
            memory = everything[text]
            self.write(lambda tx: promote(tx, access, memory, "all should know"))
            self.kept.setdefault(Shelf(account, "global", ""), set()).add(text)

    @rule(place=places, at=st.integers(0, 20), named=st.sampled_from(("task", "goal", "none")))
    def start_auto(self, place: Place, at: int, named: str) -> None:
        account, key = place
        own = [goal for (owner, goal), home in self.goals.items() if (owner, home) == (account, place)]
        new = NewAutoRun(key=key)
        if named == "task":
            new = NewAutoRun(key=key, task_id=STANDALONE[at % 2])
        elif named == "goal" and own:
            new = NewAutoRun(key=key, goal_id=own[at % len(own)])
        if len(self.auto) < 12:
            started = self.write(lambda tx: start_auto(tx, self.accounts[account], new, self.engine.rules))
            self.auto[started.id] = place
            if (account, started.task_id) not in self.goal_of:
                self.goal_of[account, started.task_id] = None if new.goal_id is None else (new.goal_id, place)

    @rule(place=places)
    def stop_auto(self, place: Place) -> None:
        account, key = place
        self.write(lambda tx: stop_auto(tx, self.accounts[account], key=key))
        for auto_id, home in self.auto.items():
            if home == place:
                self.stopped.setdefault(auto_id, self._ticks_of(account, auto_id))

    @rule(place=places, named=st.sampled_from(("task", "goal", "none")))
    def start_and_stop(self, place: Place, named: str) -> None:
        """Stop an auto run before or after its first tick, and let time pass."""
        self.start_auto(place, 0, named)
        if named != "none":
            self.tick(1)
        self.stop_auto(place)
        self.tick(90)

    @rule(seconds=st.integers(1, 90))
    def tick(self, seconds: int) -> None:
        """Let time pass, tick what is due, and end every turn that is due."""

        async def work() -> None:
            for passed in range(0, seconds, _RENEWAL_SECONDS):
                self.clock.advance(min(_RENEWAL_SECONDS, seconds - passed))
                await self.engine.db.write(self.ticks._renew)
            while not await self.ticks.round():
                pass
            for held in await self.engine.take(20):
                await self.engine.end(held, DONE)
            while not await self.ticks.round():
                pass

        self.do(work())

    @rule(place=places)
    def delete_session(self, place: Place) -> None:
        account, key = place
        access = self.accounts[account]
        lane = self.read(lambda tx: lane_of(tx, access, key))
        if lane is None:
            return
        running = self.write(lambda tx: remove_lane(tx, access, lane))
        assert running is None, "no turn is held between two steps"
        self.planning.pop(place, None)
        self.kept.pop(self._session_shelf(place), None)
        for owner, goal_id in [name for name, home in self.goals.items() if home == place]:
            self._forget_goal(owner, goal_id)
        for auto_id in [auto_id for auto_id, home in self.auto.items() if home == place]:
            del self.auto[auto_id]
            self.stopped.pop(auto_id, None)

    # What must hold.

    @invariant()
    def plan_mode_changes_in_its_own_session_only(self) -> None:
        if self._db is None:
            return
        for account, access in enumerate(self.accounts):
            for key in KEYS:
                state = self.read(partial(plan_state, access=access, key=key))
                assert (state.enabled, state.updated_at) == self.planning.get((account, key), (False, None))

    @invariant()
    def every_reader_recalls_its_own_chain_and_nothing_else(self) -> None:
        if self._db is None:
            return
        for account, access in enumerate(self.accounts):
            for key in KEYS:
                for task_id in (None, *(task for owner, task in self.goal_of if owner == account)):
                    recalled = self.read(partial(_recalled, access=access, key=key, task_id=task_id))
                    shelves = self._chain((account, key), task_id)
                    readable = set().union(*(self.kept.get(shelf, set()) for shelf in shelves))
                    assert recalled <= readable
                    # A scope's newest are looked at, so that only what is old in a full one is not recalled.
                    assert recalled == readable or len(readable) > MEMORY_NEWEST_MAX

    @invariant()
    def ticks_stay_in_the_session_of_their_auto_run(self) -> None:
        if self._db is None:
            return
        wanted = RunFilter(provenance_kind="auto")
        for account, access in enumerate(self.accounts):
            ticks = self.read(partial(runs_newest_first, access=access, wanted=wanted, before=None, limit=500))
            for run in ticks:
                assert run.auto_run_id is not None
                assert self.auto[run.auto_run_id] == (account, run.session_key)
            for key in KEYS:
                live = self.read(partial(auto_runs_of_session, access=access, key=key))
                assert {self.auto[one.id] for one in live} <= {(account, key)}

    @invariant()
    def a_stopped_auto_run_ticks_no_more(self) -> None:
        for auto_id, ticks in self.stopped.items():
            assert self._ticks_of(self.auto[auto_id][0], auto_id) == ticks

    # The model.

    def _session_shelf(self, place: Place) -> Shelf:
        account, key = place
        return Shelf(account, "session", str(key))

    def _chain(self, place: Place, task_id: str | None) -> list[Shelf]:
        account, _ = place
        goal = None if task_id is None else self.goal_of[account, task_id]
        chain = [] if task_id is None else [Shelf(account, "task", task_id)]
        # What a goal and its session keep is for that session, and for the lanes of the goal's tasks.
        if goal is not None and goal[1] != place:
            goal = None
        if goal is not None:
            chain.append(Shelf(account, "goal", goal[0]))
        return [*chain, self._session_shelf(place if goal is None else goal[1]), Shelf(account, "global", "")]

    def _task(self, account: int, at: int) -> str:
        tasks = [task for owner, task in self.goal_of if owner == account]
        # The newest first: small numbers are tried most, and the newest tasks are those of goals.
        return tasks[-1 - at % len(tasks)]

    def _forget_goal(self, account: int, goal_id: str) -> None:
        del self.goals[account, goal_id]
        self.kept.pop(Shelf(account, "goal", goal_id), None)
        for name, goal in self.goal_of.items():
            if goal is not None and (name[0], goal[0]) == (account, goal_id):
                self.goal_of[name] = None

    def _everything(self, account: int) -> dict[str, Memory]:
        """Every memory of an account that is in some session, goal or task, by its text."""
        found: dict[str, Memory] = {}
        access = self.accounts[account]
        for key in KEYS:
            for task_id in (None, *(task for owner, task in self.goal_of if owner == account)):
                listed = self.read(partial(_listed, access=access, key=key, task_id=task_id))
                found |= {one.content: one for one in listed if one.read_scope != "global"}
        return found

    def _ticks_of(self, account: int, auto_id: str) -> int:
        wanted = RunFilter(provenance_kind="auto", auto_run_id=auto_id)
        access = self.accounts[account]
        return len(self.read(lambda tx: runs_newest_first(tx, access, wanted, before=None, limit=500)))


def _recalled(tx: Tx, access: Access, key: SessionKey, task_id: str | None) -> set[str]:
    reader = reader_of(tx, access, key, task_id)
    return {one.memory.content for one in recall(tx, access, reader, "", items_max=500)}


def _listed(tx: Tx, access: Access, key: SessionKey, task_id: str | None) -> list[Memory]:
    places = reader_of(tx, access, key, task_id).scope_keys()
    return memories_listed(tx, access, places, kind=None, before=None, limit=500)
