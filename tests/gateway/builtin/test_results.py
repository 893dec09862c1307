"""The built-in agent describes results of tools in plain words."""

import json
from typing import Any

import pytest

from tests.gateway.builtin.test_agent import ALL_TOOLS, ask, said, the_call


def with_results(*results: tuple[str, Any], line: str = "list tasks") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [said("user", line)]
    for number, (name, _) in enumerate(results):
        items.append({"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": "{}"})
    for number, (_, output) in enumerate(results):
        written = output if isinstance(output, str) else json.dumps(output)
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": written})
    return items


async def test_results_are_described_in_plain_words_and_no_further_tool_is_called() -> None:
    tasks = [{"id": f"task_{number}", "title": f"Paint {number}", "status": "inbox"} for number in range(7)]
    answer = await ask(with_results(("task_list", {"tasks": tasks, "total": 7})), ALL_TOOLS)
    assert answer.calls == ()
    assert "task_list returned:" in answer.text
    assert "tasks: 7" in answer.text
    assert "task_4 Paint 4 [inbox]" in answer.text
    assert "and 2 more" in answer.text
    assert "total: 7" in answer.text
    assert "{" not in answer.text


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            {"ok": False, "error": {"code": "not_found", "message": "There is no task here."}},
            "failed: There is no task here. (not_found)",
        ),
        ({"status": "error", "error": "it broke"}, "failed: it broke"),
        ({"task": {"id": "task_1", "title": "Tidy", "status": "inbox"}}, "task: task_1 Tidy [inbox]"),
        ({"tasks": []}, "tasks: none"),
        ({}, "tool succeeded."),
        ("just text", "tool returned: just text"),
        ("", "tool returned: nothing"),
        ([1, 2], "tool returned: [1, 2]"),
    ],
)
async def test_every_shape_of_result_is_described(output: Any, words: str) -> None:
    assert words in (await ask(with_results(("tool", output)))).text


async def test_results_of_an_earlier_turn_do_not_hide_the_next_request() -> None:
    items = [*with_results(("task_list", {"tasks": []})), said("assistant", "None."), said("user", "status")]
    assert await the_call(items) == ("session_status", {})
