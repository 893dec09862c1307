"""The rules for an agent's tools hold at every door, by the tool and not by the name that was used."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from carrel.surfaces.api.endpoint import Endpoint
from carrel.surfaces.api.endpoints import ENDPOINTS
from carrel.tools import CATALOG
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.mcp import client as mcp

REFUSED = (403, "tool_not_allowed")
UPDATE = ("task_update", "clawboard_update_task", "board_update_task", "board-update-task")
READ = ("task_history", "task_load", "clawboard_get_task", "board_get_task")
# What agents may change although no tool does the same: how far a thread was read.
WITHOUT_A_TOOL = {"POST /api/tasks/{id}/seen"}


def of_agents() -> list[Endpoint]:
    """The endpoints that agents may call."""
    return [one for one in ENDPOINTS if "agent" in one.who]


def rule_of(name: str) -> list[str]:
    """The rule that names a tool, as one would write it in a profile."""
    return [name.replace("-", "_")]


def outcome(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]


@pytest.fixture
async def agent(server: HttpServer, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the token of agent `main`, which has worked on its task `t1`."""
    body = {"id": "t1", "title": "Paint the door", "assignedAgentIds": ["main"]}
    (await client.post("/api/tasks", json=body)).raise_for_status()
    [run] = (await client.get("/api/runs", params={"taskId": "t1"})).json()["runs"]
    await client.get(f"/api/runs/{run['id']}/wait")
    async with server.client(await server.token(client, kind="agent", agentId="main")) as opened:
        yield opened


async def set_rules(client: httpx.AsyncClient, **rules: list[str]) -> None:
    """Give agent `main` these rules and no others."""
    tools = {"allow": ["*"], "deny": [], "ask": []} | rules
    (await client.patch("/api/agents/main", json={"tools": tools})).raise_for_status()


async def of_task(client: httpx.AsyncClient) -> tuple[str, list[str]]:
    """The status and the agents of the task `t1`."""
    task = (await client.get("/api/tasks/t1")).json()["task"]
    return task["status"], task["assignedAgentIds"]


def test_every_change_that_agents_may_make_names_the_tool_that_does_the_same() -> None:
    assert {one.tool for one in ENDPOINTS} <= {"", *(tool.name for tool in CATALOG.offered())}
    changes = [one for one in of_agents() if one.method != "GET"]
    assert {f"{one.method} {one.path}" for one in changes if not one.tool} == WITHOUT_A_TOOL


@pytest.mark.parametrize("rule", ["deny", "ask"])
async def test_what_a_rule_forbids_a_tool_is_refused_on_the_api_as_well(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, rule: str
) -> None:
    for endpoint in of_agents():
        if not endpoint.tool:
            continue
        await set_rules(client, **{rule: [endpoint.tool]})
        path = endpoint.path.replace("{id}", "t1").replace("{key}", "main")
        answer = await agent.request(endpoint.method, path)
        assert outcome(answer) == REFUSED, endpoint.path
        assert endpoint.tool in answer.json()["error"]["message"]
    assert (await client.get("/api/tasks/t1")).status_code == 200, "people are not affected"


async def test_a_list_of_allowed_tools_holds_on_the_api_as_well(
    client: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    await set_rules(client, allow=["task_*"])
    assert outcome(await agent.get("/api/search", params={"q": "door"})) == REFUSED
    assert (await agent.get("/api/tasks/t1")).status_code == 200


@requirement("P.tool.ask")
@pytest.mark.parametrize("rule", ["deny", "ask"])
@pytest.mark.parametrize(("names", "named"), [(names, named) for names in (UPDATE, READ) for named in names])
async def test_a_rule_for_one_name_of_a_tool_holds_for_all_its_names_at_every_door(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, rule: str, names: tuple[str, ...], named: str
) -> None:
    await set_rules(client, **{rule: rule_of(named)})
    for name in names:
        given = {"taskId" if name.startswith("task") else "id": "t1"}
        assert outcome(await agent.post(f"/agent/{name}", json=given)) == REFUSED, name
        if "-" not in name:
            answer = await mcp.call(agent, name, given)
            assert answer["isError"], name
            assert "tool_not_allowed" in answer["content"][0]["text"]
    path = "/api/tasks/t1" if names is UPDATE else "/api/tasks/t1/history"
    assert outcome(await agent.request("PATCH" if names is UPDATE else "GET", path, json={})) == REFUSED


@requirement("P.tool.ask")
@pytest.mark.parametrize("rule", ["deny", "ask"])
@pytest.mark.parametrize(
    ("tool", "method", "path", "body"),
    [
        ("task_status", "POST", "/agent/task_update", {"taskId": "t1", "status": "in_progress"}),
        ("task_status", "POST", "/agent/board_update_task", {"id": "t1", "status": "doing"}),
        ("task_status", "PATCH", "/api/tasks/t1", {"status": "in_progress"}),
        ("task_assign", "POST", "/agent/task_update", {"taskId": "t1", "assignedAgentIds": []}),
        ("task_assign", "PATCH", "/api/tasks/t1", {"assignedAgentIds": []}),
        ("task_assign", "POST", "/agent/task_create", {"title": "new", "assigneeSlugs": ["main"]}),
        ("task_assign", "POST", "/api/tasks", {"title": "new", "assignedAgentIds": ["main"]}),
    ],
)
async def test_what_a_rule_forbids_a_tool_is_not_done_as_a_part_of_another_call(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, rule: str, tool: str, method: str, path: str, body: Any
) -> None:
    before = await of_task(client)
    await set_rules(client, **{rule: [tool]})
    assert outcome(await agent.request(method, path, json=body)) == REFUSED
    assert await of_task(client) == before
