"""A world drawn from a seed: two accounts with the same names, people, agents, and what they say and keep."""

import random
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from carrel.agents import open_account
from carrel.delivery import BUILTIN, Connection
from carrel.kernel import system_access
from carrel.kernel.settings import (
    ClassifierSettings,
    GatewaySettings,
    HooksSettings,
    Settings,
    StorageSettings,
    ToolsAgentToAgentSettings,
    ToolsSettings,
)
from carrel.main.assembly import open_store
from carrel.storage import Tx
from carrel.wire import Wire
from tests.harness.blank_stores import blank_sqlite
from tests.harness.server import NoDelay, Server, usual
from tests.harness.watched_database import WatchedDatabase
from tests.isolation.asgi import Answer, Client, Json
from tests.isolation.facts import Agent, Facts, Lane, Person
from tests.isolation.marks import Marks, Origin
from tests.isolation.recorder import Recorder

if TYPE_CHECKING:
    from tests.isolation.copies import Copy
    from tests.isolation.readers import Door, Question
    from tests.isolation.steering import Steering

SUBJECTS = ("paint the garden fence green", "repair the office printer today", "order oak shelves for the library")
DEFAULT_SPACE = "space-default"
SPACES = (DEFAULT_SPACE, "space-red", "space-blue")
# The one that everybody sees; the limited person and the limited agent see no other.
OPEN_SPACE = "space-red"
MODES = ("self", "tree", "agent", "all")
UNSETTLED = (
    "SELECT 1 FROM runs WHERE account_id = :account AND state IN ('queued', 'running') LIMIT 1",
    "SELECT 1 FROM task_run_ends WHERE account_id = :account LIMIT 1",
    "SELECT 1 FROM ingests WHERE account_id = :account LIMIT 1",
    "SELECT 1 FROM exchanges WHERE account_id = :account AND due_at <= :now LIMIT 1",
)
# What the classifier has to sort, and the digests that it has to renew.
BEHIND = (
    "SELECT 1 FROM entries WHERE account_id = :account AND classification = 'pending' LIMIT 1",
    "SELECT 1 FROM topics WHERE account_id = :account AND digest_due_at IS NOT NULL LIMIT 1",
    "SELECT 1 FROM tasks WHERE account_id = :account AND digest_due_at IS NOT NULL LIMIT 1",
)
CYCLE = "SELECT 1 FROM classifier_cycles WHERE account_id = :account AND cycle_id = :cycle_id"
CYCLES_MAX = 8


@dataclass(frozen=True)
class Caller:
    """Somebody who reads: a person, an agent's token, or a program."""

    name: str
    client: Client
    person: Person | None = None
    agent: Agent | None = None
    program: str | None = None


