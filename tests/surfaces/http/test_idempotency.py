"""What a repeated request tells: nothing of what the caller may not read, whoever sent it first."""

from typing import Any

import httpx
import pytest

from carrel.access import NewToken, mint_token
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, send_and_wait

LOG = "/api/log"
MESSAGE = {"channel": "telegram", "messageId": "4711"}


async def person(server: HttpServer, owner: httpx.AsyncClient, name: str, *spaces: str) -> httpx.AsyncClient:
    """A client of a new user; limited to spaces, if some are given."""
    user = (await owner.post("/api/users", json={"name": name, "slug": name})).json()["user"]
    limits: Json = {"spaceIds": list(spaces)} if spaces else {}
    return server.client(await server.token(owner, kind="user", userId=user["id"], **limits))


async def stored(client: httpx.AsyncClient, content: str, **more: Any) -> Json:
    answer = await client.post(LOG, json={"type": "conversation", "content": content, **more})
    assert answer.status_code == 201, answer.text
    log: Json = answer.json()["log"]
    return log


@requirement("I.duplicate")
@pytest.mark.parametrize("path", [LOG, "/api/notes"])
@pytest.mark.parametrize("mark", [{"source": MESSAGE}, {"idempotencyKey": "line-1"}])
async def test_a_duplicate_of_a_hidden_entry_is_told_without_its_content(
    either_server: HttpServer, on_either: httpx.AsyncClient, mark: Json, path: str
) -> None:
    kind = {"type": "note" if path == "/api/notes" else "conversation"}
    await on_either.post("/api/spaces", json={"name": "Hidden"})
    hidden = {**kind, "content": "the vault is 1234", "spaceId": "space-hidden", **mark}
    log = (await on_either.post(path, json=hidden)).json()
    async with await person(either_server, on_either, "bob", "space-default") as bob:
        probed = await bob.post(path, json={**kind, "content": "x", **mark})
        assert (probed.status_code, probed.json()) == (200, {"log": {"id": log["log"]["id"]}, "duplicate": True})
        assert (await bob.get(f"{LOG}/{log['log']['id']}")).status_code == 404
    repeated = await on_either.post(path, json={**kind, "content": "x", **mark})
    assert repeated.json() == {**log, "duplicate": True}


@requirement("I.duplicate")
async def test_a_duplicate_of_what_was_said_in_another_persons_chat_is_told_without_it(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    chat = "agent:main:web:adas-own-chat"
    async with await person(server, client, "ada") as ada, await person(server, client, "bob") as bob:
        await send_and_wait(ada, "hello", sessionKey=chat)
        log = await stored(ada, "my salary is 50,000", source={**MESSAGE, "sessionKey": chat})
        probed = await bob.post(LOG, json={"type": "conversation", "content": "x", "source": MESSAGE})
        assert probed.json() == {"log": {"id": log["id"]}, "duplicate": True}


@requirement("I.duplicate", "P.account.wall")
async def test_two_accounts_that_share_every_key_have_an_entry_each(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    for mark in ({"source": MESSAGE}, {"idempotencyKey": "line-1"}, {"id": "log-1"}):
        await stored(client, "ours", **mark)
        theirs = await stored(other_client, "theirs", **mark)
        assert theirs["content"] == "theirs"


@requirement("I.duplicate")
async def test_an_answer_kept_under_a_key_is_not_given_to_a_token_that_may_read_less(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.post("/api/spaces", json={"name": "Hidden"})
    user = (await client.post("/api/users", json={"name": "ann", "slug": "ann"})).json()["user"]
    secrets = [
        await server.token(client, kind="user", userId=user["id"], spaceIds=spaces)
        for spaces in (["*"], ["space-default"])
    ]
    about = await stored(client, "the vault", spaceId="space-hidden")
    body, key = {"content": "noted", "relatedLogId": about["id"]}, {"X-Idempotency-Key": "k"}
    async with server.client(secrets[0]) as wide, server.client(secrets[1]) as narrow:
        first = await wide.post("/api/notes", json=body, headers=key)
        assert first.status_code == 201
        assert (await wide.post("/api/notes", json=body, headers=key)).json() == first.json()
        again = await narrow.post("/api/notes", json=body, headers=key)
        assert refused(again)[:2] == (409, "idempotency_mismatch")


@requirement("I.duplicate")
async def test_an_answer_kept_for_one_run_is_not_given_to_another_run_of_its_agent(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    lanes = ("agent:main:web:the-first-chat", "agent:main:web:the-second-chat")
    tokens = [await run_token(server, client, lane) for lane in lanes]
    sent = await stored(client, "said in the first chat", source={"sessionKey": lanes[0]})
    body, key = {"content": "noted", "relatedLogId": sent["id"]}, {"X-Idempotency-Key": "k"}
    async with server.client(tokens[0]) as first, server.client(tokens[1]) as second:
        assert (await first.post("/api/notes", json=body, headers=key)).status_code == 201
        again = await second.post("/api/notes", json=body, headers=key)
        assert refused(again)[:2] == (409, "idempotency_mismatch")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/topics", {"name": "mine"}),
        ("/api/tasks", {"title": "mine"}),
        (LOG, {"type": "conversation", "content": "mine"}),
    ],
)
async def test_an_id_of_something_hidden_is_not_free_and_nothing_more_is_told(
    server: HttpServer, client: httpx.AsyncClient, path: str, body: Json
) -> None:
    await client.post("/api/spaces", json={"name": "Hidden"})
    made = await client.post(path, json={**body, "id": "launch", "spaceId": "space-hidden"})
    stored = (await client.get(f"{path}/launch")).json()
    async with await person(server, client, "bob", "space-default") as bob:
        answer = await bob.post(path, json={**body, "id": "launch"})
        assert (await bob.get(f"{path}/launch")).status_code == 404
    assert made.status_code == 201
    assert refused(answer) == (409, "conflict", "id")
    assert answer.json()["error"]["message"] == "The id 'launch' is not free; choose another, or leave it out."
    assert (await client.get(f"{path}/launch")).json() == stored


async def run_token(server: HttpServer, client: httpx.AsyncClient, lane: str) -> str:
    """The token of a run that is under way in a lane."""
    name = lane.replace(":", "-")
    started = await client.post("/api/runs", json={"message": f"hold {name}", "sessionKey": lane})
    await server.agent.reached(name)
    access = await server.access_of()
    new = NewToken(kind="run", name="run", agent_id="main", run_id=started.json()["runId"])
    return (await server.db.write(lambda tx: mint_token(tx, access, new)))[1]
