"""Spaces and topics over HTTP: making, connecting and removing them, and what limited tokens see."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import WAIT_SECONDS_MAX, follow
from tests.surfaces.api.tasks.test_changes import agent, listed, made, shown
from tests.surfaces.api.test_changes import changes
from tests.surfaces.api_calls import Json, refused, send_and_wait

TOPIC = {
    "description": "", "status": "active", "snoozedUntil": None, "priority": 3, "parentId": None, "pinned": False,
    "color": None, "digest": None, "digestUpdatedAt": None, "createdBy": "user",
}  # fmt: skip


async def put(client: httpx.AsyncClient, name: str, **more: Any) -> Json:
    answer = await client.post("/api/topics", json={"name": name, **more})
    assert answer.status_code in (200, 201), answer.text
    topic: Json = answer.json()["topic"]
    return topic


async def topics(client: httpx.AsyncClient, **query: Any) -> list[str]:
    answer = await client.get("/api/topics", params=query)
    assert answer.status_code == 200, answer.text
    return [topic["name"] for topic in answer.json()["topics"]]


async def space(client: httpx.AsyncClient, name: str, **more: Any) -> str:
    answer = await client.post("/api/spaces", json={"name": name, **more})
    assert answer.status_code in (200, 201), answer.text
    return str(answer.json()["space"]["id"])


async def limited(server: HttpServer, owner: httpx.AsyncClient, *spaces: str, name: str = "ann") -> httpx.AsyncClient:
    """The client of a user who is limited to spaces."""
    user = (await owner.post("/api/users", json={"slug": name, "name": name})).json()["user"]
    return server.client(await server.token(owner, kind="user", userId=user["id"], spaceIds=list(spaces)))


async def changes_until(client: httpx.AsyncClient, since: int, holds: Callable[[Json], bool]) -> Json:
    """The changes since a number once they hold something: on PostgreSQL others that write may hold them back."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not holds(found := await changes(client, sinceSeq=since)):
            pass
    return found


def names(topic: Json) -> Callable[[Json], bool]:
    """Whether changes name a topic."""
    return lambda found: topic["id"] in {each["id"] for each in found["topics"]}


