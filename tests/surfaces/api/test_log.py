"""The log of the board over HTTP: send, list, get, change and delete entries; notes, and entries stored later."""

import json
from typing import Any

import httpx
import pytest
from msgspec import UNSET

from carrel.access import make_space
from carrel.storage import Tx
from carrel.topics import NewTopic, put_topic
from tests.harness.engine import within
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused

LOG = "/api/log"


async def sent(client: httpx.AsyncClient, content: str = "hello", **more: Any) -> Json:
    answer = await client.post(LOG, json={"type": "conversation", "content": content} | more)
    assert answer.status_code == 201, answer.text
    log: Json = answer.json()["log"]
    return log


async def listed(client: httpx.AsyncClient, path: str = LOG, **query: Any) -> list[str]:
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return [log["content"] for log in answer.json()["logs"]]


async def topic(server: HttpServer, topic_id: str, space: str = "") -> None:
    """Make a topic, in a space of that name."""
    access = await server.access_of()

    def work(tx: Tx) -> None:
        made = make_space(tx, access, space)[0].id if space else UNSET
        put_topic(tx, access, NewTopic(id=topic_id, name=topic_id, space_id=made))

    await server.db.write(work)


@requirement("S4.api.log")
async def test_an_entry_is_stored_and_returned_with_its_fields(on_either: httpx.AsyncClient) -> None:
    source = {"channel": "discord", "sessionKey": "conv-1|thread:2", "messageId": "m-1", "requestId": "r-1"}
    more = {"summary": "a greeting", "raw": "{}", "agentLabel": "Ada", "idempotencyKey": "k-1", "id": "mine-1"}
    log = await sent(on_either, source=source, createdAt="2026-01-31T12:00:00.000Z", **more)
    assert log["id"] == "mine-1"
    assert "raw" not in log
    expected: Json = {
        "type": "conversation", "role": "user", "content": "hello", "summary": "a greeting", "agentId": "user",
        "agentLabel": "Ada", "sessionKey": "conv-1|thread:2", "sessionId": None, "spaceId": "space-default",
        "topicId": None, "taskId": None, "idempotencyKey": "k-1", "classificationStatus": "pending",
        "classificationAttempts": 0, "classificationError": None, "attachments": [], "relatedLogId": None,
        "createdAt": "2026-01-31T12:00:00.000Z",
    }  # fmt: skip
    assert expected.items() <= log.items()
    assert source.items() <= log["source"].items()
    got = (await on_either.get(f"{LOG}/mine-1", params={"includeRaw": "1"})).json()["log"]
    assert got == log | {"raw": "{}"}
    assert (await on_either.get(LOG)).json() == {"logs": [log], "nextCursor": None}


@requirement("S4.api.log")
@pytest.mark.parametrize("kind", ["conversation", "action", "note", "system", "import"])
async def test_an_entry_of_every_type_is_stored_listed_and_returned(client: httpx.AsyncClient, kind: str) -> None:
    for other in ("conversation", "action", "note", "system", "import"):
        log = await sent(client, f"a line of type {other}", type=other)
        assert log["type"] == other
        assert (await client.get(f"{LOG}/{log['id']}")).json()["log"] == log
    assert await listed(client, type=kind) == [f"a line of type {kind}"]
    unknown = await client.post(LOG, json={"type": "gossip", "content": "x"})
    assert refused(unknown)[::2] == (400, "type")


@requirement("S4.x.second.reply")
async def test_a_duplicate_is_answered_with_the_stored_entry(client: httpx.AsyncClient) -> None:
    source = {"channel": "discord", "messageId": "m-1"}
    first = await sent(client, "yes", source=source)
    again = await client.post(LOG, json={"type": "conversation", "content": "yes", "source": source})
    assert (again.status_code, again.json()) == (200, {"log": first, "duplicate": True})
    assert await listed(client) == ["yes"]


@requirement("S4.api.log")
async def test_entries_are_listed_by_what_they_are_about(server: HttpServer, client: httpx.AsyncClient) -> None:
    await topic(server, "fence")
    await topic(server, "secret", "Secret")
    made = await client.post("/api/tasks", json={"id": "paint", "title": "Paint", "topicId": "fence"})
    assert made.status_code == 201
    await sent(client, "hidden", topicId="secret")
    await sent(client, "zero", taskId="paint")
    assert await listed(client, taskId="paint", type="conversation") == ["zero"]
    assert await listed(client, allowedSpaceIds="space-secret") == ["hidden"]
    assert "hidden" not in await listed(client, allowedSpaceIds="space-default")
    for log in (await client.get(LOG)).json()["logs"]:
        await client.delete(f"{LOG}/{log['id']}")
    first = await sent(client, "one", source={"sessionKey": "clawboard:topic:fence"})
    await sent(client, "two", topicId="fence", type="note", relatedLogId=first["id"])
    await sent(client, "three", source={"sessionKey": "conv-1"})
    await sent(client, "Tool call: exec", type="action")
    assert await listed(client, topicId="fence") == ["two", "one"]
    assert await listed(client, sessionKey="clawboard:topic:fence") == ["one"]
    assert await listed(client, sessionKey="conv-1") == ["three"]
    assert await listed(client, relatedLogId=f"{first['id']},ent_x") == ["two"]
    assert await listed(client, "/api/notes") == ["two"]
    assert await listed(client, type="note") == ["two"]
    assert await listed(client, classificationStatus="failed") == ["Tool call: exec"]
    page = (await client.get(LOG, params={"limit": 3})).json()
    assert [log["content"] for log in page["logs"]] == ["Tool call: exec", "three", "two"]
    assert await listed(client, cursor=page["nextCursor"]) == ["one"]


