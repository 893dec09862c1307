"""Large responses: pages end before they are too large, all of them share a budget, and nobody has to be waited for."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest

from carrel.board import LogSource, NewLog, record
from carrel.kernel.limits import (
    LOG_RAW_CHARS_MAX,
    PAGE_BYTES_MAX,
    RESPONSE_BYTES_PER_SECOND_MIN,
    SMALL_BODY_BYTES_MAX,
    STREAM_SEND_SECONDS_MAX,
)
from carrel.storage import Tx
from carrel.surfaces.http.byte_budgets import ByteBudget
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task
from tests.harness.elapsing import Elapsing
from tests.harness.engine import SECONDS_MAX
from tests.harness.server import HttpServer
from tests.surfaces.api_calls import Json, refused

MANY = 60
LARGE_LOG = "/api/log?limit=1000&includeRaw=1"
LONG = "x" * LOG_RAW_CHARS_MAX


async def furnish(server: HttpServer) -> None:
    """More large entries, topics and tasks than fit into a page."""

    def work(tx: Tx) -> None:
        for n in range(MANY):
            source = LogSource(session_key="claude:s1")
            record(tx, server.access, NewLog(id=f"log-{n}", type="note", content=LONG, raw=LONG, source=source))
            put_topic(tx, server.access, NewTopic(id=f"topic-{n}", name=f"Topic {n}", description=LONG))
            create_task(tx, server.access, NewTask(id=f"task-{n}", title=f"Task {n}", description=LONG), server.rules)

    await server.db.write(work)


@pytest.mark.parametrize(
    ("path", "items"),
    [(LARGE_LOG, "logs"), ("/api/topics?limit=500", "topics"), ("/api/tasks?limit=500", "tasks")],
)
async def test_a_page_ends_before_it_is_too_large_and_the_next_one_goes_on(
    server: HttpServer, client: httpx.AsyncClient, path: str, items: str
) -> None:
    await furnish(server)
    found, cursor, pages = list[str](), None, 0
    while pages == 0 or cursor is not None:
        answer = await client.get(path + (f"&cursor={cursor}" if cursor else ""))
        assert len(answer.content) < PAGE_BYTES_MAX + 3 * len(LONG)
        page: Json = answer.json()
        found += [one["id"] for one in page[items]]
        cursor, pages = page["nextCursor"], pages + 1
    assert pages > 1
    assert sorted(name for name in found if name.startswith(items[:3])) == sorted(
        f"{items.removesuffix('s')}-{n}" for n in range(MANY)
    )
    assert len(found) == len(set(found))


async def test_changes_that_are_large_come_in_several_pages(server: HttpServer, client: httpx.AsyncClient) -> None:
    for round_ in range(4):

        def work(tx: Tx, first: int = round_ * MANY) -> None:
            for n in range(first, first + MANY):
                record(tx, server.access, NewLog(id=f"log-{n}", type="note", content=LONG, source=LogSource()))

        await server.db.write(work)
    found, seq, pages = list[str](), 0, 0
    more = True
    while more:
        answer = await client.get("/api/changes", params={"sinceSeq": seq, "limit": 5_000})
        assert len(answer.content) < 5 * PAGE_BYTES_MAX
        page: Json = answer.json()
        found += [one["id"] for one in page["logs"]]
        more, seq, pages = page["more"], page["seq"], pages + 1
    assert pages > 1
    assert found == [f"log-{n}" for n in range(4 * MANY)]


async def test_many_small_changes_are_one_page(server: HttpServer, client: httpx.AsyncClient) -> None:
    def work(tx: Tx) -> None:
        for n in range(3 * MANY):
            record(tx, server.access, NewLog(id=f"log-{n}", type="note", content="small", source=LogSource()))
            put_topic(tx, server.access, NewTopic(id=f"topic-{n}", name=f"Topic {n}"))

    await server.db.write(work)
    page: Json = (await client.get("/api/changes", params={"limit": 5_000})).json()
    assert not page["more"]
    assert [one["id"] for one in page["logs"]] == [f"log-{n}" for n in range(3 * MANY)]
    assert {one["id"] for one in page["topics"]} == {f"topic-{n}" for n in range(3 * MANY)}


@asynccontextmanager
async def unread(server: HttpServer, token: str) -> AsyncIterator[asyncio.StreamReader]:
    """A request for a large page whose response nobody reads."""
    host, port = server.url.removeprefix("http://").split(":")
    sock = socket.socket()
    # Else the system would take a whole page.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=sock, limit=1)
    try:
        head = f"GET {LARGE_LOG} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        writer.write(head.encode())
        yield reader
    finally:
        writer.transport.abort()


async def until_held(server: HttpServer, client: httpx.AsyncClient, at_least: int, at_most: int) -> None:
    """Wait until so many bytes of responses are held; small requests let the server work meanwhile."""
    budget: ByteBudget = server.assembly.app.state.response_budget
    async with asyncio.timeout(SECONDS_MAX):
        while not at_least <= budget.held_bytes <= at_most:
            assert (await client.get("/healthz")).status_code == 200


async def test_responses_that_nobody_reads_share_a_budget_and_one_caller_does_not_get_it_all(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await furnish(server)
    person = (await client.post("/api/users", json={"name": "Ann"})).json()["user"]["id"]
    ann = await server.token(client, kind="user", userId=person)
    budget: ByteBudget = server.assembly.app.state.response_budget
    one = len((await client.get(LARGE_LOG)).content) - SMALL_BODY_BYTES_MAX
    # Half of it is enough for two of them.
    budget.bytes_max = 5 * one
    async with AsyncExitStack() as sockets:
        for n in range(2):
            await sockets.enter_async_context(unread(server, server.owner))
            await until_held(server, client, (n + 1) * one, budget.bytes_max)
        answer = await client.get(LARGE_LOG)
        assert refused(answer) == (503, "busy", None)
        assert answer.headers["retry-after"] == "5"
        assert (await client.get("/api/auth/me")).status_code == 200, "what is small always passes"
        async with server.client(ann) as other, server.client(server.other_owner) as stranger:
            assert (await other.get("/api/topics?limit=1")).status_code == 200
            await sockets.enter_async_context(unread(server, ann))
            await until_held(server, client, 3 * one, budget.bytes_max)
            assert (await other.get(LARGE_LOG)).status_code == 503, "an account has three quarters"
            assert (await stranger.get("/api/openapi.json")).status_code == 200
    await until_held(server, client, 0, 0)
    assert (await client.get(LARGE_LOG)).status_code == 200


async def test_a_response_that_is_not_read_is_cut_off_after_a_time(
    server: HttpServer, client: httpx.AsyncClient, elapsing: Elapsing
) -> None:
    await furnish(server)
    async with unread(server, server.owner) as reader:
        await until_held(server, client, 1, 1 << 30)
        elapsing.advance(STREAM_SEND_SECONDS_MAX + 2 * PAGE_BYTES_MAX // RESPONSE_BYTES_PER_SECOND_MIN)
        await until_held(server, client, 0, 0)
        async with asyncio.timeout(SECONDS_MAX):
            read = 0
            while piece := await reader.read(1 << 20):
                read += len(piece)
    assert read < PAGE_BYTES_MAX, "it has ended before it was complete"
