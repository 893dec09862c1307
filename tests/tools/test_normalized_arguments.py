"""Arguments are accepted where their meaning is plain, and refused where it is not."""

import msgspec
import pytest

from carrel.kernel import Code, Refusal
from carrel.tools import CATALOG
from tests.tools.task_world import TaskWorld


def read(tool: str, arguments: str) -> dict[str, object]:
    """The parameters that arguments mean."""
    found: dict[str, object] = msgspec.to_builtins(CATALOG.find(tool).read_params(arguments))
    return found


def test_null_stands_for_a_field_that_is_left_out() -> None:
    bare = read("sessions_list", "{}")
    assert read("sessions_list", '{"limit": null, "kinds": null, "activeMinutes": null}') == bare
    assert read("clawboard_update_task", '{"id": "x", "status": null, "tags": null}') == {"id": "x"}


def test_null_is_kept_where_it_is_a_value_of_its_own() -> None:
    assert read("artifact_add", '{"data": null}')["data"] is None
    assert read("task_update", '{"taskId": "x", "dueDate": null}')["dueDate"] is None, "it takes the time away"


def test_numbers_and_booleans_may_be_written_as_strings() -> None:
    assert read("sessions_history", '{"sessionKey": "main", "limit": "10", "includeTools": "true"}') == {
        "sessionKey": "main", "limit": 10, "includeTools": True,
    }  # fmt: skip


def test_one_text_stands_for_a_list_of_it() -> None:
    assert read("sessions_list", '{"kinds": "main"}') == read("sessions_list", '{"kinds": ["main"]}')
    asked = read("response_request", '{"taskId": "x", "recipientSlugs": "critic", "message": "?"}')
    assert asked["recipientSlugs"] == ("critic",)


@pytest.mark.parametrize("word", ["In Progress", "in-progress", " IN_PROGRESS "])
def test_a_word_to_choose_may_be_written_otherwise(word: str) -> None:
    assert read("task_status", f'{{"taskId": "x", "status": "{word}"}}')["status"] == "in_progress"


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("sessions_history", '{"sessionKey": null}', "sessionKey is missing."),
        ("sessions_list", '{"limit": "ten"}', "limit must be an integer"),
        ("sessions_list", '{"limit": true}', "limit must be an integer"),
        ("request_input", '{"question": 7}', "question must be a string"),
        ("task_status", '{"taskId": "x", "status": "Done!"}', "status must be one of"),
        ("decline", "null", "must be an object"),
    ],
)
def test_what_could_mean_something_else_is_refused(tool: str, arguments: str, says: str) -> None:
    with pytest.raises(Refusal, match=says) as refused:
        CATALOG.find(tool).read_params(arguments)
    assert refused.value.code == Code.INVALID_PARAMS


async def test_the_title_of_the_only_such_task_stands_for_its_id(world: TaskWorld) -> None:
    task = await world.task("Paint the fence", assigned_agent_ids=("writer",))
    seat = await world.seat("writer")
    assert (await seat.call("task_history", taskId="paint the FENCE"))["task"]["id"] == task.id
    assert (await seat.call("board_get_task", id="Paint the fence"))["task"]["id"] == task.id
    moved = await seat.call("task_status", taskId="Paint the fence", status="in_progress")
    assert (moved["task"]["id"], (await world.stored(task.id)).status) == (task.id, "in_progress")


async def test_a_status_may_be_written_as_people_write_it(world: TaskWorld) -> None:
    task = await world.task("Paint the fence", assigned_agent_ids=("writer",))
    seat = await world.seat("chief")
    for tool, named, word in (
        ("task_update", {"taskId": task.id}, "In Progress"), ("board_update_task", {"id": "Paint the fence"}, "Review"),
    ):  # fmt: skip
        assert "task" in await seat.call(tool, **named, status=word)
        assert (await world.stored(task.id)).status == word.lower().replace(" ", "_")


async def test_a_title_that_two_tasks_have_names_neither(world: TaskWorld) -> None:
    tasks = [await world.task("Paint the fence") for _ in range(2)]
    seat = await world.seat("chief")
    assert await seat.refused("task_history", taskId="Paint the fence") == "not_found"
    for tool, more in (("task_history", {}), ("task_status", {"status": "review"})):
        told = (await seat.call(tool, taskId="Paint the fence", **more))["error"]["message"]
        assert told == f"Several tasks have this title; give the id of one: {', '.join(task.id for task in tasks)}."


async def test_a_refusal_names_a_tool_as_the_model_knows_it(world: TaskWorld) -> None:
    told = await (await world.seat("writer")).call("board_search", surprise=1)
    assert told["error"]["message"].startswith("board_search: ")


async def test_a_priority_may_be_a_number_in_a_string(world: TaskWorld) -> None:
    task = await world.task()
    seat = await world.seat("chief")
    assert (await seat.call("task_update", taskId=task.id, priority="2"))["task"]["priority"] == 2
    assert (await seat.call("clawboard_update_task", id=task.id, priority="3"))["task"]["priority"] == 3
    assert await seat.refused("task_update", taskId=task.id, priority="9") == "invalid_params"


async def test_an_unknown_tool_is_answered_with_those_that_are_shown_nearest_first(world: TaskWorld) -> None:
    task = await world.task()
    told = await (await world.seat("writer", task.id)).call("task_sttus")
    assert told["error"]["code"] == "tool_not_allowed"
    named = told["error"]["message"].removeprefix("There is no tool 'task_sttus'; use one of: ").rstrip(".").split(", ")
    assert named[0] == "task_status"
    assert "task_load" not in named
    assert "task_assign" not in named, "only the orchestrator has it"
