"""Notifications over the API: one mailbox per person, live, marked as read; programs have none."""

from collections.abc import AsyncIterator

import httpx
import pytest

from carrel.kernel.settings import RunsSettings, Settings
from carrel.runs.pruner import prune
from tests.harness.server import HttpServer
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api_calls import Json, refused, send_and_wait

PATH = "/api/notifications"
FIELDS = [
    "id",
    "type",
    "title",
    "body",
    "taskId",
    "entryId",
    "runId",
    "sessionId",
    "sessionKey",
    "createdAt",
    "readAt",
]


async def user_token(server: HttpServer, owner: httpx.AsyncClient, name: str) -> tuple[str, str]:
    """The id of a new person and a token for them."""
    user = (await owner.post("/api/users", json={"name": name})).json()["user"]["id"]
    return user, await server.token(owner, kind="user", userId=user)


async def listed(client: httpx.AsyncClient, **query: object) -> Json:
    answer = await client.get(PATH, params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    page: Json = answer.json()
    return page


async def read(client: httpx.AsyncClient, notification_id: str) -> httpx.Response:
    return await client.post(f"{PATH}/{notification_id}/read")


async def test_a_failed_run_is_in_the_mailbox_until_it_is_read_and_afterwards_marked(
    either_server: HttpServer,
) -> None:
    async with either_server.client() as client:
        assert await listed(client) == {"notifications": [], "unreadCount": 0, "nextCursor": None}
        run = await send_and_wait(client, "fail to print")
        page = await listed(client)
        (notice,) = page["notifications"]
        assert page["unreadCount"] == 1
        assert list(notice) == FIELDS
        assert (notice["type"], notice["title"]) == ("run_failed", "Main failed: fail to print")
        assert (notice["runId"], notice["sessionKey"]) == (run["id"], "agent:main:main")
        assert (notice["sessionId"], notice["readAt"]) == (run["sessionId"], None)
        marked, again = await read(client, notice["id"]), await read(client, notice["id"])
        assert marked.json()["notification"]["readAt"] is not None
        assert again.json() == marked.json()
        assert (await listed(client))["unreadCount"] == 0
        assert (await listed(client, unread=1))["notifications"] == []
        assert [each["id"] for each in (await listed(client))["notifications"]] == [notice["id"]]


async def test_pages_are_followed_by_their_cursor_and_all_are_read_at_once(client: httpx.AsyncClient) -> None:
    for number in range(3):
        await send_and_wait(client, f"fail {number}")
    first = await listed(client, limit=2)
    assert [each["title"] for each in first["notifications"]] == ["Main failed: fail 2", "Main failed: fail 1"]
    second = await listed(client, limit=2, cursor=first["nextCursor"])
    assert [each["title"] for each in second["notifications"]] == ["Main failed: fail 0"]
    assert second["nextCursor"] is None
    assert len((await listed(client, limit=0))["notifications"]) == 1, "limits are clamped"
    assert (await client.post(f"{PATH}/read-all")).json() == {"read": 3}
    assert (await client.post(f"{PATH}/read-all")).json() == {"read": 0}
    assert (await listed(client))["unreadCount"] == 0
    assert refused(await client.get(PATH, params={"cursor": "x"})) == (400, "invalid_params", "cursor")
    assert refused(await client.get(PATH, params={"unread": "x"})) == (400, "invalid_params", "unread")


async def test_owners_share_one_mailbox_and_people_have_their_own(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as owner:
        second = await server.token(owner, kind="owner")
        ada_id, ada_token = await user_token(server, owner, "Ada")
        _, ben_token = await user_token(server, owner, "Ben")
        async with server.client(second) as other, server.client(ada_token) as ada, server.client(ben_token) as ben:
            await send_and_wait(ada, "fail for Ada")
            (hers,) = (await listed(ada))["notifications"]
            (ours,) = (await listed(owner))["notifications"]
            assert hers["runId"] == ours["runId"]
            assert (await listed(ben))["notifications"] == []
            for stranger in (ben, owner):
                assert refused(await read(stranger, hers["id"]))[0] == 404
            assert (await read(other, ours["id"])).status_code == 200
            assert (await listed(owner))["unreadCount"] == 0, "what one owner has read is read"
            assert (await listed(ada))["unreadCount"] == 1
            assert (await ben.post(f"{PATH}/read-all")).json() == {"read": 0}
            assert (await listed(ada))["unreadCount"] == 1
        assert (await owner.delete(f"/api/users/{ada_id}")).status_code == 204
        access = await server.access_of()
        left = await server.db.read(
            lambda tx: tx.all(
                "SELECT recipient FROM notifications WHERE account_id = :account", account=access.account_id
            )
        )
        assert left == [("owners",)], "what a person was told goes with them"


async def test_another_account_sees_and_marks_nothing(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await send_and_wait(client, "fail")
    (notice,) = (await listed(client))["notifications"]
    assert await listed(other_client) == {"notifications": [], "unreadCount": 0, "nextCursor": None}
    assert refused(await read(other_client, notice["id"]))[:2] == (404, "not_found")
    assert (await other_client.post(f"{PATH}/read-all")).json() == {"read": 0}
    assert (await listed(client))["unreadCount"] == 1


@pytest.fixture
async def programs(server: HttpServer, client: httpx.AsyncClient) -> AsyncIterator[list[httpx.AsyncClient]]:
    """An agent and a client program."""
    wanted = ({"kind": "agent", "agentId": "main"}, {"kind": "client", "agentIds": ["main"]})
    opened = [server.client(await server.token(client, **each)) for each in wanted]
    yield opened
    for program in opened:
        await program.aclose()


async def test_programs_have_no_mailbox(programs: list[httpx.AsyncClient]) -> None:
    for program in programs:
        for answer in (
            await program.get(PATH),
            await read(program, "ntf_1"),
            await program.post(f"{PATH}/read-all"),
        ):
            assert refused(answer)[:2] == (403, "forbidden")


async def test_the_stream_tells_of_a_mailbox_to_its_reader_alone(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as owner:
        _, ada_token = await user_token(server, owner, "Ada")
        agent_token = await server.token(owner, kind="agent", agentId="main")
        names = "notification,run.completed"
        async with (
            server.client(ada_token) as ada,
            server.client(agent_token) as agent,
            follow(owner, events=names) as by_owner,
            follow(ada, events=names) as by_ada,
            follow(agent, events=names) as by_agent,
        ):
            await send_and_wait(owner, "fail for the owner")
            (ours,) = (await listed(owner))["notifications"]
            marked = (await read(owner, ours["id"])).json()["notification"]
            await send_and_wait(owner, "hello")
            heard = [frame for frame in await by_owner.until("run.completed") if frame.name.startswith("notification")]
            assert [frame.name for frame in heard] == ["notification.created", "notification.read"]
            assert [frame.body["data"]["notification"] for frame in heard] == [ours, marked]
            assert (heard[0].body["runId"], heard[0].body["sessionKey"]) == (ours["runId"], "agent:main:main")
            for others in (by_ada, by_agent):
                assert [frame.name for frame in await others.until("run.completed")] == [
                    "stream.ready",
                    "run.completed",
                ]


async def test_a_notification_outlives_its_run_but_not_the_time_that_runs_are_kept(server: HttpServer) -> None:
    async with server.client() as client:
        run = await send_and_wait(client, "fail")
        (await client.delete(f"/api/sessions/{run['sessionKey']}")).raise_for_status()
        await server.db.write(lambda tx: prune(tx, server.services.settings))
        assert len((await listed(client))["notifications"]) == 1
        at_once = Settings(runs=RunsSettings(retention_days=1e-9))
        await server.db.write(lambda tx: prune(tx, at_once))
        assert (await listed(client))["notifications"] == []
