"""The active session of a client: pointers, their repair, and new keys that create nothing."""

import httpx
import pytest

from carrel.kernel.settings import SessionsSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused, send_and_wait, session_of

TAB = {"channelType": "web", "clientInstanceId": "tab-1"}


async def active(client: httpx.AsyncClient, **which: str) -> dict[str, str]:
    answer = await client.get("/api/sessions/active", params=TAB | which)
    assert answer.status_code == 200, answer.text
    found: dict[str, str] = answer.json()
    return found


@requirement("S3.id.pointer", "S3.id.newkey")
async def test_asking_for_the_active_session_makes_nothing(client: httpx.AsyncClient) -> None:
    first = await active(client)
    assert first["source"] == "default"
    assert first["sessionKey"] == f"agent:main:web:{first['sessionId']}"
    assert 8 <= len(first["sessionId"]) <= 64
    assert (await client.get("/api/sessions")).json()["count"] == 0
    said = (await client.post("/api/chat", json={"text": "hello", "sessionKey": first["sessionKey"], **TAB})).json()
    assert said["sessionId"] == first["sessionId"]
    assert await active(client) == {**first, "source": "pointer"}
    recent = (await client.get("/api/sessions/recent", params=TAB)).json()["sessions"]
    assert [row["key"] for row in recent] == [first["sessionKey"]]


@requirement("S3.id.pointer")
async def test_a_pointer_is_set_by_making_and_by_choosing(client: httpx.AsyncClient) -> None:
    one = (await client.post("/api/sessions", json=TAB)).json()
    assert (await active(client))["sessionKey"] == one["sessionKey"]
    two = (await client.post("/api/sessions", json={"conversationKey": "my-second_chat", **TAB})).json()
    assert two == {"sessionId": "my-second_chat", "sessionKey": "agent:main:web:my-second_chat"}
    assert (await active(client))["sessionId"] == "my-second_chat"
    assert (await active(client, clientInstanceId="tab-2"))["source"] == "default"
    chosen = await client.post("/api/sessions/active", json={"sessionId": one["sessionId"], **TAB})
    assert chosen.json() == {**one, "source": "pointer"}
    assert await active(client) == {**one, "source": "pointer"}
    recent = (await client.get("/api/sessions/recent", params={**TAB, "limit": 1})).json()["sessions"]
    assert [row["key"] for row in recent] == [two["sessionKey"]]


@requirement("S3.id.pointer")
async def test_two_people_never_share_a_browser(server: HttpServer, client: httpx.AsyncClient) -> None:
    user = (await client.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]
    token = await server.token(client, kind="user", userId=user["id"])
    mine = (await client.post("/api/sessions", json=TAB)).json()
    async with server.client(token) as ada:
        assert (await active(ada))["sessionKey"] != mine["sessionKey"]
        assert (await ada.get("/api/sessions/recent", params=TAB)).json()["sessions"] == []


@requirement("S3.id.delete")
async def test_deleting_the_active_session_moves_the_pointer(client: httpx.AsyncClient) -> None:
    older = (await client.post("/api/sessions", json=TAB)).json()
    await client.post("/api/chat", json={"text": "hello", **TAB})
    newer = (await client.post("/api/sessions", json=TAB)).json()
    assert (await client.delete(f"/api/sessions/{newer['sessionKey']}")).status_code == 204
    assert (await active(client))["sessionKey"] == older["sessionKey"]
    assert (await client.delete(f"/api/sessions/{older['sessionKey']}")).status_code == 204
    fresh = await active(client)
    assert fresh["source"] == "default"
    assert fresh["sessionKey"] not in (older["sessionKey"], newer["sessionKey"])


async def test_a_pointer_to_an_archived_session_is_repaired(client: httpx.AsyncClient) -> None:
    older = (await client.post("/api/sessions", json=TAB)).json()
    newer = (await client.post("/api/sessions", json=TAB)).json()
    await client.post(f"/api/sessions/{newer['sessionKey']}/archive")
    assert await active(client) == {**older, "source": "repaired"}


async def test_what_is_wrong_about_a_transport_is_named(client: httpx.AsyncClient) -> None:
    wrong = (400, "invalid_params", "clientInstanceId")
    assert refused(await client.get("/api/sessions/active")) == wrong
    assert refused(await client.get("/api/sessions/active", params={"channelType": "pigeon"})) == (
        400,
        "invalid_params",
        "channelType",
    )
    assert (await client.get("/api/sessions/active", params={"channelType": "cli"})).status_code == 200
    assert refused(await client.post("/api/sessions/active", json={"sessionId": "x", **TAB}))[0] == 404
    assert refused(await client.post("/api/sessions/active", json=TAB)) == (400, "invalid_params", "sessionId")


@requirement("S3.id.newkey", "S3.id.legacy")
@pytest.mark.parametrize("key", ["short", "ses_123456789", "with space in it", "x" * 65, "tschüss-und-weg"])
async def test_a_new_key_of_the_wrong_form_is_refused(client: httpx.AsyncClient, key: str) -> None:
    answer = await client.post("/api/sessions", json={"conversationKey": key})
    assert refused(answer) == (400, "invalid_conversation_key", "conversationKey")


async def test_making_a_session_names_the_agent(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    made = (await client.post("/api/sessions", json={"agentId": "writer", "channelType": "cli"})).json()
    assert made["sessionKey"] == f"agent:writer:cli:{made['sessionId']}"
    assert refused(await client.post("/api/sessions", json={"agentId": "nobody"}))[:2] == (404, "not_found")


@requirement("S2.key.scope.global")
async def test_with_one_scope_for_all_every_direct_chat_is_the_main_lane(surface_url: str) -> None:
    settings = Settings(sessions=SessionsSettings(scope="global"))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        made = (await client.post("/api/sessions", json={"conversationKey": "my-first-chat", **TAB})).json()
        assert made == {"sessionId": "main", "sessionKey": "agent:main:main"}
        assert (await active(client))["sessionId"] == "main"
        for where in ({"sessionId": "another-chat"}, {"clientInstanceId": "tab-9"}, {"channelType": "cli"}, {}):
            said = (await client.post("/api/chat", json={"text": "hello", **where})).json()
            assert (said["sessionId"], said["sessionKey"]) == ("main", "agent:main:main")
        task = await send_and_wait(client, "a task stays apart", taskId="task_1")
        assert task["sessionKey"] == "agent:main:task:task_1"
        listed = (await client.get("/api/sessions")).json()["sessions"]
        assert {(row["key"], row["kind"]) for row in listed} == {
            ("agent:main:main", "main"),
            ("agent:main:task:task_1", "other"),
        }
        assert "global" not in str(listed)
        assert (await session_of(client, "main"))["generation"] == 1
