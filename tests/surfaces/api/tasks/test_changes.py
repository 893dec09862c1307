"""Tasks over HTTP: create, list, change, move, assign, stop and archive them, and what is refused."""

from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api_calls import Json, refused, settled

ALL = "/api/tasks"


async def made(client: httpx.AsyncClient, title: str = "Write the report", **wanted: Any) -> Json:
    """A new task."""
    answer = await client.post(ALL, json={"title": title, **wanted})
    assert answer.status_code == 201, answer.text
    task: Json = answer.json()["task"]
    return task


async def shown(client: httpx.AsyncClient, task: Json) -> Json:
    """The task as it stands."""
    answer = await client.get(f"{ALL}/{task['id']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["task"]
    return found


async def moved(client: httpx.AsyncClient, task: Json, status: str, **more: Any) -> Json:
    """The answer to a move."""
    answer = await client.post(f"{ALL}/{task['id']}/status", json={"status": status, **more})
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


async def listed(client: httpx.AsyncClient, **query: Any) -> list[str]:
    """The ids of the tasks of a list."""
    answer = await client.get(ALL, params=query)
    assert answer.status_code == 200, answer.text
    return [task["id"] for task in answer.json()["tasks"]]


async def agent(client: httpx.AsyncClient, name: str, **more: Any) -> None:
    """Create an agent."""
    answer = await client.post("/api/agents", json={"id": name, **more})
    assert answer.status_code == 201, answer.text


async def test_an_empty_topic_means_none(client: httpx.AsyncClient) -> None:
    assert (await made(client, topicId=""))["topicId"] is None


async def test_a_task_is_made_and_read_with_every_field(client: httpx.AsyncClient) -> None:
    task = await made(
        client, id="report.1", description="about everything", priority="high", labels=["b", "a"], pinned=True,
        dueDate="2027-01-31T12:00:00+01:00", color="#ff0000", metadata={"sprint": 3}, assignedUserIds=["owners"],
    )  # fmt: skip
    expected = {
        "id": "report.1",
        "spaceId": "space-default",
        "topicId": None,
        "goalId": None,
        "planId": None,
        "parentId": None,
        "taskIndex": None,
        "dependencies": [],
        "title": "Write the report",
        "description": "about everything",
        "status": "assigned",
        "boardStatus": "todo",
        "blockedReason": None,
        "priority": 2,
        "priorityLabel": "high",
        "assignedUserIds": ["owners"],
        "assignedAgentIds": [],
        "tags": ["b", "a"],
        "dueDate": "2027-01-31T11:00:00.000Z",
        "snoozedUntil": None,
        "pinned": True,
        "color": "#ff0000",
        "digest": None,
        "digestUpdatedAt": None,
        "metadata": {"sprint": 3},
        "createdBy": "user",
        "lastMessageAt": None,
        "archivedAt": None,
    }
    assert expected.items() <= task.items()
    assert set(task) == {*expected, "sortIndex", "position", "createdAt", "updatedAt"}
    assert await shown(client, task) == task
    assert (await client.get(ALL)).json() == {"tasks": [task], "nextCursor": None}


@requirement("P.ui.first")
async def test_the_tasks_around_a_task_are_listed_and_no_others(client: httpx.AsyncClient) -> None:
    whole, first = await made(client, "whole"), await made(client, "first")
    one = await made(client, "one", parentId=whole["id"], dependencies=[first["id"]])
    part = await made(client, "part", parentId=one["id"])
    later = await made(client, "later", dependencies=[one["id"]])
    await made(client, "nothing to do with it", parentId=whole["id"], dependencies=[first["id"]])
    related = [later["id"], part["id"], first["id"], whole["id"]]
    assert await listed(client, relatedTo=one["id"]) == related
    assert await listed(client, relatedTo=one["id"], status="blocked") == []
    assert refused(await client.get(ALL, params={"relatedTo": "task-unknown"}))[:2] == (404, "not_found")


@requirement("S4.x.status.spelling")
async def test_both_spellings_of_a_status_are_understood(client: httpx.AsyncClient) -> None:
    waiting = await made(client, status="todo")
    assigned = await made(client, status="todo", assignedUserIds=["owners"])
    doing = await made(client, status="doing", assignedUserIds=["owners"])
    assert [waiting["status"], assigned["status"], doing["status"]] == ["inbox", "assigned", "in_progress"]
    review = (await moved(client, doing, "review"))["task"]
    assert (review["status"], review["boardStatus"]) == ("review", "doing")
    assert set(await listed(client, status="todo")) == {waiting["id"], assigned["id"]}
    assert await listed(client, status="inbox") == [waiting["id"]]
    assert await listed(client, status="doing") == [doing["id"]]
    assert (await moved(client, doing, "doing"))["task"]["status"] == "in_progress"
    assert refused(await client.get(ALL, params={"status": "started"})) == (400, "invalid_params", "status")
    assert refused(await client.post(ALL, json={"title": "x", "status": "review"})) == (400, "invalid_params", "status")


async def test_lists_are_filtered_and_paged(server: HttpServer, client: httpx.AsyncClient) -> None:
    await agent(client, "ben")
    assert (await client.patch("/api/agents/ben", json={"slug": "benjamin"})).status_code == 200
    one = await made(client, "one", tags=["x_y"], pinned=True)
    two = await made(client, "two", tags=["xzy"], assignedAgentIds=["ben"])
    three = await made(client, "three", assignedUserIds=["owners"])
    assert (await client.delete(f"{ALL}/{one['id']}")).json()["task"]["status"] == "archived"
    assert await listed(client) == [three["id"], two["id"]]
    assert await listed(client, includeArchived="1") == [three["id"], two["id"], one["id"]]
    assert await listed(client, status="archived") == [one["id"]]
    assert await listed(client, includeArchived="true", tag="x_y") == [one["id"]]
    assert await listed(client, includeArchived=1, pinned=1) == [one["id"]]
    assert await listed(client, pinned=0) == [three["id"], two["id"]]
    assert await listed(client, assigneeId="ben") == await listed(client, assigneeId="benjamin") == [two["id"]]
    assert await listed(client, assigneeId="owners") == [three["id"]]
    for nothing in ({"assigneeId": "carla"}, {"topicId": "t"}, {"goalId": "g"}, {"planId": "p"}):
        assert await listed(client, **nothing) == []
    first = (await client.get(ALL, params={"limit": 1})).json()
    assert [task["id"] for task in first["tasks"]] == [three["id"]]
    rest = (await client.get(ALL, params={"limit": 9999, "cursor": first["nextCursor"]})).json()
    assert ([task["id"] for task in rest["tasks"]], rest["nextCursor"]) == ([two["id"]], None)


async def test_a_patch_changes_what_it_names_and_walks_to_a_status(client: httpx.AsyncClient) -> None:
    task = await made(client, tags=["old"])
    change = {"title": "Another", "labels": ["new"], "priority": 5, "snoozedUntil": "2027-01-31T12:00:00Z"}
    patched = (await client.patch(f"{ALL}/{task['id']}", json=change)).json()["task"]
    assert (patched["title"], patched["tags"], patched["priorityLabel"]) == ("Another", ["new"], "lowest")
    assert patched["snoozedUntil"] == "2027-01-31T12:00:00.000Z"
    cleared = (await client.patch(f"{ALL}/{task['id']}", json={"snoozedUntil": None})).json()["task"]
    assert cleared["snoozedUntil"] is None
    stale = {"status": "in_progress", "expectedStatus": "blocked"}
    assert refused(await client.patch(f"{ALL}/{task['id']}", json=stale))[:2] == (409, "conflict")
    walked = await client.patch(f"{ALL}/{task['id']}", json={"status": "done", "expectedStatus": "todo"})
    assert walked.json()["task"]["status"] == "done"
    assert walked.json()["task"]["assignedUserIds"] == ["owners"]
    reopened = await client.post(f"{ALL}/{task['id']}/reopen")
    assert reopened.json()["task"]["status"] == "review"
    assert refused(await client.post(f"{ALL}/{task['id']}/reopen"))[:2] == (422, "illegal_transition")


async def test_a_move_ends_what_the_task_has_open(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with follow(client, taskId="mine", events="task.moved") as moves:
        await moves.next()
        task = await made(client, id="mine", assignedAgentIds=["main"])
        while (await moves.next()).body["data"]["to"] != "in_progress":
            pass
    assert refused(await client.post(f"{ALL}/{task['id']}/status", json={"status": "done"}))[1] == "illegal_transition"
    await moved(client, task, "review", expectedStatus="in_progress")
    ended = await moved(client, task, "done")
    sessions = (await client.get(f"{ALL}/{task['id']}/sessions")).json()["sessions"]
    assert ended["closedSessions"] == [session["sessionId"] for session in sessions]
    assert [session["closedReason"] for session in sessions] == ["task_done"]
    assert (await moved(client, task, "done"))["closedSessions"] == []


async def test_a_stop_cancels_and_blocks(server: HttpServer, client: httpx.AsyncClient) -> None:
    task = await made(client, assignedUserIds=["owners"])
    said = await client.post(f"{ALL}/{task['id']}/messages", json={"content": "@main do this\nhold work"})
    run_id = said.json()["notified"][0]["runId"]
    await server.agent.reached("work")
    stopped = (await client.post(f"{ALL}/{task['id']}/stop")).json()
    assert (stopped["task"]["status"], stopped["cancelledRuns"]) == ("blocked", [run_id])
    assert (await settled(client, run_id))["reason"] == "stopped"
    why = (await client.get(f"{ALL}/{task['id']}/why")).json()
    assert (why["moving"], [reason["code"] for reason in why["reasons"]]) == (False, ["blocked"])


async def test_assignees_come_and_go(client: httpx.AsyncClient) -> None:
    task = await made(client)
    answer = await client.post(f"{ALL}/{task['id']}/assign", json={"agentIds": ["main"], "userIds": ["owners"]})
    assigned = answer.json()["task"]
    assert (assigned["status"], assigned["assignedAgentIds"], assigned["assignedUserIds"]) == (
        "assigned", ["main"], ["owners"],
    )  # fmt: skip
    both = {"agentIds": ["main"], "userIds": ["owners"], "remove": True}
    off = (await client.post(f"{ALL}/{task['id']}/assign", json=both)).json()["task"]
    assert (off["status"], off["assignedAgentIds"], off["assignedUserIds"]) == ("inbox", [], [])
    unknown = await client.post(f"{ALL}/{task['id']}/assign", json={"agentIds": ["nobody"]})
    assert refused(unknown) == (400, "invalid_params", "agentIds")


async def test_tasks_are_put_into_an_order(client: httpx.AsyncClient) -> None:
    one, two = await made(client, "one"), await made(client, "two")
    order = await client.post(f"{ALL}/reorder", json={"orderedIds": [two["id"], one["id"]], "status": "todo"})
    assert (order.status_code, order.content) == (204, b"")
    assert (await shown(client, two))["sortIndex"] < (await shown(client, one))["sortIndex"]
    wrong = await client.post(f"{ALL}/reorder", json={"orderedIds": [one["id"]], "status": "done"})
    assert refused(wrong) == (400, "invalid_params", "orderedIds")
    assert refused(await client.post(f"{ALL}/reorder", json={"orderedIds": ["nothing"]}))[0] == 404
    unknown = await client.post(f"{ALL}/reorder", json={"orderedIds": [], "status": "started"})
    assert refused(unknown) == (400, "invalid_params", "status")


async def test_what_a_body_may_not_say_is_refused(client: httpx.AsyncClient) -> None:
    task = await made(client, id="mine")
    bad: list[tuple[Json, tuple[int, str, str]]] = [
        ({}, (400, "invalid_params", "title")),
        ({"title": " "}, (400, "invalid_params", "title")),
        ({"title": 1}, (400, "invalid_params", "title")),
        ({"title": "x" * 2001}, (422, "too_long", "title")),
        ({"title": "x", "description": "x" * 100_001}, (422, "too_long", "description")),
        ({"title": "x", "tags": ["x" * 201]}, (422, "too_long", "tags")),
        ({"title": "x", "tags": ["x"] * 33}, (422, "limit_reached", "tags")),
        ({"title": "x", "tags": [], "labels": []}, (400, "invalid_params", "labels")),
        ({"title": "x", "metadata": {"x": "x" * 16384}}, (422, "too_long", "metadata")),
        ({"title": "x", "priority": 6}, (400, "invalid_params", "priority")),
        ({"title": "x", "priority": "urgent"}, (400, "invalid_params", "priority")),
        ({"title": "x", "dueDate": "tomorrow"}, (400, "invalid_params", "dueDate")),
        ({"title": "x", "dueDate": "9999-12-31T23:59:59-14:00"}, (400, "invalid_params", "dueDate")),
        ({"title": "x", "id": "-x"}, (400, "invalid_params", "id")),
        ({"title": "x", "id": "x\n"}, (400, "invalid_params", "id")),
        ({"title": "x", "id": "x" * 129}, (400, "invalid_params", "id")),
        ({"title": "x", "id": "orchestrator-chat"}, (400, "invalid_params", "id")),
        ({"title": "x", "id": "mine"}, (409, "conflict", "id")),
        ({"title": "x", "topicId": "none"}, (400, "invalid_params", "topicId")),
        ({"title": "x", "spaceId": "none"}, (400, "invalid_params", "spaceId")),
        ({"title": "x", "parentId": "none"}, (400, "invalid_params", "parentId")),
        ({"title": "x", "dependencies": ["none"]}, (400, "invalid_params", "dependencies")),
        ({"title": "x", "status": "assigned"}, (422, "assignee_required", "status")),
        ({"title": "x", "status": "blocked"}, (422, "blocked_reason_required", "blockedReason")),
        ({"title": "x", "digest": "x"}, (400, "invalid_params", "digest")),
    ]
    for body, expected in bad:
        assert refused(await client.post(ALL, json=body)) == expected, body
    path = f"{ALL}/{task['id']}"
    assert refused(await client.patch(path, json={"id": "other"})) == (400, "invalid_params", "id")
    assert refused(await client.patch(path, json={"dependencies": ["mine"]}))[2] == "dependencies"
    assert refused(await client.patch(path, json={"parentId": "mine"}))[2] == "parentId"
    assert refused(await client.post(f"{path}/status", json={"status": "blocked"}))[1] == "illegal_transition"
    assert refused(await client.post(f"{path}/seen", json={"seq": -1})) == (400, "invalid_params", "seq")
    assert await listed(client) == ["mine"]


async def test_a_task_of_nobody_here_is_not_found(client: httpx.AsyncClient, other_client: httpx.AsyncClient) -> None:
    task = await made(client)
    path = f"{ALL}/{task['id']}"
    bodies: dict[str, Json] = {
        "status": {"status": "assigned"},
        "assign": {"agentIds": ["main"]},
        "messages": {"content": "x"},
        "seen": {"seq": 1},
        "reopen": {},
        "stop": {},
    }
    for below in ("", "/thread", "/history", "/sessions", "/why"):
        assert refused(await other_client.get(path + below))[:2] == (404, "not_found")
    for below, body in bodies.items():
        assert refused(await other_client.post(f"{path}/{below}", json=body))[:2] == (404, "not_found")
    assert refused(await other_client.patch(path, json={"title": "x"}))[0] == 404
    assert refused(await other_client.delete(path))[0] == 404
    assert refused(await other_client.post(f"{ALL}/reorder", json={"orderedIds": [task["id"]]}))[0] == 404
    assert (await other_client.get(ALL)).json()["tasks"] == []
    assert await shown(client, task) == task


async def test_the_orchestrator_chat_has_a_name(client: httpx.AsyncClient) -> None:
    assert refused(await client.get(f"{ALL}/orchestrator-chat"))[0] == 404
    account = await client.patch("/api/account", json={"settings": {"orchestratorAgentId": "main"}})
    chat = account.json()["account"]["settings"]["orchestratorChatTaskId"]
    assert (await client.get(f"{ALL}/orchestrator-chat")).json()["task"]["id"] == chat
    assert (await client.post("/api/orchestrator-chat")).json() == {"taskId": chat}
    assert (await client.get(ALL)).json()["tasks"] == []
    for method, below, body in (
        ("POST", "/stop", None),
        ("POST", "/status", {"status": "done"}),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
    ):
        answer = await client.request(method, f"{ALL}/orchestrator-chat{below}", json=body)
        assert refused(answer)[:2] == (403, "forbidden"), below
    said = await client.post(f"{ALL}/orchestrator-chat/messages", json={"content": "hello"})
    assert said.json()["notified"] == [
        {"kind": "agent", "id": "main", "type": "thread_update", "runId": said.json()["notified"][0]["runId"]}
    ]
    await client.patch("/api/account", json={"settings": {"orchestratorAgentId": None}})
    assert refused(await client.get(f"{ALL}/orchestrator-chat"))[0] == 404


async def test_agents_do_what_their_flags_allow(server: HttpServer, client: httpx.AsyncClient) -> None:
    await agent(client, "ann", behaviorFlags={"canCreateTasks": True})
    await agent(client, "ben")
    await client.patch("/api/account", json={"settings": {"orchestratorAgentId": "main"}})
    task = await made(client)
    chat = f"{ALL}/orchestrator-chat"
    ann, ben, main, program = [
        server.client(await server.token(client, **who))
        for who in (
            {"kind": "agent", "agentId": "ann"},
            {"kind": "agent", "agentId": "ben"},
            {"kind": "agent", "agentId": "main"},
            {"kind": "client", "agentIds": ["main"]},
        )
    ]
    async with ann, ben, main, program:
        assert (await made(ann))["createdBy"] == "agent"
        assert refused(await ben.post(ALL, json={"title": "x"}))[:2] == (403, "forbidden")
        for below, body in (("messages", {"content": "x"}), ("assign", {"agentIds": ["ben"]})):
            assert refused(await ben.post(f"{ALL}/{task['id']}/{below}", json=body))[:2] == (403, "forbidden")
            assert (await main.post(f"{ALL}/{task['id']}/{below}", json=body)).status_code < 300
        for below in ("stop", "reopen"):
            for caller in (ben, main):
                assert refused(await caller.post(f"{ALL}/{task['id']}/{below}"))[:2] == (403, "forbidden")
        assert refused(await ben.delete(f"{ALL}/{task['id']}"))[:2] == (403, "forbidden")
        assert (await main.get(chat)).status_code == 200
        assert refused(await ben.get(chat))[0] == 404
        assert refused(await ben.post(f"{chat}/messages", json={"content": "x"}))[0] == 404
        assert refused(await program.get(ALL))[:2] == (403, "forbidden")


async def test_a_column_is_listed_and_changed_in_its_order(client: httpx.AsyncClient) -> None:
    ids = [(await client.post("/api/tasks", json={"title": name})).json()["task"]["id"] for name in "abc"]

    async def listed() -> list[str]:
        found, cursor = [], None
        while True:
            query = {"status": "inbox", "sort": "position", "limit": "2"} | ({"cursor": cursor} if cursor else {})
            page = (await client.get("/api/tasks", params=query)).json()
            found += [task["id"] for task in page["tasks"]]
            cursor = page["nextCursor"]
            if cursor is None:
                return found

    assert await listed() == ids
    moved = (await client.patch(f"/api/tasks/{ids[2]}", json={"beforeId": ids[0]})).json()["task"]
    first = (await client.get(f"/api/tasks/{ids[0]}")).json()["task"]
    assert moved["position"] == moved["sortIndex"] < first["position"]
    assert await listed() == [ids[2], ids[0], ids[1]]
    await client.patch(f"/api/tasks/{ids[2]}", json={"position": first["position"] + 100})
    assert await listed() == ids
    twice = await client.patch(f"/api/tasks/{ids[0]}", json={"position": 1, "sortIndex": 2})
    assert refused(twice) == (400, "invalid_params", "position")
