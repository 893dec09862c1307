"""The stream of events: in order, without gaps, from a cursor, and only what the client may see."""

import asyncio
import contextlib
from pathlib import Path

import httpx
import pytest

from carrel.journal import About, append_event, prune_events
from carrel.kernel import system_access
from carrel.kernel.limits import SAFETY_POLL_SECONDS, STREAM_PING_SECONDS, STREAM_SEND_SECONDS_MAX
from carrel.kernel.settings import EventsSettings, Settings
from carrel.storage import Tx
from tests.harness.elapsing import Elapsing
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import Follower, follow
from tests.surfaces.api_calls import start


async def say(client: httpx.AsyncClient, text: str, **where: str) -> str:
    return str((await start(client, text, **where))["runId"])


async def finish(client: httpx.AsyncClient, text: str, **where: str) -> str:
    run_id = await say(client, text, **where)
    assert (await client.get(f"/api/runs/{run_id}/wait")).json()["status"] == "ok"
    return run_id


@requirement("S1.x.stream.durable", "S3.ui.sessionid")
async def test_a_follower_hears_a_run_from_queued_to_completed(either_server: HttpServer) -> None:
    async with either_server.client() as client, follow(client) as follower:
        assert (await follower.next()).name == "stream.ready"
        run_id = await say(client, "hello")
        frames = await follower.until("run.completed")
    # On PostgreSQL what was written just before may settle only now, and is told first.
    frames = frames[[frame.name for frame in frames].index("run.queued") :]
    names = [frame.name for frame in frames]
    assert names.index("run.started") < names.index("session.opened") < names.index("run.completed")
    assert [frame.id for frame in frames] == sorted(frame.id or 0 for frame in frames)
    last = frames[-1]
    assert last.body["runId"] == run_id
    assert (last.body["seq"], last.body["name"]) == (last.id, "run.completed")
    assert last.body["data"]["reply"] == "echo: hello"
    assert (last.body["sessionKey"], last.body["sessionId"]) == ("agent:main:main", "main")
    assert {frame.body["sessionId"] for frame in frames} == {"main"}
    assert list(last.body) == [
        "seq",
        "name",
        "at",
        "sessionId",
        "sessionKey",
        "generation",
        "runId",
        "taskId",
        "topicId",
        "spaceId",
        "agentId",
        "data",
    ]


async def test_the_first_frame_says_where_the_feed_stands(client: httpx.AsyncClient) -> None:
    async with follow(client) as follower:
        assert follower.response.headers["content-type"].startswith("text/event-stream")
        ready = await follower.next()
    assert ready.id is None
    assert ready.body == {"seq": (await client.get("/api/changes")).json()["seq"]}


@requirement("S4.x.feed.durable")
async def test_what_was_missed_comes_first_even_after_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'carrel.db'}"
    async with open_http_server(url) as server, server.client() as client:
        token = server.owner
        async with follow(client) as follower:
            await follower.next()
            await finish(client, "one")
            seen = (await follower.until("run.completed"))[-1].id
        await finish(client, "two")
    async with open_http_server(url) as server, server.client(token) as client:
        async with follow(client, last_event_id=seen) as follower:
            ready = await follower.next()
            frames = await follower.until("run.completed")
            assert all((frame.id or 0) > (seen or 0) for frame in frames)
            assert frames[-1].id == ready.body["seq"]
            assert frames[-1].body["data"]["reply"] == "echo: two"
            await finish(client, "three")
            assert (await follower.until("run.completed"))[-1].body["data"]["reply"] == "echo: three"
        async with follow(client, lastEventId=str(seen)) as follower:
            await follower.next()
            again = await follower.until("run.completed")
            assert [frame.id for frame in again] == [frame.id for frame in frames]