async def test_a_space_is_made_changed_connected_and_removed(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/spaces", json={"name": "Big Plans", "color": "#00f"})
    first = answer.json()["space"]
    assert (answer.status_code, first["id"], first["defaultVisible"]) == (201, "space-big-plans", True)
    assert first["connectivity"] == {"space-default": True}
    again = await client.post("/api/spaces", json={"name": "Big plans"})
    assert (again.status_code, again.json()["space"]["name"], again.json()["space"]["color"]) == (
        200, "Big plans", "#00f",
    )  # fmt: skip
    path = "/api/spaces/space-big-plans"
    changed = await client.patch(path, json={"name": "Plans", "defaultVisible": False, "color": None})
    assert (changed.json()["space"]["name"], changed.json()["space"]["color"]) == ("Plans", None)
    connected = await client.patch(f"{path}/connectivity", json={"connectivity": {"space-default": False}})
    assert connected.json()["space"]["connectivity"] == {"space-default": False}
    allowed = await client.get("/api/spaces/allowed", params={"spaceId": "space-big-plans"})
    assert allowed.json() == {"spaceId": "space-big-plans", "allowedSpaceIds": ["space-big-plans"]}
    assert [each["id"] for each in (await client.get("/api/spaces")).json()["spaces"]] == [
        "space-default", "space-big-plans",
    ]  # fmt: skip
    assert (await client.delete(path)).status_code == 204
    assert refused(await client.delete(path))[:2] == (404, "not_found")
    assert refused(await client.delete("/api/spaces/space-default"))[:2] == (422, "limit_reached")


async def test_what_is_wrong_with_a_space_or_topic_is_named(client: httpx.AsyncClient) -> None:
    for path, body, field in (
        ("/api/spaces", {"name": " "}, "name"),
        ("/api/spaces", {"name": "x", "id": "Work"}, "id"),
        ("/api/topics", {"name": ""}, "name"),
        ("/api/topics", {"name": "x", "id": "-x"}, "id"),
        ("/api/topics", {"name": "x", "spaceId": "space-far"}, "spaceId"),
        ("/api/topics", {"name": "x", "parentId": "topic_far"}, "parentId"),
        ("/api/topics", {"name": "x", "priority": 6}, "priority"),
        ("/api/topics", {"name": "x", "snoozedUntil": "soon"}, "snoozedUntil"),
        ("/api/tasks", {"title": "x", "topicId": "topic_far"}, "topicId"),
        ("/api/tasks", {"title": "x", "spaceId": "space-far"}, "spaceId"),
    ):
        assert refused(await client.post(path, json=body)) == (400, "invalid_params", field), body
    assert refused(await client.post("/api/topics", json={"name": "x", "tags": ["t"] * 33})) == (
        422, "limit_reached", "tags",
    )  # fmt: skip


async def test_a_topic_is_made_read_changed_ordered_and_removed(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/topics", json={"name": "Launch", "id": "launch", "tags": ["space:Work", "urgent"]})
    topic = answer.json()["topic"]
    expected = TOPIC | {"id": "launch", "name": "Launch", "spaceId": "space-work", "tags": ["space:Work", "urgent"]}
    assert (answer.status_code, {name: topic[name] for name in expected}) == (201, expected)
    assert (await client.post("/api/topics", json={"name": "Start", "id": "launch"})).status_code == 200
    patched = await client.patch("/api/topics/launch", json={"pinned": True, "status": "archived", "priority": "high"})
    assert patched.status_code == 200
    found = (await client.get("/api/topics/launch")).json()["topic"]
    assert (found["name"], found["pinned"], found["status"], found["priority"]) == ("Start", True, "archived", 2)
    await put(client, "Second")
    await put(client, "Third", id="third")
    assert await topics(client) == ["Third", "Second", "Start"]
    assert await topics(client, status="archived") == await topics(client, pinned=1) == ["Start"]
    assert await topics(client, tag="urgent") == ["Start"]
    ordered = await client.post("/api/topics/reorder", json={"orderedIds": ["launch", "third"]})
    assert (ordered.status_code, await topics(client)) == (204, ["Start", "Second", "Third"])
    pages: list[str] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = (await client.get("/api/topics", params={"limit": 1, **cursor})).json()
        pages += [each["name"] for each in page["topics"]]
        cursor = {"cursor": page["nextCursor"]} if page["nextCursor"] else None
    assert pages == ["Start", "Second", "Third"]
    assert (await client.delete("/api/topics/launch")).status_code == 204
    assert refused(await client.get("/api/topics/launch"))[:2] == (404, "not_found")


async def test_a_task_takes_the_space_of_its_topic(client: httpx.AsyncClient) -> None:
    topic = await put(client, "Launch", tags=["Work"])
    task = await made(client, topicId=topic["id"])
    assert (task["topicId"], task["spaceId"]) == (topic["id"], "space-work")
    assert await listed(client, topicId=topic["id"]) == [task["id"]]
    await client.patch(f"/api/topics/{topic['id']}", json={"spaceId": "space-default"})
    assert (await shown(client, task))["spaceId"] == "space-default"
    detached = await client.patch(f"/api/tasks/{task['id']}", json={"topicId": None, "spaceId": "space-work"})
    assert (detached.json()["task"]["topicId"], detached.json()["task"]["spaceId"]) == (None, "space-work")


async def test_the_thread_of_a_topic_has_what_was_said_on_its_tasks(client: httpx.AsyncClient) -> None:
    topic = await put(client, "Launch")
    task, other = await made(client, topicId=topic["id"]), await made(client)
    for each in (task, other):
        assert (await client.post(f"/api/tasks/{each['id']}/messages", json={"content": each["id"]})).status_code == 201
    thread = (await client.get(f"/api/topics/{topic['id']}/thread")).json()
    assert [message["content"] for message in thread["messages"]] == [task["id"]]
    assert (thread["seenBy"], thread["typing"]) == ([], [])


@requirement("S4.space.intersect", "S4.space.allowed.only", "S4.space.explicit", "S4.space.task")
async def test_reads_cover_the_spaces_that_they_name(client: httpx.AsyncClient) -> None:
    work, home = await space(client, "Work"), await space(client, "Home")
    await client.patch(f"/api/spaces/{work}/connectivity", json={"connectivity": {home: False, "space-default": False}})
    for name in (work, home, "space-default"):
        await put(client, name, spaceId=name)
    tagged = await put(client, "tagged", spaceId=home, tags=["Work"])
    task = await made(client, topicId=tagged["id"])
    await made(client, spaceId=home)
    assert await topics(client, spaceId=work) == ["tagged", work]
    assert await listed(client, spaceId=work) == [task["id"]]
    assert set(await topics(client, spaceId=home)) == {work, home, "space-default", "tagged"}
    assert await topics(client, spaceId=work, allowedSpaceIds=f"{home},space-default") == []
    assert await topics(client, allowedSpaceIds=f" {home} ,") == ["tagged", home]
    assert await topics(client, spaceId="space-nowhere") == []
    assert len(await topics(client, allowedSpaceIds="")) == 4


@requirement("S4.space.create", "S4.space.topic")
async def test_a_tag_of_a_space_that_is_missing_or_hidden_is_a_plain_tag_unless_an_owner_sends_it(
    on_either: httpx.AsyncClient, either_server: HttpServer
) -> None:
    work, hidden, tags = await space(on_either, "Work"), await space(on_either, "Hidden"), ["space:Hidden", "Missing"]
    async with await limited(either_server, on_either, work) as ann:
        made_new = await put(ann, "new", tags=[*tags, "Work", "all"])
        retagged = (await ann.patch(f"/api/topics/{(await put(ann, 'old'))['id']}", json={"tags": tags})).json()[
            "topic"
        ]
        for topic in (made_new, retagged):
            assert topic["spaceId"] == work
            assert topic["tags"][:2] == tags, "told alike whether the space exists or not"
    assert {each["id"] for each in (await on_either.get("/api/spaces")).json()["spaces"]} == {
        "space-default", work, hidden,
    }  # fmt: skip
    for topic, change in ((made_new, {"pinned": True}), (retagged, {"tags": [*tags, "Work"]})):
        assert (await on_either.patch(f"/api/topics/{topic['id']}", json=change)).status_code == 200
    assert await topics(on_either, allowedSpaceIds=f"{hidden},space-default") == []
    await put(on_either, "by the owner", tags=tags)
    assert await topics(on_either, allowedSpaceIds=hidden) == await topics(on_either, allowedSpaceIds="space-missing")
    assert await topics(on_either, allowedSpaceIds=hidden) == ["by the owner"]


@requirement("S4.space.topic")
async def test_a_topic_stays_in_a_hidden_space_that_its_tags_name_when_others_send_them_again(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    work, hidden = await space(client, "Work"), await space(client, "Hidden")
    topic = await put(client, "both", spaceId=work, tags=["Hidden"])
    async with await limited(server, client, work) as ann:
        answer = await ann.patch(f"/api/topics/{topic['id']}", json={"tags": ["Hidden", "Work"]})
        assert answer.json()["topic"]["spaceId"] == work
    assert await topics(client, allowedSpaceIds=hidden) == ["both"]


@requirement("S4.space.unresolved")
async def test_a_limited_token_sees_its_spaces_on_every_read(server: HttpServer, client: httpx.AsyncClient) -> None:
    work, home = await space(client, "Work"), await space(client, "Home")
    mine, hidden = await put(client, "mine", spaceId=work), await put(client, "hidden", spaceId=home)
    task, secret = await made(client, topicId=mine["id"]), await made(client, "secret", topicId=hidden["id"])
    async with await limited(server, client, work) as ann:
        assert (await ann.get("/api/auth/me")).json()["spaceIds"] == [work]
        assert [each["id"] for each in (await ann.get("/api/spaces")).json()["spaces"]] == [work]
        assert await topics(ann) == ["mine"]
        assert await topics(ann, spaceId=home) == ["mine"], "what is visible from there, within the token's spaces"
        assert await topics(ann, allowedSpaceIds=home) == []
        assert await listed(ann) == [task["id"]]
        for path in (f"topics/{hidden['id']}", f"topics/{hidden['id']}/thread", f"tasks/{secret['id']}"):
            assert refused(await ann.get(f"/api/{path}"))[0] == 404, path
        assert refused(await ann.get("/api/spaces/allowed", params={"spaceId": home}))[0] == 404
        for call in (ann.patch(f"/api/topics/{hidden['id']}", json={"pinned": True}),
                     ann.delete(f"/api/topics/{hidden['id']}")):  # fmt: skip
            assert refused(await call)[0] == 404
        assert refused(await ann.post("/api/topics", json={"name": "x", "spaceId": home}))[2] == "spaceId"
        assert (await put(ann, "theirs"))["spaceId"] == work
        found = await changes_until(ann, 0, lambda page: "theirs" in str(page["topics"]))
        assert {each["name"] for each in found["topics"]} == {"mine", "theirs"}
        assert [each["id"] for each in found["tasks"]] == [task["id"]]
        assert [each["id"] for each in found["spaces"]] == [work]
        assert "secret" not in str(found)
        async with follow(ann, 0, events="space,topic,task,log") as stream:
            frames = [*await stream.until("topic.created"), *await stream.until("topic.created")]
        assert "secret" not in str(frames)
        assert {frame.body["spaceId"] for frame in frames[1:]} == {work}


@requirement("P.ui.first")
async def test_the_tasks_around_a_task_are_only_those_that_the_caller_sees(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    work, home = await space(client, "Work"), await space(client, "Home")
    whole = await made(client, "whole", spaceId=home)
    one = await made(client, "one", spaceId=work, parentId=whole["id"])
    await made(client, "later", spaceId=home, dependencies=[one["id"]])
    onward = await made(client, "next", spaceId=work, dependencies=[one["id"]])
    async with await limited(server, client, work) as ann:
        assert await listed(ann, relatedTo=one["id"]) == [onward["id"]]
        assert refused(await ann.get("/api/tasks", params={"relatedTo": whole["id"]}))[:2] == (404, "not_found")


async def test_an_agent_is_limited_by_its_token_and_by_its_own_spaces(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    work, home = await space(client, "Work"), await space(client, "Home")
    await agent(client, "writer", spaceIds=[work, "space-default"])
    for name in (work, home, "space-default"):
        await put(client, name, spaceId=name)
    both = await server.token(client, kind="agent", agentId="writer", spaceIds=[work, home])
    async with server.client(both) as writer:
        assert (await writer.get("/api/auth/me")).json()["spaceIds"] == [work]
        assert await topics(writer) == [work]
        await client.patch("/api/agents/writer", json={"spaceIds": [home]})
        assert await topics(writer) == [home]
        assert refused(await writer.post("/api/topics", json={"name": "x"}))[:2] == (403, "forbidden")
    for kind in ({"kind": "owner"}, {"kind": "client", "agentIds": ["main"]}):
        body = {"name": "t", "spaceIds": [work], **kind}
        assert refused(await client.post("/api/tokens", json=body))[2] == "spaceIds"
    user = {"name": "t", "kind": "agent", "agentId": "writer", "spaceIds": ["space-far"]}
    assert refused(await client.post("/api/tokens", json=user))[2] == "spaceIds"


async def test_only_owners_change_spaces(server: HttpServer, client: httpx.AsyncClient) -> None:
    work = await space(client, "Work")
    async with await limited(server, client, work) as ann:
        for call in (
            ann.post("/api/spaces", json={"name": "x"}), ann.patch(f"/api/spaces/{work}", json={"name": "x"}),
            ann.patch(f"/api/spaces/{work}/connectivity", json={"connectivity": {}}), ann.delete(f"/api/spaces/{work}"),
        ):  # fmt: skip
            assert refused(await call)[:2] == (403, "forbidden")


@requirement("S4.x.changes.exact")
async def test_changes_tell_of_what_moved_left_and_was_deleted(server: HttpServer, client: httpx.AsyncClient) -> None:
    work = await space(client, "Work")
    kept, moved, gone = [await put(client, name, spaceId=work) for name in ("kept", "moved", "gone")]
    task = await made(client, topicId=moved["id"])
    async with await limited(server, client, work) as ann:
        start = (await changes_until(ann, 0, names(gone)))["seq"]
        await client.patch(f"/api/topics/{moved['id']}", json={"spaceId": "space-default"})
        await client.delete(f"/api/topics/{gone['id']}")
        await client.patch(f"/api/topics/{kept['id']}", json={"pinned": True})
        found = await changes_until(ann, start, names(kept))
        assert [topic["id"] for topic in found["topics"]] == [kept["id"]]
        assert found["deleted"]["topics"] == [gone["id"]]
        assert (set(found["left"]["topics"]), found["left"]["tasks"]) == ({moved["id"], gone["id"]}, [task["id"]])
        assert len(found["left"]["logs"]) == 1, "the activity of the task"
        assert (await changes(ann, sinceSeq=found["seq"]))["left"] == {"topics": [], "tasks": [], "logs": []}
        await client.patch(f"/api/topics/{moved['id']}", json={"tags": ["Work"], "spaceId": "space-default"})
        back = await changes_until(ann, found["seq"], names(moved))
        assert [topic["id"] for topic in back["topics"]] == [moved["id"]]
        assert [each["id"] for each in back["tasks"]] == [task["id"]]
        await client.delete(f"/api/spaces/{work}")
        removed = await changes_until(ann, back["seq"], lambda found: bool(found["deleted"]["spaces"]))
        assert removed["deleted"]["spaces"] == [work]


async def test_a_stream_is_filtered_by_topic_and_space(client: httpx.AsyncClient) -> None:
    work = await space(client, "Work")
    await client.patch(f"/api/spaces/{work}/connectivity", json={"connectivity": {"space-default": False}})
    async with AsyncExitStack() as stack:
        one, other = await put(client, "one", spaceId=work), await put(client, "other")
        by_space = await stack.enter_async_context(follow(client, 0, spaceId=work, events="topic"))
        by_topic = await stack.enter_async_context(follow(client, 0, topicId=other["id"]))
        frames = await by_space.until("topic.created")
        assert [frame.body["topicId"] for frame in frames[1:]] == [one["id"]]
        frames = await by_topic.until("topic.created")
        assert [frame.body["topicId"] for frame in frames[1:]] == [other["id"]]


@requirement("S4.x.read.pure")
async def test_no_read_makes_a_space_or_topic(client: httpx.AsyncClient) -> None:
    for path in ("topics", "tasks", "changes"):
        for query in ({"spaceId": "space-far"}, {"sessionKey": "clawboard:topic:far"}, {"allowedSpaceIds": "space-x"}):
            assert (await client.get(f"/api/{path}", params=query)).status_code == 200
    assert refused(await client.get("/api/spaces/allowed", params={"spaceId": "space-far"}))[0] == 404
    assert [each["id"] for each in (await client.get("/api/spaces")).json()["spaces"]] == ["space-default"]
    assert await topics(client) == []


@requirement("S4.space.infer", "S4.space.infer.where", "S4.x.default.noscope")
async def test_a_session_says_from_which_space_its_reads_look(server: HttpServer, client: httpx.AsyncClient) -> None:
    work, home = await space(client, "Work"), await space(client, "Home")
    await client.patch(f"/api/spaces/{work}/connectivity", json={"connectivity": {home: False, "space-default": False}})
    mine = await put(client, "mine", spaceId=work)
    await put(client, "hidden", spaceId=home)
    task = await made(client, topicId=mine["id"])
    await made(client, spaceId=home)
    for key in (f"clawboard:topic:{mine['id']}", f"clawboard:task:{mine['id']}:{task['id']}",
                f"agent:main:task:{task['id']}"):  # fmt: skip
        assert await topics(client, sessionKey=key) == ["mine"], key
        assert await listed(client, sessionKey=key) == [task["id"]], key
        assert len(await topics(client, sessionKey=key, spaceId=home)) == 2, "a given space decides"
    assert len(await topics(client, sessionKey="channel:unknown")) == 2
    async with await limited(server, client, home) as ann:
        assert await topics(ann, sessionKey=f"clawboard:topic:{mine['id']}") == []


async def test_lanes_of_hidden_tasks_and_topics_are_hidden_too(server: HttpServer, client: httpx.AsyncClient) -> None:
    work, home = await space(client, "Work"), await space(client, "Home")
    topic, other = await put(client, "mine", spaceId=work), await put(client, "hidden", spaceId=home)
    task, secret = await made(client, topicId=topic["id"]), await made(client, "secret", topicId=other["id"])
    seen = {f"agent:main:task:{task['id']}", f"agent:main:topic:{topic['id']}", "agent:main:main"}
    hidden = {f"agent:main:task:{secret['id']}", f"agent:main:topic:{other['id']}"}
    runs = {key: (await send_and_wait(client, "hello", sessionKey=key))["id"] for key in sorted(seen | hidden)}
    async with await limited(server, client, work) as ann:
        rows = (await ann.get("/api/sessions")).json()["sessions"]
        assert {row["key"] for row in rows} == seen
        for key, run_id in runs.items():
            expected = 200 if key in seen else 404
            assert (await ann.get(f"/api/sessions/{key}")).status_code == expected, key
            assert (await ann.get(f"/api/sessions/{key}/history")).status_code == expected, key
            assert (await ann.get(f"/api/runs/{run_id}")).status_code == expected, key
        assert {run["sessionKey"] for run in (await ann.get("/api/runs")).json()["runs"]} == seen
        told = {entry["sessionKey"] for entry in (await changes(ann))["logs"]} - {None}
        assert told == seen


async def test_spaces_are_listed_in_pages_oldest_first(server: HttpServer, client: httpx.AsyncClient) -> None:
    for name in ("One", "Two", "Three"):
        await client.post("/api/spaces", json={"name": name})
    # The last two may have been made in the same millisecond.
    later = "UPDATE spaces SET created_at = created_at + 1 WHERE account_id = :account AND id = 'space-three'"
    await server.db.write(lambda tx: tx.run(later, server.access))
    first = (await client.get("/api/spaces", params={"limit": 3})).json()
    assert [space["id"] for space in first["spaces"]][1:] == ["space-one", "space-two"]
    rest = (await client.get("/api/spaces", params={"limit": 3, "cursor": first["nextCursor"]})).json()
    assert ([space["id"] for space in rest["spaces"]], rest["nextCursor"]) == (["space-three"], None)
    assert rest["spaces"][0]["connectivity"] == dict.fromkeys(("space-default", "space-one", "space-two"), True)
