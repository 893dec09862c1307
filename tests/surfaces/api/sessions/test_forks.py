"""Forks: a private chat that starts with what its maker may read of another session, up to an entry."""

import json
from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, send_and_wait, texts

KEY = "agent:main:web:fork-0001"
LOOK = "do " + json.dumps([["session_status", {}]])


async def history(client: httpx.AsyncClient, key: str) -> Json:
    """Return the whole transcript of a session."""
    answer = await client.get(f"/api/sessions/{key}/history", params={"includeTools": "true"})
    assert answer.status_code == 200, answer.text
    read: Json = answer.json()
    return read


async def forked(client: httpx.AsyncClient, key: str, entry_id: str, **more: Any) -> str:
    """Fork a session and return the key of the new chat."""
    answer = await client.post(f"/api/sessions/{key}/fork", json={"entryId": entry_id, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["sessionKey"])


async def person(server: HttpServer, owner: httpx.AsyncClient, name: str, **more: Any) -> str:
    """Return the token of a new user."""
    user = (await owner.post("/api/users", json={"name": name, "slug": name})).json()["user"]["id"]
    return await server.token(owner, kind="user", userId=user, **more)


@requirement("P.fork.history")
async def test_a_fork_starts_with_the_transcript_up_to_an_entry(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "My colour is green.", sessionKey=KEY)
    await send_and_wait(client, f"Look it up.\n{LOOK}", sessionKey=KEY)
    await send_and_wait(client, "Never mind.", sessionKey=KEY)
    before = await history(client, KEY)
    at = next(n for n, one in enumerate(before["messages"]) if "Never mind." in texts({"messages": [one]}))
    key = await forked(client, KEY, before["messages"][at - 1]["id"], displayName="Another try")
    after = await history(client, key)
    named = [[(one["role"], one["content"], one["timestamp"]) for one in each["messages"]] for each in (before, after)]
    assert named[1] == named[0][:at]
    assert {one["id"] for one in after["messages"]}.isdisjoint(one["id"] for one in before["messages"])
    await send_and_wait(client, "And now?", sessionKey=key)
    asked = [item.get("type") for item in server.agent.talk()]
    assert asked.count("function_call") == asked.count("function_call_output") == 1
    assert "Never mind." not in json.dumps(server.agent.talk())
    assert "My colour is green." in json.dumps(server.agent.talk())
    assert len((await history(client, KEY))["messages"]) == len(before["messages"]), "the session itself stays as it is"


@requirement("P.fork.history")
async def test_calls_of_several_runs_keep_their_own_results(server: HttpServer, client: httpx.AsyncClient) -> None:
    for name in ("one", "two"):
        call = "do " + json.dumps([["artifact_add", {"text": name, "artifactId": name}]])
        await send_and_wait(client, f"Add {name}.\n{call}", sessionKey=KEY)
    key = await forked(client, KEY, (await history(client, KEY))["messages"][-1]["id"])
    await send_and_wait(client, "And now?", sessionKey=key)
    results = [item["output"] for item in server.agent.talk() if item["type"] == "function_call_output"]
    assert [json.loads(result)["artifactId"] for result in results] == ["one", "two"]


@requirement("P.fork.history")
async def test_the_files_of_a_message_go_with_it(client: httpx.AsyncClient) -> None:
    file = {"name": "list.txt", "mimeType": "text/plain", "dataBase64": "bWlsaw=="}
    sent = await client.post("/api/chat", json={"sessionKey": KEY, "text": "Read this.", "attachments": [file]})
    await client.get(f"/api/runs/{sent.json()['runId']}/wait", params={"timeoutSeconds": 15})
    key = await forked(client, KEY, (await history(client, KEY))["messages"][-1]["id"])
    (await client.delete(f"/api/sessions/{KEY}")).raise_for_status()
    blocks = [block for one in (await history(client, key))["messages"] for block in one["content"]]
    (copied,) = [block["attachmentId"] for block in blocks if block["type"] == "attachment"]
    assert (await client.get(f"/api/attachments/{copied}")).content == b"milk"


@requirement("P.fork.private")
async def test_a_fork_is_its_makers_own(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "What everybody may read.", sessionKey="agent:main:main")
    last = (await history(client, "agent:main:main"))["messages"][-1]["id"]
    tokens = [await person(server, client, name) for name in ("ada", "bob")]
    async with server.client(tokens[0]) as ada, server.client(tokens[1]) as bob:
        key = await forked(ada, "agent:main:main", last)
        assert "What everybody may read." in texts(await history(ada, key))
        assert refused(await bob.get(f"/api/sessions/{key}/history"))[:2] == (404, "not_found")
        entry = (await history(ada, key))["messages"][0]["id"]
        assert refused(await bob.post(f"/api/sessions/{key}/fork", json={"entryId": entry}))[0] == 404


@requirement("P.fork.private")
async def test_what_its_maker_may_not_read_is_not_copied(server: HttpServer, client: httpx.AsyncClient) -> None:
    for words in ("For everybody.", "For the board of directors.", "For everybody again."):
        await send_and_wait(client, words, sessionKey="agent:main:main")
    space = (await client.post("/api/spaces", json={"name": "Directors"})).json()["space"]["id"]
    topic = (await client.post("/api/topics", json={"name": "Salaries", "spaceId": space})).json()["topic"]["id"]
    messages = (await history(client, "agent:main:main"))["messages"]
    for one in messages:
        if "directors" in texts({"messages": [one]})[0]:
            (await client.patch(f"/api/log/{one['id']}", json={"topicId": topic})).raise_for_status()
    token = await person(server, client, "ada", spaceIds=["space-default"])
    async with server.client(token) as ada:
        key = await forked(ada, "agent:main:main", messages[-1]["id"])
        copied = texts(await history(client, key))
    assert "For everybody again." in copied
    assert not [text for text in copied if "directors" in text]


@requirement("P.fork.private")
async def test_an_entry_of_another_session_is_not_forked(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "Here.", sessionKey=KEY)
    await send_and_wait(client, "There.", sessionKey="agent:main:main")
    elsewhere = (await history(client, "agent:main:main"))["messages"][-1]["id"]
    for entry_id in (elsewhere, "ent_none"):
        answer = await client.post(f"/api/sessions/{KEY}/fork", json={"entryId": entry_id})
        assert refused(answer)[:2] == (404, "not_found")


@requirement("P.fork.private")
async def test_the_memory_of_the_session_stays_with_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "Hello.", sessionKey=KEY)
    fact = {"scope": "session:web:fork-0001", "type": "fact", "content": "The password of the shed is marigold."}
    kept = await client.post("/api/memory", json=fact)
    assert kept.status_code == 201, kept.text
    key = await forked(client, KEY, (await history(client, KEY))["messages"][-1]["id"])
    await send_and_wait(client, "What is the password of the shed?", sessionKey=key)
    assert "marigold" not in json.dumps(server.agent.bodies[-1])
    await send_and_wait(client, "What is the password of the shed?", sessionKey=KEY)
    assert "marigold" in json.dumps(server.agent.bodies[-1])


@requirement("P.fork.private")
async def test_what_a_run_was_told_of_its_task_is_not_copied(server: HttpServer, client: httpx.AsyncClient) -> None:
    sent = await client.post("/api/attachments", files={"file": ("roof.txt", b"tiles", "text/plain")})
    task = {"id": "task-roof", "title": "Mend the roof", "assignedAgentIds": ["main"]}
    (await client.post("/api/tasks", json=task)).raise_for_status()
    said = {"content": "@main A drawing.", "attachmentIds": [sent.json()["attachment"]["id"]]}
    told = (await client.post("/api/tasks/task-roof/messages", json=said)).json()
    (run_id,) = [one["runId"] for one in told["notified"] if one["runId"]]
    await client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 15})
    assert "roof.txt" in json.dumps(server.agent.bodies[-1])
    lane = "agent:main:task:task-roof"
    key = await forked(client, lane, (await history(client, lane))["messages"][-1]["id"])
    await send_and_wait(client, "And now?", sessionKey=key)
    earlier = [item for item in server.agent.talk() if "And now?" not in json.dumps(item)]
    assert "A drawing." in json.dumps(earlier)
    assert "roof.txt" not in json.dumps(earlier)