@requirement("S4.x.feed.durable")
async def test_a_cursor_that_cannot_be_followed_resets_the_stream(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await finish(client, "one")
    newest = (await client.get("/api/changes")).json()["seq"]
    async with follow(client, last_event_id=newest + 1000) as follower:
        await follower.next()
        reset = await follower.next()
        assert (reset.name, reset.id, reset.body) == ("stream.reset", None, {"reason": "ahead", "seq": newest})
        await say(client, "two")
        assert (await follower.next()).name == "run.queued"
    access = await server.access_of()
    await server.db.write(lambda tx: prune_events(tx, access, tx.now + 1, limit=5))
    async with follow(client, last_event_id=1) as follower:
        await follower.next()
        assert (await follower.next()).body["reason"] == "pruned"


@requirement("S4.x.feed.slow")
async def test_too_much_missed_after_the_filters_resets_the_stream(surface_url: str) -> None:
    settings = Settings(events=EventsSettings(replay_max=10))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        start = (await client.get("/api/changes")).json()["seq"]
        for text in ("one", "two", "three"):
            await finish(client, text)
        newest = (await client.get("/api/changes")).json()["seq"]
        async with follow(client, last_event_id=start) as follower:
            await follower.next()
            reset = await follower.next()
            assert (reset.name, reset.body) == ("stream.reset", {"reason": "overflow", "seq": newest})
            await say(client, "four")
            assert (await follower.next()).name == "run.queued"
        async with follow(client, last_event_id=start, events="run.completed") as follower:
            await follower.next()
            assert [(await follower.next()).body["data"]["reply"] for _ in range(3)] == [
                "echo: one",
                "echo: two",
                "echo: three",
            ]


async def test_filters_leave_only_what_was_asked_for(client: httpx.AsyncClient) -> None:
    start = (await client.get("/api/changes")).json()["seq"]
    await client.post("/api/agents", json={"id": "writer"})
    mine = await finish(client, "mine", sessionKey="agent:main:web:chat_filter_01")
    await finish(client, "other", agentId="writer")

    async def names(until: str = "run.completed", **query: str) -> list[tuple[str, str | None]]:
        async with follow(client, last_event_id=start, **query) as follower:
            await follower.next()
            return [(frame.name, frame.body["sessionKey"]) for frame in await follower.until(until)]

    key = "agent:main:web:chat_filter_01"
    for query in ({"sessionKey": key}, {"sessionId": "chat_filter_01"}, {"sessionKey": f"{key}:v1"}):
        assert {lane for _, lane in await names(**query)} == {key}
    assert [name for name, _ in await names(events="run")] == ["run.queued", "run.started", "run.completed"]
    assert [name for name, _ in await names(events="run.queued, run.completed")] == ["run.queued", "run.completed"]
    assert await names(events="agent.*", until="agent.updated") == [("agent.updated", None)]
    session = (await client.get(f"/api/runs/{mine}")).json()["run"]["sessionId"]
    assert {lane for _, lane in await names(sessionId=session)} == {key}


async def test_a_task_s_followers_hear_its_lanes(client: httpx.AsyncClient) -> None:
    async with follow(client, taskId="task_1") as follower:
        await follower.next()
        await finish(client, "elsewhere")
        await finish(client, "about it", sessionKey="agent:main:task:task_1")
        frames = await follower.until("run.completed")
    assert {frame.body["taskId"] for frame in frames} == {"task_1"}


@pytest.mark.parametrize("query", [{"topicId": "topic_1"}, {"spaceId": "space-far"}, {"allowedSpaceIds": "space-far"}])
async def test_who_asks_for_another_place_is_told_of_nothing(
    client: httpx.AsyncClient, elapsing: Elapsing, query: dict[str, str]
) -> None:
    start = (await client.get("/api/changes")).json()["seq"]
    await finish(client, "here")
    async with follow(client, last_event_id=start, **query) as follower:
        await follower.next()
        await finish(client, "here again")
        await elapsing.pass_by(2 * STREAM_PING_SECONDS, lambda: client.get("/healthz"))
        assert await follower.lines_before_ping() == []


async def test_an_agent_hears_its_own_lanes_alone(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    async with server.client(await server.token(client, kind="agent", agentId="writer")) as agent:
        async with follow(agent) as follower:
            await follower.next()
            await finish(client, "for main")
            await finish(client, "for writer", agentId="writer")
            frames = await follower.until("run.completed")
            assert {frame.body["agentId"] for frame in frames} == {"writer"}
        assert (await agent.get("/api/stream", params={"sessionKey": "agent:main:main"})).status_code == 404
    async with server.client(await server.token(client, kind="client", agentIds=["main"])) as program:
        assert (await program.get("/api/stream")).status_code == 403


async def test_another_account_s_events_are_never_heard(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await finish(client, "ours")
    assert (
        await other_client.get("/api/stream", params={"sessionKey": "agent:main:web:nothing_here"})
    ).status_code == 404
    async with follow(other_client, last_event_id=0) as follower:
        await follower.next()
        await finish(client, "a secret of ours")
        await finish(other_client, "theirs")
        frames = await follower.until("run.completed")
    assert frames[-1].body["data"]["reply"] == "echo: theirs"
    assert "ours" not in str(frames)


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "9" * 30, "9" * 5000, "²"])
async def test_a_malformed_cursor_is_refused(client: httpx.AsyncClient, cursor: str) -> None:
    answer = await client.get("/api/stream", params={"lastEventId": cursor})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "lastEventId")


async def test_a_session_that_is_nobody_s_is_not_found(client: httpx.AsyncClient) -> None:
    for query in (
        {"sessionKey": "agent:main:web:nothing_here"},
        {"sessionKey": "agent:ghost:main"},
        {"sessionId": "ses_" + "0" * 26},
    ):
        assert (await client.get("/api/stream", params=query)).status_code == 404


