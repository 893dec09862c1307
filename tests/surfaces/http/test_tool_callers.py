"""Who may call tools over HTTP, and in which session: tokens, session keys in every form, closed generations."""

from typing import Any

import httpx
import pytest
from msgspec import structs

from carrel.access import NewToken, mint_token
from carrel.kernel.settings import AgentHttpSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait, start

HEADER = "x-openclaw-session-key"
TASK = "agent:main:task:task_1"


async def status(client: httpx.AsyncClient, key: str | None = None, **arguments: Any) -> httpx.Response:
    """Ask how the caller's own session stands."""
    return await client.post(
        "/agent/session_status", json=arguments, headers={HEADER: key} if key is not None else {}
    )  # fmt: skip


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def agent_token(server: HttpServer, client: httpx.AsyncClient, agent: str = "main") -> str:
    return await server.token(client, kind="agent", agentId=agent)


@requirement("S0.agent.key", "S0.agent.many")
async def test_a_session_is_named_in_every_spelling(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as owner:
        run = await send_and_wait(owner, "hello", sessionKey=TASK)
        account = (await owner.get("/api/auth/me")).json()["account"]["id"]
        token = await agent_token(server, owner)
    spellings = [
        TASK,
        f"{TASK}:v1",
        "task:task_1",
        "clawboard:task:topic_9:task_1",
        f"task:task_1:agent:main:{account}:v1",
        run["sessionId"],
    ]
    async with server.client(token) as agent:
        for spelling in spellings:
            answer = await status(agent, spelling)
            assert (answer.status_code, answer.json()["sessionKey"]) == (200, TASK), (spelling, answer.text)
        for base in (None, "main", "agent:main:main", f"agent:main:{account}", "current"):
            answer = await status(agent, base)
            assert (answer.status_code, answer.json()["sessionKey"]) == (200, "main"), (base, answer.text)


@requirement("S0.agent.before")
async def test_a_key_is_valid_before_anything_was_sent_under_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    token = await agent_token(server, client)
    await start(client, "hold first", sessionKey="agent:main:task:busy")
    await server.agent.reached("first")
    await start(client, "later", sessionKey="agent:main:task:busy")
    async with server.client(token) as agent:
        held = await status(agent, "agent:main:task:busy")
    assert (held.json()["state"], held.json()["queuedRuns"]) == ("busy", 1)
    server.agent.release("first")


async def test_a_lane_with_nothing_but_a_queued_run_is_valid(surface_url: str) -> None:
    async with open_http_server(surface_url, works=False) as server, server.client() as owner:
        await start(owner, "wait", sessionKey=TASK)
        token = await agent_token(server, owner)
        async with server.client(token) as agent:
            answer = await status(agent, TASK)
    assert (answer.status_code, answer.json()["sessionId"], answer.json()["queuedRuns"]) == (200, None, 1)


@requirement("S0.agent.credential")
async def test_a_session_key_alone_is_no_credential(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=TASK)
    async with server.client(None) as nobody:
        assert code_of(await status(nobody, TASK)) == (401, "unauthenticated")
    async with server.client("crl_agent_x_y") as wrong:
        answer = await status(wrong, TASK)
    assert code_of(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


@requirement("S0.agent.credential")
async def test_on_loopback_a_key_speaks_for_itself_where_the_settings_say_so(surface_url: str) -> None:
    settings = structs.replace(Settings(), agent_http=AgentHttpSettings(session_key_auth="loopback"))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as owner:
        await send_and_wait(owner, "hello", sessionKey=TASK)
        async with server.client(None) as local:
            assert (await status(local, TASK)).json()["sessionKey"] == TASK
            assert code_of(await status(local)) == (401, "unauthenticated")
            assert code_of(await status(local, "agent:main:task:other")) == (401, "unknown_session")
            assert code_of(await status(local, "agent:nobody:main")) == (401, "unknown_session")
            assert code_of(await status(local, "current")) == (401, "unknown_session")
            for foreign in ({"X-Forwarded-For": "10.0.0.1"}, {"Host": "evil.example"}, {"Origin": "http://evil"}):
                refused = await local.post("/agent/session_status", json={}, headers={HEADER: TASK, **foreign})
                assert code_of(refused) == (401, "unauthenticated"), foreign
            # What the agent may see stays what the agent may see.
            seen = await local.post("/agent/sessions_history", json={"sessionKey": "main"}, headers={HEADER: TASK})
            assert seen.status_code in (403, 404)


@requirement("S0.agent.unknown")
async def test_unknown_keys_and_those_of_others_look_alike(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    await send_and_wait(client, "hello", sessionKey="agent:writer:task:task_1")
    theirs = await send_and_wait(other_client, "hello", sessionKey=TASK)
    token = await agent_token(server, client)
    async with server.client(token) as agent:
        for key in ("agent:writer:task:task_1", "agent:main:task:nothing", "agent:nobody:main", theirs["sessionId"],
                    "no such: thing", "global", "", "x" * 2000, "agent:writer:main", f"{TASK}:v9"):  # fmt: skip
            assert code_of(await status(agent, key)) == (401, "unknown_session"), key
    # The owner has every agent of the account, and no other account's.
    assert (await status(client, "agent:writer:task:task_1")).status_code == 200
    assert code_of(await status(client, theirs["sessionId"])) == (401, "unknown_session")


@requirement("S0.agent.many")
async def test_disabling_an_agent_ends_all_its_keys_at_once(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    keys = [f"agent:writer:task:task_{n}" for n in range(3)]
    for key in keys:
        await send_and_wait(client, "hello", sessionKey=key)
    token = await agent_token(server, client, "writer")
    async with server.client(token) as agent:
        assert [(await status(agent, key)).status_code for key in keys] == [200, 200, 200]
        await client.delete("/api/agents/writer")
        assert {code_of(await status(agent, key)) for key in keys} == {(401, "unauthenticated")}
    assert {code_of(await status(client, key)) for key in keys} == {(401, "unknown_session")}


@requirement("S0.agent.closed")
async def test_a_closed_generation_is_refused_unless_something_still_runs_in_it(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await send_and_wait(client, "hello", sessionKey=TASK)
    token = await agent_token(server, client)
    async with server.client(token) as agent:
        await client.post(f"/api/sessions/{TASK}/reset")
        assert code_of(await status(agent, f"{TASK}:v1")) == (403, "session_closed")
        assert code_of(await status(agent, TASK)) == (403, "session_closed")
        await start(client, "hold second", sessionKey=TASK)
        await server.agent.reached("second")
        await client.post(f"/api/sessions/{TASK}/reset")
        assert (await status(agent, f"{TASK}:v2")).status_code == 200
        assert (await status(agent, TASK)).status_code == 200
        assert code_of(await status(agent, f"{TASK}:v1")) == (403, "session_closed")
    server.agent.release("second")


@requirement("S0.agent.cleanup")
async def test_refreshing_the_base_session_leaves_every_key_of_the_agent_valid(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await send_and_wait(client, "hello")
    await send_and_wait(client, "hello", sessionKey=TASK)
    token = await agent_token(server, client)
    await client.post("/api/sessions/main/reset")
    async with server.client(token) as agent:
        assert [(await status(agent, key)).status_code for key in (TASK, "main", None)] == [200, 200, 200]
        assert code_of(await status(agent, "main:v1")) == (403, "session_closed")


@requirement("S0.x.restart.auth")
async def test_after_a_restart_stored_keys_work_at_once(store_url: str) -> None:
    async with open_http_server(store_url) as server, server.client() as owner:
        await send_and_wait(owner, "hello", sessionKey=TASK)
        token = await agent_token(server, owner)
    async with open_http_server(store_url, works=False) as again, again.client(token) as agent:
        assert (await status(agent, TASK)).json()["sessionKey"] == TASK


async def test_a_run_token_sits_in_its_run_and_nowhere_else(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello")
    held = await start(client, "hold here", sessionKey=TASK)
    await server.agent.reached("here")
    new = NewToken(kind="run", name="run", agent_id="main", run_id=held["runId"])
    access = await server.access_of()
    _, secret = await server.db.write(lambda tx: mint_token(tx, access, new))
    async with server.client(secret) as run:
        assert (await status(run)).json()["sessionKey"] == TASK
        assert (await status(run, TASK)).status_code == 200
        assert code_of(await status(run, "main")) == (401, "unknown_session")
        offered = {tool["name"] for tool in (await run.get("/agent")).json()["tools"]}
        assert {"artifact_add", "request_input", "decline"} <= offered
        twice = [
            await run.post("/agent/artifact-add", json={"text": "x"}, headers={"X-Idempotency-Key": "a"})
            for _ in range(2)
        ]
        assert [answer.status_code for answer in twice] == [200, 200]
        assert twice[0].json() == twice[1].json()
        server.agent.release("here")
        done = (await client.get(f"/api/runs/{held['runId']}/wait")).json()
        assert done["status"] == "ok"
        assert code_of(await status(run)) == (401, "unauthenticated"), "it ends with its run"
    assert {"artifact_add", "session_status"} <= set(
        (await client.get(f"/api/runs/{held['runId']}")).json()["run"]["toolsCalled"]
    )


async def test_what_feeds_a_turn_is_refused_while_there_is_none(store_url: str) -> None:
    async with open_http_server(store_url, works=False) as server, server.client() as owner:
        waiting = await start(owner, "later", sessionKey=TASK)
        new = NewToken(kind="run", name="run", agent_id="main", run_id=waiting["runId"])
        access = await server.access_of()
        _, secret = await server.db.write(lambda tx: mint_token(tx, access, new))
        async with server.client(secret) as run:
            assert (await status(run)).json()["queuedRuns"] == 1
            assert code_of(await run.post("/agent/artifact_add", json={"text": "x"})) == (409, "conflict")


@pytest.mark.parametrize("kind", ["user", "client"])
async def test_tokens_of_other_kinds_call_no_tools(server: HttpServer, client: httpx.AsyncClient, kind: str) -> None:
    wanted: dict[str, Any] = {"kind": kind}
    if kind == "user":
        made = await client.post("/api/users", json={"name": "Ann", "slug": "ann", "role": "member"})
        wanted["userId"] = made.json()["user"]["id"]
    else:
        wanted["agentIds"] = ["main"]
    async with server.client(await server.token(client, **wanted)) as other:
        assert code_of(await status(other)) == (403, "forbidden")
        assert code_of(await other.get("/agent")) == (403, "forbidden")


async def test_two_session_headers_that_differ_and_a_token_in_the_address_are_refused(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    twice = await client.post("/agent/session_status", json={}, headers=[(HEADER, "main"), (HEADER, TASK)])
    assert code_of(twice) == (400, "invalid_params")
    assert code_of(await client.post(f"/agent/session_status?token={server.owner}", json={})) == (400, "token_in_query")
