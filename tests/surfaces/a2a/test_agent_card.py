"""Agent cards: valid in both versions, cacheable, and returned only to callers who may see them."""

import httpx
from a2a.compat.v0_3.types import AgentCard as OldCard
from a2a.types import AgentCard
from google.protobuf.json_format import ParseDict

from carrel.kernel.settings import A2aSettings, ServerSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import COMPLETED, NEW, OLD, ask, message, state

PATHS = (
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/a2a/main/.well-known/agent-card.json",
    "/a2a/main/.well-known/agent.json",
)


@requirement("S1.wire.card")
async def test_every_card_is_valid_names_its_interfaces_and_is_cacheable(
    server: HttpServer, nobody: httpx.AsyncClient
) -> None:
    bodies = []
    for path in PATHS:
        answer = await nobody.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.headers["cache-control"] == "max-age=60"
        assert answer.headers["last-modified"].endswith("GMT")
        again = await nobody.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        changed = await nobody.get(path, headers={"If-None-Match": '"another"'})
        assert changed.status_code == 200
        bodies.append(answer.json())
    assert bodies == [bodies[0]] * len(PATHS)
    card = ParseDict(bodies[0], AgentCard())
    assert (card.name, bool(card.description), bool(card.version), len(card.skills) > 0) == ("Main", True, True, True)
    ways = [(one.protocol_binding, one.protocol_version, one.url) for one in card.supported_interfaces]
    base = f"{server.url}/a2a/main"
    assert ways == [(name, version, base) for version in ("1.0", "0.3") for name in ("JSONRPC", "HTTP+JSON")]
    capabilities = card.capabilities
    assert (capabilities.streaming, capabilities.push_notifications, capabilities.extended_agent_card) == (
        True,
        True,
        True,
    )
    assert card.security_schemes["bearer"].http_auth_security_scheme.scheme == "bearer"
    assert "bearer" in card.security_requirements[0].schemes


@requirement("S1.wire.card", "S1.wire.versions")
async def test_the_0_3_card_is_valid_in_0_3(nobody: httpx.AsyncClient) -> None:
    path = "/.well-known/agent-card.json"
    for answer in (await nobody.get(path, headers=OLD), await nobody.get(path, params=OLD)):
        card = OldCard.model_validate(answer.json())
        assert (card.preferred_transport, (card.protocol_version or "").startswith("0.3")) == ("JSONRPC", True)
        assert card.capabilities.streaming
        assert "A2A-Version" in answer.headers["vary"]
    assert (await nobody.get("/.well-known/agent-card.json", headers={"A2A-Version": "7"})).status_code == 400


@requirement("S1.wire.card")
async def test_the_http_interface_on_a_card_works_and_so_does_the_extended_card(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    card = (await client.get("/.well-known/agent-card.json")).json()
    for one in card["supportedInterfaces"]:
        if one["protocolVersion"] == "1.0" and one["protocolBinding"] == "HTTP+JSON":
            sent = await client.post(f"{one['url']}/message:send", json={"message": message("hello")}, headers=NEW)
            assert state(sent.json()["task"]) == COMPLETED
    extended = await ask(client, "GetExtendedAgentCard")
    ParseDict(extended, AgentCard())
    assert len(extended["skills"]) > len(card["skills"])
    rest = await client.get("/a2a/main/extendedAgentCard", headers=NEW)
    assert rest.json() == extended
    old = await client.get("/a2a/main/v1/card")
    assert OldCard.model_validate(old.json()).name == extended["name"]


async def test_the_extended_card_lists_only_the_tools_that_the_agent_may_use(
    client: httpx.AsyncClient,
) -> None:
    agent = {"id": "narrow", "tools": {"allow": ["decline"]}}
    assert (await client.post("/api/agents", json=agent)).status_code == 201
    card = await ask(client, "GetExtendedAgentCard", "narrow")
    assert [skill["id"] for skill in card["skills"]] == ["talk", "decline"]


async def test_every_agent_has_a_card_that_changes_with_it(client: httpx.AsyncClient) -> None:
    made = await client.post("/api/agents", json={"id": "writer", "name": "Writer", "description": "Writes things."})
    assert made.status_code == 201
    path = "/a2a/writer/.well-known/agent-card.json"
    first = await client.get(path)
    assert (first.json()["name"], first.json()["description"]) == ("Writer", "Writes things.")
    await client.patch("/api/agents/writer", json={"description": "Writes more."})
    second = await client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (second.status_code, second.json()["description"]) == (200, "Writes more.")
    assert (await client.get("/a2a/nobody/.well-known/agent-card.json")).status_code == 404


async def test_without_a_token_the_cards_are_those_of_the_default_account(server: HttpServer) -> None:
    async with server.client(server.other_owner) as other, server.client(None) as nobody:
        await other.post("/api/agents", json={"id": "theirs", "description": "Of the other account."})
        path = "/a2a/theirs/.well-known/agent-card.json"
        assert (await other.get(path)).status_code == 200
        assert (await nobody.get(path)).status_code == 404


async def test_private_cards_need_a_token(surface_url: str) -> None:
    settings = Settings(
        a2a=A2aSettings(public_card=False), server=ServerSettings(public_url="https://carrel.example/x/")
    )
    async with (
        open_http_server(surface_url, settings=settings) as server,
        server.client() as owner,
        server.client(None) as nobody,
    ):
        for path in PATHS:
            assert (await nobody.get(path)).status_code == 401
        card = (await owner.get(PATHS[0])).json()
        assert {one["url"] for one in card["supportedInterfaces"]} == {"https://carrel.example/x/a2a/main"}
