"""The names of our tools at OpenClaw."""

import pytest

from carrel.gateway import read_stored_request
from carrel.wire import Wire
from tests.gateway.dialects import TOOL, step, user
from tests.gateway.openclaw.test_dialect import answered
from tests.scripted_gateway import calls, text
from tests.scripted_openclaw import ScriptedOpenClaw

pytestmark = pytest.mark.kinds("openclaw")


async def test_tools_are_sent_with_a_prefix_and_called_by_it(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    tools = [TOOL | {"name": "sessions_list"}, TOOL]
    gateway.script(calls(("carrel_sessions_list", {})))
    answer = await answered(
        gateway, wire, step([user("hello")], tools=tools, tool_choice={"type": "function", "name": "task_list"})
    )
    sent = gateway.requests[0].json
    assert [tool["name"] for tool in sent["tools"]] == ["carrel_sessions_list", "carrel_task_list"]
    assert (sent["tool_choice"]["name"], answer.calls[0].name) == ("carrel_task_list", "sessions_list")
    assert "carrel_" in sent["instructions"]
    shown = read_stored_request("openclaw", gateway.requests[0].body.decode())
    assert [tool["name"] for tool in shown.tools] == ["sessions_list", "task_list"]


async def test_tools_for_sessions_can_be_left_to_openclaw(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    gateway.script(text("ok"))
    tools = [TOOL | {"name": "sessions_list"}, TOOL]
    await answered(gateway, wire, step([user("hello")], tools=tools), session_tools="openclaw")
    assert [tool["name"] for tool in gateway.requests[0].json["tools"]] == ["carrel_task_list"]