async def test_an_entry_is_changed_and_deleted(server: HttpServer, client: httpx.AsyncClient) -> None:
    await topic(server, "fence")
    log = await sent(client)
    path = f"{LOG}/{log['id']}"
    changed = (await client.patch(path, json={"topicId": "fence", "summary": "short"})).json()["log"]
    assert (changed["topicId"], changed["summary"], changed["classificationStatus"]) == ("fence", "short", "classified")
    again = (await client.patch(path, json={"topicId": None, "classificationStatus": "pending"})).json()["log"]
    assert (again["topicId"], again["classificationStatus"], again["content"]) == (None, "pending", "hello")
    assert refused(await client.patch(path, json={"topicId": "nowhere"}))[:2] == (400, "invalid_params")
    assert (await client.delete(path)).status_code == 204
    assert (await client.get(path)).status_code == 404
    assert (await client.delete(path)).status_code == 404


@requirement("S4.clean.markers")
async def test_a_summary_is_cleaned_whenever_it_is_written(client: httpx.AsyncClient) -> None:
    dirty = "short [CLAWBOARD_CONTEXT_BEGIN]\nsecret\n[CLAWBOARD_CONTEXT_END] and good [message_id: 7]"
    log = await sent(client, summary=dirty)
    changed = (await client.patch(f"{LOG}/{log['id']}", json={"summary": dirty})).json()["log"]
    assert changed["summary"] == log["summary"]
    assert "secret" not in changed["summary"]
    cleared = (await client.patch(f"{LOG}/{log['id']}", json={"summary": None})).json()["log"]
    assert cleared["summary"] is None


async def test_events_tell_of_new_changed_and_deleted_entries(server: HttpServer, client: httpx.AsyncClient) -> None:
    log = await sent(client, raw="secret source")
    await client.patch(f"{LOG}/{log['id']}", json={"summary": "short"})
    await client.delete(f"{LOG}/{log['id']}")
    access = await server.access_of()
    sql = "SELECT name, body FROM events WHERE account_id = :account AND name LIKE 'log.%' ORDER BY seq"
    told = await server.db.read(lambda tx: tx.all(sql, access))
    assert [row[0] for row in told] == ["log.appended", "log.updated", "log.deleted"]
    assert not any("secret source" in row[1] for row in told)
    assert json.loads(told[2][1])["id"] == log["id"]


