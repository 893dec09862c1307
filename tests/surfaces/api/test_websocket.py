"""The chat's WebSocket: binding, messages, live text, events, and how it closes."""

import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from carrel.delivery import LivePiece
from carrel.kernel.limits import SAFETY_POLL_SECONDS
from carrel.surfaces.api.silent_text import SilentTextFilter
from tests.harness.elapsing import Elapsing
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.chat_line import Line, open_line
from tests.surfaces.api_calls import session_of, settled, start, texts


def line(server: HttpServer, token: str | None = "", **options: Any) -> AbstractAsyncContextManager[Line]:
    """A connection with a token, the owner's by default; None for one without."""
    return open_line(server.url, None if token is None else token or server.owner, **options)


async def test_a_line_is_answered_in_pieces_and_done_once(server: HttpServer) -> None:
    async with line(server) as chat:
        assert await chat.bind(sessionId="my-own-chat", clientInstanceId="tab") == "my-own-chat"
        await chat.send("message", sessionId="my-own-chat", clientInstanceId="tab", text="hello there")
        heard = await chat.until("assistant_done")
        assert {frame["sessionId"] for frame in heard} == {"my-own-chat"}
        words = [frame["text"] for frame in heard if frame["type"] == "assistant_chunk"]
        assert len(words) == 2
        assert "".join(words) == heard[-1]["text"] == "echo: hello there"
        typing = [frame for frame in heard if frame.get("eventType") == "typing"]
        assert len(typing) == 1
        run_id = heard[-1]["runId"]
        assert {frame["runId"] for frame in heard if frame["type"] != "system_event"} == {run_id}
        assert isinstance(heard[-1]["seq"], int)
        await chat.send("message", text="once more")
        again = await chat.until("assistant_done")
        assert again[-1]["text"] == "echo: once more"
        assert all(frame.get("runId") != run_id for frame in again)


@requirement("S2.announce.skip", "S2.pingpong.skip", "S2.x.noreply.stops")
@pytest.mark.parametrize("word", ["REPLY_SKIP", "ANNOUNCE_SKIP", "NO_REPLY"])
async def test_words_that_only_say_that_nothing_is_said_reach_nobody_and_are_kept(
    server: HttpServer, client: httpx.AsyncClient, word: str
) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        await chat.send("message", text=f"say {word}")
        heard = await chat.until("assistant_done")
        assert [frame["text"] for frame in heard if frame["type"].startswith("assistant")] == [""]
        assert word not in str([frame for frame in heard if frame.get("payload", {}).get("name") != "run.queued"])
    history = (await client.get("/api/sessions/agent:main:web:my-own-chat/history")).json()
    assert texts(history)[-1] == word


async def test_words_that_only_begin_like_silence_all_come(server: HttpServer) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        for words in ("NO", "NO_REPLY is a word", "REPLY"):
            await chat.send("message", text=f"say {words}")
            heard = await chat.until("assistant_done")
            pieces = [frame["text"] for frame in heard if frame["type"] == "assistant_chunk"]
            assert ("".join(pieces), heard[-1]["text"]) == (words, words)


def test_silence_is_held_back_in_a_later_step_and_lost_with_a_step_that_is_void() -> None:
    silent_text = SilentTextFilter()
    assert [silent_text.add("run_a", piece) for piece in ("I will ", "look.", " REPLY", "_SKIP")] == [
        "I will ",
        "look.",
        "",
        "",
    ]
    assert silent_text.end("run_a", "REPLY_SKIP") == ""
    assert [silent_text.add("run_b", piece) for piece in ("NO", " way")] == ["", "NO way"]
    assert silent_text.add("run_b", "RE") == ""
    assert silent_text.end("run_b", None) == ""
    assert (silent_text.add("run_b", "RE"), silent_text.add("run_c", "d")) == ("", "d"), (
        "what another run said is not its beginning"
    )


