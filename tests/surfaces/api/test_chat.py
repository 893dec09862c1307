"""Chat messages: which session they are for, what becomes of them, and commands."""

import asyncio
from base64 import b64encode

import httpx
import pytest

from carrel.journal.store import entries_since
from carrel.kernel import SessionKey
from carrel.records import attachments_by_id
from carrel.sessions import insert_lane
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, run_of, session_of, settled, texts

TAB = {"clientInstanceId": "tab-1"}


async def chat(client: httpx.AsyncClient, text: str, **where: object) -> Json:
    answer = await client.post("/api/chat", json={"text": text, **where})
    assert answer.status_code in (200, 202), answer.text
    heard: Json = answer.json()
    assert ("command" in heard) == (answer.status_code == 200)
    return heard


@requirement("S3.id.pointer")
async def test_lines_of_a_browser_go_to_the_session_in_front_of_it(client: httpx.AsyncClient) -> None:
    first = await chat(client, "hello", **TAB)
    second = await chat(client, "more", **TAB)
    elsewhere = await chat(client, "hello", clientInstanceId="tab-2")
    assert first["sessionKey"] == second["sessionKey"] == f"agent:main:web:{first['sessionId']}"
    assert elsewhere["sessionKey"] != first["sessionKey"]
    run = await settled(client, second["runId"])
    assert (run["reply"], run["provenance"]["kind"]) == ("echo: more", "external_user")
    assert run["provenance"]["sourceChannel"] == "web"
    assert (run["attributes"]["SESSION_IDENTITY_CHANNEL"], run["attributes"]["SESSION_IDENTITY_CONVERSATION"]) == (
        "web",
        first["sessionId"],
    )
    history = (await client.get(f"/api/sessions/{first['sessionKey']}/history")).json()
    assert texts(history) == ["hello", "echo: hello", "more", "echo: more"]


@requirement("S3.id.newkey", "S3.id.sessionid")
async def test_a_key_of_the_clients_choosing_makes_the_session_and_puts_it_in_front(client: httpx.AsyncClient) -> None:
    made = await chat(client, "hello", sessionId="my-own-chat", **TAB)
    assert made["sessionKey"] == "agent:main:web:my-own-chat"
    assert (await chat(client, "again", **TAB))["sessionId"] == "my-own-chat"
    for reference in ("my-own-chat", "web:my-own-chat", "agent:main:web:my-own-chat", "agent:main:web:my-own-chat:v1"):
        assert (await chat(client, "hi", sessionId=reference))["sessionKey"] == made["sessionKey"]
        assert (await chat(client, "hi", sessionKey=reference))["sessionKey"] == made["sessionKey"]
    run = await settled(client, made["runId"])
    assert (await chat(client, "hi", sessionId=run["sessionId"]))["sessionKey"] == made["sessionKey"]


