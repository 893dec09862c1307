"""Which tools the model of a run is shown, by the kind of the run."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from carrel.kernel import SessionKey
from carrel.tools import Caller, shown_tools, toolset_for
from carrel.tools.catalog import CATALOG
from tests.requirements.mark import requirement
from tests.tools.task_world import Seat, TaskWorld, open_world

READ_A_TASK = {"task_history", "task_load", "task_get", "task_thread", "clawboard_get_task"}
CHANGE_A_TASK = {"task_update", "clawboard_update_task"}


@pytest.fixture
async def world(sqlite_url: str) -> AsyncIterator[TaskWorld]:
    """Agents that work on tasks, on SQLite."""
    async with open_world(sqlite_url) as opened:
        yield opened


def shown(caller: Caller) -> set[str]:
    """The names of the tools that the model of a caller is shown."""
    return {tool.name for tool in shown_tools(toolset_for(CATALOG, caller), caller)}


async def in_run(world: TaskWorld, rest: str = "main", agent: str = "writer", **provenance: Any) -> Caller:
    """An agent in a run that has this provenance."""
    run = await world.engine.say(SessionKey.of(agent, rest), "go on", access=world.owner)
    kind = {"provenance": json.dumps(provenance), "provenance_kind": provenance["kind"]} if provenance else {}
    return await world.engine.read(lambda tx: world.caller_of(tx, structs.replace(run, **kind)))


async def in_each_profile(world: TaskWorld) -> dict[str, set[str]]:
    """What is shown in each kind of run that is shown tools."""
    task = await world.task()
    return {
        "chat": shown(await in_run(world)),
        "auto": shown(await in_run(world, kind="auto")),
        "task": shown(await in_run(world, f"task:{task.id}")),
        "orchestrator": shown(await in_run(world, f"task:{task.id}", "chief")),
        "subagent": shown(await in_run(world, "subagent:5c2b8f0a-7d0a-4b0e-9d27-1f8f8f4f2a11", kind="spawn")),
        "heartbeat": shown(await in_run(world, kind="heartbeat")),
    }


async def test_every_profile_is_shown_one_tool_of_those_that_do_the_same(world: TaskWorld) -> None:
    for profile, names in (await in_each_profile(world)).items():
        assert names & READ_A_TASK == {"task_history"}, profile
        assert len(names & CHANGE_A_TASK) <= 1, profile
        assert {"memory_search", "memory_add", "request_input"} <= names, profile


async def test_each_profile_is_shown_what_it_needs(world: TaskWorld) -> None:
    profiles = await in_each_profile(world)
    assert [name for name, names in profiles.items() if "goal_plan_tasks" in names] == ["auto"]
    assert [name for name, names in profiles.items() if "sessions_list" in names] == ["chat", "auto"]
    assert [name for name, names in profiles.items() if "task_assign" in names] == ["orchestrator"]
    assert [name for name, names in profiles.items() if "task_status" in names] == ["task", "orchestrator", "heartbeat"]
    assert [name for name, names in profiles.items() if "sessions_spawn" not in names] == ["orchestrator", "subagent"]


async def test_a_step_of_an_exchange_is_shown_no_tools_but_whoever_gets_a_result_is(world: TaskWorld) -> None:
    assert shown(await in_run(world, kind="reply_back", sourceTool="sessions_send")) == set()
    assert shown(await in_run(world, kind="announce", sourceTool="sessions_send")) == set()
    child = "subagent:5c2b8f0a-7d0a-4b0e-9d27-1f8f8f4f2a11"
    assert shown(await in_run(world, child, kind="announce", sourceTool="sessions_spawn")) == set()
    assert shown(await in_run(world, kind="announce", sourceTool="sessions_spawn")) == shown(await in_run(world))


@requirement("S0.x.parity")
async def test_a_tool_that_is_not_shown_can_be_called_all_the_same(world: TaskWorld) -> None:
    task = await world.task()
    caller = await in_run(world)
    seat = Seat(world, caller.own_run, caller)
    loaded = await seat.call("task_load", taskId=task.id)
    assert loaded["task"]["id"] == task.id
    assert (await seat.call("board_get_task", id=task.id))["task"]["id"] == task.id


async def test_what_an_agent_is_allowed_by_name_is_shown_everywhere(world: TaskWorld) -> None:
    caller = await in_run(world, kind="heartbeat")
    rules = structs.replace(caller.agent.profile.tools, allow=("*", "sessions_list", "task_load"))
    agent = structs.replace(caller.agent, profile=structs.replace(caller.agent.profile, tools=rules))
    assert shown(structs.replace(caller, agent=agent)) == shown(caller) | {"sessions_list", "task_load"}


async def test_in_plan_mode_everything_that_is_left_for_planning_is_shown(world: TaskWorld) -> None:
    names = shown(structs.replace(await in_run(world), is_planning=True))
    assert {"plan_get", "plan_set_content", "goal_plan_tasks", "goal_update"} <= names
    assert "task_update" not in names
