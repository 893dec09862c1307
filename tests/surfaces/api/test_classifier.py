"""The classifier over the API: how far it is, routing memory, and what people ask of it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from carrel.board.classifier.duty import CLASSIFIER
from carrel.kernel.settings import ClassifierSettings, Settings
from carrel.topics import NewTopic, put_topic
from tests.harness.server import HttpServer, open_http_server
from tests.surfaces.api_calls import Json, refused

BUCKET = "discord-4711"
SECONDS_MAX = 20
# Nothing is sorted unless somebody asks for it.
ON_REQUEST = Settings(classifier=ClassifierSettings(mode="rules", interval_seconds=3_600))


@pytest.fixture
async def sorting(store_url: str) -> AsyncIterator[HttpServer]:
    async with open_http_server(store_url, settings=ON_REQUEST) as opened:
        yield opened


async def topic(server: HttpServer, name: str, **more: Any) -> str:
    """Make a topic; return its id."""
    access = await server.access_of()
    made, _ = await server.db.write(lambda tx: put_topic(tx, access, NewTopic(name=name, **more)))
    return made.id


async def sent(client: httpx.AsyncClient, content: str, session_key: str = BUCKET, **more: Any) -> str:
    """Send an entry; return its id."""
    body = {"type": "conversation", "content": content, "source": {"sessionKey": session_key}, **more}
    answer = await client.post("/api/log", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["log"]["id"])


async def shown(client: httpx.AsyncClient, entry_id: str) -> Json:
    """Return an entry."""
    found: Json = (await client.get(f"/api/log/{entry_id}")).json()["log"]
    return found


async def sorted_now(
    server: HttpServer, client: httpx.AsyncClient, path: str = "/api/classifier/run", **body: Any
) -> None:  # fmt: skip
    """Ask for a turn, and return when it has ended."""
    bell = server.db.bell(CLASSIFIER)
    answer = await client.post(path, json=body)
    assert answer.status_code == 202, answer.text
    cycle_id = answer.json()["cycleId"]
    access = await server.access_of()
    sql = "SELECT 1 FROM classifier_cycles WHERE account_id = :account AND cycle_id = :cycle_id"
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            version = bell.version
            if await server.read(lambda tx: tx.one(sql, access, cycle_id=cycle_id)) is None:
                return
            await bell.wait(version, SECONDS_MAX)


async def test_what_is_pending_is_listed_counted_and_sorted_on_request(sorting: HttpServer) -> None:
    async with sorting.client() as client:
        fence = await topic(sorting, "Garden fence")
        entry = await sent(client, "Paint the garden fence green")
        listed = (await client.get("/api/classifier/pending", params={"limit": "1"})).json()
        assert [log["id"] for log in listed["logs"]] == [entry]
        status = (await client.get("/api/classifier/status")).json()
        assert (status["pending"], status["lastCycleAt"], status["mode"]) == (1, None, "rules")
        assert status["oldestPendingSeconds"] >= 0
        health = (await client.get("/api/health")).json()["classifier"]
        assert health["pending"] == 1
        metrics = (await client.get("/api/metrics")).json()["metrics"]
        assert [one["value"] for one in metrics if one["name"] == "classifier.pending"] == [1]
        await sorted_now(sorting, client, limit=10)
        log = await shown(client, entry)
        assert (log["topicId"], log["classificationStatus"], log["classificationAttempts"]) == (fence, "classified", 1)
        assert log["summary"] == "Paint the garden fence green"
        status = (await client.get("/api/classifier/status")).json()
        assert (status["pending"], status["oldestPendingSeconds"]) == (0, None)
        assert status["lastCycleAt"]
        assert (await client.get("/api/classifier/pending")).json() == {"logs": []}


async def test_routing_memory_is_shown_and_added_to(sorting: HttpServer) -> None:
    async with sorting.client() as client:
        fence, roof = await topic(sorting, "Garden fence"), await topic(sorting, "Roof")
        empty = await client.get("/api/classifier/session-routing", params={"sessionKey": BUCKET})
        assert empty.json() == {"sessionKey": BUCKET, "items": []}
        task = {"title": "Paint it", "topicId": fence}
        paint = (await client.post("/api/tasks", json=task)).json()["task"]["id"]
        said = {"sessionKey": BUCKET, "topicId": fence, "taskId": paint, "anchor": "the fence"}
        answer = await client.post("/api/classifier/session-routing", json=said)
        assert answer.status_code == 200, answer.text
        (item,) = answer.json()["items"]
        assert item.pop("ts").endswith("Z")
        assert item == {
            "topicId": fence, "topicName": "Garden fence", "taskId": paint, "taskTitle": "Paint it",
            "anchor": "the fence",
        }  # fmt: skip
        entry = await sent(client, "yes, do it")
        await sorted_now(sorting, client)
        log = await shown(client, entry)
        assert (log["topicId"], log["taskId"]) == (fence, paint)
        wrong = await client.post("/api/classifier/session-routing", json=said | {"topicId": roof})
        assert refused(wrong) == (400, "invalid_params", "taskId")
        missing = await client.post("/api/classifier/session-routing", json=said | {"topicId": "gone"})
        assert refused(missing)[:2] == (404, "not_found")


async def test_routes_of_another_persons_chat_are_not_shown(sorting: HttpServer) -> None:
    async with sorting.client() as client:
        fence = await topic(sorting, "Garden fence")
        chat = (await client.post("/api/chat", json={"text": "hello"})).json()["sessionKey"]
        said = {"sessionKey": chat, "topicId": fence, "anchor": "a secret"}
        (await client.post("/api/classifier/session-routing", json=said)).raise_for_status()
        user = (await client.post("/api/users", json={"name": "Bob"})).json()["user"]["id"]
        token = await sorting.token(client, kind="user", userId=user)
        async with sorting.client(token) as other:
            found = (await other.get("/api/classifier/session-routing", params={"sessionKey": chat})).json()
            assert found == {"sessionKey": chat, "items": []}
            denied = await other.post("/api/classifier/session-routing", json=said)
            assert refused(denied)[0] == 403
        found = (await client.get("/api/classifier/session-routing", params={"sessionKey": chat})).json()
        assert [item["anchor"] for item in found["items"]] == ["a secret"]


@pytest.mark.parametrize(("mode", "again"), [("bundle", [True, True, False]), ("from_here", [True, True, True])])
async def test_entries_are_sorted_again_on_request(sorting: HttpServer, mode: str, again: list[bool]) -> None:
    async with sorting.client() as client:
        wrong = await topic(sorting, "Garden fence")
        entries = [
            await sent(client, "Repair the roof tiles"),
            await sent(client, "Which tiles?", agentId="main"),
            await sent(client, "Book flights to Lisbon for the choir"),
        ]
        given = await sent(client, "Somewhere else", topicId=wrong)
        for entry in entries:
            (await client.patch(f"/api/log/{entry}", json={"topicId": wrong})).raise_for_status()
        await sorted_now(sorting, client)
        await sorted_now(sorting, client, "/api/classifier/replay", anchorLogId=entries[0], mode=mode)
        moved = [(await shown(client, entry))["topicId"] != wrong for entry in entries]
        assert moved == again
        assert (await shown(client, given))["topicId"] == wrong
        missing = await client.post("/api/classifier/replay", json={"anchorLogId": "gone"})
        assert refused(missing)[:2] == (404, "not_found")


async def test_digests_are_renewed_on_request_whatever_the_interval(sorting: HttpServer) -> None:
    async with sorting.client() as client:
        fence = await topic(sorting, "Garden fence")
        access = await sorting.access_of()
        sql = "SELECT digest FROM topics WHERE account_id = :account AND id = :id"
        for n, path in enumerate(("/api/classifier/run", "/api/classifier/run", "/api/digests/run")):
            await sent(client, f"message {n}", f"clawboard:topic:{fence}")
            await sorted_now(sorting, client, path)
        # On PostgreSQL a turn sorts what was sent before every transaction under way began.
        while (await client.get("/api/classifier/status")).json()["pending"]:
            await sorted_now(sorting, client)
        before = await sorting.read(lambda tx: tx.one(sql, access, id=fence))
        await sorted_now(sorting, client, "/api/digests/run", topicId=fence)
        after = await sorting.read(lambda tx: tx.one(sql, access, id=fence))
        assert before is not None
        assert after is not None
        assert "message 2" in after[0]
        missing = await client.post("/api/digests/run", json={"taskId": "gone"})
        assert refused(missing)[:2] == (404, "not_found")


async def test_a_classifier_that_is_off_says_so(server: HttpServer) -> None:
    async with server.client() as client:
        assert (await client.get("/api/classifier/status")).json()["mode"] == "off"
        entry = await sent(client, "Paint the fence")
        for path, body in (("classifier/run", {}), ("classifier/replay", {"anchorLogId": entry}), ("digests/run", {})):
            assert refused(await client.post(f"/api/{path}", json=body))[:2] == (409, "conflict")
