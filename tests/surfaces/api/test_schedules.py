"""Schedules over HTTP: create, read, change and fire them, and what is refused."""

from typing import Any

import httpx
import pytest

from carrel.kernel import parse_iso
from carrel.kernel.limits import SCHEDULES_PER_ACCOUNT_MAX
from carrel.modes import NewSchedule, make_schedule
from carrel.storage import Tx
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api_calls import Json, refused, send_and_wait, settled, texts

ALL = "/api/schedules"
DAILY = {"type": "message", "message": "report", "cron": "30 6 * * *"}


async def made(client: httpx.AsyncClient, **wanted: Any) -> Json:
    """A new schedule of the main session."""
    answer = await client.post(ALL, json={**DAILY, "sessionId": "main", **wanted})
    assert answer.status_code == 201, answer.text
    schedule: Json = answer.json()["schedule"]
    return schedule


async def fire(client: httpx.AsyncClient, schedule: Json) -> Json:
    """The run of a schedule that fires now, once it rests."""
    answer = await client.post(f"{ALL}/{schedule['id']}/run")
    assert answer.status_code == 202, answer.text
    assert answer.json()["schedule"]["id"] == schedule["id"]
    return await settled(client, answer.json()["runId"])


async def shown(client: httpx.AsyncClient, schedule: Json) -> Json:
    """The schedule as it stands."""
    answer = await client.get(f"{ALL}/{schedule['id']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["schedule"]
    return found


async def test_a_schedule_is_made_read_changed_and_deleted(client: httpx.AsyncClient) -> None:
    schedule = await made(client, timezone="Europe/Berlin", maxExecutions=3)
    expected = {
        "type": "message",
        "targetId": None,
        "message": "report",
        "sessionId": "main",
        "sessionKey": "agent:main:main",
        "agentId": "main",
        "cron": "30 6 * * *",
        "timezone": "Europe/Berlin",
        "isolated": False,
        "enabled": True,
        "disabledReason": None,
        "maxExecutions": 3,
        "executionCount": 0,
        "retryAt": None,
        "lastAt": None,
        "lastStatus": None,
        "lastError": None,
        "lastRunId": None,
    }
    assert expected.items() <= schedule.items()
    assert schedule["id"].startswith("sch_")
    assert parse_iso(schedule["nextAt"]) > parse_iso(schedule["createdAt"])
    assert schedule["nextAt"][11:] in ("04:30:00.000Z", "05:30:00.000Z")
    assert await shown(client, schedule) == schedule
    assert (await client.get(ALL, params={"sessionId": "main"})).json() == {"schedules": [schedule], "nextCursor": None}
    patched = await client.patch(f"{ALL}/{schedule['id']}", json={"cron": "0 0 1 1 *", "timezone": "UTC"})
    assert patched.json()["schedule"]["nextAt"][4:] == "-01-01T00:00:00.000Z"
    off = (await client.patch(f"{ALL}/{schedule['id']}", json={"enabled": False, "message": "else"})).json()["schedule"]
    assert (off["enabled"], off["nextAt"], off["disabledReason"], off["message"]) == (False, None, "requested", "else")
    on = (await client.patch(f"{ALL}/{schedule['id']}", json={"enabled": True})).json()["schedule"]
    assert (on["enabled"], on["disabledReason"]) == (True, None)
    assert on["nextAt"]
    assert (await client.delete(f"{ALL}/{schedule['id']}")).status_code == 204
    assert refused(await client.get(f"{ALL}/{schedule['id']}"))[:2] == (404, "not_found")
    assert (await client.get(ALL, params={"sessionId": "main"})).json()["schedules"] == []


async def test_the_session_may_be_named_in_every_way_and_is_made_where_it_was_not(client: httpx.AsyncClient) -> None:
    (await client.post("/api/agents", json={"id": "clerk"})).raise_for_status()
    schedule = await made(client, sessionId="agent:clerk:web:a-chat-of-mine")
    assert (schedule["sessionId"], schedule["agentId"]) == ("a-chat-of-mine", "clerk")
    row = (await client.get("/api/sessions/agent:clerk:web:a-chat-of-mine")).json()["session"]
    assert (row["generation"], row["sessionId"]) == (0, None)
    for reference in ("a-chat-of-mine", "agent:clerk:web:a-chat-of-mine"):
        assert len((await client.get(ALL, params={"sessionId": reference})).json()["schedules"]) == 1
    path = f"{ALL}/{schedule['id']}"
    assert (await client.get(path, params={"sessionId": "a-chat-of-mine"})).status_code == 200
    assert refused(await client.get(path, params={"sessionId": "main"}))[:2] == (404, "not_found")
    assert refused(await client.patch(path, json={"sessionId": "main", "enabled": False}))[:2] == (404, "not_found")
    assert refused(await client.post(f"{path}/run", params={"sessionId": "main"}))[:2] == (404, "not_found")
    assert refused(await client.delete(path, params={"sessionId": "main"}))[:2] == (404, "not_found")
    assert (await client.patch(path, json={"sessionId": "a-chat-of-mine", "enabled": False})).status_code == 200


async def test_lists_come_in_pages(client: httpx.AsyncClient) -> None:
    ids = [(await made(client))["id"] for _ in range(5)]
    found: list[str] = []
    query: dict[str, Any] = {"sessionId": "main", "limit": 2}
    while True:
        page = (await client.get(ALL, params=query)).json()
        found += [schedule["id"] for schedule in page["schedules"]]
        if page["nextCursor"] is None:
            break
        query["cursor"] = page["nextCursor"]
    assert found == ids


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"sessionId": None}, (400, "session_required", "sessionId")),
        ({"sessionId": "no such session"}, (400, "invalid_params", "sessionId")),
        ({"sessionId": "agent:main:web:short"}, (400, "invalid_conversation_key", "conversationKey")),
        ({"sessionId": "agent:nobody:main"}, (404, "not_found", None)),
        ({"type": "goal", "targetId": "goal_1"}, (400, "invalid_params", "message")),
        ({"type": "task"}, (400, "invalid_params", "targetId")),
        ({"type": "song"}, (400, "invalid_params", "type")),
        ({"targetId": "task_1"}, (400, "invalid_params", "targetId")),
        ({"message": None}, (400, "invalid_params", "message")),
        ({"message": " "}, (400, "invalid_params", "message")),
        ({"message": "x" * 100_001}, (422, "too_long", "message")),
        ({"cron": "every day"}, (400, "invalid_params", "cron")),
        ({"cron": "0 0 30 2 *"}, (400, "invalid_params", "cron")),
        ({"cron": 5}, (400, "invalid_params", "cron")),
        ({"timezone": "Atlantis/Capital"}, (400, "invalid_params", "timezone")),
        ({"maxExecutions": 0}, (400, "invalid_params", "maxExecutions")),
        ({"colour": "red"}, (400, "invalid_params", "colour")),
    ],
)
async def test_invalid_values_are_refused_with_their_field(
    client: httpx.AsyncClient, body: Json, expected: tuple[int, str, str | None]
) -> None:
    answer = await client.post(ALL, json={**DAILY, "sessionId": "main", **body})
    assert refused(answer) == expected
    assert (await client.get(ALL, params={"sessionId": "main"})).json()["schedules"] == []


