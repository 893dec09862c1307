"""Bodies while they arrive: how large one may be, and how much all of them together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from carrel.kernel.limits import (
    BODY_BYTES_MAX,
    BODY_VALUES_MAX,
    MESSAGE_CHARS_MAX,
    OPEN_BODY_BYTES_MAX,
    SMALL_BODY_BYTES_MAX,
)
from carrel.surfaces.http.byte_budgets import ByteBudget
from tests.harness.engine import SECONDS_MAX
from tests.harness.server import HttpServer
from tests.surfaces.api_calls import refused

MIB = 1024 * 1024


@asynccontextmanager
async def unfinished(server: HttpServer, path: str, size: int, *headers: str) -> AsyncIterator[asyncio.StreamReader]:
    """A request that sends so many bytes of a body and then nothing more."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = [f"POST {path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", *headers]
    try:
        writer.write("\r\n".join([*head, "", ""]).encode() + b"%x\r\n" % size + b" " * size)
        yield reader
    finally:
        writer.close()


async def status_of(reader: asyncio.StreamReader) -> int:
    """The status of the answer, once there is one."""
    async with asyncio.timeout(SECONDS_MAX):
        return int((await reader.readline()).split()[1])


async def test_a_request_that_needs_no_token_has_a_small_body(server: HttpServer, nobody: httpx.AsyncClient) -> None:
    large = await nobody.post("/api/auth/session", json={"token": "x" * OPEN_BODY_BYTES_MAX})
    assert refused(large) == (413, "too_large", None)
    chunked = "Transfer-Encoding: chunked"
    async with unfinished(server, "/api/auth/session", OPEN_BODY_BYTES_MAX + 1, chunked) as reader:
        assert await status_of(reader) == 413, "although the body has not ended"


@pytest.mark.parametrize("path", ["/api/runs", "/agent/sessions_send", "/v1/responses", "/a2a", "/mcp"])
async def test_who_is_not_let_in_is_told_so_before_the_body_has_arrived(server: HttpServer, path: str) -> None:
    for token in ((), ("Authorization: Bearer crl_owner_x_wrong",)):
        async with unfinished(server, path, 10, "Transfer-Encoding: chunked", *token) as reader:
            assert await status_of(reader) == 401


@pytest.mark.parametrize(
    "path", ["/api/runs", "/agent/sessions_send", "/v1/responses", "/a2a/main/message:send", "/mcp"]
)
async def test_large_bodies_share_a_budget_and_small_ones_always_pass(
    server: HttpServer, client: httpx.AsyncClient, path: str
) -> None:
    budget = server.assembly.app.state.request_budget = ByteBudget(3 * MIB, "requests")
    owner = f"Authorization: Bearer {server.owner}"
    large = b" " * (MIB + 100_000)
    async with asyncio.timeout(SECONDS_MAX):
        async with unfinished(server, "/api/runs", MIB, "Transfer-Encoding: chunked", owner):
            while budget.held_bytes < MIB - SMALL_BODY_BYTES_MAX:
                # Until it has arrived, as far as it goes; a small request lets the server work on it.
                assert (await client.get("/healthz")).status_code == 200
            answer = await client.post(path, content=large)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert (await client.post("/api/runs", json={"message": "small"})).status_code == 202
        while (answer := await client.post(path, content=large)).status_code == 503:
            continue
    assert answer.status_code == 400, "what the first held is free again"


async def test_a_body_may_be_as_large_as_ever(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/runs", content=b" " * BODY_BYTES_MAX)
    assert refused(answer)[0] == 400
    assert refused(await client.post("/api/runs", content=b" " * (BODY_BYTES_MAX + 1)))[0] == 413


async def status_at(client: httpx.AsyncClient, path: str, raw: bytes) -> int:
    """The status of the answer to a body of JSON; A2A has 413 in every version, and MCP before the SDK is asked."""
    answer = await client.post(path, content=raw, headers={"Content-Type": "application/json"})
    return answer.status_code


@pytest.mark.parametrize(
    "path",
    ["/api/runs", "/agent/sessions_send", "/v1/responses", "/a2a/main", "/a2a/main/message:send", "/mcp"],
)
async def test_a_body_of_very_many_values_is_refused_before_it_is_decoded(client: httpx.AsyncClient, path: str) -> None:
    for value in (b"{}", b"0", b'"\\",\\""', b'{"a":[]}'):
        raw = b'{"x":[' + b",".join([value] * (BODY_VALUES_MAX + 1)) + b"]}"
        assert await status_at(client, path, raw) == 413


@pytest.mark.parametrize("shift", [0, 1])
async def test_what_stands_within_texts_is_no_value(client: httpx.AsyncClient, shift: int) -> None:
    # Commas, brackets, quotation marks and backslashes, of which each meets the border between two pieces once.
    text = "x" * shift + '\\",[{' * (MESSAGE_CHARS_MAX // 6)
    entries = [{"type": "note", "content": text, "raw": text} for _ in range(20)]
    answer = await client.post("/api/ingest", json={"entries": entries})
    assert (answer.status_code, answer.json().get("accepted")) == (202, 20)
