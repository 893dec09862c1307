"""Threads of tasks over HTTP: messages, who is notified of them, and who sees what happens to a task."""

import asyncio
from typing import Any

import httpx

from tests.harness.engine import until_found
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import Frame, follow
from tests.surfaces.api.tasks.test_changes import ALL, agent, made, shown
from tests.surfaces.api.test_changes import changes
from tests.surfaces.api_calls import Json, refused, run_of, settled


async def said(client: httpx.AsyncClient, task: Json, content: str, **more: Any) -> Json:
    """The answer to a message."""
    answer = await client.post(f"{ALL}/{task['id']}/messages", json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    body: Json = answer.json()
    return body


async def thread(client: httpx.AsyncClient, task: Json, **query: Any) -> Json:
    """The thread of a task."""
    answer = await client.get(f"{ALL}/{task['id']}/thread", params=query)
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


async def person(server: HttpServer, client: httpx.AsyncClient, name: str) -> tuple[str, httpx.AsyncClient]:
    """A user and its client."""
    user = (await client.post("/api/users", json={"name": name.title(), "slug": name})).json()["user"]["id"]
    return user, server.client(await server.token(client, kind="user", userId=user))


@requirement("S0.fanout.run", "S0.x.last.message")
async def test_a_message_is_stored_and_notifies_people_and_agents(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    user, ada = await person(server, client, "ada")
    task = await made(client, assignedUserIds=["owners"])
    posted = await said(client, task, "@main and @ada, look:\nhold answer")
    message = posted["message"]
    assert message == {
        "id": message["id"],
        "seq": message["seq"],
        "role": "user",
        "authorKind": "user",
        "authorId": message["authorId"],
        "authorName": "first owner",
        "content": "@main and @ada, look:\nhold answer",
        "mentions": [{"kind": "agent", "id": "main"}, {"kind": "user", "id": user}],
        "attachments": [],
        "runId": None,
        "createdAt": message["createdAt"],
    }
    run_id = posted["notified"][0]["runId"]
    assert posted["notified"] == [
        {"kind": "agent", "id": "main", "type": "mention", "runId": run_id},
        {"kind": "user", "id": user, "type": "mention"},
    ]
    assert (await shown(client, task))["lastMessageAt"] == message["createdAt"]
    await server.agent.reached("answer")
    found = await thread(client, task)
    assert found["messages"] == [message]
    assert found["typing"] == [{"agentId": "main", "runId": run_id, "since": found["typing"][0]["since"]}]
    assert {"kind": "agent", "id": "main", "seq": message["seq"]}.items() <= found["seenBy"][0].items()
    run = await run_of(client, run_id)
    assert (run["taskId"], run["provenance"]["kind"], run["provenance"]["type"]) == (
        task["id"], "notification", "mention",
    )  # fmt: skip
    assert (run["message"]["id"], run["joinedMessageIds"]) == (message["id"], [])
    async with ada:
        mailbox = (await ada.get("/api/notifications")).json()
        told = mailbox["notifications"][0]
        assert (told["type"], told["taskId"], told["readAt"]) == ("mention", task["id"], None)
        read = (await ada.post(f"/api/notifications/{told['id']}/read")).json()["notification"]
        assert read["readAt"] is not None
    before = (await shown(client, task))["lastMessageAt"]
    server.agent.release("answer")
    assert (await settled(client, run_id))["reply"].startswith("echo:")
    reply = (await thread(client, task))["messages"][-1]
    assert (reply["role"], reply["authorKind"], reply["authorId"], reply["runId"]) == (
        "assistant", "agent", "main", run_id,
    )  # fmt: skip
    async with asyncio.timeout(15):
        async with follow(client, last_event_id=0, taskId=task["id"], events="task.updated") as events:
            while (now := (await events.next()).body).get("data", {}).get("task", {}).get("lastMessageAt") in (
                None, before,
            ):  # fmt: skip
                pass
    assert now["data"]["task"]["lastMessageAt"] == reply["createdAt"]


async def test_messages_join_the_run_that_still_waits(surface_url: str) -> None:
    async with open_http_server(surface_url, works=False) as server, server.client() as client:
        task = await made(client, assignedAgentIds=["main"])
        one, two, three = [await said(client, task, text) for text in ("one", "two", "three")]
        assert one["notified"] == two["notified"] == three["notified"]
        run = await run_of(client, one["notified"][0]["runId"])
        assert run["joinedMessageIds"] == [each["message"]["id"] for each in (one, two, three)]
        assert run["message"]["id"] == three["message"]["id"]
        listed = (await client.get("/api/runs", params={"taskId": task["id"]})).json()["runs"]
        assert [(each["provenance"]["type"], each["joinedMessageIds"]) for each in listed] == [
            ("thread_update", run["joinedMessageIds"]),
            ("assignment", []),
        ]
        assert listed[1]["message"]["id"] != three["message"]["id"]


async def test_a_thread_is_read_in_parts_and_marked_as_read(client: httpx.AsyncClient) -> None:
    task = await made(client)
    messages = [(await said(client, task, f"line {number}"))["message"] for number in range(3)]
    assert (await thread(client, task, limit=2))["messages"] == messages[1:]
    assert (await thread(client, task, before=messages[1]["seq"]))["messages"] == messages[:1]
    assert (await thread(client, task, limit=-5))["messages"] == messages[2:]
    history = (await client.get(f"{ALL}/{task['id']}/history", params={"messageLimit": 1, "activityLimit": 999})).json()
    assert (history["task"]["id"], history["messages"]) == (task["id"], messages[2:])
    assert [activity["type"] for activity in history["activities"]] == ["created"]
    assert history["meta"] == {"messageLimitApplied": 1, "activityLimitApplied": 200}
    plain = (await client.get(f"{ALL}/{task['id']}/history")).json()["meta"]
    assert plain == {"messageLimitApplied": 25, "activityLimitApplied": 30}
    assert (await client.post(f"{ALL}/{task['id']}/seen", json={"seq": messages[0]["seq"]})).status_code == 204
    seen = (await thread(client, task))["seenBy"]
    assert [(mark["kind"], mark["id"], mark["seq"]) for mark in seen] == [("user", "owners", messages[2]["seq"])]


async def test_a_message_that_cannot_be_posted_leaves_nothing(client: httpx.AsyncClient) -> None:
    task = await made(client)
    path = f"{ALL}/{task['id']}/messages"
    bad: list[tuple[Json, tuple[int, str, str]]] = [
        ({}, (400, "invalid_params", "content")),
        ({"content": "  "}, (400, "invalid_params", "content")),
        ({"content": 1}, (400, "invalid_params", "content")),
        ({"content": "x" * 100_001}, (422, "too_long", "content")),
        ({"content": "x", "attachmentIds": ["att_none"]}, (400, "invalid_params", "attachmentIds")),
        ({"content": "x", "attachmentIds": ["a"] * 9}, (422, "limit_reached", "attachmentIds")),
        ({"content": "x", "mentions": []}, (400, "invalid_params", "mentions")),
    ]
    for body, expected in bad:
        assert refused(await client.post(path, json=body)) == expected, body
    assert (await thread(client, task))["messages"] == []
    assert await shown(client, task) == task


async def test_a_repeated_request_is_done_once(surface_url: str) -> None:
    async with open_http_server(surface_url, works=False) as server, server.client() as client:
        key = {"X-Idempotency-Key": "once"}
        body = {"title": "Only one", "assignedAgentIds": ["main"]}
        first, again = [await client.post(ALL, json=body, headers=key) for _ in range(2)]
        assert (first.json(), again.headers["Idempotent-Replay"]) == (again.json(), "true")
        task = first.json()["task"]
        key = {"X-Idempotency-Key": "once more"}
        path = f"{ALL}/{task['id']}/messages"
        posted = [await client.post(path, json={"content": "hello"}, headers=key) for _ in range(2)]
        assert posted[0].json() == posted[1].json()
        other = await client.post(path, json={"content": "else"}, headers=key)
        assert refused(other)[:2] == (409, "idempotency_mismatch")
        assert len((await client.get(ALL)).json()["tasks"]) == 1
        assert [message["content"] for message in (await thread(client, task))["messages"]] == ["hello"]
        assert len((await client.get("/api/runs")).json()["runs"]) == 2


@requirement("S4.x.send.atomic")
async def test_a_hundred_people_write_to_one_task_at_once(store_url: str) -> None:
    async with open_http_server(store_url, works=False) as server, server.client() as client:
        await agent(client, "ben")
        task = await made(client, assignedAgentIds=["main", "ben"])
        texts = [f"message {number}" for number in range(100)]
        posted = await asyncio.gather(*(said(client, task, text) for text in texts))
        assert all({told["id"] for told in each["notified"]} == {"main", "ben"} for each in posted)
        messages = (await thread(client, task, limit=200))["messages"]
        assert sorted(message["content"] for message in messages) == sorted(texts)
        assert len({message["seq"] for message in messages}) == len(messages)
        runs = (await client.get("/api/runs", params={"taskId": task["id"], "limit": 200})).json()["runs"]
        for name in ("main", "ben"):
            brought = [
                message_id
                for run in runs
                if run["agentId"] == name and run["provenance"]["type"] == "thread_update"
                for message_id in (run["joinedMessageIds"] or [run["message"]["id"]])
            ]
            assert sorted(brought) == sorted(message["id"] for message in messages)


async def told_of(client: httpx.AsyncClient, until: str) -> list[Frame]:
    """What the stream tells from the beginning up to a task's creation."""
    async with follow(client, last_event_id=0, events="task,log") as events:
        await events.next()
        frames = [await events.next()]
        while frames[-1].name != "task.created" or frames[-1].body["taskId"] != until:
            frames.append(await events.next())
    return frames


async def changes_with(client: httpx.AsyncClient, tasks: set[str]) -> Any:
    """The changes once they have exactly these tasks: one that a run is still changing is told of afterwards."""
    return await until_found(lambda: changes(client), lambda found: {each["id"] for each in found["tasks"]} == tasks)


async def test_events_of_a_task_reach_who_may_read_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    await agent(client, "ben")
    await agent(client, "limited", spaceIds=["space-elsewhere"])
    chat = (await client.patch("/api/account", json={"settings": {"orchestratorAgentId": "main"}})).json()
    chat_id = chat["account"]["settings"]["orchestratorChatTaskId"]
    task = await made(client, assignedAgentIds=["limited"])
    other = await made(client, "another")
    await said(client, task, "to the task")
    await said(client, other, "to the other task")
    await said(client, {"id": chat_id}, "to the chat")
    last = await made(client, "last", assignedAgentIds=["limited"])
    _, ada = await person(server, client, "ada")
    everything = {task["id"], other["id"], chat_id, last["id"]}
    expected = {
        "owner": everything,
        "ada": everything,
        "main": everything,
        "ben": everything - {chat_id},
        "limited": {task["id"], last["id"]},
    }
    callers = {name: server.client(await server.token(client, kind="agent", agentId=name)) for name in expected if name
               not in ("owner", "ada")}  # fmt: skip
    for name, caller in (*callers.items(), ("owner", server.client()), ("ada", ada)):
        async with caller:
            frames = await told_of(caller, last["id"])
            about = {frame.body["taskId"] for frame in frames if frame.body["sessionKey"] is None}
            assert about == expected[name], name
            texts = {frame.body["data"]["log"]["content"] for frame in frames if frame.name == "log.appended"}
            assert ("to the chat" in texts) == (chat_id in expected[name]), name
            assert ("to the other task" in texts) == (other["id"] in expected[name]), name
            found = await changes_with(caller, expected[name] - {chat_id})
            assert {line["taskId"] for line in found["logs"] if line["sessionKey"] is None} == expected[name], name


async def changed_tasks(client: httpx.AsyncClient, cursor: int) -> tuple[list[str], int]:
    """The ids of all tasks that changed since a number, read in pages of two, and the number after them."""
    told, more = [], True
    while more:
        page = await changes(client, sinceSeq=cursor, limit=2)
        assert len(page["tasks"]) <= 2
        assert page["seq"] > cursor
        told += [task["id"] for task in page["tasks"]]
        cursor, more = page["seq"], page["more"]
    return told, cursor


async def test_changes_hold_changed_tasks_in_pages(client: httpx.AsyncClient) -> None:
    cursor = (await changes(client))["seq"]
    tasks = [await made(client, f"task {number}") for number in range(5)]
    told, cursor = await changed_tasks(client, cursor)
    assert told == [task["id"] for task in tasks]
    # An order changes tasks and says nothing in their journals.
    backwards = [task["id"] for task in reversed(tasks)]
    assert (await client.post(f"{ALL}/reorder", json={"orderedIds": backwards})).status_code == 204
    told, cursor = await changed_tasks(client, cursor)
    assert sorted(told) == sorted(task_id for task_id in backwards if task_id != tasks[2]["id"])
    renamed = (await client.patch(f"{ALL}/{tasks[0]['id']}", json={"title": "renamed"})).json()["task"]
    page = await changes(client, sinceSeq=cursor)
    assert page["tasks"] == [renamed]
    assert (await changes(client, sinceSeq=page["seq"]))["tasks"] == []
    assert (await changes(client, sinceSeq=page["seq"], spaceId="space-none"))["tasks"] == []
    ahead = await changes(client, sinceSeq=10**12)
    assert (ahead["reset"], len(ahead["tasks"])) == (True, 5)


async def test_an_agent_learns_which_tasks_it_lost(server: HttpServer, client: httpx.AsyncClient) -> None:
    await agent(client, "limited", spaceIds=["space-elsewhere"])
    async with server.client(await server.token(client, kind="agent", agentId="limited")) as limited:
        task, _ = await made(client, assignedAgentIds=["limited"]), await made(client, "never its own")
        found = await changes(limited)
        assert [each["id"] for each in found["tasks"]] == [task["id"]]
        gone = await client.post(f"{ALL}/{task['id']}/assign", json={"agentIds": ["limited"], "remove": True})
        assert gone.status_code == 200
        after = await changes(limited, sinceSeq=found["seq"])
        assert (after["tasks"], after["left"]["tasks"]) == ([], [task["id"]])
        assert refused(await limited.get(f"{ALL}/{task['id']}"))[0] == 404


async def test_a_run_for_a_task_that_does_not_exist_is_refused(client: httpx.AsyncClient) -> None:
    assert refused(await client.post("/api/runs", json={"message": "x", "taskId": "none"}))[:2] == (404, "not_found")
    assert (await client.get("/api/runs")).json()["runs"] == []


async def test_questions_and_the_answers_of_people_are_in_the_thread(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.patch("/api/agents/main", json={"tools": {"ask": ["artifact_*"]}})
    user, ada = await person(server, client, "ada")
    task = await made(client)
    key = f"agent:main:task:{task['id']}"
    asked = (await said(client, task, "@main\nask Which colour?"))["notified"][0]["runId"]
    await settled(client, asked)
    answer = await ada.post(f"/api/runs/{asked}/answer", json={"text": "echo red"})
    assert answer.status_code == 202, answer.text
    await settled(client, asked)
    call = 'do [["artifact_add", {"text": "the report"}]]'
    wanted = (await client.post("/api/runs", json={"message": call, "sessionKey": key})).json()["runId"]
    await settled(client, wanted)
    chat = await client.post("/api/chat", json={"text": "no, too early", "sessionKey": key, "answersRunId": wanted})
    assert chat.status_code == 202, chat.text
    await settled(client, wanted)
    told = [(one["authorKind"], one["authorName"], one["content"]) for one in (await thread(client, task))["messages"]]
    question = "May main add a result to its run? (artifact_add)\n- text: the report"
    assert told[1:3] == [("agent", "Main", "Which colour?"), ("user", "Ada", "echo red")]
    at = [content for _, _, content in told].index(question)
    assert told[at : at + 2] == [("agent", "Main", question), ("user", "first owner", "no, too early")]
    answered = (await thread(client, task))["messages"][2]
    assert (answered["authorId"], answered["role"], answered["runId"]) == (user, "user", asked)
