"""What changed since a sequence number: exact, in pages, and only what the caller may see."""

from typing import Any

import httpx
import pytest

from carrel.journal import prune_events
from tests.harness.server import HttpServer
from tests.surfaces.api.test_stream import finish

pytestmark = pytest.mark.anyio


async def changes(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await client.get("/api/changes", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_everything_said_is_told_exactly_once(either_server: HttpServer) -> None:
    async with either_server.client() as client:
        start = await changes(client)
        assert (start["logs"], start["reset"], start["more"]) == ([], False, False)
        for number in range(3):
            await finish(client, f"line {number}")
        told, cursor, more = [], start["seq"], True
        while more:
            page = await changes(client, sinceSeq=cursor, limit=2)
            assert not page["reset"]
            assert len(page["logs"]) <= 2
            told += [entry["content"] for entry in page["logs"]]
            cursor, more = page["seq"], page["more"]
        assert told == [text for number in range(3) for text in (f"line {number}", f"echo: line {number}")]
        assert (await changes(client, sinceSeq=cursor))["logs"] == []
        assert (await changes(client))["seq"] == cursor


async def test_an_answer_has_every_list(client: httpx.AsyncClient) -> None:
    await finish(client, "hello")
    found = await changes(client)
    entry = found["logs"][0]
    assert (entry["role"], entry["content"], entry["sessionKey"]) == ("user", "hello", "agent:main:main")
    assert found["deleted"] == {"spaces": [], "topics": [], "tasks": [], "logs": [], "sessions": []}
    assert found["left"] == {"topics": [], "tasks": [], "logs": []}
    assert [found[name] for name in ("topics", "tasks", "deletedLogIds")] == [[], [], []]
    assert [space["id"] for space in found["spaces"]] == ["space-default"]


async def test_a_time_that_is_none_is_refused_even_beside_a_number(client: httpx.AsyncClient) -> None:
    for query in ({"since": "soon"}, {"since": "soon", "sinceSeq": "0"}):
        answer = await client.get("/api/changes", params=query)
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "since")


async def test_a_deleted_session_is_told(client: httpx.AsyncClient) -> None:
    key = "agent:main:web:chat_deleted_1"
    await finish(client, "soon gone", sessionKey=key)
    before = (await changes(client))["seq"]
    assert (await client.delete(f"/api/sessions/{key}")).status_code == 204
    after = await changes(client, sinceSeq=before)
    assert after["deleted"]["sessions"] == [key]
    assert (await changes(client, sinceSeq=after["seq"]))["deleted"]["sessions"] == []
    assert "soon gone" not in str(await changes(client))


async def test_a_cursor_that_cannot_be_followed_gives_the_present(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    for text in ("one", "two"):
        await finish(client, text)
    newest = (await changes(client))["seq"]
    ahead = await changes(client, sinceSeq=newest + 1, limit=2)
    assert (ahead["reset"], ahead["seq"], ahead["more"]) == (True, newest, False)
    assert [entry["content"] for entry in ahead["logs"]] == ["two", "echo: two"]
    access = await server.access_of()
    await server.db.write(lambda tx: prune_events(tx, access, tx.now + 1, limit=3))
    for query in ({"sinceSeq": 1}, {"since": "2020-01-01T00:00:00Z"}, {}):
        pruned = await changes(client, **query)
        assert (pruned["reset"], len(pruned["logs"]), pruned["seq"]) == (True, 4, newest)


async def test_a_moment_may_stand_for_a_number(client: httpx.AsyncClient) -> None:
    await finish(client, "one")
    assert len((await changes(client, since="2020-01-01T00:00:00Z"))["logs"]) == 2
    later = await changes(client, since="2126-01-01T00:00:00+00:00")
    assert (later["logs"], later["reset"]) == ([], False)
    for query, field in (("since=yesterday", "since"), ("sinceSeq=-1", "sinceSeq"), ("sinceSeq=x", "sinceSeq")):
        answer = await client.get(f"/api/changes?{query}")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


async def test_an_agent_is_told_of_its_own_lanes(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    await finish(client, "for main")
    await finish(client, "for writer", agentId="writer")
    async with server.client(await server.token(client, kind="agent", agentId="writer")) as agent:
        assert [entry["content"] for entry in (await changes(agent))["logs"]] == ["for writer", "echo: for writer"]
    assert (await changes(client, allowedSpaceIds="space-far"))["logs"] == []
    assert len((await changes(client, spaceId="space-default"))["logs"]) == 4
