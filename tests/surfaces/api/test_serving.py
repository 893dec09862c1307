"""What every endpoint shares: request ids, strict decoding, the error body, idempotency."""

import asyncio
import json
import re
from base64 import urlsafe_b64encode

import httpx
import pytest

from carrel.kernel import Code, redact
from carrel.kernel.limits import BODY_BYTES_MAX
from carrel.surfaces.http.errors import STATUS
from tests.harness.server import HttpServer, open_http_server
from tests.surfaces.api_calls import refused, send_and_wait

pytestmark = pytest.mark.anyio


def test_every_refusal_has_a_status() -> None:
    assert set(STATUS) == set(Code)


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
        # The house is taken from under an endpoint, as a fault in the program would.
        server.assembly.app.state.readiness._house = None
        async with server.client() as client:
            answer = await client.get("/api/health")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "NoneType" not in answer.text
    assert any(getattr(record, "request_id", None) == answer.json()["requestId"] for record in caplog.records)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "X", "colour": "red"}, "colour"),
        ({}, "name"),
        ({"name": 3}, "name"),
        ({"name": "X", "role": "king"}, "role"),
        ({"name": ""}, "name"),
    ],
)
async def test_a_wrong_body_names_its_field(client: httpx.AsyncClient, body: dict[str, object], field: str) -> None:
    answer = await client.post("/api/users", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_params")
    assert answer.json()["error"]["field"] == field


async def test_a_wrong_nested_field_is_named_by_its_path(client: httpx.AsyncClient) -> None:
    answer = await client.patch(
        "/api/account", json={"settings": {"agentDefaults": {"behaviorFlags": {"canFly": True}}}}
    )
    assert answer.json()["error"]["field"] == "settings.agentDefaults.behaviorFlags.canFly"
    listed = await client.post("/api/tokens", json={"kind": "client", "name": "x", "agentIds": ["main", 7]})
    assert listed.json()["error"]["field"] == "agentIds.1"


async def test_a_wrong_query_names_its_parameter(client: httpx.AsyncClient) -> None:
    for query, field in (("limit=many", "limit"), ("colour=red", "colour"), ("limit=1&limit=2", "limit")):
        answer = await client.get(f"/api/tokens?{query}")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert (await client.get("/api/tokens?cursor=!!")).json()["error"]["field"] == "cursor"
    assert (await client.get("/api/tokens?cursor=AAAA")).json()["error"]["field"] == "cursor"
    assert (await client.get("/api/tokens?limit=0")).status_code == 200


async def test_a_query_of_very_many_parameters_is_refused_before_it_is_read(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/api/runs", "/agent", "/v1/responses/resp_1", "/.well-known/agent-card.json"):
        answer = await client.get(f"{path}?{'&'.join(f'a{at}' for at in range(10_000))}")
        assert answer.status_code == 400, path
        assert "at most 100 query parameters" in answer.text


@pytest.mark.parametrize(
    "path",
    ["runs", "sessions", "tokens", "schedules", "notifications", "sessions/agent:main:main/history"],
)
async def test_a_cursor_that_no_list_has_made_is_refused(on_either: httpx.AsyncClient, path: str) -> None:
    await send_and_wait(on_either, "hello")
    for position in ([2**63], [-(2**63) - 1], [2**63, "x"], ["a\0b"], [1, "\0"], [True], [None], []):
        cursor = urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")
        answer = await on_either.get(f"/api/{path}", params={"cursor": cursor})
        assert refused(answer) == (400, "invalid_params", "cursor"), position


async def test_no_browser_takes_an_answer_for_another_type(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url) as server, server.client() as client:
        for path in ("/healthz", "/api/agents", "/nowhere", "/agent", "/v1/responses/none", "/", "/api/users/none"):
            assert (await client.get(path)).headers["x-content-type-options"] == "nosniff", path


async def test_what_is_no_json_is_told_so(client: httpx.AsyncClient) -> None:
    for content in (b"{", b"\xff\xfe", b'{"name": "x"} y'):
        answer = await client.post("/api/users", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")
    other = await client.post("/api/users", content=b"name=x", headers={"Content-Type": "text/plain"})
    assert (other.status_code, other.json()["error"]["code"]) == (415, "unsupported_media_type")


async def test_talk_about_a_nul_is_not_a_nul(client: httpx.AsyncClient) -> None:
    start = b'{"agentId": "main", "message": "what is '
    for escapes, status in ((b"\\\\u0000", 202), (b"\\u0000", 400), (b"\\\\\\u0000", 400), (b"\\\\\\\\u0000", 202)):
        headers = {"Content-Type": "application/json"}
        assert (await client.post("/api/runs", content=start + escapes + b'?"}', headers=headers)).status_code == status


async def test_a_nul_is_told_with_the_field_it_stands_in(client: httpx.AsyncClient) -> None:
    for body, field in (
        ({"agentId": "main", "message": "a\0b"}, "message"),
        ({"agentId": "main", "message": "x", "a": [{"b": "x"}, {"b": ["\0"]}]}, "a.1.b.0"),
        ({"agentId": "main", "message": "x", "a": {"\0": 1}}, "a"),
    ):
        error = (await client.post("/api/runs", json=body)).json()["error"]
        assert (error["code"], error["field"]) == ("invalid_params", field)


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
