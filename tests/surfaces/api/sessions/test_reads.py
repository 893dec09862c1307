"""Reading sessions: lists, rows, generations, transcripts, queues, and who may see them."""

import itertools

import httpx
import pytest

from carrel.access import NewToken, mint_token
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused, run_of, send_and_wait, session_of, start, texts


async def make_agent(client: httpx.AsyncClient, agent_id: str) -> None:
    assert (await client.post("/api/agents", json={"id": agent_id})).status_code == 201


@requirement("S0.session.fields")
async def test_a_row_tells_everything_about_its_session(client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, "hello", taskId="task_1")
    row = await session_of(client, run["sessionKey"])
    account = (await client.get("/api/auth/me")).json()["account"]["id"]
    told = {
        "key": "agent:main:task:task_1",
        "sessionKey": "agent:main:task:task_1",
        "kind": "other",
        "channel": "api",
        "accountId": account,
        "agentId": "main",
        "agentSlug": "main",
        "taskId": "task_1",
        "topicId": None,
        "generation": 1,
        "state": "idle",
        "closedAt": None,
        "closedReason": None,
        "archivedAt": None,
        "spawnedBy": None,
        "sandboxed": False,
        "queuedRuns": 0,
        "deliverySessionKey": "agent:main:task:task_1:v1",
        "planMode": {"enabled": False, "activePlanId": None},
        "sessionId": run["sessionId"],
        "transcriptPath": f"/api/sessions/{run['sessionId']}/history",
        "totalTokens": 5,
        "contextTokens": 5,
        "contextWindow": {"usedTokens": 5, "modelTokens": None},
        "title": "task_1",
        "pinned": False,
        "systemSent": True,
        "abortedLastRun": False,
        "lastChannel": "api",
        "deliveryContext": {"channel": "api", "to": None, "accountId": account},
    }
    assert told.items() <= row.items()
    assert row["openedAt"].endswith("Z")
    assert isinstance(row["updatedAt"], int)
    assert "messages" not in row