@requirement("S3.id.sessionid")
async def test_a_bare_key_that_fits_two_sessions_is_ambiguous(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    mine = await chat(client, "hello", sessionId="same-name-here")
    other = await chat(client, "hello", sessionId="same-name-here", agentId="writer")
    assert other["sessionKey"] == "agent:writer:web:same-name-here"
    answer = await client.post("/api/chat", json={"text": "which?", "sessionId": "same-name-here"})
    assert refused(answer)[:2] == (409, "ambiguous_session")
    assert sorted(answer.json()["error"]["details"]["sessionKeys"]) == [mine["sessionKey"], other["sessionKey"]]
    again = await chat(client, "you", sessionId="same-name-here", agentId="writer")
    assert again["sessionKey"] == other["sessionKey"]


@requirement("S3.id.legacy", "S3.id.newkey")
async def test_an_old_short_key_stays_usable_and_no_new_one_is_made(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    access = await server.access_of()
    old = SessionKey.parse("agent:main:web:old")
    await server.db.write(lambda tx: insert_lane(tx, access, old))
    for where in ({"sessionId": "old"}, {"sessionKey": str(old)}):
        assert (await chat(client, "hello", **where))["sessionKey"] == str(old)
    for where in ({"sessionId": "new"}, {"sessionKey": "agent:main:web:new"}, {"sessionId": "ses_something"}):
        for text in ("hello", "/status"):
            answer = await client.post("/api/chat", json={"text": text, **where})
            assert refused(answer) == (400, "invalid_conversation_key", "conversationKey")


async def test_another_agent_than_the_one_in_front_gets_a_session_of_its_own(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    first = await chat(client, "hello", **TAB)
    other = await chat(client, "hello", agentId="writer", **TAB)
    assert other["sessionKey"].startswith("agent:writer:web:")
    assert (await chat(client, "more", **TAB))["sessionKey"] == other["sessionKey"]
    assert (await chat(client, "more", agentId="writer", **TAB))["sessionKey"] == other["sessionKey"]
    assert first["sessionKey"] != other["sessionKey"]


async def test_a_browser_without_a_name_begins_a_session_with_every_line(client: httpx.AsyncClient) -> None:
    one, two = await chat(client, "hello"), await chat(client, "hello")
    assert one["sessionKey"] != two["sessionKey"]


async def test_a_task_lane_is_spoken_in_without_being_put_in_front(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await server.make_task("task_1")
    first = await chat(client, "hello", **TAB)
    task = await chat(client, "about the task", sessionKey="agent:main:task:task_1", **TAB)
    assert (task["sessionId"], task["sessionKey"]) == ("task:task_1", "agent:main:task:task_1")
    assert (await chat(client, "back", **TAB))["sessionKey"] == first["sessionKey"]


async def test_the_same_message_twice_is_the_same_run(either_server: HttpServer) -> None:
    async with either_server.client() as client:
        once = {"clientMessageId": "m-1", "sessionId": "my-own-chat"}
        first, *again = await asyncio.gather(*(chat(client, "hello", **once) for _ in range(8)))
        assert all(answer == first for answer in again)
        pointed = [await chat(client, "hi", clientMessageId="m-1", **TAB) for _ in range(2)]
        assert pointed[0] == pointed[1]
        assert pointed[0]["runId"] != first["runId"]
        nameless = [await chat(client, "hi", clientMessageId="m-2") for _ in range(2)]
        assert nameless[0] == nameless[1]
        assert len((await client.get("/api/runs")).json()["runs"]) == 3


async def test_two_people_may_use_the_same_message_id(server: HttpServer, client: httpx.AsyncClient) -> None:
    user = (await client.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]
    token = await server.token(client, kind="user", userId=user["id"])
    mine = await chat(client, "hello", clientMessageId="m-1", sessionId="main")
    async with server.client(token) as ada:
        hers = await chat(ada, "hello", clientMessageId="m-1", sessionId="main")
    assert mine["runId"] != hers["runId"]
    assert mine["sessionKey"] == hers["sessionKey"]


async def test_files_come_along_with_a_line(server: HttpServer, client: httpx.AsyncClient) -> None:
    content = bytes(range(256))
    file = {"name": "all.bin", "mimeType": "application/pdf", "dataBase64": b64encode(content).decode()}
    said = await chat(client, "look", attachments=[file])
    run = await run_of(client, said["runId"])
    (attached,) = run["message"]["attachments"]
    assert (attached["fileName"], attached["mimeType"], attached["sizeBytes"]) == ("all.bin", "application/pdf", 256)
    access = await server.access_of()
    (kept,) = await server.db.read(lambda tx: attachments_by_id(tx, access, (attached["id"],)))
    assert kept.content == content
    await settled(client, said["runId"])
    assert (await client.delete(f"/api/sessions/{said['sessionKey']}")).status_code == 204
    assert await server.db.read(lambda tx: attachments_by_id(tx, access, (attached["id"],))) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (400, "invalid_params", "text")),
        ({"text": "  "}, (400, "invalid_params", "text")),
        ({"text": "x" * 100_001, **TAB}, (422, "too_long", "text")),
        ({"text": "x", "channelType": "pigeon"}, (400, "invalid_params", "channelType")),
        ({"text": "x", "metadata": {"goalId": "goal_1"}}, (404, "not_found", None)),
        ({"text": "x", "agentId": "nobody"}, (404, "not_found", None)),
        ({"text": "x", "sessionKey": "agent:nobody:main"}, (404, "not_found", None)),
        ({"text": "x", "sessionKey": "main", "sessionId": "my-own-chat"}, (400, "invalid_params", "sessionId")),
        ({"text": "x", "clientMessageId": ""}, (400, "invalid_params", "clientMessageId")),
        ({"text": "x", "attachments": [{"name": "a"}]}, (400, "invalid_params", "attachments.0.mimeType")),
        (
            {"text": "x", "attachments": [{"name": "a", "mimeType": "a/b", "dataBase64": "no base64!"}]},
            (400, "invalid_params", "attachments.0.dataBase64"),
        ),
        (
            {"text": "x", "attachments": [{"name": "a", "mimeType": "a/b", "dataBase64": ""}] * 9},
            (422, "limit_reached", "attachments"),
        ),
    ],
)
async def test_a_line_that_cannot_be_heard_is_refused(
    client: httpx.AsyncClient, body: dict[str, object], expected: tuple[int, str, str | None]
) -> None:
    assert refused(await client.post("/api/chat", json=body)) == expected
    assert (await client.get("/api/sessions")).json()["sessions"] == []


async def test_agents_and_programs_do_not_chat(server: HttpServer, client: httpx.AsyncClient) -> None:
    for kind, given in (("agent", {"agentId": "main"}), ("client", {"agentIds": ["main"]})):
        async with server.client(await server.token(client, kind=kind, **given)) as bearer:
            assert refused(await bearer.post("/api/chat", json={"text": "x"}))[:2] == (403, "forbidden")


@requirement("S3.id.firstcommand", "S3.id.resolve.first")
async def test_a_command_as_first_line_makes_the_session_a_message_would(client: httpx.AsyncClient) -> None:
    asked = await chat(client, "/status", sessionId="my-own-chat", **TAB)
    assert (asked["command"], asked["sessionKey"]) == ("status", "agent:main:web:my-own-chat")
    row = await session_of(client, "my-own-chat")
    assert (row["generation"], row["sessionId"]) == (0, None)
    assert (await chat(client, "hello", **TAB))["sessionKey"] == asked["sessionKey"]
    fresh = await chat(client, "/status", clientInstanceId="tab-2")
    assert (await chat(client, "hello", clientInstanceId="tab-2"))["sessionKey"] == fresh["sessionKey"]


@requirement("S3.edge.pointer")
@pytest.mark.parametrize("vanishes", ["deleted", "archived"])
async def test_a_command_acts_on_the_session_that_replaced_a_stale_one(
    client: httpx.AsyncClient, vanishes: str
) -> None:
    left = await chat(client, "hello", **TAB)
    gone = await chat(client, "/new", **TAB)
    if vanishes == "deleted":
        (await client.delete(f"/api/sessions/{gone['sessionKey']}")).raise_for_status()
    else:
        (await client.post(f"/api/sessions/{gone['sessionKey']}/archive")).raise_for_status()
    chosen = await chat(client, "/model small", **TAB)
    assert chosen["sessionKey"] == left["sessionKey"]
    assert (await session_of(client, left["sessionKey"]))["model"] == "small"
    assert (await chat(client, "hello", **TAB))["sessionKey"] == left["sessionKey"]


async def test_a_command_never_reaches_an_agent_and_other_tokens_do(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await chat(client, "/help", **TAB)
    assert server.agent.bodies == []
    access = await server.access_of()
    assert await server.db.read(lambda tx: entries_since(tx, access, 0, limit=10)) == []
    for text in ("/nonsense please", "/", "see /help", "//help"):
        said = await chat(client, text, **TAB)
        assert (await settled(client, said["runId"]))["reply"] == f"echo: {text}"


@requirement("S2.policy.owner", "S2.policy.patch")
async def test_sending_is_switched_by_the_owner_alone_in_a_message(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    key = (await chat(client, "hello", **TAB))["sessionKey"]
    for text in ("/send off please", "/send off\nand hello"):
        assert refused(await client.post("/api/chat", json={"text": text, **TAB}))[:2] == (403, "forbidden")
    user = (await client.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]
    async with server.client(await server.token(client, kind="user", userId=user["id"])) as ada:
        answer = await ada.post("/api/chat", json={"text": "/send off", "sessionKey": "main"})
        assert refused(answer)[:2] == (403, "forbidden")
        theirs = await ada.post("/api/chat", json={"text": "/send off", "sessionKey": key})
        assert refused(theirs)[:2] == (404, "not_found")
    assert (await session_of(client, key))["sendPolicy"] is None
    assert (await chat(client, "/send off", **TAB))["command"] == "send"
    assert refused(await client.post("/api/chat", json={"text": "hello", **TAB}))[:2] == (403, "send_denied")
    await chat(client, "/send on", **TAB)
    assert (await session_of(client, key))["sendPolicy"] == "allow"
    assert "runId" in await chat(client, "hello", **TAB)
    await chat(client, "/send inherit", **TAB)
    assert (await session_of(client, key))["sendPolicy"] is None
    assert "/send on" in (await chat(client, "/send maybe", **TAB))["reply"]


@requirement("S3.id.pointer")
async def test_commands_go_from_session_to_session(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    first = await chat(client, "hello", **TAB)
    new = await chat(client, "/new", **TAB)
    assert new["sessionId"] != first["sessionId"]
    assert (await chat(client, "hello", **TAB))["sessionKey"] == new["sessionKey"]
    writer = await chat(client, "/new writer", **TAB)
    assert writer["sessionKey"].startswith("agent:writer:web:")
    listed = (await chat(client, "/sessions", **TAB))["reply"].splitlines()
    assert {line.split()[1] for line in listed} == {row["sessionId"] for row in (first, new, writer)}
    assert [line for line in listed if line.startswith("*")] == [f"* {writer['sessionId']} (writer)"]
    back = await chat(client, f"/switch {first['sessionId']}", **TAB)
    assert (back["sessionId"], back["sessionKey"]) == (first["sessionId"], first["sessionKey"])
    assert (await chat(client, "hello", **TAB))["sessionKey"] == first["sessionKey"]
    lost = await chat(client, "/switch nowhere-at-all", **TAB)
    assert (lost["sessionKey"], "nowhere-at-all" in lost["reply"]) == (first["sessionKey"], True)
    assert (await chat(client, "/new nobody", **TAB))["sessionKey"] == first["sessionKey"]


async def test_stop_and_reset_act_on_the_session_in_front_alone(server: HttpServer, client: httpx.AsyncClient) -> None:
    other = await chat(client, "hold other", clientInstanceId="tab-2")
    await server.agent.reached("other")
    held = await chat(client, "hold mine", **TAB)
    await server.agent.reached("mine")
    queued = await chat(client, "queued", **TAB)
    status = (await chat(client, "/status", **TAB))["reply"]
    assert "generation 1" in status
    assert "Running: 1, queued: 1" in status
    assert "2 runs" in (await chat(client, "/stop", **TAB))["reply"]
    for run in (held, queued):
        assert (await settled(client, run["runId"]))["reason"] == "stopped"
    assert (await run_of(client, other["runId"]))["state"] == "running"
    assert "generation 2" in (await chat(client, "/reset", **TAB))["reply"]
    after = await chat(client, "afresh", **TAB)
    assert (await settled(client, after["runId"]))["generation"] == 2
    server.agent.release("other")


async def test_model_and_thinking_are_chosen_for_the_session(server: HttpServer, client: httpx.AsyncClient) -> None:
    key = (await chat(client, "/model big-one", **TAB))["sessionKey"]
    await chat(client, "/think high", **TAB)
    row = await session_of(client, key)
    assert (row["model"], row["thinkingLevel"]) == ("big-one", "high")
    await settled(client, (await chat(client, "hello", **TAB))["runId"])
    assert (server.agent.bodies[-1]["model"], server.agent.bodies[-1]["reasoning"]) == ("big-one", {"effort": "high"})
    assert "minimal" in (await chat(client, "/think hardest", **TAB))["reply"]
    await chat(client, "/model default", **TAB)
    await chat(client, "/think default", **TAB)
    row = await session_of(client, key)
    assert (row["model"], row["thinkingLevel"]) == (None, None)
    assert "default" in (await chat(client, "/model", **TAB))["reply"]
    assert "owner" in (await chat(client, "/whoami", **TAB))["reply"]


async def test_a_chat_that_nobody_named_bears_its_first_words(client: httpx.AsyncClient) -> None:
    async def title(key: str) -> object:
        return (await client.get(f"/api/sessions/{key}")).json()["session"]["displayName"]

    first = "How are ferns\nwatered, " + "and when, " * 20
    key = (await client.post("/api/chat", json={"text": first, "sessionId": "about-ferns"})).json()["sessionKey"]
    shown = await title(key)
    assert isinstance(shown, str)
    assert shown.startswith("How are ferns watered, and when,")
    assert len(shown) == 60
    await client.post("/api/chat", json={"text": "and roses?", "sessionKey": key})
    assert await title(key) == shown
    named = {"conversationKey": "my-own-name", "displayName": "Roses"}
    key = (await client.post("/api/sessions", json=named)).json()["sessionKey"]
    await client.post("/api/chat", json={"text": "hello", "sessionKey": key})
    assert await title(key) == "Roses"
    main = (await client.post("/api/chat", json={"text": "hello", "sessionKey": "agent:main:main"})).json()[
        "sessionKey"
    ]
    assert await title(main) is None
