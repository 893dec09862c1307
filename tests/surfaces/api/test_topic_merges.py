"""Merging and splitting topics over HTTP: who may, what is refused, and that each takes the other back."""

from typing import Any

import httpx

from tests.harness.server import HttpServer
from tests.surfaces.api_calls import Json, refused


async def made(client: httpx.AsyncClient, kind: str, path: str, **body: Any) -> Json:
    """Make something; return it."""
    answer = await client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    row: Json = answer.json()[kind]
    return row


async def filled(client: httpx.AsyncClient, topic_id: str, *lines: str, **more: Any) -> list[str]:
    """Make a topic with entries; return their ids."""
    await made(client, "topic", "/api/topics", id=topic_id, name=f"About {topic_id}", **more)
    return [
        (await made(client, "log", "/api/log", type="conversation", content=line, topicId=topic_id))["id"]
        for line in lines
    ]


async def lines_of(client: httpx.AsyncClient, topic_id: str) -> list[str]:
    """Return what the entries of a topic say, oldest first."""
    logs = (await client.get("/api/log", params={"topicId": topic_id})).json()["logs"]
    return [log["content"] for log in reversed(logs)]


async def test_a_merge_moves_the_entries_and_a_split_takes_it_back(on_either: httpx.AsyncClient) -> None:
    client = on_either
    await filled(client, "fence", "Paint it green")
    await filled(client, "paint", "Two tins are left", "Green or blue?")
    merged = await client.post("/api/topics/fence/merge", json={"topicIds": ["paint"]})
    assert merged.status_code == 200
    assert await lines_of(client, "fence") == ["Paint it green", "Two tins are left", "Green or blue?"]
    assert (await client.get("/api/topics/paint")).status_code == 404
    (before,) = merged.json()["topic"]["mergedFrom"]
    assert (before["id"], before["name"]) == ("paint", "About paint")
    body = {"entryIds": before["entryIds"], "name": before["name"]}
    split = await client.post("/api/topics/fence/split", json=body)
    assert split.status_code == 201
    again = split.json()["topic"]
    assert again["name"] == "About paint"
    assert await lines_of(client, again["id"]) == ["Two tins are left", "Green or blue?"]
    assert await lines_of(client, "fence") == ["Paint it green"]


async def test_several_topics_are_merged_at_once_and_each_is_remembered(client: httpx.AsyncClient) -> None:
    for name in ("one", "two", "three"):
        await filled(client, name, f"line of {name}")
    answer = await client.post("/api/topics/one/merge", json={"topicIds": ["two", "three", "two"]})
    assert [merged["id"] for merged in answer.json()["topic"]["mergedFrom"]] == ["two", "three"]
    assert await lines_of(client, "one") == ["line of one", "line of two", "line of three"]


async def test_a_split_without_a_name_is_named_after_its_first_entry(client: httpx.AsyncClient) -> None:
    _, moved = await filled(client, "fence", "Paint it green", "The invoice of the painter is open")
    split = await client.post("/api/topics/fence/split", json={"entryIds": [moved]})
    assert "invoice" in split.json()["topic"]["name"].lower()


async def test_neither_reaches_topics_and_entries_of_another_account(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    (mine,) = await filled(client, "fence", "Paint it green")
    (theirs,) = await filled(other_client, "garden", "Water it")
    for path, body in (("fence/merge", {"topicIds": ["garden"]}), ("garden/merge", {"topicIds": ["fence"]})):
        assert refused(await client.post(f"/api/topics/{path}", json=body))[0] == 404
    assert refused(await client.post("/api/topics/garden/split", json={"entryIds": [theirs]}))[0] == 404
    assert refused(await client.post("/api/topics/fence/split", json={"entryIds": [mine, theirs]}))[0] == 404
    assert (await lines_of(client, "fence"), await lines_of(other_client, "garden")) == (
        ["Paint it green"], ["Water it"]
    )  # fmt: skip


async def test_agents_and_whoever_does_not_see_the_space_may_do_neither(
    client: httpx.AsyncClient, server: HttpServer
) -> None:
    space = (await made(client, "space", "/api/spaces", name="Secret", defaultVisible=False))["id"]
    entry, _ = await filled(client, "one", "line of one", "another", spaceId=space)
    await filled(client, "two", "line of two", spaceId=space)
    open_space = (await made(client, "space", "/api/spaces", name="Open"))["id"]
    ada = (await made(client, "user", "/api/users", slug="ada", name="Ada"))["id"]
    limited = await server.token(client, kind="user", userId=ada, spaceIds=[open_space])
    agent = await server.token(client, kind="agent", agentId="main")
    for token, status in ((limited, 404), (agent, 403)):
        async with server.client(token) as caller:
            merge = await caller.post("/api/topics/one/merge", json={"topicIds": ["two"]})
            split = await caller.post("/api/topics/one/split", json={"entryIds": [entry]})
            assert [refused(answer)[0] for answer in (merge, split)] == [status, status]
    assert await lines_of(client, "one") == ["line of one", "another"]


async def test_what_cannot_be_merged_or_split_is_refused_and_nothing_is_changed(client: httpx.AsyncClient) -> None:
    (entry,) = await filled(client, "fence", "Paint it green")
    (other,) = await filled(client, "garden", "Water it")
    space = (await made(client, "space", "/api/spaces", name="Elsewhere"))["id"]
    await filled(client, "far", "Far away", spaceId=space)
    await made(client, "task", "/api/tasks", id="dig", title="Dig", topicId="garden")
    of_task = (await made(client, "log", "/api/log", type="conversation", content="Deep", taskId="dig"))["id"]
    merges: list[Any] = [["fence"], ["far"], ["garden"], [], ["a", 1], "garden", None]
    splits: list[Any] = [[], [other], [entry, other], [1], "x", None]
    for names in merges:
        assert refused(await client.post("/api/topics/fence/merge", json={"topicIds": names}))[0] in (400, 422), names
    for entries in splits:
        answer = await client.post("/api/topics/fence/split", json={"entryIds": entries})
        assert refused(answer)[0] in (400, 422), entries
    assert refused(await client.post("/api/topics/garden/split", json={"entryIds": [of_task]}))[0] in (400, 422)
    for path in ("nowhere/merge", "nowhere/split"):
        body = {"topicIds": ["fence"], "entryIds": [entry]}
        wanted = {key: body[key] for key in body if (key == "topicIds") == path.endswith("merge")}
        assert refused(await client.post(f"/api/topics/{path}", json=wanted))[0] == 404
    assert refused(await client.post("/api/topics/fence/merge", json={"topicIds": ["nowhere"]}))[0] == 404
    assert refused(await client.post("/api/topics/fence/merge", content=b"{"))[0] == 400
    assert await lines_of(client, "fence") == ["Paint it green"]
    assert (await client.get("/api/topics/fence")).json()["topic"]["mergedFrom"] == []


async def test_the_merge_of_several_is_made_whole_or_not_at_all(client: httpx.AsyncClient) -> None:
    await filled(client, "one", "line of one")
    await filled(client, "two", "line of two")
    assert refused(await client.post("/api/topics/one/merge", json={"topicIds": ["two", "one"]}))[0] in (400, 422)
    assert await lines_of(client, "two") == ["line of two"]