@requirement("S4.api.ingest")
async def test_ingested_entries_are_stored_later_once_and_in_order(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    entries = [{"type": "conversation", "content": f"line {n}", "idempotencyKey": f"k-{n}"} for n in range(50)]
    answer = await on_either.post("/api/ingest", json={"entries": entries})
    assert answer.status_code == 202
    assert answer.json()["accepted"] == len(answer.json()["ingestIds"]) == 50
    single = await on_either.post("/api/ingest", json=entries[0])
    assert single.json()["accepted"] == 1
    last = await on_either.post("/api/ingest", json={"type": "note", "content": "the last"})
    assert last.status_code == 202

    async def stored() -> list[str]:
        while (found := await listed(on_either))[:1] != ["the last"]:
            pass
        return found

    assert await within(stored()) == ["the last", *(f"line {n}" for n in reversed(range(50)))]


async def test_a_request_with_one_wrong_entry_stores_none(client: httpx.AsyncClient) -> None:
    good, bad = {"type": "note", "content": "fine"}, {"type": "note", "content": " "}
    assert refused(await client.post("/api/ingest", json={"entries": [good, bad]}))[:2] == (400, "invalid_params")
    assert refused(await client.post("/api/ingest", json={}))[:2] == (400, "invalid_params")
    assert refused(await client.post("/api/ingest", json={**good, "entries": [good]}))[:2] == (400, "invalid_params")
    assert await listed(client) == []


@requirement("S4.filter.ignored")
async def test_a_session_with_an_ignored_prefix_is_not_recorded(client: httpx.AsyncClient) -> None:
    source = {"sessionKey": "internal:clawboard-classifier:7"}
    body = {"type": "conversation", "content": "sort this", "source": source}
    answer = await client.post(LOG, json=body)
    assert (answer.status_code, answer.json()) == (200, {"log": None, "ignored": True})
    assert (await client.post("/api/ingest", json=body)).json() == {"accepted": 0, "ingestIds": []}
    assert await listed(client) == []


async def test_agents_send_notes_about_entries_in_their_view_and_nothing_else(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await topic(server, "fence")
    shown = await sent(client, "It is green", topicId="fence")
    hidden = await sent(client, "unsorted", source={"sessionKey": "conv-1"})
    async with server.client(await server.token(client, kind="agent", name="main", agentId="main")) as agent:
        assert await listed(agent) == ["It is green"]
        note = {"content": "Blue is nicer", "relatedLogId": shown["id"]}
        written = (await agent.post("/api/notes", json=note)).json()["log"]
        assert (written["agentId"], written["topicId"]) == ("main", "fence")
        for body, status in (
            ({"content": "free"}, 403),
            (note | {"relatedLogId": hidden["id"]}, 400),
            (note | {"content": "x" * 1601}, 422),
            (note | {"agentId": "user"}, 403),
        ):
            assert (await agent.post("/api/notes", json=body)).status_code == status
        said = {"type": "conversation", "content": "hello", "relatedLogId": shown["id"]}
        assert (await agent.post(LOG, json=said)).status_code == 403
        assert (await agent.patch(f"{LOG}/{shown['id']}", json={"summary": "x"})).status_code == 403
        assert (await agent.delete(f"{LOG}/{shown['id']}")).status_code == 403


async def test_entries_are_seen_in_the_spaces_of_their_topic(server: HttpServer, client: httpx.AsyncClient) -> None:
    await topic(server, "fence", "Work")
    await sent(client, "at work", topicId="fence")
    await sent(client, "anywhere")
    assert await listed(client, allowedSpaceIds="space-work") == ["at work"]
    assert await listed(client, allowedSpaceIds="space-default") == ["anywhere"]


async def test_another_account_sees_nothing(client: httpx.AsyncClient, other_client: httpx.AsyncClient) -> None:
    log = await sent(client, "ours")
    assert await listed(other_client) == []
    assert (await other_client.get(f"{LOG}/{log['id']}")).status_code == 404


async def test_an_entry_has_files_that_are_read_by_who_may_see_it(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    uploaded = await client.post("/api/attachments", files={"file": ("plan.txt", b"paint it", "text/plain")})
    file = uploaded.json()["attachment"]
    log = await sent(client, "the plan", attachmentIds=[file["id"]], source={"sessionKey": "conv-1"})
    assert log["attachments"] == [file]
    assert (await client.get(f"/api/attachments/{file['id']}")).content == b"paint it"
    again = await client.post(LOG, json={"type": "note", "content": "x", "attachmentIds": [file["id"]]})
    assert refused(again) == (400, "invalid_params", "attachmentIds")
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        assert (await agent.get(f"/api/attachments/{file['id']}")).status_code == 404
    assert (await other_client.get(f"/api/attachments/{file['id']}")).status_code == 404
    assert (await client.delete(f"{LOG}/{log['id']}")).status_code == 204
    assert (await client.get(f"/api/attachments/{file['id']}")).status_code == 404


@requirement("S4.key.foreign")
@pytest.mark.parametrize("key", ["conv-1|thread:9", "channel:7", "anything else", "x" * 240])
async def test_a_foreign_session_key_is_a_bucket_at_every_endpoint_of_the_board(
    server: HttpServer, client: httpx.AsyncClient, key: str
) -> None:
    body = {"type": "conversation", "content": "hello", "source": {"sessionKey": key}}
    assert (await client.post(LOG, json=body)).status_code == 201
    assert (await client.post("/api/ingest", json=body | {"content": "later"})).status_code == 202
    await topic(server, "fence")
    routed = {"sessionKey": key, "topicId": "fence", "anchor": "hello"}
    assert (await client.post("/api/classifier/session-routing", json=routed)).status_code < 300
    for path in ("context", "search", "topics", "tasks", "log", "classifier/session-routing"):
        asked = {"q": "hello"} if path in ("context", "search") else {}
        answer = await client.get(f"/api/{path}", params=asked | {"sessionKey": key})
        assert answer.status_code == 200, f"{path}: {answer.text}"
        longer = await client.get(f"/api/{path}", params=asked | {"sessionKey": key.ljust(241, "x")})
        assert refused(longer)[::2] == (400, "sessionKey"), path
    assert "hello" in await listed(client, sessionKey=key)
    assert (await client.get("/api/sessions")).json()["sessions"] == []
