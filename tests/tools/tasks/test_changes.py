"""The tools that change tasks: what they do, what they refuse, and that a refused call leaves nothing behind."""

from typing import Any

import pytest
from msgspec import structs

from carrel.agents import BehaviorFlags, change_agent, require_agent
from carrel.kernel import Access, SessionKey
from carrel.sessions import generations_of, open_generation
from carrel.storage import Tx
from carrel.work.model import AGENT_STATUSES
from tests.requirements.mark import requirement
from tests.tools.task_world import TASK_TOOLS, TaskWorld, open_world

ORCHESTRATORS = {
    "task_assign", "task_message", "task_list", "task_get", "task_thread", "task_search", "task_delete"
}  # fmt: skip


@requirement("S0.orch.tools")
async def test_a_tool_is_offered_to_those_who_may_use_it_and_refused_to_others_with_the_reason(
    world: TaskWorld,
) -> None:
    quiet = BehaviorFlags(can_modify_task_status=False, can_mention_agents=False)
    await world.engine.make_agent("reader", world.access, behavior_flags=quiet)
    rights = {
        "writer": TASK_TOOLS - ORCHESTRATORS - {"task_create"},
        "reviewer": TASK_TOOLS - ORCHESTRATORS,
        "reader": {"task_history", "task_load"},
        "chief": TASK_TOOLS,
    }
    for agent, names in rights.items():
        seat = await world.seat(agent)
        assert seat.offered == names, agent
        before = await world.counts()
        for tool in TASK_TOOLS - names:
            assert await seat.refused(tool) == "tool_not_allowed", f"{tool} as {agent}"
        assert await world.counts() == before
    writer, reader = await world.seat("writer"), await world.seat("reader")
    assert "its flag canCreateTasks is off" in str(await writer.call("task_create", title="x"))
    assert "orchestrator" in str(await writer.call("task_list"))
    assert "canMentionAgents" in str(await reader.call("response_request", recipientSlugs=["chief"], message="x"))


@requirement("S0.work.agent.statuses")
async def test_an_agent_walks_to_the_status_it_asks_for_and_only_the_last_hop_counts(world: TaskWorld) -> None:
    task = await world.task(assigned_agent_ids=("writer",))
    seat = await world.seat("writer", task.id)
    moved = await seat.call("task_status", taskId=task.id, status="review")
    assert (moved["changed"], moved["task"]["status"]) == (True, "review")
    history = await seat.call("task_history", taskId=task.id)
    moves = [one["data"] for one in history["activities"] if one["type"] == "moved"]
    assert [(one["from"], one["to"]) for one in moves] == [("assigned", "review"), ("inbox", "assigned")]
    again = await seat.call("task_status", taskId=task.id, status="review")
    assert (again["changed"], again["task"]["updatedAt"]) == (False, moved["task"]["updatedAt"])
    assert await seat.refused("task_status", taskId=task.id, status="blocked") == "blocked_reason_required"
    blocked = await seat.call("task_status", taskId=task.id, status="blocked", blockedReason="no paint")
    assert blocked["task"]["blockedReason"] == "no paint"
    for status in ("inbox", "assigned", "archived", "doing", "", 7):
        assert status not in AGENT_STATUSES
        assert await seat.refused("task_status", taskId=task.id, status=status) == "invalid_params"
    for status in ("inbox", "assigned", "archived"):
        assert await seat.refused("task_update", taskId=task.id, status=status) == "forbidden"


@requirement("S0.x.done.rule")
@pytest.mark.parametrize("tool", ["task_status", "task_update"])
async def test_done_is_set_only_from_review_and_only_with_permission(world: TaskWorld, tool: str) -> None:
    task = await world.task(assigned_agent_ids=("writer", "reviewer"))
    writer, reviewer = await world.seat("writer", task.id), await world.seat("reviewer", task.id)
    assert await writer.refused(tool, taskId=task.id, status="done") == "forbidden"
    assert await reviewer.refused(tool, taskId=task.id, status="done") == "illegal_transition"
    await writer.call("task_status", taskId=task.id, status="review")
    assert await writer.refused(tool, taskId=task.id, status="done") == "forbidden"
    assert (await reviewer.call(tool, taskId=task.id, status="done"))["task"]["status"] == "done"