class Side:
    """One account: what is known of it, who can call it, and the ids of what it holds."""

    def __init__(self, world: "World", slug: str, account_id: str, owner: str) -> None:
        self.world = world
        self.slug = slug
        self.access = system_access(account_id, slug)
        self.facts = Facts(slug, together=world.together, topics=world.topics)
        self.owner = Client(world.app, owner)
        self.callers: dict[str, Caller] = {}
        self.ids: defaultdict[str, list[str]] = defaultdict(list)
        # The names of people by their ids.
        self.users: dict[str, str] = {}
        # What people were told in the course of the world: whom, at which door, and what.
        self.heard: list[tuple[Caller, str, str]] = []
        # What people have copied to chats of their own, and what they have said into runs at work.
        self.copies: list[Copy] = []
        self.steerings: list[Steering] = []
        # The ids of runs that replay others.
        self.replays: set[str] = set()
        # Who caused a run, by its id.
        self.causes: dict[str, str] = {}

    @property
    def chance(self) -> random.Random:
        """The dice of the world."""
        return self.world.chance

    def subject(self, chance: random.Random | None = None) -> str:
        """Return words that many texts of the world share."""
        return (chance or self.chance).choice(self.world.subjects)

    def text(self, origin: Origin) -> str:
        """Return a text with a new mark."""
        mark = self.world.marks.new(origin)
        self.world.texts[mark] = f"{self.subject()} {mark}"
        return self.world.texts[mark]

    def lane(self, key: str, **about: Any) -> Lane:
        """Return a lane, known from now on."""
        return self.facts.lanes.setdefault(key, Lane(key, **about))

    def know_task(self, task: str, goal: str | None) -> None:
        """Get to know a task: its lanes, and the goal that it belongs to."""
        for agent in self.facts.agents:
            self.lane(f"agent:{agent}:task:{task}", task=task)
        if goal is not None:
            self.facts.goal_of[task] = goal

    def said_in(self, key: str, kind: str, by: str = "") -> Origin:
        """Return the origin of something said in a lane."""
        lane = self.lane(key)
        topic = key.partition(":topic:")[2]
        space = self.facts.tasks.get(lane.task or "") or self.world.topics.get(topic)
        return Origin(self.slug, kind, by=by, lane=key, task=lane.task, topic=topic or None, space=space)

    def meet(self, key: str, heard: str) -> None:
        """Get to know a lane by its first request; work for a sub-agent is said in the lane that heard it."""
        lane = self.lane(key, task=key.partition(":task:")[2] or None, is_board=":topic:" in key or ":hook:" in key)
        if ":subagent:" not in key:
            return
        for mark in self.world.marks.found(heard):
            origin = self.world.marks.origins[mark]
            if origin.kind == "spawned work" and origin.lane is None:
                lane.parent = origin.by
                self.world.marks.origins[mark] = replace(origin, lane=key)

    def other_end(self, key: str, heard: str) -> str | None:
        """Return the lane that is told what is answered to a line, where another lane wrote it."""
        for mark in self.world.marks.found(heard):
            origin = self.world.marks.origins[mark]
            if origin.also is not None and key in origin.lanes:
                return next(end for end in origin.lanes if end != key)
        return None

    async def do(self, who: str, path: str, body: Json, method: str = "POST") -> Any:
        """Let somebody write; None when it was refused."""
        client = self.owner if who == "owner" else self.callers[who].client
        answer: Answer = await client.request(method, path, None, body)
        self.world.done[f"{method} {path.split('/')[2]} {answer.status}"] += 1
        if answer.status >= 400:
            self.world.refused.append(f"{who} {method} {path} {answer.status} {answer.text[:200]}")
            return None
        told = answer.json() if answer.text else {}
        if isinstance(told, dict) and isinstance(told.get("runId"), str):
            self.ran(told["runId"], who)
        return told

    async def look_around(self, token: str, key: str) -> list[tuple["Door", "Question", str]]:
        """Read some doors with the token of a run; return what they answered."""
        return await self.world.look(self, Client(self.world.app, token), key)

    def ran(self, run_id: str, who: str) -> None:
        """Remember who caused a run."""
        self.ids["run"].append(run_id)
        self.causes[run_id] = who

    def copied_to(self, key: str) -> set[str]:
        """Return what was copied to a chat when it was made."""
        return set[str]().union(*(copy.marks for copy in self.copies if copy.lane == key))

    def any(self, kind: str) -> str | None:
        """Return the id of something of that kind, if there is any."""
        return self.chance.choice(self.ids[kind]) if self.ids[kind] else None


