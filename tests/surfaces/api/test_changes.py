"""What changed since a sequence number: exact, in pages, and only what the caller may see."""

from typing import Any

import httpx
import pytest

from carrel.board.digests import publish_digest
from carrel.journal import prune_events
from carrel.storage import Tx
from carrel.topics import set_task_digest, set_topic_digest
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api.test_stream import finish


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


@requirement("S4.x.changes.exact")
async def test_what_has_one_moment_is_told_once_however_the_pages_fall(client: httpx.AsyncClient) -> None:
    start, moment = (await changes(client))["seq"], "2026-01-31T12:00:00.000Z"
    wanted = [f"line {number}" for number in range(7)]
    for text in wanted:
        body = {"type": "conversation", "content": text, "createdAt": moment}
        assert (await client.post("/api/log", json=body)).status_code == 201
    for size in (1, 2, 3, 7, 8):
        told, cursor, more = [], start, True
        while more:
            page = await changes(client, sinceSeq=cursor, limit=size)
            told += [entry["content"] for entry in page["logs"]]
            cursor, more = page["seq"], page["more"]
        assert told == wanted, size


@requirement("S4.x.changes.exact")
async def test_a_new_digest_is_told(server: HttpServer, client: httpx.AsyncClient) -> None:
    topic = (await client.post("/api/topics", json={"name": "Launch"})).json()["topic"]
    task = (await client.post("/api/tasks", json={"title": "Paint"})).json()["task"]
    before, access = (await changes(client))["seq"], await server.access_of()

    def renew(tx: Tx) -> None:
        renewed = set_topic_digest(tx, access, topic["id"], "We launch in May.")
        publish_digest(tx, access, "topic", topic["id"], renewed.space_id)
        set_task_digest(tx, access, task["id"], "It will be blue.")
        publish_digest(tx, access, "task", task["id"], None)

    await server.db.write(renew)
    found = await changes(client, sinceSeq=before)
    assert [(one["id"], one["digest"]) for one in found["topics"]] == [(topic["id"], "We launch in May.")]
    assert [(one["id"], one["digest"]) for one in found["tasks"]] == [(task["id"], "It will be blue.")]
    after = await changes(client, sinceSeq=found["seq"])
    assert (after["topics"], after["tasks"]) == ([], [])


@requirement("S4.x.changes.exact")
async def test_a_deletion_of_every_kind_is_told_once(client: httpx.AsyncClient) -> None:
    key = "agent:main:web:chat_deleted_1"
    await finish(client, "soon gone", sessionKey=key)
    space = (await client.post("/api/spaces", json={"name": "Work"})).json()["space"]["id"]
    topic = (await client.post("/api/topics", json={"name": "Launch"})).json()["topic"]["id"]
    log = (await client.post("/api/log", json={"type": "note", "content": "x"})).json()["log"]["id"]
    before = (await changes(client))["seq"]
    for path in (f"sessions/{key}", f"spaces/{space}", f"topics/{topic}", f"log/{log}"):
        assert (await client.delete(f"/api/{path}")).status_code == 204, path
    # Others write meanwhile, and a change is told once none of them can come before it any more.
    gone: dict[str, list[str]] = {name: [] for name in ("sessions", "spaces", "topics", "logs")}
    found = {"seq": before}
    while log not in gone["logs"]:
        found = await changes(client, sinceSeq=found["seq"])
        assert found["deleted"]["logs"] == found["deletedLogIds"]
        gone = {name: [*known, *found["deleted"][name]] for name, known in gone.items()}
    assert (gone["sessions"], gone["spaces"], gone["topics"]) == ([key], [space], [topic])
    assert len(gone["logs"]) == len(set(gone["logs"]))
    after = await changes(client, sinceSeq=found["seq"])
    assert after["deleted"] == {"spaces": [], "topics": [], "tasks": [], "logs": [], "sessions": []}


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


@requirement("S4.x.changes.exact")
@pytest.mark.parametrize(("sandbox", "seen"), [("off", ["of the fence"]), ("on", [])])
async def test_an_agent_is_told_of_entries_that_its_log_shows_and_of_no_others(
    server: HttpServer, client: httpx.AsyncClient, sandbox: str, seen: list[str]
) -> None:
    """They are said to be its own, in a session of another system."""
    await client.patch("/api/agents/main", json={"sandbox": sandbox})
    await client.post("/api/topics", json={"id": "fence", "name": "Fence"})
    since = (await changes(client))["seq"]
    for content, more in (("of nothing", {}), ("of the fence", {"topicId": "fence"})):
        source = {"sessionKey": "conv-7"}
        body = {"type": "conversation", "content": content, "agentId": "main", "source": source, **more}
        assert (await client.post("/api/log", json=body)).status_code == 201
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        listed = [log["content"] for log in (await agent.get("/api/log")).json()["logs"]]
        told = [log["content"] for log in (await changes(agent))["logs"]]
        assert listed == told == seen
        async with follow(agent, since, events="log,agent") as stream:
            await client.patch("/api/agents/main", json={"name": "Main"})
            frames = await stream.until("agent.updated")
    assert [frame.body["data"]["log"]["content"] for frame in frames if frame.name == "log.appended"] == seen
    assert [log["content"] for log in (await changes(client))["logs"]] == ["of nothing", "of the fence"]
