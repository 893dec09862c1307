"""A tool is the same as a model's function, over HTTP and over MCP, and allowed or refused alike."""

import json
from typing import Any

import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest

from carrel.tools import CATALOG
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait, start
from tests.surfaces.mcp.client import Json, call, result_of, text_of

LANE = "agent:main:task:caller"
OTHER = "agent:main:task:other"
ENDS_OR_FEEDS = {"request_input", "decline", "artifact_add"}
HERE = {"x-openclaw-session-key": LANE}


async def by_model(server: HttpServer, owner: httpx.AsyncClient, tool: str, arguments: Json) -> tuple[str, Any]:
    """What a model's call gives: (code, "") of a refusal, ("", result) else."""
    said = await send_and_wait(owner, f"do {json.dumps([[tool, arguments]])}", sessionKey=LANE)
    assert said["state"] == "completed", said
    items = [item for body in server.agent.bodies for item in body["input"]]
    told = json.loads([item["output"] for item in items if item.get("type") == "function_call_output"][-1])
    return (told["error"]["code"], "") if told.get("ok") is False else ("", told)


async def by_http(agent: httpx.AsyncClient, tool: str, arguments: Json) -> tuple[str, Any]:
    """The same over HTTP."""
    answer = await agent.post(f"/agent/{tool}", json=arguments, headers=HERE)
    told = answer.json()
    return ("", told) if answer.status_code == 200 else (told["error"]["code"], "")


async def by_mcp(agent: httpx.AsyncClient, tool: str, arguments: Json) -> tuple[str, Any]:
    """The same over MCP."""
    result = await call(agent, tool, arguments, headers=HERE)
    told = text_of(result)
    return (told["error"]["code"], "") if result["isError"] else ("", told)


@requirement("S0.x.parity", "P.tool.once")
async def test_every_tool_has_one_definition_at_every_door(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=LANE)
    offered = {tool["name"]: tool for tool in server.agent.bodies[-1]["tools"]}
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        http = {tool["name"]: tool for tool in (await agent.get("/agent", headers=HERE)).json()["tools"]}
        mcp = {tool["name"]: tool for tool in (await result_of(agent, "tools/list", headers=HERE))["tools"]}
    # What tasks an agent may create or oversee is a matter of its rights, and plans are written in plan mode.
    usual = {tool.name for tool in CATALOG.offered() if tool.right in (None, "change", "request")}
    assert set(http) == set(mcp) == usual - {"plan_set_content"} - ENDS_OR_FEEDS
    shown = {CATALOG.find(name).name for name in offered}
    assert shown < set(http) | ENDS_OR_FEEDS, "a model is shown what its run needs, one tool for each purpose"
    for name in http:
        tool = CATALOG.find(name)
        schema = json.loads(json.dumps(tool.schema()))
        assert http[name]["parameters"] == mcp[name]["inputSchema"] == schema
        assert http[name]["description"] == mcp[name]["description"] == tool.description
        assert http[name]["effect"] == tool.effect
        assert mcp[name]["annotations"]["readOnlyHint"] is (tool.effect == "read")
    for name, function in offered.items():
        tool = CATALOG.find(name)
        assert function["description"] == tool.description
        assert function["parameters"]["properties"].keys() <= tool.schema()["properties"].keys()


@requirement("S0.x.parity", "P.tool.once")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("agents_list", {}),
        ("sessions_list", {}),
        ("sessions_history", {"sessionKey": "current", "limit": 1}),
        ("sessions_history", {"sessionKey": OTHER}),
        ("sessions_history", {"sessionKey": "agent:main:task:nothing"}),
        ("sessions_history", {}),
        ("sessions_history", {"sessionKey": "current", "surprise": True}),
        ("session_status", {"sessionKey": OTHER}),
        ("request_input", {"question": 7}),
        ("clawboard_search", {"q": "lantern"}),
        ("board_search", {"q": "lantern"}),
        ("clawboard_search", {}),
        ("clawboard_context", {"q": "lantern", "sessionKey": "current"}),
        ("clawboard_get_topic", {"id": "launch"}),
        ("clawboard_get_task", {"id": "missing"}),
        ("clawboard_get_log", {"id": 7}),
        ("clawboard_create_note", {"relatedLogId": "missing", "text": "x"}),
        ("clawboard_update_task", {"id": "caller", "priority": 1}),
        ("clawboard_update_task", {"id": "caller"}),
        ("memory_add", {"content": "Lanterns are green.", "type": "fact"}),
        ("memory_add", {"content": "x", "type": "rumour"}),
        ("memory_search", {"query": "lantern"}),
        ("memory_read", {"id": "mem_missing"}),
        ("memory_forget", {"id": "mem_missing"}),
        ("goal_create", {"name": "Light the pier"}),
        ("goal_create", {}),
        ("plan_set_content", {"markdown": "- [ ] paint"}),
    ],
)
async def test_a_call_is_granted_or_refused_at_every_door_alike(
    server: HttpServer, client: httpx.AsyncClient, tool: str, arguments: Json
) -> None:
    await send_and_wait(client, "hello", sessionKey=OTHER)
    assert (await client.post("/api/topics", json={"id": "launch", "name": "Launch"})).status_code == 201
    model = await by_model(server, client, tool, arguments)
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        http = await by_http(agent, tool, arguments)
        mcp = await by_mcp(agent, tool, arguments)
    if tool in ENDS_OR_FEEDS:
        assert http[0] == mcp[0] == "tool_not_allowed"
        return
    assert model[0] == http[0] == mcp[0]
    if tool.startswith(("session", "agents")):
        assert http == mcp
    if not model[0]:
        assert set(model[1]) == set(http[1]) == set(mcp[1])