async def test_a_lane_nobody_was_heard_in_is_a_row_without_a_session(client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/sessions", json={"displayName": "Plans"})).json()
    row = await session_of(client, made["sessionKey"])
    assert (row["sessionId"], row["generation"], row["state"], row["displayName"]) == (None, 0, "idle", "Plans")
    assert row["channel"] == "webchat"
    history = (await client.get(f"/api/sessions/{made['sessionKey']}/history")).json()
    assert (history["sessionId"], history["messages"]) == (None, [])


@requirement("S0.session.lookup", "S0.route.spelling.task", "S0.route.base.kept")
async def test_a_session_is_found_under_every_spelling(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    first = await send_and_wait(client, "one", taskId="task_1")
    await client.post("/api/sessions/agent:main:task:task_1/reset")
    second = await send_and_wait(client, "two", taskId="task_1")
    base = await send_and_wait(client, "three")
    account = (await client.get("/api/auth/me")).json()["account"]["id"]
    spelled = {
        "agent:main:task:task_1": second,
        "agent:main:task:task_1:v1": first,
        "agent:main:task:task_1:v2": second,
        f"task:task_1:agent:main:{account}:v1": first,
        "clawboard:task:topic_1:task_1": second,
        first["sessionId"]: first,
        "main": base,
        f"agent:main:{account}": base,
    }
    for reference, run in spelled.items():
        assert (await session_of(client, reference))["sessionId"] == run["sessionId"], reference
        history = (await client.get(f"/api/sessions/{reference}/history")).json()
        assert texts(history)[0] == run["message"]["text"]
    await make_agent(client, "writer")
    other = await send_and_wait(client, "four", taskId="task_1", agentId="writer")
    of_task = (await client.get("/api/sessions", params={"taskId": "task_1"})).json()["sessions"]
    assert {row["sessionId"] for row in of_task} == {second["sessionId"], other["sessionId"]}
    for reference in (first["sessionId"], f"task:task_1:agent:main:{account}:v1", f"agent:main:{account}"):
        assert refused(await other_client.get(f"/api/sessions/{reference}"))[:2] == (404, "not_found")


@requirement("S2.x.reset.generation", "S0.session.next")
async def test_a_reset_closes_the_generation_and_the_next_line_opens_another(client: httpx.AsyncClient) -> None:
    first = await send_and_wait(client, "before")
    answer = (await client.post("/api/sessions/main/reset")).json()
    assert answer == {"closedSessionId": first["sessionId"], "nextGeneration": 2}
    again = (await client.post("/api/sessions/main/reset")).json()
    assert again == {"closedSessionId": None, "nextGeneration": 2}
    assert (await session_of(client, "main"))["state"] == "closed"
    second = await send_and_wait(client, "after")
    assert (second["generation"], second["sessionKey"]) == (2, first["sessionKey"])
    generations = (await client.get("/api/sessions/main/generations")).json()["sessions"]
    assert [(row["generation"], row["state"], row["closedReason"]) for row in generations] == [
        (2, "idle", None),
        (1, "closed", "reset"),
    ]
    old = (await client.get(f"/api/sessions/{first['sessionId']}/history")).json()
    assert texts(old) == ["before", "echo: before"]


@requirement("S2.x.reset.generation")
async def test_what_is_queued_at_a_reset_is_heard_in_the_next_generation(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    held = await start(client, "hold gate")
    await server.agent.reached("gate")
    waiting = await start(client, "later")
    await client.post("/api/sessions/main/reset")
    server.agent.release("gate")
    later = await send_and_wait(client, "last")
    assert (await run_of(client, held["runId"]))["generation"] == 1
    assert (await run_of(client, held["runId"]))["state"] == "completed"
    assert (await run_of(client, waiting["runId"]))["generation"] == 2
    assert later["generation"] == 2


@requirement("S0.session.lazy")
async def test_nothing_but_the_start_of_a_run_opens_a_session(server: HttpServer, client: httpx.AsyncClient) -> None:
    await start(client, "hold gate")
    await server.agent.reached("gate")
    await client.post("/api/agents", json={"id": "idle"})
    await client.patch("/api/agents/idle", json={"enabled": True})
    queued = await start(client, "queued behind")
    made = (await client.post("/api/sessions", json={"agentId": "idle"})).json()["sessionKey"]
    for path in ("", "/history", "/generations", "/queue"):
        assert (await client.get(f"/api/sessions/{made}{path}")).status_code == 200
    assert (await client.get(f"/api/sessions/{made}/generations")).json()["sessions"] == []
    assert (await run_of(client, queued["runId"]))["sessionId"] is None
    server.agent.release("gate")


async def test_a_list_is_filtered_by_every_word_of_its_query(client: httpx.AsyncClient) -> None:
    await make_agent(client, "writer")
    await send_and_wait(client, "in main")
    await send_and_wait(client, "a task", taskId="task_9")
    await send_and_wait(client, "to the writer", agentId="writer")
    await send_and_wait(client, "a tick", sessionKey="cron:daily")
    await send_and_wait(client, "a room", sessionKey="agent:main:discord:group:42")
    chat = (await client.post("/api/sessions", json={"displayName": "50% of_it"})).json()["sessionKey"]

    async def keys(**query: str | int) -> set[str]:
        answer = (await client.get("/api/sessions", params=query)).json()
        assert answer["count"] == len(answer["sessions"])
        return {row["key"] for row in answer["sessions"]}

    everything = await keys()
    assert len(everything) == 6
    assert await keys(kinds="main") == {"agent:main:main", "agent:writer:main"}
    assert await keys(kinds="main,nonsense", agentId="writer") == {"agent:writer:main"}
    assert await keys(kinds="nonsense") == everything
    assert await keys(kinds="group") == {"agent:main:discord:group:42"}
    assert await keys(kinds="cron") == {"agent:main:cron:daily"}
    assert await keys(kinds="other") == {"agent:main:task:task_9", chat}
    assert await keys(taskId="task_9") == {"agent:main:task:task_9"}
    assert await keys(channel="internal") == {"agent:main:cron:daily"}
    assert await keys(channel="discord") == {"agent:main:discord:group:42"}
    assert await keys(channel="webchat") == {chat}
    assert await keys(channel="api") == {"agent:main:main", "agent:writer:main", "agent:main:task:task_9"}
    assert await keys(channel="unknown") == set()
    assert await keys(q="50% OF_") == {chat}
    assert await keys(q="%") == {chat}
    assert await keys(q="writer") == {"agent:writer:main"}
    assert await keys(state="busy") == set()
    assert await keys(state="idle") == everything
    assert await keys(agentId="nobody") == set()
    assert await keys(activeMinutes=1) == everything
    assert await keys(archived=1) == set()


async def test_a_list_comes_in_pages_and_with_its_last_messages(client: httpx.AsyncClient) -> None:
    for number in range(5):
        await send_and_wait(client, f"line {number}", taskId=f"task_{number}")
    seen: list[str] = []
    query: dict[str, str | int] = {"limit": 2, "messageLimit": 1}
    while True:
        page = (await client.get("/api/sessions", params=query)).json()
        assert all(len(row["messages"]) == 1 for row in page["sessions"])
        seen += [row["taskId"] for row in page["sessions"]]
        if page["nextCursor"] is None:
            break
        query["cursor"] = page["nextCursor"]
    assert seen == [f"task_{number}" for number in reversed(range(5))]
    assert (await client.get("/api/sessions", params={"limit": 0})).json()["count"] == 1
    assert (await client.get("/api/sessions", params={"limit": 9999, "messageLimit": 99})).json()["count"] == 5


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"cursor": "no cursor"}, "cursor"),
        ({"cursor": "WyJvdGhlciJd"}, "cursor"),
        ({"state": "odd"}, "state"),
        ({"limit": "many"}, "limit"),
        ({"activeMinutes": "0"}, "activeMinutes"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_wrong_query_is_refused_by_the_name_of_its_field(
    client: httpx.AsyncClient, query: dict[str, str], field: str
) -> None:
    assert refused(await client.get("/api/sessions", params=query)) == (400, "invalid_params", field)


async def test_a_transcript_comes_newest_page_first_and_each_page_oldest_first(client: httpx.AsyncClient) -> None:
    for number in range(4):
        await send_and_wait(client, f"line {number}")
    spoken = [text for number in range(4) for text in (f"line {number}", f"echo: line {number}")]
    newest = (await client.get("/api/sessions/main/history", params={"limit": 3})).json()
    assert texts(newest) == spoken[-3:]
    cursor = newest["nextCursor"]
    older = (await client.get("/api/sessions/main/history", params={"limit": 100, "cursor": cursor})).json()
    assert texts(older) == spoken[:-3]
    assert older["nextCursor"] is None
    assert (older["truncated"], older["droppedMessages"], older["contentTruncated"]) == (False, 0, False)
    first = older["messages"][0]
    assert first["role"] == "user"
    assert first["provenance"]["kind"] == "external_user"
    assert first["runId"].startswith("run_")
    assert refused(await client.get("/api/sessions/main/history", params={"cursor": "!"})) == (
        400,
        "invalid_params",
        "cursor",
    )


async def test_tool_results_are_shown_on_demand_and_take_no_place_otherwise(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "ask Which colour?")
    plain = (await client.get("/api/sessions/main/history")).json()["messages"]
    assert [message["role"] for message in plain] == ["user", "toolCall", "assistant"]
    call = plain[1]["content"][0]
    assert (call["type"], call["name"], call["arguments"]) == (
        "toolCall",
        "request_input",
        {"question": "Which colour?"},
    )
    whole = (await client.get("/api/sessions/main/history", params={"includeTools": 1})).json()["messages"]
    assert [message["role"] for message in whole] == ["user", "toolCall", "toolResult", "assistant"]
    assert whole[2]["content"][0]["toolCallId"] == call["id"]
    last = (await client.get("/api/sessions/main/history", params={"limit": 2})).json()["messages"]
    assert [message["role"] for message in last] == ["toolCall", "assistant"]


@requirement("S1.queue.pending", "S1.queue.notreject", "S1.dispatch.busy", "S1.dispatch.fifo", "S3.x.message.kept")
async def test_the_queue_is_listed_in_its_order(server: HttpServer, client: httpx.AsyncClient) -> None:
    first = await start(client, "hold gate")
    await server.agent.reached("gate")
    behind = [(await start(client, f"line {number}"))["runId"] for number in range(3)]
    queue = (await client.get("/api/sessions/main/queue")).json()
    assert queue["running"]["id"] == first["runId"]
    assert [(run["id"], run["queuePosition"], run["state"]) for run in queue["runs"]] == [
        (run_id, place, "queued") for place, run_id in enumerate(behind, 1)
    ]
    row = await session_of(client, "main")
    assert (row["state"], row["queuedRuns"]) == ("busy", 3)
    server.agent.release("gate")
    last = await send_and_wait(client, "the end")
    ended = [await run_of(client, run_id) for run_id in [first["runId"], *behind, last["id"]]]
    starts = [run["startedAt"] for run in ended]
    assert starts == sorted(starts)
    assert all(before["endedAt"] <= after["startedAt"] for before, after in itertools.pairwise(ended))
    assert (await client.get("/api/sessions/main/queue")).json() == {"running": None, "runs": []}


@requirement("S2.key.main")
async def test_an_agent_sees_its_own_lanes_and_its_main_lane_as_main(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await make_agent(client, "writer")
    await send_and_wait(client, "to main")
    own = await send_and_wait(client, "my token is crl_owner_abc_def", agentId="writer")
    token = await server.token(client, kind="agent", agentId="writer")
    async with server.client(token) as agent:
        listed = (await agent.get("/api/sessions")).json()
        assert [row["key"] for row in listed["sessions"]] == ["main"]
        assert listed["visibility"] == {"mode": "tree", "hidden": True}
        assert (await session_of(agent, "main"))["sessionId"] == own["sessionId"]
        history = (await agent.get("/api/sessions/main/history")).json()
        assert history["sessionKey"] == "main"
        assert history["contentRedacted"]
        assert "crl_owner" not in str(history)
        missing = await agent.get("/api/sessions/agent:main:task:none")
        hidden = await agent.get("/api/sessions/agent:main:main")
        assert refused(missing) == refused(hidden) == (404, "not_found", None)
        assert [run["id"] for run in (await agent.get("/api/runs")).json()["runs"]] == [own["id"]]
        assert (await agent.get("/api/runs", params={"agentId": "main"})).json()["runs"] == []
        assert refused(await agent.post("/api/runs", json={"message": "x"}))[0] == 403
        assert refused(await agent.post("/api/sessions/main/reset"))[0] == 403
    everything = (await client.get("/api/sessions")).json()
    assert everything["visibility"] == {"mode": "all", "hidden": False}
    assert {row["key"] for row in everything["sessions"]} == {"agent:main:main", "agent:writer:main"}


@requirement("S2.key.current")
async def test_current_is_the_lane_of_the_run_that_asks(server: HttpServer, client: httpx.AsyncClient) -> None:
    held = await start(client, "hold gate", taskId="task_7")
    await server.agent.reached("gate")
    access = await server.access_of()
    new = NewToken(kind="run", name="run", agent_id="main", run_id=held["runId"])
    _, token = await server.db.write(lambda tx: mint_token(tx, access, new))
    async with server.client(token) as run:
        assert (await session_of(run, "current"))["taskId"] == "task_7"
    assert refused(await client.get("/api/sessions/current")) == (400, "invalid_params", "sessionKey")
    server.agent.release("gate")


async def test_a_run_reads_its_own_session_and_no_other_of_its_agent(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    elsewhere = await start(client, "quagga", sessionKey="agent:main:web:elsewhere")
    await client.get(f"/api/runs/{elsewhere['runId']}/wait")
    held = await start(client, "hold gate", taskId="task_7")
    await server.agent.reached("gate")
    access = await server.access_of()
    new = NewToken(kind="run", name="run", agent_id="main", run_id=held["runId"])
    _, token = await server.db.write(lambda tx: mint_token(tx, access, new))
    async with server.client(token) as run:
        listed = (await run.get("/api/sessions")).json()
        assert [row["key"] for row in listed["sessions"]] == ["agent:main:task:task_7"]
        assert listed["visibility"] == {"mode": "tree", "hidden": True}
        assert [one["id"] for one in (await run.get("/api/runs")).json()["runs"]] == [held["runId"]]
        assert {log["sessionKey"] for log in (await run.get("/api/changes")).json()["logs"]} == {held["sessionKey"]}
        other, lane = f"/api/runs/{elsewhere['runId']}", f"/api/sessions/{elsewhere['sessionKey']}"
        for path in (other, f"{other}/wait", f"{other}/receipt", lane, f"{lane}/history", f"{lane}/queue"):
            assert refused(await run.get(path))[:2] == (404, "not_found"), path
        for path in ("/api/runs", "/api/stream"):
            for key in (elsewhere["sessionKey"], "agent:main:web:nobody-was-here"):
                assert refused(await run.get(path, params={"sessionKey": key}))[:2] == (404, "not_found"), path
        schedules = await run.get("/api/schedules", params={"sessionId": elsewhere["sessionKey"]})
        assert refused(schedules)[:2] == (404, "not_found")
        async with run.stream("GET", "/api/stream", params={"lastEventId": "0"}) as feed:
            async for line in feed.aiter_lines():
                assert "elsewhere" not in line
                if "event: run.started" in line:
                    break
    server.agent.release("gate")


async def test_a_program_reads_no_sessions(server: HttpServer, client: httpx.AsyncClient) -> None:
    token = await server.token(client, kind="client", agentIds=["main"])
    async with server.client(token) as program:
        for path in ("/api/sessions", "/api/runs", "/api/sessions/main"):
            assert refused(await program.get(path))[:2] == (403, "forbidden")


@requirement("S2.key.reserved")
async def test_reserved_names_are_refused(client: httpx.AsyncClient) -> None:
    for reference in ("global", "unknown", "agent:main:global"):
        assert refused(await client.get(f"/api/sessions/{reference}")) == (400, "reserved_session_key", "sessionKey")
        answer = await client.post("/api/runs", json={"message": "x", "sessionKey": reference})
        assert refused(answer) == (400, "reserved_session_key", "sessionKey")


async def test_reading_works_on_either_store(either_server: HttpServer) -> None:
    async with either_server.client() as client:
        await send_and_wait(client, "a room", sessionKey="agent:main:discord:group:42")
        await send_and_wait(client, "hello", taskId="task_1")
        listed = (await client.get("/api/sessions", params={"q": "task_1", "kinds": "other", "channel": "api"})).json()
        assert [row["taskId"] for row in listed["sessions"]] == ["task_1"]
        room = (await client.get("/api/sessions", params={"channel": "discord", "state": "idle", "limit": 1})).json()
        assert [row["kind"] for row in room["sessions"]] == ["group"]
        history = (await client.get("/api/sessions/agent:main:task:task_1/history", params={"limit": 1})).json()
        assert texts(history) == ["echo: hello"]
