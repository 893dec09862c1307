"""Open streams and sockets end with the rights of whoever opened them, on every server and without any time passing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from carrel.access import NewToken
from carrel.agents import make_token
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.chat_line import open_line
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api_calls import settled, start

# Less than the time after which a connection would look again by itself.
WAIT_SECONDS_MAX = 10
Ended = Callable[[], Awaitable[None]]
Opening = Callable[[HttpServer, str], AbstractAsyncContextManager[Ended]]


class Servers(NamedTuple):
    """The server that connections are opened on, and a client of the server that rights are changed on."""

    opened: HttpServer
    owner: httpx.AsyncClient


@pytest.fixture
async def servers(store_url: str) -> AsyncIterator[Servers]:
    """Two servers on one PostgreSQL; one on SQLite."""
    async with open_http_server(store_url, run_tokens=True) as first:
        if store_url.startswith("sqlite"):
            async with first.client() as owner:
                yield Servers(first, owner)
            return
        async with open_http_server(store_url, works=False) as second, second.client(first.owner) as owner:
            yield Servers(first, owner)


async def ends(lines: AsyncIterator[str]) -> None:
    """Read a stream to its end."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        async for _ in lines:
            continue


@asynccontextmanager
async def api_stream(server: HttpServer, token: str) -> AsyncIterator[Ended]:
    async with server.client(token) as client, follow(client) as follower:
        await follower.next()

        async def ended() -> None:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await follower.ended()

        yield ended


@asynccontextmanager
async def chat_socket(server: HttpServer, token: str) -> AsyncIterator[Ended]:
    async with open_line(server.url, token) as line:
        await line.bind(sessionId="my-own-chat")

        async def ended() -> None:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                assert await line.closed() == 1008

        yield ended


@asynccontextmanager
async def responses_socket(server: HttpServer, token: str) -> AsyncIterator[Ended]:
    url = server.url.replace("http", "ws", 1) + "/v1/responses"
    async with connect(url, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None) as socket:

        async def ended() -> None:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
            assert socket.close_code == 1008

        yield ended


def streamed(method: str, path: str, body: object = None) -> Opening:
    """A request that is answered by a stream."""

    @asynccontextmanager
    async def opening(server: HttpServer, token: str) -> AsyncIterator[Ended]:
        headers = {"Accept": "text/event-stream"}
        async with server.client(token) as client, client.stream(method, path, json=body, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            yield lambda: ends(answer.aiter_lines())

    return opening


MESSAGE = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hold it"}]}}
OPENINGS: dict[str, Opening] = {
    "events": api_stream,
    "chat": chat_socket,
    "mcp": streamed("GET", "/mcp"),
    "a2a": streamed("POST", "/a2a/main/message:stream", MESSAGE),
    "completions": streamed(
        "POST",
        "/v1/chat/completions",
        {"model": "carrel", "messages": [{"role": "user", "content": "hold it"}], "stream": True},
    ),
    "responses": streamed("POST", "/v1/responses", {"model": "carrel", "input": "hold it", "stream": True}),
    "responses socket": responses_socket,
}


@requirement("I.revoke")
@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS.keys())
async def test_what_a_revoked_token_has_opened_ends_on_every_server(servers: Servers, opening: Opening) -> None:
    made = (await servers.owner.post("/api/tokens", json={"kind": "owner", "name": "short-lived"})).json()
    async with opening(servers.opened, made["secret"]) as ended:
        assert (await servers.owner.delete(f"/api/tokens/{made['token']['id']}")).status_code == 204
        await ended()


@requirement("I.revoke")
async def test_what_another_token_has_opened_goes_on(servers: Servers) -> None:
    made = (await servers.owner.post("/api/tokens", json={"kind": "owner", "name": "short-lived"})).json()
    async with servers.opened.client() as other, follow(other) as follower:
        await follower.next()
        async with api_stream(servers.opened, made["secret"]) as ended:
            await servers.owner.delete(f"/api/tokens/{made['token']['id']}")
            await ended()
        await servers.owner.post("/api/topics", json={"name": "Still here"})
        assert (await follower.until("topic.created"))[-1].body["data"]["topic"]["name"] == "Still here"


@requirement("I.revoke")
async def test_a_stream_ends_when_its_token_expires(servers: Servers) -> None:
    server = servers.opened

    async def short_lived() -> str:
        return (
            await server.db.write(
                lambda tx: make_token(tx, server.access, NewToken(kind="owner", name="x", expires_at=tx.now + 1000))
            )
        )[1]

    async with api_stream(server, await short_lived()) as ended:
        await ended()


@requirement("I.revoke")
async def test_a_stream_by_cookie_ends_with_the_sign_out(servers: Servers) -> None:
    made = await servers.opened.token(servers.owner, kind="owner")
    async with servers.opened.client(None) as browser:
        (await browser.post("/api/auth/session", json={"token": made})).raise_for_status()
        async with follow(browser) as follower:
            await follower.next()
            # The other server knows the same cookie.
            cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
            headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", "Authorization": ""}
            signed_out = await servers.owner.delete("/api/auth/session", headers=headers)
            assert signed_out.status_code == 204, signed_out.text
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await follower.ended()


@requirement("I.revoke")
async def test_a_stream_ends_with_its_user(servers: Servers) -> None:
    user = (await servers.owner.post("/api/users", json={"name": "Ann", "slug": "ann", "role": "member"})).json()
    token = await servers.opened.token(servers.owner, kind="user", userId=user["user"]["id"])
    async with api_stream(servers.opened, token) as ended:
        assert (await servers.owner.delete(f"/api/users/{user['user']['id']}")).status_code == 204
        await ended()


@requirement("I.revoke")
@pytest.mark.parametrize(
    "change",
    [{"enabled": False}, {"spaceIds": ["space-default"]}, {"tools": {"deny": ["clawboard_get_log"]}}],
    ids=["disabled", "narrowed", "denied"],
)
async def test_a_stream_ends_when_its_agent_may_do_less(servers: Servers, change: dict[str, object]) -> None:
    token = await servers.opened.token(servers.owner, kind="agent", agentId="main")
    async with api_stream(servers.opened, token) as ended:
        (await servers.owner.patch("/api/agents/main", json=change)).raise_for_status()
        await ended()


@requirement("I.revoke")
async def test_a_stream_of_a_run_ends_with_it(servers: Servers) -> None:
    run_id = (await start(servers.owner, "hold here"))["runId"]
    await servers.opened.agent.reached("here")
    async with api_stream(servers.opened, servers.opened.agent.tokens[run_id]) as ended:
        servers.opened.agent.release("here")
        await settled(servers.owner, run_id)
        await ended()
