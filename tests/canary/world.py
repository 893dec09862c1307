"""A world drawn from a seed: two accounts with the same ids, their people and agents, and random steps in them."""

import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import structs

from carrel.access import access_by_token, make_user
from carrel.agents import BehaviorFlags, Profile, account_settings, change_account, make_agent, open_account
from carrel.delivery import BUILTIN, Connection
from carrel.kernel import Access, Refusal, SessionKey
from carrel.kernel.settings import GatewaySettings, SessionsSettings, Settings
from carrel.main.assembly import open_store
from carrel.sessions import lane_for_work
from carrel.storage import Tx
from carrel.wire import Wire
from carrel.work import (
    NewTask,
    TaskChange,
    assign_task,
    change_task,
    create_task,
    move_task,
    post_message,
    reopen_task,
    request_responses,
    stop_task,
)
from tests.canary.checks import Evidence
from tests.canary.evidence import is_settled, read_evidence
from tests.canary.marks import Mark
from tests.canary.model import RepeatingModel
from tests.harness.blank_stores import blank_sqlite
from tests.harness.server import NoDelay, Server
from tests.harness.watched_database import WatchedDatabase

AGENTS = ("main", "writer", "checker")
USER = "ann"
TASKS = ("t1", "t2", "t3")
STATUSES = ("inbox", "assigned", "in_progress", "review", "blocked")
SLUGS = ("default", "other")
STEPS_MAX = 40
LOOK_AGAIN_SECONDS = 0.02


@dataclass
class Twin:
    """One account of a world; the other has the same ids."""

    slug: str
    access: Access
    chat: str | None = None
    tasks: list[str] = field(default_factory=list)
    reopened: Counter[str] = field(default_factory=Counter)