async def test_a_task_is_scheduled_and_needs_to_be_known(client: httpx.AsyncClient) -> None:
    (await client.post("/api/tasks", json={"id": "weekly", "title": "The report"})).raise_for_status()
    cron = {"sessionId": "main", "cron": "30 6 * * *", "type": "task"}
    schedule = (await client.post(ALL, json={**cron, "targetId": "weekly"})).json()["schedule"]
    assert (schedule["type"], schedule["targetId"], schedule["message"]) == ("task", "weekly", None)
    run = await fire(client, schedule)
    assert (run["taskId"], run["sessionKey"], run["provenance"]["kind"]) == ("weekly", "agent:main:main", "cron")
    for wanted, expected in (
        ({"targetId": "nowhere"}, (404, "not_found", None)),
        ({"type": "goal", "targetId": "nowhere"}, (404, "not_found", None)),
        ({}, (400, "invalid_params", "targetId")),
        ({"targetId": "weekly", "message": "and this"}, (400, "invalid_params", "message")),
    ):
        assert refused(await client.post(ALL, json={**cron, **wanted})) == expected
    (await client.patch("/api/tasks/weekly", json={"status": "done"})).raise_for_status()
    assert refused(await client.post(f"{ALL}/{schedule['id']}/run")) == (409, "conflict", None)


