"""The tools of plan mode, and the tools that it hides: a call is judged when it is made, in its own session."""

import asyncio
import json

import pytest
from msgspec import structs

from carrel.commands import ChatMessage, receive
from carrel.kernel import Refusal, SessionKey
from carrel.kernel.settings import Settings
from carrel.modes import disable_plan_mode, enable_plan_mode
from carrel.runs import Watch
from carrel.storage import Tx
from carrel.tools import (
    CATALOG,
    ExternalCalls,
    NewCall,
    ToolServices,
    call_tool,
    external_caller,
    lock_caller,
    prepare_call,
    toolset_for,
)
from tests.harness.engine import SECONDS_MAX
from tests.requirements.mark import requirement
from tests.tools.task_world import Json, Seat, TaskWorld, open_world

REST = "web:conversation1"
CHAT = SessionKey.of("writer", REST)
PLAN: Json = {"markdown": "# A garden", "tasks": [{"title": "Dig"}, {"title": "Plant", "dependencies": ["task-0"]}]}
ROUNDS = 20


async def seat_in(world: TaskWorld, rest: str = REST) -> Seat:
    """Return the writer in a run in one of its lanes, as it is now."""
    run = await world.engine.say(SessionKey.of("writer", rest), "go on", access=world.owner)
    return Seat(world, run, await world.engine.read(lambda tx: world.caller_of(tx, run)))


async def switch(world: TaskWorld, *, on: bool, key: SessionKey = CHAT) -> None:
    """Switch plan mode on or off."""

    def work(tx: Tx) -> object:
        if on:
            return enable_plan_mode(tx, world.owner, key)
        return disable_plan_mode(tx, world.owner, key, world.engine.rules)

    await world.engine.db.write(work)


@requirement("S3.plan.tools")
async def test_what_writes_is_hidden_but_for_planning_and_what_reads_is_not(world: TaskWorld) -> None:
    before = await seat_in(world)
    await switch(world, on=True)
    seat = await seat_in(world)
    whole = {tool.name: tool for tool in before.toolset.offered()}
    left = {tool.name for tool in seat.toolset.offered()}
    kept = {name for name in whole if name.startswith("goal_") or name == "request_input"}
    assert left == {name for name, tool in whole.items() if tool.effect == "read"} | kept | {"plan_set_content"}
    for name in whole.keys() - left:
        told = await seat.call(name)
        assert told["error"]["code"] == "tool_not_allowed"
        assert told["error"]["message"].startswith(f"{name} is not offered here: this session is in plan mode")


@requirement("S3.plan.tools")
async def test_plan_mode_holds_for_tools_that_were_offered_before_it_was_switched_on(world: TaskWorld) -> None:
    seat = await seat_in(world)
    await switch(world, on=True)
    told = await seat.call("memory_add", content="The door is green", type="fact")
    assert "plan mode" in told["error"]["message"]
    assert (await seat.call("memory_search", query="door"))["items"] == []
    assert "error" not in await seat.call("session_status")


@requirement("S3.plan.tools")
async def test_plan_mode_holds_for_callers_outside_of_a_turn_that_were_read_before(world: TaskWorld) -> None:
    db = world.engine.db
    await seat_in(world)
    access = structs.replace(world.access, kind="agent", actor_id="writer", agent_id="writer")
    services = ToolServices(settings=Settings(), rules=world.engine.rules)
    caller = await world.engine.read(lambda tx: external_caller(tx, services, access, str(CHAT)))
    await switch(world, on=True)
    calls = ExternalCalls(db, Watch(db), asyncio.Event())
    with pytest.raises(Refusal) as refused:
        await calls.make(NewCall(caller=caller, tool="memory_add", arguments='{"content": "x", "type": "fact"}'))
    assert "plan mode" in refused.value.message


@requirement("S3.plan.context", "S3.inv.1")
async def test_plan_mode_of_another_session_hides_nothing(world: TaskWorld) -> None:
    await switch(world, on=True)
    for rest in ("web:conversation2", "cli:conversation1", "main"):
        seat = await seat_in(world, rest)
        assert "error" not in await seat.call("memory_add", content=f"The door of {rest}", type="fact")
        assert (await seat.call("session_status"))["planMode"] == {"enabled": False, "activePlanId": None}


async def test_the_status_of_a_session_shows_its_plan_mode(world: TaskWorld) -> None:
    await switch(world, on=True)
    seat = await seat_in(world)
    shown = (await seat.call("session_status"))["planMode"]
    assert shown == {"enabled": True, "activePlanId": (await seat.call("plan_get"))["plan"]["id"]}


async def test_a_plan_is_written_whole_or_not_at_all(world: TaskWorld) -> None:
    await switch(world, on=True)
    seat = await seat_in(world)
    first = (await seat.call("plan_set_content", **PLAN))["plan"]
    wrong = PLAN | {"markdown": "# Two", "tasks": [{"title": "Dig"}, {"title": "Plant", "dependencies": ["task-7"]}]}
    for refused in (wrong, PLAN | {"markdown": "  "}, PLAN | {"tasks": [{"title": " "}]}):
        assert (await seat.call("plan_set_content", **refused)).get("ok") is False, refused
        assert (await seat.call("plan_get"))["plan"] == first
    again = (await seat.call("plan_set_content", markdown="# Two", title="Beds"))["plan"]
    assert (again["title"], again["tasks"]) == ("Beds", first["tasks"])
    replaced = (await seat.call("plan_set_content", markdown="# Three", tasks=[{"title": "Rest"}]))["plan"]
    assert [task["title"] for task in replaced["tasks"]] == ["Rest"]


async def race(world: TaskWorld) -> tuple[tuple[object, object], list[str]]:
    """Let a turn write the plan and a person leave plan mode at once; how both ended, and who began how often."""
    db, began = world.engine.db, list[str]()
    await switch(world, on=True)
    seat, arguments = await seat_in(world), json.dumps(PLAN)
    toolset = toolset_for(CATALOG, seat.caller)
    message = ChatMessage(text="/plan off", channel="web", reference=str(CHAT), client_instance_id="tab")

    def write(tx: Tx) -> object:
        began.append("tool")
        lock_caller(tx, seat.caller, prepared)
        return call_tool(tx, toolset, seat.caller, "1:1", "plan_set_content", arguments, prepared)

    def off(tx: Tx) -> object:
        began.append("person")
        return receive(tx, world.owner, Settings(), world.engine.rules, message)

    async with (
        asyncio.timeout(SECONDS_MAX),
        prepare_call(db, toolset, seat.caller, "plan_set_content", arguments) as prepared,
    ):
        return await asyncio.gather(db.write(write), db.write(off), return_exceptions=True), began


async def test_a_turn_that_writes_the_plan_and_a_person_who_leaves_plan_mode_never_wait_for_each_other(
    postgres_url: str,
) -> None:
    async with open_world(postgres_url, real=True) as world:
        for _ in range(ROUNDS):
            ended, began = await race(world)
            assert not [one for one in ended if isinstance(one, BaseException)], ended
            assert sorted(began) == ["person", "tool"], "nobody had to begin again"