async def test_an_update_changes_what_is_given_and_a_refused_one_changes_nothing(world: TaskWorld) -> None:
    task = await world.task(due_date=1_800_000_000_000, tags=("old",), assigned_agent_ids=("writer",))
    seat = await world.seat("writer", task.id)
    changed = await seat.call(
        "task_update", taskId=task.id, title="Paint it", description="red", priority="high", labels=["a", "b"]
    )
    shown = changed["task"]
    assert (shown["title"], shown["description"], shown["priority"], shown["tags"]) == (
        "Paint it",
        "red",
        2,
        ["a", "b"],
    )
    assert shown["dueDate"] is not None
    assert (await seat.call("task_update", taskId=task.id, priority=5, tags=[]))["task"]["priorityLabel"] == "lowest"
    for given, expected in (("2027-01-31T12:00:00+01:00", "2027-01-31T11:00:00.000Z"), ("", None)):
        assert (await seat.call("task_update", taskId=task.id, dueDate=given))["task"]["dueDate"] == expected
    await seat.call("task_update", taskId=task.id, dueDate="2027-01-31T12:00:00Z")
    assert (await seat.call("task_update", taskId=task.id, dueDate=None))["task"]["dueDate"] is None
    before = await world.counts()
    refused: list[dict[str, Any]] = [
        {"title": "x", "status": "done"},
        {"title": "x", "status": "blocked"},
        {"title": "x", "assignedAgentIds": ["writer"]},
        {"title": ""},
        {"dueDate": "tomorrow"},
        {"dueDate": "0001-01-01T00:00:00+23:00"},
        {"priority": 9},
        {"priority": "urgent"},
        {"tags": ["system:orchestrator-chat"]},
    ]
    for arguments in refused:
        assert (await seat.call("task_update", taskId=task.id, **arguments))["ok"] is False, arguments
        assert (await world.stored(task.id)).title == "Paint it"
    after = await world.counts()
    assert after["newest change of a task"] == before["newest change of a task"], "what a refused call wrote is undone"
    assert (after["entries"], after["runs"]) == (before["entries"], before["runs"])


@requirement("S0.x.create.status")
async def test_a_task_begins_in_one_of_four_statuses(world: TaskWorld) -> None:
    reviewer, chief = await world.seat("reviewer"), await world.seat("chief")
    made = (await reviewer.call("task_create", title="Oil the gate", priority="low", labels=["garden"]))["task"]
    assert (made["status"], made["priority"], made["tags"], made["createdBy"]) == ("inbox", 4, ["garden"], "agent")
    blocked = await reviewer.call("task_create", title="x", status="blocked", blockedReason="no oil")
    assert blocked["task"]["blockedReason"] == "no oil"
    for status in ("review", "done", "archived", "sleeping"):
        assert await reviewer.refused("task_create", title="x", status=status) == "invalid_params"
    assert await reviewer.refused("task_create", title="x", status="in_progress") == "assignee_required"
    assert await reviewer.refused("task_create", title="x", assigneeSlugs=["writer"]) == "forbidden"
    for status in ("assigned", "in_progress"):
        given = (await chief.call("task_create", title="x", status=status, assigneeSlugs=["writer"]))["task"]
        assert (given["status"], given["assignedAgentIds"]) == (status, ["writer"])
        history = await chief.call("task_history", taskId=given["id"])
        moves = [one["data"] for one in history["activities"] if one["type"] == "moved"]
        assert [(one["from"], one["to"]) for one in moves] == [("inbox", status)], "no move back"


@requirement("S0.work.assign")
async def test_the_orchestrator_assigns_others_by_slug_and_never_itself(world: TaskWorld) -> None:
    chief = await world.seat("chief")
    made = (await chief.call("task_create", title="x", assigneeSlugs=["writer", "chief", "owners"]))["task"]
    assert (made["assignedAgentIds"], made["assignedUserIds"], made["status"]) == (
        ["writer"],
        ["owners"],
        "in_progress",
    )
    assert len(await world.engine.runs(SessionKey.of("writer", f"task:{made['id']}"))) == 1
    alone = (await chief.call("task_create", title="y", assigneeSlugs=["chief"]))["task"]
    assert (alone["assignedAgentIds"], alone["status"]) == ([], "inbox")
    assert await chief.refused("task_assign", taskId=alone["id"], assigneeSlugs=["chief"]) == "invalid_params"
    assert await chief.refused("task_assign", taskId=alone["id"], assigneeSlugs=["nobody"]) == "invalid_params"
    given = (await chief.call("task_assign", taskId=alone["id"], assigneeSlugs=["reviewer"]))["task"]
    assert (given["assignedAgentIds"], given["status"]) == (["reviewer"], "in_progress")


def disable(tx: Tx, access: Access, agent_id: str) -> None:
    """Disable an agent."""
    change_agent(tx, access, structs.replace(require_agent(tx, access, agent_id), enabled=False))


async def test_a_task_that_cannot_be_assigned_is_not_created(world: TaskWorld) -> None:
    chief = await world.seat("chief")
    await world.engine.db.write(lambda tx: disable(tx, world.owner, "writer"))
    before = await world.counts()
    assert await chief.refused("task_create", title="x", assigneeSlugs=["writer"]) == "forbidden"
    assert await world.counts() == before


