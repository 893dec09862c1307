"""Replays by people: of what they may read whole, in a chat of their own."""

import json

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused, send_and_wait

MAIN = "agent:main:main"


async def person(server: HttpServer, owner: httpx.AsyncClient, name: str, *spaces: str) -> str:
    """Return the token of a new user, limited to spaces if some are given."""
    user = (await owner.post("/api/users", json={"name": name, "slug": name})).json()["user"]["id"]
    limits = {"spaceIds": list(spaces)} if spaces else {}
    return await server.token(owner, kind="user", userId=user, **limits)


@requirement("P.replay.rights")
async def test_a_person_replays_what_they_may_read_in_a_chat_of_their_own(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    run_id = (await send_and_wait(client, "What is on the roof?", sessionKey=MAIN))["id"]
    async with server.client(await person(server, client, "ada")) as ada:
        again = await ada.post(f"/api/runs/{run_id}/replay", json={})
        assert again.status_code == 202, again.text
        assert (await ada.get(f"/api/runs/{again.json()['runId']}/wait", params={"timeoutSeconds": 15})).is_success
    assert server.agent.bodies[-1]["input"] == server.agent.bodies[-2]["input"]
    async with server.client(await person(server, client, "bob")) as bob:
        lane = await bob.get(f"/api/sessions/{again.json()['sessionKey']}")
        assert refused(lane)[:2] == (404, "not_found")


@requirement("P.replay.rights")
async def test_what_a_person_may_not_read_whole_is_not_sent_again(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    (await client.post("/api/spaces", json={"id": "space-open", "name": "Open"})).raise_for_status()
    hidden = {"id": "task-roof", "title": "Pay the roofer 4711 pelicans", "spaceId": "space-default"}
    (await client.post("/api/tasks", json=hidden)).raise_for_status()
    look = "do " + json.dumps([["task_load", {"taskId": "task-roof"}]])
    run_id = (await send_and_wait(client, f"What do we pay the roofer?\n{look}", sessionKey=MAIN))["id"]
    sent = len(server.agent.bodies)
    assert "4711 pelicans" in json.dumps(server.agent.bodies[-1])
    async with server.client(await person(server, client, "lim", "space-open")) as lim:
        answer = await lim.post(f"/api/runs/{run_id}/replay", json={})
    assert refused(answer)[:2] == (403, "forbidden")
    assert answer.json()["error"]["message"] == (
        "This run was shown things that you may not see, so you can neither read its receipt nor replay it."
    )
    assert len(server.agent.bodies) == sent


@requirement("P.replay.rights")
async def test_a_run_in_the_chat_of_another_person_is_not_replayed(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    async with (
        server.client(await person(server, client, "ada")) as ada,
        server.client(await person(server, client, "bob")) as bob,
    ):
        run_id = (await send_and_wait(ada, "Mine alone.", sessionKey="agent:main:web:ada-0001"))["id"]
        assert refused(await bob.post(f"/api/runs/{run_id}/replay", json={}))[:2] == (404, "not_found")