@requirement("S2.send.provenance")
async def test_a_reply_that_goes_to_another_session_says_so(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        await chat.send("message", text="hello")
        assert "payload" not in (await chat.until("assistant_done"))[-1]
        sent = {"sessionKey": "agent:main:web:my-own-chat", "message": "how many?", "timeoutSeconds": 0}
        (await client.post("/agent/sessions_send", json=sent)).raise_for_status()
        done = (await chat.until("assistant_done"))[-1]
        assert done["payload"]["provenance"]["kind"] == "inter_session"
        assert done["payload"]["provenance"]["sourceSessionKey"] == "agent:main:main"


@requirement("S3.x.tabs")
async def test_every_connection_on_a_session_hears_it_and_no_other(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    async with line(server) as one, line(server) as two, line(server) as elsewhere:
        for chat in (one, two):
            await chat.bind(sessionId="shared-chat")
        await elsewhere.bind(sessionId="another-chat")
        await one.send("message", text="hello")
        first, second = await one.until("assistant_done"), await two.until("assistant_done")
        assert first[-1] == second[-1]
        said = (await client.post("/api/chat", json={"text": "by http", "sessionId": "shared-chat"})).json()
        assert (await two.until("assistant_done"))[-1]["runId"] == said["runId"]
        await elsewhere.send("message", text="alone")
        heard = await elsewhere.until("assistant_done")
        assert {frame["sessionId"] for frame in heard} == {"another-chat"}


@requirement("S3.ui.sessionid")
async def test_no_frame_of_one_session_reaches_a_browser_on_another(server: HttpServer) -> None:
    async with line(server) as one, line(server) as two:
        await one.bind(sessionId="first-chat", clientInstanceId="tab-1")
        await two.bind(sessionId="second-chat", clientInstanceId="tab-2")
        await one.send("message", text="hold one")
        await server.agent.reached("one")
        await two.send("message", text="for the second")
        await two.send("message", text="/whoami")
        await two.send("message", text="fail")
        second = await two.until("system_event", "error")
        server.agent.release("one")
        first = await one.until("assistant_done")
    assert {frame["sessionId"] for frame in first} == {"first-chat"}
    assert {frame["sessionId"] for frame in second} == {"second-chat"}


@requirement("S3.edge.disconnect")
async def test_a_connection_that_closes_takes_nothing_from_others_on_its_sessions(server: HttpServer) -> None:
    async with line(server) as stays:
        for name in ("first-chat", "second-chat"):
            await stays.bind(sessionId=name)
        async with line(server) as leaves:
            for name in ("first-chat", "second-chat"):
                await leaves.bind(sessionId=name)
            await leaves.send("message", sessionId="first-chat", text="hold it")
            await server.agent.reached("it")
        server.agent.release("it")
        heard = await stays.until("assistant_done")
        assert (heard[-1]["sessionId"], heard[-1]["text"]) == ("first-chat", "echo: hold it")
        assert any(frame["type"] == "assistant_chunk" for frame in heard)
        await stays.send("message", sessionId="second-chat", text="hello")
        assert (await stays.until("assistant_done"))[-1]["sessionId"] == "second-chat"


@requirement("S3.x.command.done")
async def test_a_command_ends_with_a_done_frame_and_goes_where_it_leads(server: HttpServer) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        await chat.send("message", text="/whoami", clientInstanceId="tab")
        done = await chat.hear()
        assert (done["type"], done["command"], done["sessionId"]) == ("assistant_done", True, "my-own-chat")
        assert "owner" in done["text"]
        await chat.send("message", text="/new", clientInstanceId="tab")
        moved = (await chat.until("assistant_done"))[-1]
        assert moved["sessionId"] != "my-own-chat"
        await chat.send("message", text="hello")
        assert (await chat.until("assistant_done"))[-1]["sessionId"] == moved["sessionId"]


async def test_binding_and_speaking_without_a_name_follow_the_pointer(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    made = (await client.post("/api/sessions", json={"clientInstanceId": "tab"})).json()
    async with line(server) as chat:
        assert await chat.bind(clientInstanceId="tab") == made["sessionId"]
    async with line(server) as chat:
        await chat.send("message", clientInstanceId="tab", text="hello")
        assert (await chat.until("assistant_done"))[-1]["sessionId"] == made["sessionId"]
        row = await session_of(client, made["sessionKey"])
        assert row["lastChannel"] == "web"


async def test_a_message_is_heard_once_however_often_it_is_sent(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        for _ in range(2):
            await chat.send("message", text="hello", clientMessageId="m-1")
        await chat.send("message", text="the end")
        replies = [(await chat.until("assistant_done"))[-1]["text"] for _ in range(2)]
    assert replies == ["echo: hello", "echo: the end"]
    assert len((await client.get("/api/runs")).json()["runs"]) == 2


async def test_a_failed_run_is_told_as_an_error(server: HttpServer) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        await chat.send("message", text="fail")
        failed = (await chat.until("system_event", "error"))[-1]
        assert (failed["payload"]["code"], failed["payload"]["state"]) == ("scripted", "failed")
        assert failed["runId"].startswith("run_")
        await chat.send("message", text="go on")
        assert (await chat.until("assistant_done"))[-1]["text"] == "echo: go on"


async def test_a_question_is_told_with_the_run_that_asks(server: HttpServer) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        await chat.send("message", text="ask Which one?")
        while (frame := await chat.hear()).get("payload", {}).get("state") != "waiting":
            assert frame["type"] == "system_event"
        assert (frame["payload"]["waitingFor"], frame["payload"]["question"]) == ("input", "Which one?")


async def test_a_stop_cancels_what_runs(server: HttpServer) -> None:
    async with line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        await chat.send("message", text="hold gate")
        await server.agent.reached("gate")
        await chat.send("stop", sessionId="my-own-chat")
        heard = [await chat.hear()]
        while heard[-1].get("payload", {}).get("state") != "cancelled":
            heard.append(await chat.hear())
        told = next(frame["payload"]["cancelledRuns"] for frame in heard if "cancelledRuns" in frame.get("payload", {}))
        assert told == [heard[-1]["runId"]]
        assert heard[-1]["payload"]["reason"] == "stopped"
        assert not any(frame["type"] == "assistant_done" for frame in heard)


@pytest.mark.parametrize(
    ("sent", "code", "field"),
    [
        ("no json", "invalid_json", None),
        ("{}", "invalid_params", "type"),
        ('{"type": "dance"}', "invalid_params", "type"),
        ('{"type": "message", "text": "x", "colour": "red"}', "invalid_params", "colour"),
        ('{"type": "message", "text": " "}', "invalid_params", "text"),
        ('{"type": "bind", "sessionId": "short"}', "invalid_conversation_key", "conversationKey"),
        ('{"type": "bind", "sessionId": "agent:nobody:main"}', "not_found", None),
    ],
)
async def test_a_wrong_frame_is_told_and_the_line_stays(
    server: HttpServer, sent: str, code: str, field: str | None
) -> None:
    async with line(server) as chat:
        await chat.connection.send(sent)
        told = await chat.hear()
        assert (told["type"], told["eventType"]) == ("system_event", "error")
        assert (told["payload"]["code"], told["payload"].get("field")) == (code, field)
        await chat.send("message", sessionId="my-own-chat", text="hello")
        assert (await chat.until("assistant_done"))[-1]["text"] == "echo: hello"


async def test_only_people_are_let_in(server: HttpServer, client: httpx.AsyncClient) -> None:
    agent = await server.token(client, kind="agent", agentId="main")
    for token, status in ((None, 401), ("crl_owner_x_wrong", 401), (agent, 403)):
        with pytest.raises(InvalidStatus) as refused:
            async with line(server, token):
                pass
        assert refused.value.response.status_code == status
        body = json.loads(refused.value.response.body or b"{}")
        assert body["error"]["code"] == ("unauthenticated" if status == 401 else "forbidden")
    with pytest.raises(InvalidStatus) as in_query:
        async with connect(f"{server.url.replace('http', 'ws', 1)}/ws/chat?token={server.owner}", proxy=None):
            pass
    assert in_query.value.response.status_code == 400


async def test_a_cookie_lets_our_own_pages_in_and_no_others(server: HttpServer, nobody: httpx.AsyncClient) -> None:
    signed_in = await nobody.post("/api/auth/session", json={"token": server.owner})
    cookie = signed_in.headers["set-cookie"].partition(";")[0]
    async with line(server, None, additional_headers={"Cookie": cookie}, origin=server.url) as chat:
        await chat.bind(sessionId="my-own-chat")
    with pytest.raises(InvalidStatus) as refused:
        async with line(server, None, additional_headers={"Cookie": cookie}, origin="https://elsewhere.example"):
            pass
    assert refused.value.response.status_code == 403


async def test_a_token_that_is_revoked_ends_the_line(server: HttpServer, client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/tokens", json={"kind": "owner", "name": "short-lived"})).json()
    async with line(server, made["secret"]) as chat:
        await chat.bind(sessionId="my-own-chat")
        assert (await client.delete(f"/api/tokens/{made['token']['id']}")).status_code == 204
        await chat.send("message", text="hello")
        assert await chat.closed() == 1008
    assert (await client.get("/api/runs")).json()["runs"] == []


async def test_another_account_hears_nothing_of_the_same_key(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with line(server, server.other_owner) as stranger:
        await stranger.bind(sessionId="shared-chat")
        said = (await client.post("/api/chat", json={"text": "secret", "sessionId": "shared-chat"})).json()
        await settled(client, said["runId"])
        await stranger.send("message", text="mine")
        heard = await stranger.until("assistant_done")
        assert heard[-1]["text"] == "echo: mine"
        assert "secret" not in str(heard)


async def test_a_line_ends_with_the_server(surface_url: str) -> None:
    async with open_http_server(surface_url) as server, line(server) as chat:
        await chat.bind(sessionId="my-own-chat")
        server.services.closing.set()
        assert await chat.closed() == 1001


async def test_a_reader_that_does_not_keep_up_is_closed(server: HttpServer, client: httpx.AsyncClient) -> None:
    access = await server.access_of()
    flood = LivePiece("text", "run_flood", "agent:main:web:my-own-chat", "x" * 60_000)
    async with line(server, max_queue=1, compression=None) as slow, line(server) as other:
        await client.post("/api/chat", json={"text": "hello", "sessionId": "my-own-chat"})
        await slow.bind(sessionId="my-own-chat")
        await other.bind(sessionId="another-chat")
        # Nobody reads: the connection takes some, then the queue fills, and then the server gives up.
        for _ in range(40):
            for _ in range(50):
                server.services.live.say(access.account_id, flood)
            await client.get("/healthz")
        # 1006 where even the good-bye found no room in time.
        assert await slow.closed() in (1013, 1006)
        await other.send("message", text="hello")
        assert (await other.until("assistant_done"))[-1]["text"] == "echo: hello"


async def test_a_key_that_another_person_creates_is_not_overheard(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    user = (await client.post("/api/users", json={"name": "Ada"})).json()["user"]["id"]
    token = await server.token(client, kind="user", userId=user)
    async with line(server, token) as ada:
        # Nobody has this chat yet; then the owner creates it. Shorter words would be held back until it is done.
        secret = "a secret " * 50
        await ada.bind(sessionId="not-there-yet")
        said = await client.post("/api/chat", json={"text": f"say {secret}", "sessionId": "not-there-yet"})
        await settled(client, said.json()["runId"])
        await ada.send("message", text="hello", sessionId="adas-own-chat")
        frames = await ada.until("assistant_done")
    assert frames[-1]["text"] == "echo: hello"
    assert "secret" not in str(frames)


async def test_two_stores_stream_alike(either_server: HttpServer) -> None:
    async with either_server.client() as client, line(either_server) as chat:
        await chat.bind(sessionId="my-own-chat")
        await start(client, "elsewhere")
        for number in range(3):
            await chat.send("message", text=f"line {number}")
        done = [(await chat.until("assistant_done"))[-1]["text"] for _ in range(3)]
        assert done == [f"echo: line {number}" for number in range(3)]


async def test_a_store_that_goes_away_ends_the_line_with_a_wish_to_come_back(
    postgres_url: str, elapsing: Elapsing, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_http_server(postgres_url, works=False) as server, line(server) as opened:
        await opened.bind(clientInstanceId="browser-1")
        await server.db.close()
        elapsing.advance(SAFETY_POLL_SECONDS)
        assert await opened.closed() == 1013
    assert "chat_socket_broken_off" in caplog.messages
    assert not [record for record in caplog.records if record.exc_info]