class World:
    """Plays random steps on a server."""

    def __init__(self, server: Server, model: RepeatingModel, seed: int) -> None:
        self.server = server
        self.model = model
        self.chance = random.Random(seed)
        self.twins: list[Twin] = []
        self.done: Counter[str] = Counter()
        self._number = 1_000

    async def begin(self) -> None:
        """Create both accounts, one of them with an orchestrator in some worlds, and their first tasks."""
        for slug in SLUGS:
            twin = Twin(slug, await self._account(slug))
            self.twins.append(twin)
            if self.chance.random() < 0.6:
                twin.chat = await self._appoint(twin)
            for _ in range(self.chance.randint(1, 2)):
                await self.create(twin)

    async def _account(self, slug: str) -> Access:
        flags = BehaviorFlags(can_mark_done=self.chance.random() < 0.5)

        def work(tx: Tx) -> Access:
            secret = self.server.owner if slug == "default" else open_account(tx, "Other", slug)[1]
            access = access_by_token(tx, secret)
            assert access is not None
            for agent in AGENTS[1:]:
                make_agent(tx, access, agent, agent.title(), Profile(behavior_flags=flags))
            make_user(tx, access, name="Ann", slug=USER, email=None, role="member")
            return access

        return await self.server.db.write(work)

    async def _appoint(self, twin: Twin) -> str:
        briefing = str(self._mark(twin, "briefing", "briefing"))

        def work(tx: Tx) -> str:
            settings = {"orchestratorAgentId": "main", "briefing": briefing}
            return str(account_settings(change_account(tx, twin.access, None, settings))["orchestratorChatTaskId"])

        return await self.server.db.write(work)

    async def live(self, steps: int) -> Evidence:
        """Take so many random steps, let everything end, and return what is left."""
        moves: dict[Callable[[Twin], Any], int] = {
            self.create: 3, self.assign: 6, self.unassign: 1, self.post: 10, self.move: 4, self.finish: 4,
            self.reopen: 5, self.archive: 1, self.block: 1, self.stop: 1, self.rewrite: 1, self.write_to_lane: 5,
            self.ask: 3, self.chat: 3, self.crash: 2, self.hold: 3, self.settle: 6,
        }  # fmt: skip
        for step in self.chance.choices(list(moves), list(moves.values()), k=steps):
            try:
                await step(self.chance.choice(self.twins))
                self.done[step.__name__] += 1
            except Refusal:
                self.done["refused"] += 1
        await self.settle(self.twins[0])
        return await read_evidence(self)

    def _mark(self, twin: Twin, place: str, what: str) -> Mark:
        self._number += 1
        return Mark(twin.slug, place, str(twin.reopened[place]), what, self._number)

    def _task(self, twin: Twin) -> str:
        places = [*twin.tasks, twin.chat] if twin.chat is not None else twin.tasks
        return str(self.chance.choice(places))

    def _agents(self) -> tuple[str, ...]:
        return tuple(self.chance.sample(AGENTS, self.chance.randint(1, 2)))

    async def _write(self, work: Callable[..., Any], *given: Any, **more: Any) -> Any:
        """Call a use case of tasks, which takes the server's rules last."""
        return await self.server.db.write(lambda tx: work(tx, *given, self.server.rules, **more))

    async def create(self, twin: Twin) -> None:
        """Create one of the tasks, assigned or not."""
        task = self.chance.choice([name for name in TASKS if name not in twin.tasks] or [TASKS[0]])
        new = NewTask(
            id=task,
            title=str(self._mark(twin, task, "title")),
            description=str(self._mark(twin, task, "description")),
            assigned_agent_ids=self._agents() if self.chance.random() < 0.8 else (),
            assigned_user_ids=(USER,) if self.chance.random() < 0.3 else (),
        )
        await self._write(create_task, twin.access, new)
        twin.tasks.append(task)

    async def assign(self, twin: Twin) -> None:
        """Assign agents."""
        await self._write(assign_task, twin.access, self._task(twin), agent_ids=self._agents())

    async def unassign(self, twin: Twin) -> None:
        """Take agents off."""
        await self._write(assign_task, twin.access, self._task(twin), agent_ids=self._agents(), remove=True)

    async def post(self, twin: Twin) -> None:
        """Post a message, with mentions or code."""
        task = self._task(twin)
        address = self.chance.choice(
            ("", "", "@writer ", "@checker ", "@all ", f"@{USER} ", '@"Main" ', "`@writer` ", "> @all\n")
        )
        await self._write(post_message, twin.access, task, f"{address}{self._mark(twin, task, 'message')}")

    async def move(self, twin: Twin) -> None:
        """Move a task somewhere."""
        task, to = self._task(twin), self.chance.choice(STATUSES)
        reason = str(self._mark(twin, task, "reason")) if to == "blocked" else None

        def work(tx: Tx) -> None:
            move_task(tx, twin.access, task, to, self.server.rules, reason=reason, walk=True)

        await self.server.db.write(work)

    async def block(self, twin: Twin) -> None:
        """Block a task and say why."""
        task = self._task(twin)
        reason = str(self._mark(twin, task, "reason"))
        change = TaskChange(status="blocked", blocked_reason=reason)
        await self._write(change_task, twin.access, task, change)

    async def rewrite(self, twin: Twin) -> None:
        """Change a title."""
        task = self._task(twin)
        await self._write(change_task, twin.access, task, TaskChange(title=str(self._mark(twin, task, "title"))))

    async def finish(self, twin: Twin) -> None:
        """Move a task to done."""
        task = self._task(twin)
        await self._write(change_task, twin.access, task, TaskChange(status="done"))

    async def reopen(self, twin: Twin) -> None:
        """Reopen a task; what is written from now on belongs to its next generation."""
        task = self._task(twin)
        await self.server.db.write(lambda tx: reopen_task(tx, twin.access, task))
        twin.reopened[task] += 1

    async def archive(self, twin: Twin) -> None:
        """Archive a task."""
        await self._write(move_task, twin.access, self._task(twin), "archived")

    async def stop(self, twin: Twin) -> None:
        """Stop everything on a task."""
        await self._write(stop_task, twin.access, self._task(twin))

    async def ask(self, twin: Twin) -> None:
        """Ask agents for a response."""
        task = self._task(twin)
        message = str(self._mark(twin, task, "request"))
        await self._write(request_responses, twin.access, task, self._agents(), message)

    async def write_to_lane(self, twin: Twin) -> None:
        """Write to an agent directly, about a task."""
        task, (agent, *_) = self._task(twin), self._agents()
        mark = self._mark(twin, task, "direct")

        def lane(tx: Tx) -> SessionKey:
            scoped = self.server.rules.task_scoped
            return lane_for_work(tx, twin.access, agent=agent, reference=None, task_id=task, task_scoped=scoped)

        key = await self.server.db.read(lane)
        await self.server.say(key, str(mark), access=twin.access, task_id=task)

    async def chat(self, twin: Twin) -> None:
        """Write to an agent outside of any task."""
        (agent, *_), rest = self._agents(), self.chance.choice(("main", "web:chat-one", "web:chat-two"))
        mark = self._mark(twin, f"{agent}+{rest}", "chat")
        await self.server.say(SessionKey.of(agent, rest), str(mark), access=twin.access)

    async def hold(self, _twin: Twin) -> None:
        """Let turns wait in the middle until everything is settled the next time."""
        self.model.going.clear()

    async def crash(self, _twin: Twin) -> None:
        """Kill the server in the middle of whatever it does, and start another."""
        await self.server.kill()
        await self.server.let_leases_end()
        self.server.start()

    async def settle(self, _twin: Twin) -> None:
        """Let every run and what follows from it end."""
        self.model.going.set()
        await self.server.until(lambda tx: is_settled(tx, self.twins))


@asynccontextmanager
async def open_world(seed: int, url: str | None = None) -> AsyncIterator[World]:
    """A world on a store of its own, or on the blank store at `url`; its server works until the block ends."""
    with tempfile.TemporaryDirectory(prefix="carrel-canary-") as folder:
        at = url or blank_sqlite(Path(folder))
        db, wire, model = (
            WatchedDatabase(open_store(at, durability="normal", chance=NoDelay())),
            Wire(),
            RepeatingModel(seed),
        )
        scoped = random.Random(f"scoped {seed}").random() < 0.85
        settings = structs.replace(Settings(), sessions=SessionsSettings(task_scoped=scoped))
        speaking = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9")

        async def up() -> dict[str, str | None]:
            return {BUILTIN: None}

        server = Server(db, wire, {BUILTIN: Connection(model, speaking)}, settings, gateway_troubles=up)
        try:
            await server.prepare()
            server.start()
            world = World(server, model, seed)
            await world.begin()
            yield world
        finally:
            await server.kill()
            await wire.close()
            await db.close()


async def try_world(seed: int, url: str | None = None) -> tuple[Evidence, Counter[str]]:
    """Live through the world of a seed; return what is left of it and the steps it took."""
    async with open_world(seed, url) as world:
        return await world.live(world.chance.randint(10, STEPS_MAX)), world.done
