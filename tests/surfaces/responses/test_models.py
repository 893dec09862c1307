"""Models, as clients list them: the agents that their token may call."""

import httpx
import pytest

from tests.harness.server import HttpServer
from tests.surfaces.responses.client import Json, refused, respond


async def ids(client: httpx.AsyncClient) -> list[str]:
    answer = await client.get("/v1/models")
    assert answer.status_code == 200
    listed: Json = answer.json()
    assert listed["object"] == "list"
    return sorted(model["id"] for model in listed["data"])


async def add_agents(owner: httpx.AsyncClient) -> None:
    """Add an agent, and one that is disabled."""
    await owner.post("/api/agents", json={"id": "second"})
    await owner.post("/api/agents", json={"id": "off"})
    (await owner.patch("/api/agents/off", json={"enabled": False})).raise_for_status()


async def test_models_are_the_agents_that_the_token_may_call(
    server: HttpServer, client: httpx.AsyncClient, alice: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await add_agents(client)
    assert await ids(client) == ["carrel/main", "carrel/second"]
    assert await ids(alice) == ["carrel/main"]
    assert await ids(other_client) == ["carrel/main"]
    async with server.client(None) as nobody:
        assert refused(await nobody.get("/v1/models"))[0] == 401


@pytest.mark.parametrize("name", ["carrel/main", "carrel%2Fmain", "carrel", "openclaw:main", "agent:main"])
async def test_a_model_is_found_by_every_name_that_a_request_may_use(client: httpx.AsyncClient, name: str) -> None:
    model = (await client.get(f"/v1/models/{name}")).json()
    assert model == {"id": "carrel/main", "object": "model", "created": model["created"], "owned_by": "carrel"}
    assert (await respond(client, "hello", model=name.replace("%2F", "/")))["status"] == "completed"


async def test_a_model_that_may_not_be_called_is_not_found(client: httpx.AsyncClient, alice: httpx.AsyncClient) -> None:
    await add_agents(client)
    missing = (404, "model_not_found", "model")
    assert refused(await alice.get("/v1/models/carrel/second")) == missing
    assert refused(await client.get("/v1/models/carrel/off")) == missing
    assert refused(await client.get("/v1/models/gpt-5")) == missing
    assert (await client.get("/v1/models/carrel/second")).status_code == 200
