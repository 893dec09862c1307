"""Which agent and session a request is for, and who may use it."""

import re
from typing import Any

import httpx
import pytest

from carrel.kernel import caller_hash
from carrel.kernel.settings import SendMatch, SendPolicySettings, SendRule, SessionsSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.responses.client import Json, post, refused, respond

SESSION = "x-openclaw-session-key"
AGENT = "x-openclaw-agent-id"


def key_of(response: Json) -> str:
    return str(response["metadata"]["sessionKey"])


@pytest.fixture
async def scribe(client: httpx.AsyncClient) -> str:
    (await client.post("/api/agents", json={"id": "scribe"})).raise_for_status()
    return "scribe"


@pytest.mark.parametrize(
    ("model", "agent"),
    [
        ("carrel", "main"),
        ("openclaw", "main"),
        ("carrel/scribe", "scribe"),
        ("openclaw/scribe", "scribe"),
        ("openclaw:scribe", "scribe"),
        ("agent:scribe", "scribe"),
    ],
)
async def test_the_model_names_the_agent(client: httpx.AsyncClient, scribe: str, model: str, agent: str) -> None:
    response = await respond(client, "hello", model=model)
    assert key_of(response).startswith(f"agent:{agent}:openresponses:")
    assert response["model"] == model


async def test_the_header_beats_the_model(client: httpx.AsyncClient, scribe: str) -> None:
    response = await respond(client, "hello", {AGENT: scribe}, model="gpt-5")
    assert key_of(response).startswith("agent:scribe:")
    assert (await respond(client, "hello", {AGENT: scribe}, model=None))["model"] == "carrel/scribe"


async def test_an_unknown_model_or_an_agent_out_of_reach_is_refused(
    client: httpx.AsyncClient, alice: httpx.AsyncClient, scribe: str
) -> None:
    for model in ("gpt-5", "", "carrel/nobody", "agent:", None):
        assert refused(await post(client, "x", model=model)) == (400, "unknown_model", "model"), model
    assert refused(await post(client, "x", {AGENT: "nobody"})) == (400, "unknown_model", AGENT)
    assert refused(await post(alice, "x", model="carrel/scribe")) == (400, "unknown_model", "model")