async def test_a_quiet_stream_is_kept_alive(client: httpx.AsyncClient, elapsing: Elapsing) -> None:
    async with follow(client) as follower:
        await follower.next()
        for _ in range(2):
            await elapsing.pass_by(2 * STREAM_PING_SECONDS, lambda: client.get("/healthz"))
            await follower.lines_before_ping()


@requirement("S4.x.feed.slow")
async def test_a_reader_that_does_not_read_is_cut_off_and_resumes(
    server: HttpServer, client: httpx.AsyncClient, elapsing: Elapsing, caplog: pytest.LogCaptureFixture
) -> None:
    account = (await client.get("/api/auth/me")).json()["account"]["id"]
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    request = f"GET /api/stream?lastEventId=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.owner}\r\n\r\n"
    writer.write(request.encode())
    await reader.readuntil(b"stream.ready")

    def fill(tx: Tx) -> None:
        for _ in range(100):
            append_event(tx, system_access(account), "test.large", About(), '{"text":"' + "x" * 100_000 + '"}')

    sending = {task for task in asyncio.all_tasks() if "_send_all" in str(task.get_coro())}
    await server.db.write(fill)
    # Many more seconds than are allowed, since the connection first takes what fits.
    await elapsing.pass_by(5 * STREAM_SEND_SECONDS_MAX, lambda: client.get("/healthz"))
    _, still = await asyncio.wait(sending, timeout=10)
    assert sending
    assert not still
    async with asyncio.timeout(20):
        # Whatever was under way still arrives; then the line is dead without a proper end.
        received = await reader.read()
    writer.close()
    assert received.count(b"event: test.large") < 100
    assert not received.endswith(b"0\r\n\r\n")
    assert "stream_broken_off" in caplog.messages
    async with follow(client, last_event_id=0, events="test") as follower:
        await follower.next()
        assert len([await follower.next() for _ in range(100)]) == 100


async def test_streams_end_when_the_server_stops(surface_url: str) -> None:
    async with contextlib.AsyncExitStack() as outside:
        async with open_http_server(surface_url) as server:
            client = await outside.enter_async_context(server.client())
            followers = [await outside.enter_async_context(follow(client)) for _ in range(3)]
            for follower in followers:
                await follower.next()
        for follower in followers:
            assert await _ended_properly(follower)


async def _ended_properly(follower: Follower) -> bool:
    try:
        await follower.next()
    except EOFError:
        return True
    return False


async def test_followers_at_one_place_share_one_read(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with contextlib.AsyncExitStack() as outside:
        followers = [await outside.enter_async_context(follow(client)) for _ in range(20)]
        for follower in followers:
            await follower.next()
        await finish(client, "to all of you")
        heard = [await follower.until("run.completed") for follower in followers]
    # On PostgreSQL the first followers may still hear of what was settled while they came.
    of_the_run = [[frame.id for frame in frames if frame.name.startswith("run.")] for frames in heard]
    assert len(of_the_run[0]) > 1
    assert all(one == of_the_run[0] for one in of_the_run)


async def test_a_store_that_goes_away_cuts_streams_off_without_an_alarm(
    postgres_url: str, elapsing: Elapsing, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        open_http_server(postgres_url, works=False) as server,
        server.client() as client,
        follow(client) as follower,
    ):
        await follower.next()
        await server.db.close()
        elapsing.advance(SAFETY_POLL_SECONDS)
        with pytest.raises(httpx.RemoteProtocolError):
            await follower.next()
    assert "stream_broken_off" in caplog.messages
    assert not [record for record in caplog.records if record.exc_info]


async def test_whoever_shows_people_tokens_schedules_and_settings_hears_of_changes(client: httpx.AsyncClient) -> None:
    async with follow(client, events="user,token,schedule,account") as follower:
        await follower.next()
        user = (await client.post("/api/users", json={"name": "Ada"})).json()["user"]["id"]
        await client.patch(f"/api/users/{user}", json={"name": "Ada L."})
        token = (await client.post("/api/tokens", json={"kind": "user", "name": "t", "userId": user})).json()
        await client.delete(f"/api/tokens/{token['token']['id']}")
        daily = {"type": "message", "message": "hi", "cron": "0 7 * * *", "sessionId": "agent:main:main"}
        schedule = (await client.post("/api/schedules", json=daily)).json()["schedule"]["id"]
        await client.delete(f"/api/schedules/{schedule}")
        await client.patch("/api/account", json={"name": "Reading room"})
        frames = await follower.until("account.updated")
    named = ["user.updated"] * 2 + ["token.updated"] * 2 + ["schedule.updated", "schedule.deleted", "account.updated"]
    assert [frame.name for frame in frames] == named
    assert "Ada" not in str([frame.body for frame in frames]), "not everybody may read the users"
    assert token["secret"] not in str([frame.body for frame in frames])
