"""Who sends a request: tokens, cookies, and what each kind may do."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.datastructures import Headers
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from carrel.kernel import Refusal
from carrel.kernel.settings import AuthSettings, Settings
from carrel.surfaces.http import identity
from carrel.surfaces.http.identity import COOKIE
from tests.harness.engine import FakeClock
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import follow


async def test_me_tells_the_account_the_actor_and_the_rights(client: httpx.AsyncClient) -> None:
    me = (await client.get("/api/auth/me")).json()
    assert me["account"]["slug"] == "default"
    assert me["actor"]["kind"] == "owner"
    assert me["actor"]["id"].startswith("tok_")
    assert "agentId" not in me["actor"]
    assert me["rights"] == ["read", "write", "administer"]
    assert me["spaceIds"] == ["*"]
    assert me["seq"] >= 0


@pytest.mark.parametrize(
    ("kind", "needs", "rights"),
    [
        ("user", "userId", ["read", "write"]),
        ("agent", "agentId", ["read"]),
        ("client", "agentIds", []),
    ],
)
async def test_every_kind_of_token_has_its_rights(
    server: HttpServer, client: httpx.AsyncClient, kind: str, needs: str, rights: list[str]
) -> None:
    user = (await client.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]
    given = {"userId": user["id"], "agentId": "main", "agentIds": ["main"]}[needs]
    token = await server.token(client, kind=kind, **{needs: given})
    async with server.client(token) as bearer:
        me = (await bearer.get("/api/auth/me")).json()
        assert (me["actor"]["kind"], me["rights"]) == (kind, rights)
        assert me["actor"].get("agentId") == ("main" if kind == "agent" else None)
        assert (await bearer.get("/api/tokens")).status_code == 403
        assert (await bearer.get("/api/agents")).status_code == (403 if kind == "client" else 200)


async def test_without_a_token_nothing_is_told(nobody: httpx.AsyncClient) -> None:
    answer = await nobody.get("/api/agents")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "unauthenticated"
    assert answer.json()["requestId"] == answer.headers["x-request-id"]


async def test_a_wrong_token_is_refused(server: HttpServer) -> None:
    async with server.client("crl_owner_x_wrong") as stranger:
        assert (await stranger.get("/api/auth/me")).status_code == 401
        assert (await stranger.get("/healthz")).status_code == 200


async def test_a_stream_behind_what_the_caller_was_told_first_misses_nothing(client: httpx.AsyncClient) -> None:
    before = (await client.get("/api/auth/me")).json()["seq"]
    task = (await client.post("/api/tasks", json={"title": "Between the two"})).json()["task"]["id"]
    async with follow(client, before) as follower:
        told = await follower.until("task.created")
    assert told[-1].body["taskId"] == task
    assert [frame.id for frame in told if frame.id is not None and frame.id <= before] == []


async def test_guessing_from_afar_is_held_back_and_loopback_is_not(server: HttpServer) -> None:
    async with server.client("crl_owner_x_wrong") as near:
        near_codes = {(await near.get("/api/auth/me")).status_code for _ in range(35)}
    assert near_codes == {401}
    async with server.client("crl_owner_x_wrong", **{"X-Forwarded-For": "192.0.2.1"}) as far:
        answers = [await far.get("/api/auth/me") for _ in range(31)]
        signing_in = await far.post("/api/auth/session", json={"token": "crl_owner_x_wrong"})
    assert [answer.status_code for answer in answers] == [401] * 30 + [429]
    assert answers[-1].headers["retry-after"] == "60"
    assert answers[-1].json()["error"]["code"] == "rate_limited"
    assert signing_in.status_code == 429


async def test_wrong_tokens_from_a_shared_address_keep_nobody_out_who_has_a_right_one(server: HttpServer) -> None:
    through = {"X-Forwarded-For": "192.0.2.1"}
    async with server.client("crl_owner_x_wrong", **through) as guesser, server.client(**through) as owner:
        assert (await asyncio.gather(*(guesser.get("/api/auth/me") for _ in range(40))))[-1].status_code == 429
        assert (await owner.get("/api/auth/me")).status_code == 200
        assert (await owner.post("/api/auth/session", json={"token": server.owner})).status_code == 200


def test_the_counts_of_wrong_tokens_are_limited_and_the_oldest_goes_first() -> None:
    wrong = identity.WrongTokens(FakeClock())

    def guess(address: str, times: int) -> None:
        for _ in range(times):
            wrong.add(identity.Peer(headers=Headers(), address=address))

    guess("192.0.2.1", 30)
    guess("192.0.2.2", 30)
    with pytest.raises(Refusal):
        guess("192.0.2.1", 1)
    for number in range(9_999):
        guess(f"198.51.{number >> 8}.{number & 255}", 1)
    with pytest.raises(Refusal):
        guess("192.0.2.1", 1)
    guess("192.0.2.2", 1)


@requirement("S4.api.token")
async def test_the_board_s_own_header_carries_a_token_too(server: HttpServer) -> None:
    async with server.client(None, **{"X-Clawboard-Token": server.owner}) as named:
        assert (await named.get("/api/auth/me")).json()["actor"]["kind"] == "owner"
    async with server.client(server.owner, **{"X-Clawboard-Token": server.other_owner}) as both:
        assert (await both.get("/api/auth/me")).status_code == 400
    async with server.client(server.owner, **{"X-Clawboard-Token": server.owner}) as twice:
        assert (await twice.get("/api/auth/me")).status_code == 200


@requirement("S4.x.token.query")
@pytest.mark.parametrize("query", ["token=x", "access_token=x", "anything=crl_owner_1_2"])
async def test_a_token_in_the_address_is_refused_before_anything_else(nobody: httpx.AsyncClient, query: str) -> None:
    for path in ("/api/auth/me", "/api/stream", "/healthz"):
        answer = await nobody.get(f"{path}?{query}")
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "token_in_query"
        assert "crl_owner_1_2" not in answer.text


async def test_a_cookie_stands_for_the_token_and_is_not_the_token(
    server: HttpServer, nobody: httpx.AsyncClient
) -> None:
    answer = await nobody.post("/api/auth/session", json={"token": server.owner})
    assert answer.json()["actor"]["kind"] == "owner"
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert server.owner not in said
    assert (await nobody.get("/api/auth/me")).status_code == 200


async def test_a_write_by_cookie_must_come_from_our_own_pages(server: HttpServer, nobody: httpx.AsyncClient) -> None:
    await nobody.post("/api/auth/session", json={"token": server.owner})
    body = {"name": "Grace", "slug": "grace"}
    assert (await nobody.post("/api/users", json=body)).status_code == 403
    afar = await nobody.post("/api/users", json=body, headers={"Origin": "https://elsewhere.example"})
    assert afar.json()["error"]["code"] == "forbidden"
    assert (await nobody.post("/api/users", json=body, headers={"Origin": server.url})).status_code == 201
    same = await nobody.patch("/api/account", json={}, headers={"Sec-Fetch-Site": "same-origin"})
    assert same.status_code == 200


async def test_signing_out_ends_the_cookie_on_the_server(server: HttpServer, nobody: httpx.AsyncClient) -> None:
    await nobody.post("/api/auth/session", json={"token": server.owner})
    cookie = nobody.cookies[COOKIE]
    assert (await nobody.delete("/api/auth/session")).status_code == 403
    ended = await nobody.delete("/api/auth/session", headers={"Origin": server.url})
    assert ended.status_code == 204
    async with server.client(None, Cookie=f"{COOKIE}={cookie}") as kept:
        assert (await kept.get("/api/auth/me")).status_code == 401


async def test_a_revoked_token_takes_its_cookies_with_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/tokens", json={"kind": "owner", "name": "second"})).json()
    async with server.client(None) as browser:
        await browser.post("/api/auth/session", json={"token": made["secret"]})
        assert (await client.delete(f"/api/tokens/{made['token']['id']}")).status_code == 204
        assert (await browser.get("/api/auth/me")).status_code == 401


async def test_another_site_can_sign_nobody_in(server: HttpServer, nobody: httpx.AsyncClient) -> None:
    afar = await nobody.post(
        "/api/auth/session", json={"token": server.owner}, headers={"Origin": "https://elsewhere.example"}
    )
    assert afar.status_code == 403
    assert (await nobody.post("/api/auth/session", json={"token": "crl_owner_no"})).status_code == 401
    assert (await nobody.post("/api/auth/session", json={})).json()["error"]["field"] == "token"


async def test_a_header_that_names_two_tokens_is_refused(server: HttpServer) -> None:
    both = [("Authorization", f"Bearer {server.owner}"), ("Authorization", "Bearer crl_owner_x_wrong")]
    async with server.client(None) as caller:
        for headers in (both, both[::-1]):
            assert (await caller.get("/api/auth/me", headers=headers)).status_code == 400


@pytest.fixture
async def trusting(surface_url: str) -> AsyncIterator[HttpServer]:
    """A server that lets callers on its own machine in without a token."""
    async with open_http_server(surface_url, settings=Settings(auth=AuthSettings(mode="loopback"))) as opened:
        yield opened


async def test_a_trusted_machine_needs_no_token(trusting: HttpServer) -> None:
    async with trusting.client(None) as near:
        assert (await near.get("/api/tokens")).status_code == 200
        assert (await near.post("/api/users", json={"name": "Ada", "slug": "ada"})).status_code == 201
        named = {"Host": f"localhost:{trusting.url.rsplit(':', 1)[1]}"}
        assert (await near.get("/api/tokens", headers=named)).status_code == 200


@pytest.mark.parametrize("name", ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-Proto", "X-Forwarded-Host",
                                  "CF-Connecting-IP", "True-Client-IP", "X-Original-Forwarded-For"])  # fmt: skip
async def test_any_sign_of_a_proxy_ends_the_trust(trusting: HttpServer, name: str) -> None:
    async with trusting.client(None) as near:
        assert (await near.get("/api/tokens", headers={name: "x"})).status_code == 401
        assert (await near.get("/metrics", headers={name: "x"})).status_code == 401


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "192.0.2.1", "", "evil.example:80"])
async def test_a_name_that_was_made_to_lead_here_is_not_trusted(trusting: HttpServer, name: str) -> None:
    async with trusting.client(None) as near:
        assert (await near.get("/api/tokens", headers={"Host": name})).status_code == 401
        assert (await near.get("/metrics", headers={"Host": name})).status_code == 401


@pytest.mark.parametrize(
    "says", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_a_trusted_machine_lends_its_trust_to_no_foreign_page(trusting: HttpServer, says: dict[str, str]) -> None:
    async with trusting.client(None) as near:
        assert (await near.post("/api/sessions/agent:main:main/stop", headers=says)).status_code == 403
        own = {"Origin": trusting.url}
        assert (await near.post("/api/users", json={"name": "Ada", "slug": "ada"}, headers=own)).status_code == 201
    with pytest.raises(InvalidStatus) as refused:
        async with connect(trusting.url.replace("http", "ws") + "/ws/chat", additional_headers=says):
            pass
    assert refused.value.response.status_code == 403
    async with connect(trusting.url.replace("http", "ws") + "/ws/chat") as program:
        assert program.response is not None
