"""Limits on connections: the size of a request's head, the time it may take, and the number of open files."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.types import Receive, Send
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import CloseCode
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from carrel.kernel.limits import (
    BODY_BYTES_MAX,
    REQUEST_BODY_SECONDS_MAX,
    REQUEST_HEAD_BYTES_MAX,
    STREAM_SEND_SECONDS_MAX,
)
from carrel.main.http_limits import BoundedHttp, allow_many_connections
from tests.harness.elapsing import Elapsing
from tests.harness.process import RunningServer, Start

WAIT_SECONDS_MAX = 10.0


@contextlib.contextmanager
def line_to(server: RunningServer) -> Iterator[socket.socket]:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_SECONDS_MAX) as line:
        yield line


def flood(line: socket.socket, beginning: bytes, more: bytes) -> tuple[int, bytes]:
    """Send the same bytes until the server closes the connection; return how many were sent, and the response."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        line.sendall(beginning)
        while sent < 200 * REQUEST_HEAD_BYTES_MAX:
            line.sendall(more)
            sent += len(more)
    said = b""
    with contextlib.suppress(ConnectionError):
        said = line.recv(4096)
    return sent, said


@pytest.mark.parametrize(
    ("beginning", "more"),
    [
        (b"GET /", b"a" * 16_384),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ", b"a" * 16_384),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"X-Many: a\r\n" * 1_500),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ", b"a" * 16_384),
    ],
    ids=["address", "long-header", "many-headers", "trailer"],
)
def test_a_head_without_an_end_is_refused_before_it_fills_the_memory(
    start: Start, beginning: bytes, more: bytes
) -> None:
    server = start()
    with line_to(server) as line:
        sent, said = flood(line, beginning, more)
    assert sent < 100 * REQUEST_HEAD_BYTES_MAX
    assert said == b"" or said.startswith(b"HTTP/1.1 ")
    with server.client() as client:
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [(b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n", 404), (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: %b\r\n\r\n", 200)],
    ids=["address", "header"],
)
def test_a_large_head_is_refused_although_it_arrives_at_once(start: Start, head: bytes, status: int) -> None:
    server = start()
    for size, expected in ((REQUEST_HEAD_BYTES_MAX + 1_000, 400), (REQUEST_HEAD_BYTES_MAX - 1_000, status)):
        with line_to(server) as line:
            line.sendall(head % (b"a" * size))
            assert int(line.recv(4096).split()[1]) == expected


def test_many_heads_on_one_connection_are_not_one_large_head(start: Start) -> None:
    server = start()
    with server.client() as client:
        for _ in range(4):
            assert client.get("/healthz", headers={"X-Long": "a" * (REQUEST_HEAD_BYTES_MAX // 2)}).status_code == 200


def test_a_body_of_many_parts_is_no_head(start: Start) -> None:
    server = start()
    parts = [b'{"agentId": "main", "message": "', *[b"word "] * 15_000, b'"}']
    with server.client() as client:
        assert client.post("/api/runs", content=iter(parts)).status_code == 202


async def listening_with(app: object) -> asyncio.Server:
    """A server of the limits alone, around an application."""
    config = uvicorn.Config(app, http=BoundedHttp, lifespan="off", log_config=None)  # type: ignore[arg-type]
    web = uvicorn.Server(config)
    config.load()
    return await asyncio.get_running_loop().create_server(
        lambda: BoundedHttp(config=config, server_state=web.server_state, app_state={}), "127.0.0.1", 0
    )


@pytest.mark.parametrize("is_ended", [False, True], ids=["sending", "sent"])
async def test_a_client_that_reads_nothing_is_disconnected(elapsing: Elapsing, is_ended: bool) -> None:
    paused, gone = asyncio.Event(), asyncio.Event()

    async def app(_scope: object, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        # More than the connections on both sides take.
        await send({"type": "http.response.body", "body": b"x" * (1 << 26), "more_body": not is_ended})
        paused.set()
        await send({"type": "http.response.body", "body": b""})
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async with await listening_with(app) as listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname(), limit=1)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(WAIT_SECONDS_MAX + STREAM_SEND_SECONDS_MAX):
            await paused.wait()
            assert listening.sockets
            elapsing.advance(STREAM_SEND_SECONDS_MAX)
            if not is_ended:
                await gone.wait()
            with contextlib.suppress(ConnectionError):
                said = 0
                while piece := await reader.read(1 << 20):
                    said += len(piece)
                assert said < 1 << 26
        writer.transport.abort()


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", b""),
        (b"GET /healthz HTTP/1.1\r\nX-Slow: ", b"HTTP/1.1 400 "),
        (b"POST /api/runs HTTP/1.1\r\nContent-Length: 10\r\n\r\n{", b""),
    ],
    ids=["nothing", "half-a-head", "half-a-body"],
)
async def test_a_request_that_does_not_arrive_ends_its_connection(
    elapsing: Elapsing, sent: bytes, answered: bytes
) -> None:
    gone = asyncio.Event()

    async def app(_scope: object, receive: object, _send: object) -> None:
        while (await receive())["type"] != "http.disconnect":  # type: ignore[operator]
            pass
        gone.set()

    async with await listening_with(app) as listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        writer.write(sent)
        # The loop looks at its connections in each of these seconds.
        await elapsing.pass_by(2 * REQUEST_BODY_SECONDS_MAX, lambda: asyncio.sleep(0))
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            said = await reader.read()
            writer.close()
            if b"Content-Length" in sent:
                await gone.wait()
    assert said.startswith(answered) if answered else said == b""


def test_an_address_that_a_client_made_up_does_not_count_as_another_client(start: Start) -> None:
    server = start()
    with server.client("crl_owner_x_wrong") as guesser:
        answers = [
            guesser.get("/api/auth/me", headers={"X-Forwarded-For": f"192.0.2.{at}"}).status_code for at in range(31)
        ]
    assert answers == [401] * 30 + [429]


def test_a_refused_socket_is_no_error_of_the_server(start: Start) -> None:
    server = start()
    with pytest.raises(InvalidStatus) as refused, connect(server.url.replace("http", "ws") + "/ws/chat"):
        pass
    assert refused.value.response.status_code == 401
    assert server.stop() == 0
    assert '"level":"error"' not in server.log_file.read_text()


def test_the_limit_of_open_files_is_raised_as_far_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (1_024, 4_096))
    monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: asked.append(limits))
    allow_many_connections()
    assert asked == [(4_096, 4_096)]


def test_a_message_of_a_websocket_may_be_as_large_as_a_body_and_no_larger(start: Start) -> None:
    server = start()
    address = server.url.replace("http", "ws") + "/ws/chat"
    with connect(address, subprotocols=[Subprotocol(f"bearer.{server.token}")], max_size=None) as socket:
        socket.send(b"x" * BODY_BYTES_MAX)
        assert "invalid_json" in str(socket.recv(WAIT_SECONDS_MAX))
        socket.send(b"x" * (BODY_BYTES_MAX + 1))
        with pytest.raises(ConnectionClosed) as ended:
            socket.recv(WAIT_SECONDS_MAX)
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == CloseCode.MESSAGE_TOO_BIG
