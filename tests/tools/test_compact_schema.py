"""What a model is shown of the tools: short schemas, made of the definitions that check the arguments."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from carrel.agents import BehaviorFlags
from carrel.tools import CATALOG, Tool
from carrel.work import Actor
from tests.requirements.mark import requirement

WRITER = Actor(
    kind="agent",
    id="writer",
    party_id="writer",
    name="Writer",
    flags=BehaviorFlags(can_modify_task_status=True, can_mention_agents=True),
)
FINISHER = msgspec.structs.replace(WRITER, flags=BehaviorFlags(can_modify_task_status=True, can_mark_done=True))
CHIEF = msgspec.structs.replace(WRITER, is_orchestrator=True)
# What only a validator needs.
UNNEEDED = {"$ref", "$defs", "anyOf", "additionalProperties", "default", "maxLength", "minLength", "maximum", "title"}


def parameters(name: str, actor: Actor = WRITER) -> dict[str, Any]:
    """The properties that the model of an agent is shown of a tool."""
    properties: dict[str, Any] = shown_parameters(CATALOG.find(name), actor)["properties"]
    return properties


def shown_parameters(tool: Tool, actor: Actor) -> dict[str, Any]:
    """The schema that the model of an agent is shown of a tool's parameters."""
    schema: dict[str, Any] = msgspec.json.decode(tool.function(actor))["parameters"]
    return schema


def schemas_in(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema and those of everything in it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    for one in inner:
        yield from schemas_in(one)


@pytest.mark.parametrize("tool", CATALOG.offered(), ids=lambda tool: tool.name)
def test_a_model_is_shown_no_more_than_it_needs_to_write_a_call(tool: Tool) -> None:
    full, shown = tool.schema(), shown_parameters(tool, CHIEF)
    assert not [one for one in schemas_in(shown) if UNNEEDED & one.keys() or one.get("type") == "null"]
    assert shown["properties"].keys() <= full["properties"].keys()
    assert shown.get("required", []) == full["required"]
    assert len(msgspec.json.encode(shown)) <= 1_000


@pytest.mark.parametrize("tool", CATALOG.offered(), ids=lambda tool: tool.name)
def test_every_parameter_that_a_model_is_shown_is_described(tool: Tool) -> None:
    holders = [one["properties"] for one in schemas_in(shown_parameters(tool, CHIEF)) if "properties" in one]
    assert not [name for properties in holders for name, one in properties.items() if not one.get("description")]


def test_only_the_values_that_an_agent_may_use_are_shown() -> None:
    assert parameters("task_status")["status"]["enum"] == ["in_progress", "review", "blocked"]
    assert "done" in parameters("task_status", FINISHER)["status"]["enum"]
    assert parameters("task_create")["status"]["enum"] == ["inbox", "assigned", "in_progress", "blocked"]
    assert "assigneeSlugs" not in parameters("task_create"), "only the orchestrator assigns"
    assert "assigneeSlugs" in parameters("task_create", CHIEF)


def test_on_a_task_the_status_is_set_by_one_tool() -> None:
    assert "status" in parameters("task_update")
    assert "status" not in parameters("task_update", msgspec.structs.replace(WRITER, task_id="task_1"))


@requirement("P.tool.once")
def test_what_a_model_is_not_shown_is_accepted_all_the_same() -> None:
    assert "labels" not in parameters("task_update")
    given = CATALOG.find("task_update").read_params('{"taskId": "task_1", "labels": ["urgent"], "status": null}')
    assert list(msgspec.to_builtins(given)["labels"]) == ["urgent"]