class World:
    """Two sides on one server."""

    def __init__(self, server: Server, model: Recorder, seed: int, *, together: bool) -> None:
        self.server = server
        self.model = model
        self.seed = seed
        self.together = together
        self.app = server.assembly.app
        self.chance = random.Random(seed)
        self.marks = Marks()
        self.texts: dict[str, str] = {}
        self.look: Callable[[Side, Client, str], Awaitable[list[tuple[Door, Question, str]]]]
        self.subjects = self.chance.sample(SUBJECTS, 2)
        self.sides: list[Side] = []
        # The space of every topic, in both accounts.
        self.topics: dict[str, str] = {}
        self.done: defaultdict[str, int] = defaultdict(int)
        self.refused: list[str] = []
        # Every path that was read.
        self.read: set[str] = set()

    async def begin(self) -> None:
        """Create both accounts with the same people, agents and spaces."""
        other, token = await self.server.db.write(lambda tx: open_account(tx, "Other", "other"))
        pairs = (("default", self.server.access.account_id, self.server.owner), ("other", other.id, token))
        modes = [self.chance.choice(MODES) for _ in range(3)]
        for slug, account_id, owner in pairs:
            side = Side(self, slug, account_id, owner)
            self.sides.append(side)
            self.model.sides[slug] = side
            await self._people(side)
            await self._agents(side, modes)

    async def _people(self, side: Side) -> None:
        for space in SPACES[1:]:
            await side.do("owner", "/api/spaces", {"id": space, "name": space.removeprefix("space-")})
        side.facts.people["owner"] = Person("owner", is_owner=True)
        side.callers["owner"] = Caller("owner", side.owner, person=side.facts.people["owner"])
        for name, spaces in (("ann", ("*",)), ("bob", ("*",)), ("lim", (OPEN_SPACE,))):
            user = await side.do("owner", "/api/users", {"name": name.title(), "slug": name})
            person = Person(name, spaces=frozenset(spaces))
            side.users[user["user"]["id"]] = name
            limits = {} if "*" in spaces else {"spaceIds": list(spaces)}
            side.facts.people[name] = person
            client = await self._token(side, name, kind="user", userId=user["user"]["id"], **limits)
            side.callers[name] = Caller(name, client, person=person)

    async def _agents(self, side: Side, modes: list[str]) -> None:
        sandboxed = self.seed % 3 == 0
        for name, mode, spaces in zip(("main", "writer", "scout"), modes, (("*",), ("*",), (OPEN_SPACE,)), strict=True):
            agent = Agent(name, mode, frozenset(spaces), sandboxed=sandboxed and name == "writer")
            profile = {
                "visibility": mode, "spaceIds": list(spaces), "sandbox": "on" if agent.sandboxed else "off",
                "subagents": {"allowAgents": ["*"]},
            }  # fmt: skip
            if name == "main":
                await side.do("owner", "/api/agents/main", profile, "PATCH")
            else:
                await side.do("owner", "/api/agents", {"id": name, **profile})
            side.facts.agents[name] = agent
            client = await self._token(side, name, kind="agent", agentId=name)
            side.callers[f"agent {name}"] = Caller(f"agent {name}", client, agent=agent)
        client = await self._token(side, "program", kind="client", agentIds=["main", "writer"])
        side.callers["program"] = Caller("program", client, program="program")

    async def _token(self, side: Side, name: str, **wanted: Any) -> Client:
        made = await side.do("owner", "/api/tokens", {"name": name, **wanted})
        return Client(self.app, made["secret"])

    async def settle(self) -> None:
        """Let every run and what follows from it end."""

        def is_settled(tx: Tx) -> bool:
            return not any(tx.one(sql, side.access, now=tx.now) for side in self.sides for sql in UNSETTLED)

        await self.server.until(is_settled)

    async def catch_up(self) -> None:
        """Let the classifier, the digests and the index do all that waits for them."""
        for side in self.sides:
            for _ in range(CYCLES_MAX):
                await self.settle()
                if not await self._holds(side, BEHIND):
                    break
                # One turn of the classifier sorts what is pending and renews every digest that is not up to date.
                cycle_id = (await side.do("owner", "/api/digests/run", {}))["cycleId"]
                await self.server.until(lambda tx: tx.one(CYCLE, side.access, cycle_id=cycle_id) is None)  # noqa: B023
            assert not await self._holds(side, BEHIND), "the classifier did not catch up"
            await self.server.indexed(side.access)

    async def _holds(self, side: Side, statements: tuple[str, ...]) -> bool:
        return await self.server.read(lambda tx: any(tx.one(sql, side.access) for sql in statements))

    async def harvest(self) -> None:
        """Learn what the server made by itself: runs, entries, topics, lanes, and where tasks are."""
        for side in self.sides:
            await self._harvest_runs(side)
            entries = (await side.owner.get("/api/log", {"limit": 1000})).json()["logs"]
            side.ids["entry"] = [entry["id"] for entry in entries]
            side.ids["file"] = [file["id"] for entry in entries for file in entry["attachments"]]
            topics = (await side.owner.get("/api/topics", {"limit": 500})).json()["topics"]
            side.ids["topic"] = [topic["id"] for topic in topics]
            for task in (await side.owner.get("/api/tasks", {"limit": 500, "includeArchived": 1})).json()["tasks"]:
                side.facts.assigned[task["id"]] = set(task["assignedAgentIds"])
                side.facts.tasks[task["id"]] = task["spaceId"]
                for mark in self.marks.found(task["title"]):
                    origin = self.marks.origins[mark]
                    # A goal that an agent works on by itself gives its name to a task, and tasks are kept.
                    kept = origin.kept or origin.kind == "goal name"
                    self.marks.origins[mark] = replace(origin, task=task["id"], kept=kept)
            for row in (await side.owner.get("/api/sessions", {"limit": 200})).json()["sessions"]:
                lane = side.lane(row["sessionKey"])
                lane.sandboxed = lane.sandboxed or bool(row["sandboxed"])
                lane.parent = lane.parent or row["spawnedBy"]
        tasks = {side.slug: side.facts.tasks for side in self.sides}
        for mark, origin in self.marks.origins.items():
            if origin.task is not None and origin.also is None:
                self.marks.origins[mark] = replace(origin, space=tasks[origin.account].get(origin.task, origin.space))

    async def _harvest_runs(self, side: Side) -> None:
        """Learn of runs that nobody was told of; whoever wrote what they answer caused them."""
        # The oldest first: what a run has caused is caused by whoever caused it.
        for run in (await side.owner.get("/api/runs", {"limit": 200})).json()["runs"][::-1]:
            if run["parentRunId"] in side.causes:
                side.causes.setdefault(run["id"], side.causes[run["parentRunId"]])
            if run["id"] not in side.ids["run"]:
                side.ids["run"].append(run["id"])
                actor = run["provenance"].get("actor", "")
                writers = {self.marks.origins[mark].by for mark in self.marks.found(run["message"]["text"])}
                known = [side.users[actor]] if actor in side.users else sorted(writers & side.facts.people.keys())
                # Whoever assigns somebody else's task caused the run, and not who wrote the task.
                if known and not (actor.startswith("tok_") and actor not in side.users):
                    side.causes[run["id"]] = known[0]
        for run_id in side.ids.pop("run with an artifact", []):
            found = (await side.owner.get(f"/api/runs/{run_id}/artifacts")).json()["artifacts"]
            side.ids["artifact"] += [artifact["id"] for artifact in found]


