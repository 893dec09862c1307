"""The rule of who may see what says the same as a predicate and as a condition of lists, in random worlds."""

import random
from typing import Any

import pytest
from msgspec import structs

from carrel.access import make_space
from carrel.agents import change_account
from carrel.journal import DEFAULT_SPACE
from carrel.kernel import Access, Refusal, SessionKey, ToolVisibility
from carrel.sessions import LaneFilter, NewChild, insert_child, insert_lane, lane_of, lane_rows
from carrel.storage import Tx
from carrel.topics import NewTopic, put_topic
from carrel.visibility import Recalls, may_see, seen_entries, seen_tasks
from carrel.work import NewTask, TaskFilter, create_task, list_tasks, readable_task
from tests.harness.engine import Engine
from tests.requirements.mark import requirement

SPACES, PEOPLE, AGENTS = ("space-a", "space-b"), ("usr_ann", "usr_bob", "tok_client"), ("main", "writer")


class World:
    """Lanes of two agents, chats of several people, tasks and topics in spaces, and what was spawned from all that."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine, self.access, self.chance = engine, engine.access, random.Random(seed)
        self.keys: list[str] = []
        self.tasks: list[str] = []

    def furnish(self, tx: Tx) -> None:
        """Make everything."""
        for space in SPACES:
            make_space(tx, self.access, space.removeprefix("space-").upper(), space_id=space)
        places = [("topic", f"topic-{at}") for at in range(2)] + [("task", f"task-{at}") for at in range(4)]
        for kind, name in places:
            space = self.chance.choice((DEFAULT_SPACE, *SPACES))
            if kind == "topic":
                put_topic(tx, self.access, NewTopic(id=name, name=name, space_id=space))
            else:
                topic = self.chance.choice((None, "topic-0", "topic-1"))
                assigned = self.chance.choice(((), ("main",)))
                new = NewTask(id=name, title=name, space_id=space, topic_id=topic, assigned_agent_ids=assigned)
                self.tasks.append(create_task(tx, self.access, new, self.engine.rules).id)
        rests = [
            "main",
            *(f"web:chat-{at:04}" for at in range(4)),
            *(f"{kind}:{name}" for kind, name in places),
            "hook:one",
        ]
        for agent in AGENTS:
            for rest in rests:
                maker = structs.replace(self.access, actor_id=self.chance.choice(PEOPLE))
                insert_lane(tx, maker, SessionKey.of(agent, rest))
                self.keys.append(f"agent:{agent}:{rest}")
        for at in range(6):
            child = SessionKey.of(self.chance.choice(AGENTS), f"subagent:{at}")
            parent = SessionKey.stored(self.chance.choice(self.keys))
            insert_child(tx, self.access, NewChild(key=child, spawned_by=parent))
            self.keys.append(str(child))

    def caller(self) -> Access:
        """Somebody who looks."""
        spaces = self.chance.choice((("*",), ("space-a",), ("space-a", "space-b"), ("space-default",)))
        kind: Any = self.chance.choice(("owner", "user", "user", "client", "agent", "run", "run"))
        person = self.chance.choice(PEOPLE)
        base = structs.replace(self.access, kind=kind, actor_id=person, space_ids=spaces)
        if kind not in ("agent", "run"):
            return base
        key = SessionKey.stored(self.chance.choice(self.keys))
        mode: Any = self.chance.choice(("self", "tree", "agent", "all"))
        view = ToolVisibility(mode=mode, key=key, rule="", others_enabled=self.chance.random() < 0.5)
        agent = structs.replace(base, actor_id=key.agent, agent_id=key.agent, view=view)
        if kind == "agent":
            return agent
        behalf = self.chance.choice((None, person))
        causes = self.chance.choice((("*",), ("space-a",), ("space-b", "space-default")))
        return structs.replace(agent, behalf=behalf, cause_spaces=causes, space_ids=agent.narrowed(causes))


@pytest.fixture
async def staffed(engine: Engine) -> Engine:
    await engine.make_agent("writer")
    return engine


@requirement("I.rule.one")
@pytest.mark.parametrize("seed", range(3))
async def test_which_lanes_somebody_sees_is_the_same_for_one_and_for_a_list(staffed: Engine, seed: int) -> None:
    world = World(staffed, seed)
    await staffed.db.write(world.furnish)

    def compare(tx: Tx) -> int:
        access = world.caller()
        listed = {row.lane.key for row in lane_rows(tx, access, LaneFilter(), before=None, limit=200)}
        for key in world.keys:
            lane = lane_of(tx, world.access, SessionKey.stored(key))
            assert lane is not None
            assert may_see(tx, access, lane.session_key, lane.made_by) == (key in listed), (access, key)
        return len(listed)

    counts = [await staffed.db.read(compare) for _ in range(60)]
    assert min(counts) < 3 < len(world.keys) == max(counts), "some see little, and some see everything"


@requirement("I.rule.one")
@pytest.mark.parametrize("seed", range(3))
async def test_which_tasks_somebody_reads_is_the_same_for_one_and_for_a_list(staffed: Engine, seed: int) -> None:
    world = World(staffed, seed)
    await staffed.db.write(world.furnish)

    def compare(tx: Tx) -> int:
        access = world.caller()
        if access.kind == "client":
            access = structs.replace(access, kind="user")
        listed = {task.id for task in list_tasks(tx, access, TaskFilter(), before=None, limit=50)}
        condition, values = seen_tasks(tx, access)
        seen = tx.all(
            f"SELECT id FROM tasks WHERE account_id = :account AND is_chat = 0 AND {condition}", access, **values
        )
        assert {row[0] for row in seen} == listed, access
        readable = set()
        for name in world.tasks:
            try:
                readable.add(readable_task(tx, access, name)[0].id)
            except Refusal:
                continue
        assert readable == listed, access
        return len(listed)

    counts = [await staffed.db.read(compare) for _ in range(40)]
    assert min(counts) < max(counts), "some see less than others"


async def test_what_a_lane_recalls_is_chosen_for_itself_then_its_agent_then_the_account(staffed: Engine) -> None:
    world = World(staffed, 0)
    await staffed.db.write(world.furnish)
    chat, main, topic = "agent:main:web:chat-0000", "agent:main:main", "agent:main:topic:topic-0"

    def recalled(tx: Tx) -> list[tuple[str, str, bool]]:
        known = [Recalls(tx, world.access).of(key) for key in (chat, main, topic)]
        return [(one.recall, one.chosen_by, one.on_board) for one in known]

    async def run(sql: str, **values: object) -> None:
        await staffed.db.write(lambda tx: tx.run(sql, world.access, **values))

    on_board = ("space", "board", True)
    assert await staffed.db.read(recalled) == [("own", "settings", False), ("own", "settings", False), on_board]
    await run("UPDATE accounts SET recall_default = 'space' WHERE id = :account")
    assert await staffed.db.read(recalled) == [("space", "settings", False), ("space", "settings", True), on_board]
    await run("UPDATE lanes SET recall = 'space' WHERE account_id = :account AND key = :key", key=chat)
    await run("UPDATE lanes SET recall = 'own' WHERE account_id = :account AND key = :key", key=main)
    assert await staffed.db.read(recalled) == [("space", "session", True), ("own", "session", False), on_board]


@requirement("I.rule.one")
async def test_an_orchestrator_that_is_limited_to_spaces_sees_what_is_said_on_every_task(engine: Engine) -> None:
    owner = structs.replace(engine.access, kind="owner")
    limited = structs.replace(engine.access, kind="agent", agent_id="main", space_ids=("space-a",))

    def said(tx: Tx) -> list[Any]:
        change_account(tx, owner, None, {"orchestratorAgentId": "main"})
        task = create_task(tx, owner, NewTask(title="Elsewhere"), engine.rules)
        seen, values = seen_entries(tx, limited)
        sql = f"SELECT DISTINCT task_id FROM entries WHERE account_id = :account AND {seen} AND task_id = :task"
        return [task.id, *(row[0] for row in tx.all(sql, limited, task=task.id, **values))]

    made, *found = await engine.db.write(said)
    assert found == [made]
