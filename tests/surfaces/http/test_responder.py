"""What every endpoint shares: request ids, strict decoding, the error body, idempotency."""

import asyncio
import json
import re

import httpx
import pytest

from carrel.kernel import redact
from carrel.kernel.limits import BODY_BYTES_MAX
from tests.harness.server import HttpServer, open_http_server


async def test_every_answer_bears_a_request_id(client: httpx.AsyncClient) -> None:
    made = (await client.get("/healthz")).headers["x-request-id"]
    assert re.fullmatch(r"req_[0-9a-z]{26}", made)
    for path in ("/healthz", "/nowhere", "/api/agents/nobody"):
        kept = await client.get(path, headers={"X-Request-Id": "mine-1:2.3_4"})
        assert kept.headers["x-request-id"] == "mine-1:2.3_4"
    for malformed in ("a b", "x" * 129, '"'):
        answer = await client.get("/healthz", headers={"X-Request-Id": malformed})
        assert re.fullmatch(r"req_[0-9a-z]{26}", answer.headers["x-request-id"])


async def test_what_has_no_endpoint_is_refused_in_the_same_form(client: httpx.AsyncClient) -> None:
    missing = await client.get("/api/nothing")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    slash = await client.get("/api/agents/")
    assert (slash.status_code, slash.json()["error"]["code"]) == (404, "not_found")
    wrong = await client.put("/api/agents")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
    assert set(wrong.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert wrong.json()["requestId"] == wrong.headers["x-request-id"]


async def test_an_endpoint_that_breaks_tells_its_id_and_nothing_else(
    surface_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_http_server(surface_url) as server:
        # The server is taken from under an endpoint, as a fault in the program would.
        server.assembly.app.state.readiness._services = None
        async with server.client() as client:
            answer = await client.get("/api/health")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "NoneType" not in answer.text
    assert any(getattr(record, "request_id", None) == answer.json()["requestId"] for record in caplog.records)


async def test_a_query_of_very_many_parameters_is_refused_before_it_is_read(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/api/runs", "/agent", "/v1/responses/resp_1", "/.well-known/agent-card.json"):
        answer = await client.get(f"{path}?{'&'.join(f'a{at}' for at in range(10_000))}")
        assert answer.status_code == 400, path
        assert "at most 100 query parameters" in answer.text


async def test_no_browser_takes_an_answer_for_another_type(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url) as server, server.client() as client:
        for path in ("/healthz", "/api/agents", "/nowhere", "/agent", "/v1/responses/none", "/", "/api/users/none"):
            assert (await client.get(path)).headers["x-content-type-options"] == "nosniff", path


async def test_talk_about_a_nul_is_not_a_nul(client: httpx.AsyncClient) -> None:
    start = b'{"agentId": "main", "message": "what is '
    for escapes, status in ((b"\\\\u0000", 202), (b"\\u0000", 400), (b"\\\\\\u0000", 400), (b"\\\\\\\\u0000", 202)):
        headers = {"Content-Type": "application/json"}
        assert (await client.post("/api/runs", content=start + escapes + b'?"}', headers=headers)).status_code == status


async def test_a_body_beyond_its_bound_is_refused(client: httpx.AsyncClient) -> None:
    large = b" " * (BODY_BYTES_MAX + 1)
    answer = await client.post("/api/users", content=large, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


async def test_a_request_repeated_under_its_key_is_done_once(client: httpx.AsyncClient) -> None:
    body, key = {"name": "Ada", "slug": "ada"}, {"X-Idempotency-Key": "k1"}
    first = await client.post("/api/users", json=body, headers=key)
    again = await client.post("/api/users", json=body, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["idempotent-replay"] == "true"
    assert "idempotent-replay" not in first.headers
    other = await client.post("/api/users", json=body | {"name": "Eve"}, headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_mismatch")
    two_keys = [("X-Idempotency-Key", "k1"), ("X-Idempotency-Key", "k2")]
    ambiguous = await client.post("/api/users", json=body, headers=two_keys)
    assert (ambiguous.status_code, ambiguous.json()["error"]["field"]) == (400, "X-Idempotency-Key")
    assert len((await client.get("/api/users")).json()["users"]) == 1


async def test_an_idempotency_key_is_its_sender_s_own(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    body, key = {"name": "Ada", "slug": "ada"}, {"X-Idempotency-Key": "k1"}
    mine = await client.post("/api/users", json=body, headers=key)
    theirs = await other_client.post("/api/users", json=body, headers=key)
    assert theirs.status_code == 201
    assert theirs.json()["user"]["id"] != mine.json()["user"]["id"]
    long = await client.post("/api/users", json=body, headers={"X-Idempotency-Key": "k" * 201})
    assert long.json()["error"]["field"] == "X-Idempotency-Key"


async def test_a_refused_request_may_be_repeated_under_its_key(client: httpx.AsyncClient) -> None:
    key = {"X-Idempotency-Key": "k2"}
    assert (await client.post("/api/users", json={"name": "Ada", "slug": "A B"}, headers=key)).status_code == 400
    assert (await client.post("/api/users", json={"name": "Ada", "slug": "ada"}, headers=key)).status_code == 201


async def test_a_repeated_secret_is_given_again_and_stored_nowhere(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    body, key = {"kind": "owner", "name": "ci"}, {"X-Idempotency-Key": "k3"}
    first = (await client.post("/api/tokens", json=body, headers=key)).json()
    again = (await client.post("/api/tokens", json=body, headers=key)).json()
    assert again == first
    kept = await server.db.read(lambda tx: tx.all("SELECT body FROM answers"))
    assert len(kept) == 1
    assert first["secret"] not in kept[0][0]
    assert json.loads(kept[0][0])["token"]["id"] == first["token"]["id"]


async def test_a_head_request_is_answered_like_a_get_without_its_body(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/api/agents", "/api/stream"):
        answer = await client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("path", "body", "fresh", "all_of_it"),
    [
        ("/api/runs", {"agentId": "main", "message": "hello"}, (), "/api/runs"),
        ("/api/sessions/agent:main:main/send", {"message": "hello"}, (), "/api/runs"),
        ("/api/chat", {"text": "hello", "sessionKey": "agent:main:main"}, (), "/api/runs"),
        ("/api/users", {"name": "Ada", "slug": "ada"}, ("slug",), "/api/users"),
        ("/api/agents", {"id": "fresh"}, ("id",), "/api/agents"),
        ("/api/tokens", {"kind": "owner", "name": "ci"}, (), "/api/tokens"),
        ("/api/accounts", {"name": "Third", "slug": "third"}, ("slug",), "/api/accounts"),
    ],
)
async def test_two_servers_asked_the_same_under_one_key_do_it_once(
    postgres_url: str, path: str, body: dict[str, str], fresh: tuple[str, ...], all_of_it: str
) -> None:
    async with (
        open_http_server(postgres_url, works=False) as one,
        open_http_server(postgres_url, works=False) as two,
        one.client() as first,
        two.client(one.owner) as second,
    ):
        before = await count_of(first, all_of_it)
        for number in range(5):
            key, named = {"X-Idempotency-Key": f"k{number}"}, {name: f"{body[name]}{number}" for name in fresh}
            asked = [server.post(path, json=body | named, headers=key) for server in (first, second) for _ in range(3)]
            answers = await asyncio.gather(*asked)
            assert {answer.is_success for answer in answers} == {True}, [answer.text for answer in answers]
            # A secret is known to the server that made it alone.
            assert len({redact(answer.text) for answer in answers}) == 1
        assert await count_of(first, all_of_it) == before + 5


async def count_of(client: httpx.AsyncClient, path: str) -> int:
    """How many there are in a list."""
    return len((await client.get(path)).json()[path.removeprefix("/api/")])