def settings_of(seed: int, folder: str) -> tuple[Settings, bool]:
    """Return the settings of a world, and whether its agents may see one another."""
    together = random.Random(f"settings {seed}").random() < 0.5
    settings = Settings(
        # Nothing is sorted unless the world asks for it.
        classifier=ClassifierSettings(mode="rules", interval_seconds=3_600),
        hooks=HooksSettings(enabled=True),
        tools=ToolsSettings(agent_to_agent=ToolsAgentToAgentSettings(enabled=together)),
        storage=StorageSettings(data_dir=Path(folder)),
    )
    return usual(settings), together


@asynccontextmanager
async def open_world(seed: int, url: str | None = None) -> AsyncIterator[World]:
    """A world on a store of its own, or on the blank store at `url`; its server works until the block ends."""
    with tempfile.TemporaryDirectory(prefix="carrel-isolation-") as folder:
        settings, together = settings_of(seed, folder)
        settings = structs.replace(settings, digests=structs.replace(settings.digests, per_cycle=40))
        db = WatchedDatabase(open_store(url or blank_sqlite(Path(folder)), durability="normal", chance=NoDelay()))
        wire, model = Wire(), Recorder(seed)
        speaking = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9", run_tokens=True)

        async def up() -> dict[str, str | None]:
            return {BUILTIN: None}

        server = Server(db, wire, {BUILTIN: Connection(model, speaking)}, settings, gateway_troubles=up)
        try:
            await server.prepare()
            server.start()
            world = World(server, model, seed, together=together)
            await world.begin()
            yield world
        finally:
            server.services.closing.set()
            await server.kill()
            await wire.close()
            await db.close()