@requirement("S0.close.archived")
async def test_the_orchestrator_writes_to_threads_and_archives(world: TaskWorld) -> None:
    task = await world.task(assigned_agent_ids=("writer",))
    key = SessionKey.of("writer", f"task:{task.id}")
    await world.engine.db.write(lambda tx: open_generation(tx, world.access, key))
    chief, lane = await world.seat("chief"), SessionKey.of("writer", f"task:{task.id}")
    posted = await chief.call("task_message", taskId=task.id, content="Which colour, @writer?")
    assert (posted["message"]["authorId"], posted["message"]["mentions"]) == ("chief", [])
    assert {run.source().type for run in await world.engine.live(lane)} == {"assignment", "thread_update"}
    gone = await chief.call("task_delete", taskId=task.id, reason="the fence fell")
    assert gone["task"]["status"] == "archived"
    assert await world.engine.live(lane) == []
    (session,) = await world.engine.read(lambda tx: generations_of(tx, world.access, str(key)))
    assert session.closed_reason == "task_archived"
    assert "the fence fell" in str((await chief.call("task_history", taskId=task.id))["activities"])


@requirement("S0.x.request.told")
async def test_a_request_names_those_it_held_back_and_why(world: TaskWorld) -> None:
    task = await world.task()
    seat = await world.seat("writer", task.id)
    asked = await seat.call(
        "response_request", recipientSlugs=["reviewer", "writer", "cheif"], message="Is this red enough?"
    )
    assert [one["slug"] for one in asked["requested"]] == ["reviewer"]
    hint = "There is no agent 'cheif'; did you mean 'chief'? Known: chief, main, reviewer."
    missing = {"slug": "cheif", "reason": "not_found", "hint": hint}
    assert asked["skipped"] == [missing, {"slug": "writer", "reason": "self"}]
    run = await world.engine.run(asked["requested"][0]["runId"])
    assert (run.agent_id, run.task_id, run.parent_run_id) == ("reviewer", task.id, seat.run.id)
    again = await seat.call("response_request", recipientSlugs=["reviewer"], message="And now?", taskId=task.id)
    assert again == {"requested": [], "skipped": [{"slug": "reviewer", "reason": "waiting"}]}


async def test_a_request_outside_of_a_task_must_name_one(world: TaskWorld) -> None:
    seat = await world.seat("writer")
    before = await world.counts()
    assert await seat.refused("response_request", recipientSlugs=["reviewer"], message="x") == "invalid_params"
    wrong: list[dict[str, Any]] = [{"recipientSlugs": []}, {"recipientSlugs": ["a"] * 11}, {"message": ""}]
    for one in wrong:
        arguments = {"recipientSlugs": ["reviewer"], "message": "x", "taskId": "task_1"} | one
        assert (await seat.call("response_request", **arguments))["ok"] is False
    assert await world.counts() == before


async def test_a_task_id_of_the_wrong_type_is_refused_and_nothing_is_written(sqlite_url: str) -> None:
    needed: dict[str, dict[str, Any]] = {
        "task_status": {"status": "review"},
        "task_assign": {"assigneeSlugs": ["writer"]},
        "task_message": {"content": "x"},
        "task_delete": {"reason": "x"},
        "response_request": {"recipientSlugs": ["writer"], "message": "x"},
    }
    wrong_ids: list[Any] = [7, ["x"], {}, True, "", "x" * 300, "nul \x00"]
    async with open_world(sqlite_url) as world:
        seat = await world.seat("chief")
        before = await world.counts()
        for tool in sorted(TASK_TOOLS - {"task_create", "task_list", "task_search"}):
            for wrong in wrong_ids:
                assert await seat.refused(tool, taskId=wrong, **needed.get(tool, {})) == "invalid_params", (tool, wrong)
        assert await world.counts() == before


@requirement("S0.x.tools.once")
async def test_a_repeated_call_creates_one_task_and_asks_once(world: TaskWorld) -> None:
    task = await world.task()
    chief = await world.seat("chief", task.id)
    made = [await chief.call("task_create", "1:a", title="once") for _ in range(3)]
    assert made[0] == made[1] == made[2]
    asked = [await chief.call("response_request", "1:b", recipientSlugs=["writer"], message="x") for _ in range(3)]
    assert asked[0] == asked[1] == asked[2]
    assert asked[0]["requested"]
    assert len((await chief.call("task_search", query="once"))["tasks"]) == 1
    assert len(await world.engine.runs(SessionKey.of("writer", f"task:{task.id}"))) == 1
