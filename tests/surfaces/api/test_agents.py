"""Agents over the API: create, change, rename and retire them."""

from typing import Any

import httpx
import pytest

from carrel.delivery import Connection
from carrel.kernel.settings import GatewaySettings
from tests.harness.scripted_agent import ScriptedAgent
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait

FIELDS = {
    "recall",
    "id",
    "slug",
    "name",
    "aliases",
    "description",
    "enabled",
    "gateway",
    "model",
    "thinking",
    "concurrency",
    "behaviorFlags",
    "spaceIds",
    "tools",
    "subagents",
    "mcp",
    "sandbox",
    "runtime",
    "visibility",
    "instructionsExtra",
    "workspace",
    "heartbeatMinutes",
    "sessionKey",
    "status",
    "lastContextInjectedAt",
    "createdAt",
    "updatedAt",
}


async def patch(client: httpx.AsyncClient, agent_id: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.patch(f"/api/agents/{agent_id}", json=body)
    assert answer.status_code == 200, answer.text
    agent: dict[str, Any] = answer.json()["agent"]
    return agent


async def test_an_agent_has_every_field(client: httpx.AsyncClient) -> None:
    made = await client.post("/api/agents", json={"id": "writer"})
    assert made.status_code == 201
    agent = made.json()["agent"]
    assert set(agent) == FIELDS
    assert (agent["name"], agent["slug"], agent["sessionKey"]) == ("writer", "writer", "agent:writer:main")
    assert (agent["status"], agent["spaceIds"], agent["heartbeatMinutes"]) == ("idle", ["*"], 0)
    assert agent["tools"] == {"allow": ["*"], "deny": [], "ask": []}
    assert (await client.get("/api/agents/writer")).json()["agent"] == agent
    assert [one["id"] for one in (await client.get("/api/agents")).json()["agents"]] == ["main", "writer"]


async def test_any_writable_field_may_be_given_at_once(client: httpx.AsyncClient) -> None:
    body = {"id": "a1", "slug": "ann", "name": "Ann", "enabled": False, "tools": {"deny": ["x"]}, "thinking": "low"}
    agent = (await client.post("/api/agents", json=body)).json()["agent"]
    assert (agent["slug"], agent["aliases"], agent["status"]) == ("ann", ["a1"], "disabled")
    assert agent["tools"] == {"allow": ["*"], "deny": ["x"], "ask": []}
    assert agent["thinking"] == "low"


async def test_objects_are_merged_key_by_key(client: httpx.AsyncClient) -> None:
    await patch(client, "main", {"tools": {"deny": ["a"]}, "behaviorFlags": {"canMarkDone": True}, "model": "m1"})
    agent = await patch(client, "main", {"tools": {"ask": ["b"]}, "behaviorFlags": {"canCreateTasks": False}})
    assert agent["tools"] == {"allow": ["*"], "deny": ["a"], "ask": ["b"]}
    assert (agent["behaviorFlags"]["canMarkDone"], agent["behaviorFlags"]["canCreateTasks"]) == (True, False)
    assert agent["model"] == "m1"
    cleared = await patch(client, "main", {"behaviorFlags": {"canMarkDone": None}, "visibility": "self"})
    assert cleared["behaviorFlags"]["canMarkDone"] is None
    assert (await patch(client, "main", {"visibility": None}))["visibility"] is None


async def test_a_former_slug_stays_an_alias(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    agent = await patch(client, "writer", {"slug": "author"})
    assert (agent["id"], agent["slug"], agent["aliases"]) == ("writer", "author", ["writer"])
    assert (await client.get("/api/agents/author")).json()["agent"]["id"] == "writer"
    assert (await client.get("/api/agents/writer")).json()["agent"]["id"] == "writer"
    taken = await client.post("/api/agents", json={"id": "author"})
    assert (taken.status_code, taken.json()["error"]["field"]) == (409, "id")
    clash = await client.patch("/api/agents/main", json={"slug": "author"})
    assert (clash.status_code, clash.json()["error"]["field"]) == (409, "slug")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"id": "Not An Id"}, "id"),
        ({"id": "x", "gateway": "unknown"}, "gateway"),
        ({"id": "x", "sessionKey": "agent:x:main"}, "sessionKey"),
        ({"id": "x", "tools": {"allowed": []}}, "tools.allowed"),
        ({"id": "x", "heartbeatMinutes": -1}, "heartbeatMinutes"),
        ({"id": "x", "slug": "A"}, "slug"),
        ({"name": "x"}, "id"),
    ],
)
async def test_a_wrong_agent_is_refused_by_its_field(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await client.post("/api/agents", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert len((await client.get("/api/agents")).json()["agents"]) == 1


async def test_an_agent_names_a_gateway_that_there_is(client: httpx.AsyncClient) -> None:
    for name in ("spare", "builtin", ""):
        assert (await patch(client, "main", {"gateway": name}))["gateway"] == name
    refused = await client.patch("/api/agents/main", json={"gateway": "far"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"].count("builtin") == 1
    assert (await client.patch("/api/agents/main", json={"id": "new"})).json()["error"]["field"] == "id"
    assert (await client.patch("/api/agents/nobody", json={})).status_code == 404


@requirement("P.acp.accounts")
async def test_a_coding_agent_that_is_open_to_another_account_is_neither_given_nor_named(surface_url: str) -> None:
    theirs = Connection(ScriptedAgent(), GatewaySettings(kind="acp", command="coder", accounts=("elsewhere",)))
    troubles = {"builtin": "There is no command coder.", "spare": None}
    async with (
        open_http_server(surface_url, answering=theirs, works=False, gateway_troubles=troubles) as server,
        server.client() as owner,
    ):
        refused = await owner.patch("/api/agents/main", json={"gateway": "builtin"})
        assert refused.json()["error"]["message"] == "There is no gateway 'builtin'. Known: spare."
        assert (await patch(owner, "main", {"gateway": "spare"}))["gateway"] == "spare"
        assert [one["name"] for one in (await owner.get("/api/health")).json()["gateways"]] == ["spare"]


async def test_an_agent_is_busy_while_a_run_of_it_is_worked_on(server: HttpServer, client: httpx.AsyncClient) -> None:
    run = (await client.post("/api/runs", json={"message": "hold busy"})).json()["runId"]
    await server.agent.reached("busy")
    assert (await client.get("/api/agents/main")).json()["agent"]["status"] == "busy"
    server.agent.release("busy")
    await client.get(f"/api/runs/{run}/wait")
    assert (await client.get("/api/agents")).json()["agents"][0]["status"] == "idle"


async def test_an_agent_s_token_sees_that_agent_alone(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    async with server.client(await server.token(client, kind="agent", agentId="writer")) as agent:
        assert [one["id"] for one in (await agent.get("/api/agents")).json()["agents"]] == ["writer"]
        assert (await agent.get("/api/agents/main")).status_code == 404
        assert (await agent.patch("/api/agents/writer", json={})).status_code == 403
        assert (await agent.delete("/api/agents/writer")).status_code == 403


async def test_a_retired_agent_hears_nothing_more(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as client:
        await client.post("/api/agents", json={"id": "writer"})
        sent = {"agentId": "writer", "message": "hold retired"}
        first = (await client.post("/api/runs", json=sent)).json()["runId"]
        await server.agent.reached("retired")
        queued = (await client.post("/api/runs", json=sent | {"message": "next"})).json()["runId"]
        kept = (await client.post("/api/runs", json={"message": "to main"})).json()["runId"]
        agent = (await client.delete("/api/agents/writer")).json()["agent"]
        assert (agent["enabled"], agent["status"]) == (False, "disabled")
        for run_id in (first, queued):
            await client.get(f"/api/runs/{run_id}/wait")
            run = (await client.get(f"/api/runs/{run_id}")).json()["run"]
            assert (run["state"], run["reason"]) == ("cancelled", "agent_disabled")
        session = (await client.get("/api/sessions/agent:writer:main")).json()["session"]
        assert (session["state"], session["closedReason"]) == ("closed", "agent_disabled")
        refused = await client.post("/api/runs", json=sent)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
        assert (await client.get(f"/api/runs/{kept}/wait")).json()["status"] == "ok"
        assert (await client.delete("/api/agents/writer")).status_code == 200
        assert (await patch(client, "writer", {"enabled": True}))["status"] == "idle"
        again = (await client.post("/api/runs", json=sent | {"message": "again"})).json()["runId"]
        assert (await client.get(f"/api/runs/{again}/wait")).json()["reply"] == "echo: again"


@pytest.mark.parametrize("profile", ["chat", "task", "subagent", "heartbeat"])
async def test_the_prompt_of_each_kind_of_run_is_previewed(client: httpx.AsyncClient, profile: str) -> None:
    await client.patch("/api/agents/main", json={"instructionsExtra": "Write short sentences."})
    shown = (await client.get("/api/agents/main/prompt", params={"profile": profile})).json()
    assert (shown["agentId"], shown["profile"]) == ("main", profile)
    assert "Write short sentences." in shown["instructions"]
    assert ("[title of the task]" in shown["instructions"]) is (profile == "task")
    assert {"name", "description", "parameters"} == set(shown["tools"][0])


async def test_the_preview_of_a_chat_is_what_a_chat_is_sent(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey="agent:main:web:preview-chat")
    sent = server.agent.bodies[-1]
    shown = (await client.get("/api/agents/main/prompt")).json()
    assert shown["instructions"] == sent["instructions"]
    assert [tool["name"] for tool in shown["tools"]] == [tool["name"] for tool in sent["tools"]]
    assert (await client.get("/api/agents/nobody/prompt")).status_code == 404
