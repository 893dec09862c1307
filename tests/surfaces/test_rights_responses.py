"""The rights of every kind of token on Open Responses and on WebSockets, against one table."""

import itertools
from collections.abc import AsyncIterator

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.harness.server import open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json
from tests.surfaces.responses.client import respond
from tests.surfaces.rights_table import CALLERS_OF_AGENTS, CHAT, HIDDEN, KINDS, MAY, RESPONSES, Verdict
from tests.surfaces.rights_world import VERDICTS, World, furnished

BODIES: dict[str, Json] = {
    "POST /v1/chat/completions": {"model": "carrel", "messages": [{"role": "user", "content": "hi"}]},
    "POST /v1/responses": {"model": "carrel", "input": "hi"},
    "POST /v1/responses/compact": {"model": "carrel", "input": "hi"},
    "POST /v1/responses/{id}/cancel": {},
}


@pytest.fixture
async def filled(sqlite_url: str) -> AsyncIterator[World]:
    """The furnished server."""
    async with open_http_server(sqlite_url) as server, furnished(server) as built:
        yield built


async def asked(filled: World, kind: str, name: str, response: str) -> Verdict:
    """Ask a route as one kind of caller, about a response."""
    method, path = name.split(" ")
    if method == "WS":
        return await connected(filled, kind, path)
    path = path.replace("{id}", response).replace("{name:path}", "carrel/main")
    answer = await filled.clients[kind].request(method, path, json=BODIES.get(name))
    assert answer.status_code not in (400, 405, 415, 422), f"{name} was asked wrongly: {answer.text}"
    return VERDICTS.get(answer.status_code, MAY)


async def connected(filled: World, kind: str, path: str) -> Verdict:
    """Open a WebSocket as one kind of caller."""
    token = filled.tokens[kind]
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        async with connect(filled.server.url.replace("http", "ws", 1) + path, additional_headers=headers, proxy=None):
            return MAY
    except InvalidStatus as refused:
        return VERDICTS[refused.response.status_code]


async def response_of(filled: World, kind: str) -> str:
    """Return a new response of a caller, or of the owner for those who have none."""
    caller = kind if CALLERS_OF_AGENTS[kind] == MAY else "owner"
    return str((await respond(filled.clients[caller], "hello"))["id"])


@requirement("P.rights")
async def test_every_route_of_responses_and_every_socket_answers_exactly_those_it_should(filled: World) -> None:
    table = RESPONSES | CHAT
    wrong = []
    for name, kind in itertools.product(table, KINDS):
        told = await asked(filled, kind, name, await response_of(filled, kind))
        if told != table[name][kind]:
            wrong.append(f"{name} as {kind}: {told}, expected {table[name][kind]}")
        if "{id}" in name and table[name][kind] == MAY:
            told = await asked(filled, kind, name, await response_of(filled, "user" if kind == "owner" else "owner"))
            if told != HIDDEN:
                wrong.append(f"{name} as {kind} for the response of another: {told}")
    assert wrong == []