@requirement("S0.x.parity")
async def test_what_an_agent_is_denied_is_denied_at_every_door(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.patch("/api/agents/main", json={"tools": {"allow": ["*"], "deny": ["agents_*"], "ask": []}})
    assert (await by_model(server, client, "agents_list", {}))[0] == "tool_not_allowed"
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        assert (await by_http(agent, "agents_list", {}))[0] == "tool_not_allowed"
        assert (await by_mcp(agent, "agents_list", {}))[0] == "tool_not_allowed"


@requirement("S0.x.parity")
async def test_a_send_reaches_another_session_from_every_door(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.patch("/api/agents/main", json={"visibility": "agent"})
    await send_and_wait(client, "hello", sessionKey=OTHER)
    said = {"sessionKey": OTHER, "message": "ping", "timeoutSeconds": 15}
    granted = [await by_model(server, client, "sessions_send", said)]
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        granted += [await by_http(agent, "sessions_send", said), await by_mcp(agent, "sessions_send", said)]
    assert [(code, told["status"], told["sessionKey"]) for code, told in granted] == [("", "ok", OTHER)] * 3
    assert len({told["runId"] for _, told in granted}) == 3
    assert all(told["reply"] for _, told in granted)


async def test_a_wait_that_is_over_says_so_and_an_outcome_that_is_no_error_is_200(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await send_and_wait(client, "hello", sessionKey=LANE)
    await start(client, "hold there", sessionKey=OTHER)
    await server.agent.reached("there")
    said = {"sessionKey": OTHER, "message": "ping", "timeoutSeconds": 1}
    for door in (by_http, by_mcp):
        code, told = await door(client, "sessions_send", said)
        assert (code, told["status"]) == ("", "timeout")
    itself = await by_http(client, "sessions_send", {**said, "sessionKey": LANE, "timeoutSeconds": 0})
    assert itself[1].get("code") == "self_send" or itself[0], itself
    server.agent.release("there")


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("sessions_send", {"sessionKey": OTHER, "message": "ping", "timeoutSeconds": 15}, "ok"),
        ("sessions_send", {"sessionKey": OTHER, "message": "ping", "timeoutSeconds": 0}, "accepted"),
        ("sessions_send", {"sessionKey": LANE, "message": "ping"}, "forbidden"),
        ("sessions_spawn", {"task": "look", "attachments": [{"name": "a.txt", "content": "hello"}]}, "accepted"),
        ("sessions_spawn", {"task": "look", "agentId": "nobody"}, "forbidden"),
    ],
)
async def test_what_a_write_gives_fits_its_schema_whatever_came_of_it(
    server: HttpServer, client: httpx.AsyncClient, tool: str, arguments: Json, status: str
) -> None:
    for lane in (LANE, OTHER):
        await send_and_wait(client, "hello", sessionKey=lane)
    schema = {one["name"]: one["outputSchema"] for one in (await result_of(client, "tools/list"))["tools"]}[tool]
    for door in (by_http, by_mcp):
        code, told = await door(client, tool, arguments)
        assert (code, told["status"]) == ("", status), told
        jsonschema.Draft202012Validator(schema).validate(told)


def test_every_tool_that_is_offered_outside_of_a_turn_tells_the_shape_of_its_result() -> None:
    silent = {tool.name for tool in CATALOG.offered() if tool.result_schema() is None}
    assert silent <= {"request_input", "decline"}
