"""Titles over the API: every session, run and notification has one that shows nothing its reader may not see."""

import httpx
import pytest
from msgspec import structs

from carrel.kernel import SessionKey, ToolVisibility
from carrel.sessions import NewChild, insert_child, titles_of
from tests.harness.server import HttpServer
from tests.harness.watched_database import WatchedDatabase
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api_calls import Json, refused, send_and_wait, session_of

CHILD = "agent:main:subagent:11111111-1111-4111-8111-111111111111"


async def titled(client: httpx.AsyncClient, path: str = "/api/sessions") -> dict[str, str]:
    answer: Json = (await client.get(path)).json()
    return {row["key"]: row["title"] for row in answer["sessions"]}


async def person(server: HttpServer, owner: httpx.AsyncClient, name: str, **more: object) -> httpx.AsyncClient:
    user = (await owner.post("/api/users", json={"name": name, "slug": name})).json()["user"]["id"]
    return server.client(await server.token(owner, kind="user", userId=user, **more))


async def test_lists_of_sessions_and_runs_show_titles(client: httpx.AsyncClient) -> None:
    task = (await client.post("/api/tasks", json={"title": "Write the report"})).json()["task"]["id"]
    in_task = await send_and_wait(client, "please begin", agentId="main", taskId=task)
    chat = (await client.post("/api/sessions", json={"conversationKey": "first-chat-1"})).json()["sessionKey"]
    assert (await titled(client))[chat] == "New chat with Main"
    said = await send_and_wait(client, "How are the\x1b[31m sheep?", sessionKey=chat)
    in_main = await send_and_wait(client, "count them")
    assert await titled(client) == {
        f"agent:main:task:{task}": "Write the report",
        chat: "How are the [31m sheep?",
        "agent:main:main": "Main",
    }
    assert (in_task["title"], in_task["sessionTitle"]) == ("Write the report", "Write the report")
    assert (said["title"], said["sessionTitle"]) == ("How are the [31m sheep?", "How are the [31m sheep?")
    assert (in_main["title"], in_main["sessionTitle"]) == ("count them", "Main")
    # A lane of a task is found by the title that it shows.
    assert list(await titled(client, "/api/sessions?q=REPORT")) == [f"agent:main:task:{task}"]


async def test_a_session_is_renamed_and_pinned_with_an_event(server: HttpServer, client: httpx.AsyncClient) -> None:
    chat = (await client.post("/api/sessions", json={"conversationKey": "first-chat-1"})).json()["sessionKey"]
    path = f"/api/sessions/{chat}"
    async with follow(client, events="session.updated") as stream:
        renamed = (await client.patch(path, json={"title": "Sheep", "pinned": True})).json()["session"]
        assert (renamed["title"], renamed["displayName"], renamed["pinned"]) == ("Sheep", "Sheep", True)
        event = (await stream.until("session.updated"))[-1]
        assert sorted(event.body["data"]["fields"]) == ["display_name", "pinned_at"]
    assert list(await titled(client, "/api/sessions?pinned=1")) == [chat]
    plain = (await client.patch(path, json={"title": None, "pinned": False})).json()["session"]
    assert (plain["title"], plain["pinned"]) == ("New chat with Main", False)
    assert await titled(client, "/api/sessions?pinned=1") == {}
    both = await client.patch(path, json={"title": "a", "displayName": "b"})
    assert refused(both) == (400, "invalid_params", "title")


async def test_a_title_shows_nothing_that_its_reader_may_not_see(server: HttpServer, client: httpx.AsyncClient) -> None:
    for name in ("open", "closed"):
        await client.post("/api/spaces", json={"name": name})
    task = (await client.post("/api/tasks", json={"title": "Sell the farm", "spaceId": "space-closed"})).json()["task"]
    lane = f"agent:main:task:{task['id']}"
    access = await server.access_of()
    agent = SessionKey.of("main", "main")
    await send_and_wait(client, "begin", taskId=task["id"], agentId="main")
    await server.db.write(
        lambda tx: insert_child(tx, access, NewChild(key=SessionKey.stored(CHILD), spawned_by=SessionKey.stored(lane)))
    )
    assert (await titled(client))[CHILD] == "Sub-agent of Sell the farm"
    # A sub-agent that sees itself alone is not told what its parent is about.
    view = ToolVisibility(mode="self", key=SessionKey.stored(CHILD), rule="it sees itself alone")
    alone = structs.replace(access, kind="agent", actor_id="main", agent_id="main", view=view)
    told = await server.db.read(lambda tx: titles_of(tx, alone, [CHILD, lane]))
    assert {key: one.title for key, one in told.items()} == {CHILD: "Sub-agent of Main"}
    await send_and_wait(client, "about the farm", taskId=task["id"], sessionKey=str(agent))
    ada = await person(server, client, "ada", spaceIds=["space-open"])
    async with ada:
        seen = await titled(ada)
        runs = (await ada.get("/api/runs")).json()["runs"]
    assert "farm" not in str(seen) + str([run["title"] for run in runs])
    assert CHILD not in seen


async def test_another_persons_first_words_are_in_no_title(server: HttpServer, client: httpx.AsyncClient) -> None:
    ada, bob = [await person(server, client, name) for name in ("ada", "bob")]
    async with ada, bob:
        key = (await ada.post("/api/sessions", json={"conversationKey": "adas-chat-1"})).json()["sessionKey"]
        await send_and_wait(ada, "my secret plan", sessionKey=key)
        assert (await titled(ada))[key] == "my secret plan"
        assert "secret" not in str(await titled(bob))
        assert (await bob.get(f"/api/sessions/{key}")).status_code == 404
    assert (await session_of(client, key))["title"] == "my secret plan"


@pytest.mark.parametrize("path", ["/api/sessions", "/api/runs"])
async def test_titles_are_read_with_the_list_not_row_by_row(
    server: HttpServer, client: httpx.AsyncClient, path: str
) -> None:
    assert isinstance(server.db, WatchedDatabase)

    async def statements() -> int:
        assert isinstance(server.db, WatchedDatabase)
        await server.indexed()
        cost = server.db.count_anew()
        await client.get(path)
        return sum("title_store" in one.site for one in cost.statements)

    await send_and_wait(client, "one", sessionKey="agent:main:web:the-first-chat")
    few = await statements()
    for number in range(8):
        await send_and_wait(client, f"chat {number}", sessionKey=f"agent:main:web:chat-no-{number}")
    assert few == await statements() == 1
