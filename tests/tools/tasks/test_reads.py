"""The tools that read tasks: what they return, how much of it, and to whom."""

import json
from typing import Any

import pytest

from carrel.kernel.limits import TOOL_MESSAGE_CHARS_MAX, TOOL_RESULT_BYTES_MAX
from carrel.tools import CATALOG
from tests.requirements.mark import requirement
from tests.tools.task_world import TASK_TOOLS, TaskWorld, twin_of


@requirement("S0.history.shape", "S0.history.order")
async def test_a_history_has_messages_oldest_first_and_activities_newest_first(world: TaskWorld) -> None:
    task, other = await world.task(), await world.task("Mow the lawn")
    for at in range(4):
        await world.say(task.id, f"message {at}")
        await world.say(other.id, f"elsewhere {at}")
    seat = await world.seat("writer", task.id)
    read = await seat.call("task_history", taskId=task.id, messageLimit=3)
    assert set(read) == {"task", "messages", "activities", "meta"}
    assert [message["content"] for message in read["messages"]] == ["message 1", "message 2", "message 3"]
    assert read["meta"] == {"messageLimitApplied": 3, "activityLimitApplied": 30}
    moved = await (await world.seat("reviewer", task.id)).call("task_update", taskId=task.id, title="Paint it")
    assert moved["task"]["title"] == "Paint it"
    activities = (await seat.call("task_history", taskId=task.id))["activities"]
    assert [one["type"] for one in activities] == ["updated", "created"]
    assert activities[0]["seq"] > activities[1]["seq"]


@requirement("S0.history.limits")
@pytest.mark.parametrize(("given", "applied"), [(None, (25, 30)), (0, (1, 1)), (-5, (1, 1)), (999, (200, 200))])
async def test_limits_have_defaults_and_are_clamped(world: TaskWorld, given: int | None, applied: Any) -> None:
    task = await world.task()
    limits: dict[str, Any] = {} if given is None else {"messageLimit": given, "activityLimit": given}
    read = await (await world.seat("writer", task.id)).call("task_history", taskId=task.id, **limits)
    assert (read["meta"]["messageLimitApplied"], read["meta"]["activityLimitApplied"]) == applied


@requirement("S0.load.compat")
async def test_task_load_reads_by_the_same_path(world: TaskWorld) -> None:
    task = await world.task()
    for at in range(12):
        await world.say(task.id, f"message {at}")
    seat = await world.seat("writer", task.id)
    loaded = await seat.call("task_load", taskId=task.id)
    assert set(loaded) == {"task", "messages"}
    assert [message["content"] for message in loaded["messages"]] == [f"message {at}" for at in range(2, 12)]
    history = await seat.call("task_history", taskId=task.id, messageLimit=10)
    assert loaded == {name: history[name] for name in loaded}
    assert len((await seat.call("task_load", taskId=task.id, messageLimit=0))["messages"]) == 1


async def test_a_long_thread_keeps_its_newest_messages_within_the_limit_of_a_result(world: TaskWorld) -> None:
    task = await world.task(description="d" * 50_000)
    for at in range(30):
        await world.say(task.id, f"{at} " + "x" * 20_000)
    read = await (await world.seat("writer", task.id)).call("task_history", taskId=task.id)
    assert "bytes" not in read
    assert read["messages"][-1]["content"].startswith("29 ")
    assert 5 < len(read["messages"]) < 30
    assert len(str(read)) < TOOL_RESULT_BYTES_MAX


@requirement("S0.history.required")
async def test_the_task_must_be_named(world: TaskWorld) -> None:
    seat = await world.seat("chief", (await world.task()).id)
    for tool in sorted(TASK_TOOLS - {"task_create", "task_list", "task_search", "response_request"}):
        assert await seat.refused(tool) == "invalid_params", tool


@requirement("S0.history.available", "S0.history.agent")
async def test_an_agent_reads_tasks_of_its_spaces_its_assignments_and_its_run(world: TaskWorld) -> None:
    engine = world.engine
    await engine.make_agent("confined", world.access, space_ids=("space-elsewhere",))
    mine, given, foreign = await world.task("mine"), await world.task("given"), await world.task("foreign")
    assert (await (await world.seat("writer", mine.id)).call("task_history", taskId=foreign.id))["task"]["id"]
    await (await world.seat("chief")).call("task_assign", taskId=given.id, assigneeSlugs=["confined"])
    seat = await world.seat("confined", mine.id)
    for tool in ("task_history", "task_load"):
        assert (await seat.call(tool, taskId=mine.id))["task"]["id"] == mine.id
        assert (await seat.call(tool, taskId=given.id))["task"]["id"] == given.id
        assert await seat.refused(tool, taskId=foreign.id) == "not_found"
    chief = await world.seat("chief")
    assert (await chief.call("task_history", taskId=foreign.id))["task"]["title"] == "foreign"