async def test_without_a_session_all_schedules_are_listed_that_one_may_see(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    user = (await client.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]["id"]
    at_night = {"type": "message", "message": "hi", "cron": "0 3 * * *"}
    for session in ("agent:main:main", "agent:main:web:owners-chat-1", "agent:main:web:unspoken-1"):
        if session != "agent:main:web:unspoken-1":
            await client.post(f"/api/sessions/{session}/send", json={"message": "hello", "timeoutSeconds": 15})
        (await client.post(ALL, json=at_night | {"sessionId": session})).raise_for_status()
    async with server.client(await server.token(client, kind="user", userId=user)) as ada:
        (await ada.post(ALL, json=at_night | {"sessionId": "agent:main:web:adas-chat-1"})).raise_for_status()
        seen = [one["sessionKey"] for one in (await ada.get(ALL)).json()["schedules"]]
    assert seen == ["agent:main:main", "agent:main:web:adas-chat-1"]
    page = (await client.get(ALL, params={"limit": 3})).json()
    rest = (await client.get(ALL, params={"limit": 3, "cursor": page["nextCursor"]})).json()
    assert [len(page["schedules"]), len(rest["schedules"]), rest["nextCursor"]] == [3, 1, None]


async def test_an_account_has_a_bounded_number_of_schedules(server: HttpServer, client: httpx.AsyncClient) -> None:
    access = await server.access_of()
    new = NewSchedule(type="message", message="x", cron="0 0 1 1 *")

    def fill(tx: Tx) -> None:
        for _ in range(SCHEDULES_PER_ACCOUNT_MAX):
            make_schedule(tx, access, "main", new)

    await server.db.write(fill)
    answer = await client.post(ALL, json={**DAILY, "sessionId": "main"})
    assert refused(answer)[:2] == (422, "limit_reached")


async def test_run_fires_now_and_the_next_moment_stays(client: httpx.AsyncClient) -> None:
    schedule = await made(client)
    run = await fire(client, schedule)
    assert (run["state"], run["reply"], run["sessionKey"]) == ("completed", "echo: report", "agent:main:main")
    assert run["provenance"] == {"kind": "cron", "actor": schedule["id"]}
    after = await shown(client, schedule)
    assert (after["nextAt"], after["lastStatus"], after["lastRunId"]) == (schedule["nextAt"], "completed", run["id"])
    assert after["executionCount"] == 1
    assert (await client.get("/api/runs", params={"provenance": "cron"})).json()["runs"][0]["id"] == run["id"]


async def test_the_same_request_to_run_twice_fires_once(client: httpx.AsyncClient) -> None:
    schedule = await made(client)
    twice = [
        (await client.post(f"{ALL}/{schedule['id']}/run", headers={"X-Idempotency-Key": "k"})).json() for _ in range(2)
    ]
    assert twice[0] == twice[1]
    assert (await shown(client, schedule))["executionCount"] == 1


async def test_the_feed_tells_when_a_schedule_fires_and_when_it_is_disabled(client: httpx.AsyncClient) -> None:
    schedule = await made(client, message="fail", maxExecutions=1)
    async with follow(client) as follower:
        run = await fire(client, schedule)
        fired = (await follower.until("schedule.fired"))[-1].body
        disabled = (await follower.until("schedule.disabled"))[-1].body
    assert (run["state"], fired["runId"], fired["sessionKey"]) == ("failed", run["id"], "agent:main:main")
    assert (fired["data"]["runId"], fired["data"]["schedule"]["id"]) == (run["id"], schedule["id"])
    assert (disabled["sessionId"], disabled["data"]["schedule"]["disabledReason"]) == ("main", "exhausted")
    after = await shown(client, schedule)
    assert (after["disabledReason"], after["lastStatus"]) == ("exhausted", "failed")
    assert "Told to fail" in after["lastError"]
    assert refused(await client.post(f"{ALL}/{schedule['id']}/run")) == (422, "limit_reached", "maxExecutions")


@requirement("S2.x.cron.fresh")
async def test_an_isolated_schedule_begins_afresh_each_time_it_fires(store_url: str) -> None:
    async with open_http_server(store_url) as server, server.client() as client:
        await send_and_wait(client, "something else")
        schedule = await made(client, isolated=True)
        runs = [await fire(client, schedule) for _ in range(3)]
        key = f"agent:main:cron:{schedule['id']}"
        assert [(run["sessionKey"], run["generation"]) for run in runs] == [(key, 1), (key, 2), (key, 3)]
        # What a model is shown is this message alone, however often it was said before.
        sent = [body["input"] for body in server.agent.bodies[-3:]]
        assert len({len(items) for items in sent}) == 1
        assert texts((await client.get(f"/api/sessions/{key}/history")).json()) == ["report", "echo: report"]
        rows = (await client.get(f"/api/sessions/{key}/generations")).json()["sessions"]
        assert [row["closedReason"] for row in rows] == [None, "rotated", "rotated"]
        assert rows[0]["kind"] == "cron"


@requirement("S2.x.cron.fresh")
async def test_two_that_wait_in_an_isolated_lane_are_heard_in_a_generation_each(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    schedule = await made(client, message="hold gate", isolated=True)
    answers = [(await client.post(f"{ALL}/{schedule['id']}/run")).json() for _ in range(3)]
    server.agent.release("gate")
    assert [(await settled(client, answer["runId"]))["generation"] for answer in answers] == [1, 2, 3]


async def test_a_line_said_between_joins_the_generation_and_the_next_window_leaves_it(
    client: httpx.AsyncClient,
) -> None:
    schedule = await made(client, isolated=True)
    key = (await fire(client, schedule))["sessionKey"]
    assert (await send_and_wait(client, "and why?", sessionKey=key))["generation"] == 1
    assert (await fire(client, schedule))["generation"] == 2


async def test_a_schedule_that_is_not_isolated_goes_on_in_its_session(client: httpx.AsyncClient) -> None:
    cron = await made(client, sessionId="cron:nightly")
    assert [(await fire(client, cron))["generation"] for _ in range(2)] == [1, 1]
    assert cron["sessionKey"] == "agent:main:cron:nightly"


async def test_agents_read_the_schedules_of_their_own_sessions_and_change_none(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    (await client.post("/api/agents", json={"id": "clerk"})).raise_for_status()
    own, others = await made(client, sessionId="agent:clerk:main"), await made(client)
    token = await server.token(client, kind="agent", agentId="clerk")
    async with server.client(token) as clerk:
        assert await shown(clerk, own) == own
        listed = (await clerk.get(ALL, params={"sessionId": "main"})).json()["schedules"]
        assert [schedule["id"] for schedule in listed] == [own["id"]]
        assert refused(await clerk.get(f"{ALL}/{others['id']}"))[:2] == (404, "not_found")
        assert refused(await clerk.get(ALL, params={"sessionId": "agent:main:main"}))[:2] == (404, "not_found")
        for answer in (
            await clerk.post(ALL, json={**DAILY, "sessionId": "main"}),
            await clerk.patch(f"{ALL}/{own['id']}", json={"enabled": False}),
            await clerk.delete(f"{ALL}/{own['id']}"),
            await clerk.post(f"{ALL}/{own['id']}/run"),
        ):
            assert refused(answer)[:2] == (403, "forbidden")