async def test_without_a_name_every_request_has_a_session_of_its_own(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    one, other = await respond(client, "one"), await respond(client, "two")
    assert key_of(one) != key_of(other)
    assert re.fullmatch(r"agent:main:openresponses:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", key_of(one))
    assert len(server.agent.talk()) == 1


async def test_a_user_has_one_session_with_each_caller(
    server: HttpServer, client: httpx.AsyncClient, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    first = await respond(alice, "one", user="ann")
    again = await respond(alice, "two", user="ann")
    other = await respond(bob, "three", user="ann")
    assert key_of(first) == key_of(again) != key_of(other)
    assert re.fullmatch(r"agent:main:openresponses-user:[0-9a-f]{12}:ann", key_of(first))
    assert len(server.agent.talk(-2)) == 3
    spaced = await respond(alice, "four", user="Ann Example")
    assert re.fullmatch(r"agent:main:openresponses-user:[0-9a-f]{12}:[0-9a-f]{32}", key_of(spaced))


async def test_the_session_header_names_a_session(client: httpx.AsyncClient) -> None:
    key = "agent:main:web:some_conversation"
    assert key_of(await respond(client, "hello", {SESSION: key}, user="ignored")) == key
    assert key_of(await respond(client, "hello", {SESSION: "main"})) == "agent:main:main"


@requirement("S2.x.responses.continue")
async def test_a_response_is_gone_on_from_in_its_session(server: HttpServer, client: httpx.AsyncClient) -> None:
    first = await respond(client, "one")
    second = await respond(client, "two", previous_response_id=first["id"])
    assert key_of(second) == key_of(first)
    assert second["previous_response_id"] == first["id"]
    said = [item["content"][-1]["text"] for item in server.agent.talk()]
    assert said == ["one", "echo: one", "two"]
    same = await respond(client, "three", {SESSION: key_of(first)}, previous_response_id=second["id"])
    assert key_of(same) == key_of(first)


@requirement("S2.x.responses.continue")
async def test_a_response_that_is_unknown_or_anothers_cannot_be_gone_on_from(
    client: httpx.AsyncClient, alice: httpx.AsyncClient, bob: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    missing = (404, "previous_response_not_found", "previous_response_id")
    assert refused(await post(client, "x", previous_response_id="resp_nothing")) == missing
    of_alice = (await respond(alice, "mine"))["id"]
    for other in (bob, client, other_client):
        assert refused(await post(other, "x", previous_response_id=of_alice)) == missing
        assert refused(await other.get(f"/v1/responses/{of_alice}"))[:2] == (404, "not_found")
        assert refused(await other.post(f"/v1/responses/{of_alice}/cancel"))[:2] == (404, "not_found")


async def test_another_session_or_agent_than_the_responses_own_is_a_conflict(
    client: httpx.AsyncClient, scribe: str
) -> None:
    first = await respond(client, "one")
    answer = await post(client, "x", {SESSION: "agent:main:main"}, previous_response_id=first["id"])
    assert refused(answer) == (409, "conflict", SESSION)
    answer = await post(client, "x", model="carrel/scribe", previous_response_id=first["id"])
    assert refused(answer) == (409, "conflict", "model")


@pytest.mark.parametrize("rest", ["subagent:x", "cron:x", "hook:x"])
async def test_reserved_sessions_are_refused(client: httpx.AsyncClient, rest: str) -> None:
    answer = await post(client, "x", {SESSION: f"agent:main:{rest}"})
    assert refused(answer) == (400, "reserved_session_key", SESSION)


async def test_a_program_enters_sessions_of_its_own_alone(
    server: HttpServer, client: httpx.AsyncClient, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    unknown = (401, "unknown_session", SESSION)
    own = key_of(await respond(alice, "hello"))
    assert key_of(await respond(alice, "again", {SESSION: own})) == own
    assert refused(await post(bob, "x", {SESSION: own})) == unknown
    of_alice = key_of(await respond(alice, "hello", user="ann"))
    for key in ("main", "agent:main:web:some_conversation", "agent:main:task:t1", of_alice, f"{of_alice}x"):
        assert refused(await post(bob, "x", {SESSION: key})) == unknown, key
    mine = f"agent:main:openresponses-user:{caller_hash((await server.access_of(bob_token(bob))).actor_id)}:new"
    assert key_of(await respond(bob, "hello", {SESSION: mine})) == mine


def bob_token(caller: httpx.AsyncClient) -> str:
    return caller.headers["authorization"].removeprefix("Bearer ")


async def test_a_session_of_another_account_or_agent_is_unknown(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient, scribe: str
) -> None:
    unknown = (401, "unknown_session", SESSION)
    key = key_of(await respond(client, "hello"))
    session = (await client.get(f"/api/sessions/{key}")).json()["session"]["sessionId"]
    assert refused(await post(other_client, "x", {SESSION: session})) == unknown
    assert refused(await post(client, "x", {SESSION: key, AGENT: scribe})) == unknown
    assert key_of(await respond(client, "x", {SESSION: "main", AGENT: scribe})) == "agent:scribe:main"


async def test_a_closed_generation_is_refused(client: httpx.AsyncClient) -> None:
    key = key_of(await respond(client, "hello"))
    (await client.post(f"/api/sessions/{key}/reset")).raise_for_status()
    assert refused(await post(client, "x", {SESSION: f"{key}:v1"})) == (403, "session_closed", SESSION)
    assert key_of(await respond(client, "x", {SESSION: key})) == key


@requirement("S2.policy.enforced")
@pytest.mark.parametrize("kind", ["client", "user"])
async def test_only_an_owner_names_the_channel_of_a_message(sqlite_url: str, kind: str) -> None:
    rule = SendRule(match=SendMatch(channel="api"), action="deny")
    settings = Settings(sessions=SessionsSettings(send_policy=SendPolicySettings(rules=(rule,))))
    async with open_http_server(sqlite_url, settings=settings) as server, server.client() as owner:
        user = (await owner.post("/api/users", json={"name": "Ada"})).json()["user"]["id"]
        whose: dict[str, Any] = {"userId": user} if kind == "user" else {"agentIds": ["main"]}
        async with server.client(await server.token(owner, kind=kind, **whose)) as caller:
            denied = await post(caller, "x", {"x-openclaw-message-channel": "phone"})
            assert refused(denied)[:2] == (403, "send_denied")
        assert (await post(owner, "x", {"x-openclaw-message-channel": "phone"})).status_code == 200
        assert [row["lastChannel"] for row in (await owner.get("/api/sessions")).json()["sessions"]] == ["phone"]


async def test_channel_and_model_behind_the_agent_come_by_headers(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    headers = {"x-openclaw-model": "big-one", "x-openclaw-message-channel": "phone"}
    response = await respond(client, "hello", headers)
    assert server.agent.bodies[-1]["model"] == "big-one"
    row = (await client.get(f"/api/sessions/{key_of(response)}")).json()["session"]
    assert row["lastChannel"] == "phone"
    assert refused(await post(client, "x", {"x-openclaw-message-channel": "No Channel"}))[0] == 400