@requirement("S0.history.account", "S0.history.none.global")
async def test_a_task_of_another_account_is_not_found_and_nothing_is_written(world: TaskWorld) -> None:
    twin = await twin_of(world)
    await twin.task("theirs", id="task_theirs", assigned_agent_ids=("writer",))
    await twin.task("shared, theirs", id="task_shared")
    await world.task("shared, ours", id="task_shared")
    await twin.say("task_theirs", "a secret of theirs")
    chief = await world.seat("chief", "task_shared")
    missing = await chief.call("task_history", taskId="task_missing")
    before, theirs = await world.counts(), await twin.counts()
    for tool, more in FOREIGN.items():
        answer = await chief.call(tool, taskId="task_theirs", **more)
        assert answer == missing, f"{tool} tells a foreign task from a missing one"
    assert await world.counts() == before
    assert await twin.counts() == theirs
    assert (await chief.call("task_get", taskId="task_shared"))["task"]["title"] == "shared, ours"
    seen = [await chief.call("task_list", limit=200), await chief.call("task_search", query="theirs")]
    assert "theirs" not in str(seen)
    names = {tool.name for tool in CATALOG.offered() if "taskId" not in tool.schema()["properties"]} & TASK_TOOLS
    assert names == {"task_create", "task_list", "task_search"}, "no other tool is about more than one task"


FOREIGN: dict[str, dict[str, Any]] = {
    "task_history": {},
    "task_load": {},
    "task_get": {},
    "task_thread": {},
    "task_status": {"status": "review"},
    "task_update": {"title": "changed", "status": "in_progress"},
    "task_assign": {"assigneeSlugs": ["writer"]},
    "task_message": {"content": "hello"},
    "task_delete": {"reason": "no longer needed"},
    "response_request": {"recipientSlugs": ["writer"], "message": "look?"},
}


async def test_a_list_filters_by_status_and_by_who_is_assigned(world: TaskWorld) -> None:
    inbox = await world.task("one")
    given = await world.task("two", assigned_agent_ids=("writer",))
    to_a_person = await world.task("three", assigned_user_ids=("owners",))
    chief = await world.seat("chief")

    async def listed(**wanted: Any) -> list[str]:
        return [task["id"] for task in (await chief.call("task_list", **wanted))["tasks"]]

    assert await listed() == [to_a_person.id, given.id, inbox.id]
    assert await listed(limit=0) == [to_a_person.id]
    assert await listed(status="inbox") == [inbox.id]
    assert await listed(status="todo") == [to_a_person.id, given.id, inbox.id]
    assert await listed(assigneeSlug="writer") == [given.id]
    assert await listed(assigneeSlug="owners") == [to_a_person.id]
    assert await chief.refused("task_list", assigneeSlug="nobody") == "invalid_params"
    assert await chief.refused("task_list", status="sleeping") == "invalid_params"
    await chief.call("task_delete", taskId=inbox.id, reason="a duplicate")
    assert await listed() == [to_a_person.id, given.id]


async def test_a_search_ranks_by_where_the_words_occur(world: TaskWorld) -> None:
    everywhere = await world.task("The Fence", description="a fence", status="blocked", blocked_reason="no fence")
    titled = await world.task("Paint the FENCE")
    described = await world.task("Buy paint", description="for the\nfence")
    await world.task("Mow the lawn")
    chief = await world.seat("chief")
    found = (await chief.call("task_search", query=" fence "))["tasks"]
    assert [(task["id"], task["score"]) for task in found] == [
        (everywhere.id, 1.0),
        (titled.id, 0.5),
        (described.id, 0.333),
    ]
    assert [task["id"] for task in (await chief.call("task_search", query="the fence"))["tasks"]] == [
        titled.id, everywhere.id, described.id,
    ]  # fmt: skip
    assert len((await chief.call("task_search", query="fence", limit=0))["tasks"]) == 1
    assert (await chief.call("task_search", query="100%"))["tasks"] == []
    assert (await chief.call("task_search", query="Orchestrator"))["tasks"] == [], "the chat is not work"


async def test_the_thread_and_the_task_are_shown_to_the_orchestrator(world: TaskWorld) -> None:
    task = await world.task()
    for at in range(3):
        await world.say(task.id, f"message {at}")
    chief = await world.seat("chief")
    thread = await chief.call("task_thread", taskId=task.id, limit=2)
    assert [message["content"] for message in thread["messages"]] == ["message 1", "message 2"]
    assert set(thread) == {"messages"}
    assert (await chief.call("task_get", taskId=task.id))["task"]["lastMessageAt"] is not None


@requirement("S2.x.history.caps")
async def test_the_history_of_a_task_is_cut_and_redacted_as_that_of_a_session(world: TaskWorld) -> None:
    task = await world.task()
    for number in range(40):
        await world.say(task.id, f"{number} " + "word " * 1_200)
    secrets = (
        "Bearer abcdefghijklmnopqrstuvwxyz012345", "sk-abcdefghijklmnopqrstuvwxyz", "crl_owner_abc_" + "0" * 64,
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
    )  # fmt: skip
    for secret in secrets:
        await world.say(task.id, f"the secret is {secret}")
    told = await (await world.seat("writer", task.id)).call("task_history", taskId=task.id, messageLimit=200)
    assert (told["truncated"], told["contentTruncated"], told["contentRedacted"]) == (True, True, True)
    assert told["droppedMessages"] + len(told["messages"]) == 44
    assert all(len(message["content"]) <= TOOL_MESSAGE_CHARS_MAX for message in told["messages"])
    assert len(json.dumps(told).encode()) <= TOOL_RESULT_BYTES_MAX
    for secret in secrets:
        assert secret.split()[-1] not in json.dumps(told), secret
    assert len([message for message in told["messages"] if "[redacted]" in message["content"]]) == len(secrets)
