"""The tools for memory: they act in the chain of their caller's own session and task, whatever ids they are given."""

import pytest
from msgspec import structs

from carrel.agents import BehaviorFlags, change_agent, require_agent
from carrel.kernel import SessionKey, ToolVisibility
from carrel.memory import Reader, Scope
from carrel.storage import Tx
from carrel.tools import Caller
from carrel.tools.memory.readers import context_reader, memory_reader
from tests.memory.places import Notebook, counted
from tests.requirements.mark import requirement
from tests.tools.task_world import Seat, TaskWorld, twin_of

TOOLS = {"memory_search", "memory_read", "memory_add", "memory_update", "memory_forget", "memory_promote"}


async def seat_in(world: TaskWorld, rest: str, agent: str = "writer") -> Seat:
    """Return an agent in a run in one of its lanes."""
    run = await world.engine.say(SessionKey.of(agent, rest), "go on", access=world.owner)
    return Seat(world, run, await world.engine.read(lambda tx: world.caller_of(tx, run)))


async def may_promote(world: TaskWorld, agent: str, flag: bool) -> None:
    """Set the flag of an agent."""

    def change(tx: Tx) -> None:
        found = require_agent(tx, world.access, agent)
        flags = BehaviorFlags(can_promote_memory=flag)
        change_agent(
            tx, world.access, structs.replace(found, profile=structs.replace(found.profile, behavior_flags=flags))
        )

    await world.engine.db.write(change)


async def contents(seat: Seat, query: str) -> list[str]:
    """Return what a search finds."""
    return [item["content"] for item in (await seat.call("memory_search", query=query))["items"]]


async def test_an_agent_that_looks_at_another_session_is_shown_none_of_its_memory(world: TaskWorld) -> None:
    mine, other = await seat_in(world, "hook:a"), await seat_in(world, "hook:b")
    views = ToolVisibility(mode="all", key=mine.run.session_key, rule="", others_enabled=True)
    agent = structs.replace(mine.caller.access, view=views)

    def readers(tx: Tx) -> list[Reader | None]:
        keys = (mine.run.session_key, other.run.session_key)
        return [context_reader(tx, asking, key) for asking in (agent, world.owner) for key in keys]

    own, foreign, *of_person = await world.engine.read(readers)
    assert own is not None
    assert "session:hook:a" in [str(scope) for scope in own.chain]
    assert foreign is None, "though it may see the session"
    assert [None if found is None else str(found.chain[0]) for found in of_person] == [
        "session:hook:a", "session:hook:b",
    ]  # fmt: skip


@requirement("S3.x.tools.scoped", "S3.scope.persist.task", "S3.scope.persist.session", "S3.x.goal.noleak")
async def test_what_is_added_goes_where_its_type_belongs(world: TaskWorld) -> None:
    task = await world.task()
    on_task, plain = await world.seat("writer", task.id), await seat_in(world, "hook:a")
    lane = f"session:task:{task.id}"
    for kind, scope in (("fix", f"task:{task.id}"), ("result", f"task:{task.id}"), ("fact", lane), ("decision", lane)):
        item = (await on_task.call("memory_add", content=f"a {kind}", type=kind))["item"]
        assert (item["scope"], item["source"]["runId"], item["createdBy"]) == (scope, on_task.run.id, "writer")
    item = (await on_task.call("memory_add", content="a chosen place", type="fact", scope="task"))["item"]
    assert item["scope"] == f"task:{task.id}"
    assert (await plain.call("memory_add", content="a fix", type="fix"))["item"]["scope"] == "session:hook:a"
    assert (await plain.call("memory_search", query="fix"))["chain"] == ["session:hook:a", "global"]
    found = await on_task.call("memory_search", query="a fix")
    assert found["chain"] == [f"task:{task.id}", lane, "global"]
    assert found["items"][0]["content"] == "a fix"
    assert found["items"][0]["reason"].startswith("matches fix")


@requirement("S3.x.tools.scoped", "S3.inv.6")
@pytest.mark.parametrize("scope", ["global", "session:hook:b", "", "goal", "task"])
async def test_a_model_cannot_write_outside_its_chain(world: TaskWorld, scope: str) -> None:
    seat = await seat_in(world, "hook:a")
    code = await seat.refused("memory_add", content="x", type="fact", scope=scope)
    assert code in ("invalid_params", "invalid_scope")
    assert (
        await world.engine.read(lambda tx: tx.all("SELECT 1 FROM memories WHERE account_id = :account", world.access))
        == []
    )


@requirement("S3.scope.bound", "S3.x.task.bound", "S3.metric.blocked")
async def test_a_foreign_id_is_not_found_by_any_tool_and_counted(world: TaskWorld) -> None:
    await may_promote(world, "writer", True)
    task, notes = await world.task(), Notebook(world.engine, world.access)
    foreign = [
        await notes.keep("green door", "session:hook:b", "writer"),
        await notes.keep("green door", "session:hook:a", "reviewer"),
        await notes.keep("green door", f"task:{task.id}"),
        await Notebook(world.engine, (await twin_of(world)).access).keep("green door", "session:hook:a", "writer"),
    ]
    seat = await seat_in(world, "hook:a")
    before = counted("memory.scope.cross_session_blocked.count")
    for memory in foreign:
        assert await seat.refused("memory_read", id=memory.id) == "not_found"
        assert await seat.refused("memory_update", id=memory.id, content="mine") == "not_found"
        assert await seat.refused("memory_forget", id=memory.id) == "not_found"
        assert await seat.refused("memory_promote", id=memory.id, reason="mine") == "not_found"
        assert await seat.refused("memory_add", content="x", type="fact", supersedes=memory.id) == "not_found"
    # Of another account nothing is known that could be refused.
    assert counted("memory.scope.cross_session_blocked.count") == before + 4 * 3
    assert await contents(seat, "green door task") == []
    assert await contents(await world.seat("reviewer", task.id), "green door") == ["green door"]


async def test_a_memory_is_read_changed_and_forgotten(world: TaskWorld) -> None:
    seat = await seat_in(world, "hook:a")
    item = (await seat.call("memory_add", content="The door is green", type="fact", tags=["door"]))["item"]
    assert (await seat.call("memory_read", id=item["id"]))["item"] == item
    changed = (await seat.call("memory_update", id=item["id"], content="The door is red"))["item"]
    assert (changed["content"], changed["title"], changed["tags"]) == ("The door is red", "The door is red", ["door"])
    newer = (await seat.call("memory_add", content="No doors", type="fact", supersedes=item["id"]))["item"]
    assert await contents(seat, "red door doors") == ["No doors"]
    assert await seat.call("memory_forget", id=newer["id"]) == {"forgotten": newer["id"]}
    assert await seat.refused("memory_read", id=newer["id"]) == "not_found"


@requirement("S3.x.promotion.explicit", "S3.inv.6")
async def test_only_an_agent_with_the_flag_promotes_and_none_changes_what_is_global(world: TaskWorld) -> None:
    notes = Notebook(world.engine, world.access)
    memory = await notes.keep("All doors are green", "session:hook:a", "writer")
    seat = await seat_in(world, "hook:a")
    assert await seat.refused("memory_promote", id=memory.id, reason="because") == "tool_not_allowed"
    # The orchestrator needs the flag as well.
    chief = await seat_in(world, "hook:a", "chief")
    assert {tool.name for tool in chief.toolset.offered()} & TOOLS == TOOLS - {"memory_promote"}
    await may_promote(world, "writer", True)
    seat = await seat_in(world, "hook:a")
    promoted = await seat.call("memory_promote", id=memory.id, reason="because")
    assert (promoted["item"]["scope"], promoted["promotedFrom"]) == ("global", memory.id)
    everywhere = promoted["item"]["id"]
    assert await contents(chief, "doors") == ["All doors are green"]
    assert (await chief.call("memory_read", id=everywhere))["item"]["promotedFrom"] == memory.id
    assert await seat.refused("memory_update", id=everywhere, content="x") == "promotion_required"
    assert await seat.refused("memory_forget", id=everywhere) == "promotion_required"


async def test_outside_a_run_there_is_no_task_scope(world: TaskWorld) -> None:
    task = await world.task()
    seat = await world.seat("writer", task.id)
    caller: Caller = structs.replace(seat.caller, run=None)
    reader = await world.engine.read(lambda tx: memory_reader(tx, caller))
    assert [str(scope) for scope in reader.chain] == [str(Scope.of_session(("task", task.id))), "global"]


async def test_a_search_of_many_long_memories_stays_within_a_tools_result(world: TaskWorld) -> None:
    notes = Notebook(world.engine, world.access)
    for n in range(60):
        tags = tuple(f"{n}-{at}-{'x' * 50}" for at in range(32))
        await notes.keep(f"door {n} " + "long " * 300, "session:hook:a", "writer", tags=tags)
    found = await (await seat_in(world, "hook:a")).call("memory_search", query="doors", limit=500)
    assert 5 < len(found["items"]) <= 50
    assert all(len(item["content"]) <= 600 for item in found["items"])
