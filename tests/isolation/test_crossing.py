"""What crosses from one lane to another and what does not: each way once, with everything caught up."""

import json
from typing import Any

import pytest

from carrel.board import settle_accounts
from carrel.storage import Tx
from tests.isolation.asgi import Answer, Client
from tests.isolation.world import OPEN_SPACE, Side, World
from tests.requirements.mark import requirement

ANNS, BOBS, LIMS = (f"agent:main:web:chat-of-{name}" for name in ("ann", "bob", "lim"))
SECRET, QUESTION = "My salary is 4711 pelicans a year", "what is a salary in pelicans?"


@pytest.fixture(autouse=True)
def quiet_model(world: World) -> None:
    """Let nobody call a tool."""
    world.model.calls_share = 0.0


async def say(side: Side, who: str, key: str, text: str, **more: Any) -> str:
    """Say something in a lane; return the request that the model got for it."""
    sent = await side.do(who, "/api/runs", {"sessionKey": key, "message": text, **more})
    assert sent is not None, side.world.refused[-1:]
    await side.world.settle()
    asked = [request for request in side.world.model.requests if request.run_id == sent["runId"]]
    return json.dumps(asked[-1].body, ensure_ascii=False)


async def read(side: Side, who: str, path: str, **query: Any) -> str:
    """Return what somebody is answered."""
    return (await side.callers[who].client.get(path, query)).text


async def read_in_run(side: Side, who: str, key: str, path: str) -> Answer:
    """Return what a run that somebody has caused in a lane is answered, asking with its own token."""
    answers = list[Answer]()

    async def look(_side: Side, client: Client, _key: str) -> list[Any]:
        answers.append(await client.get(path, {}))
        return []

    side.world.look, side.world.model.looks_left = look, 1
    await say(side, who, key, "look around")
    return answers[0]


async def choose(side: Side, who: str, key: str, recall: str | None) -> int:
    """Choose what a session recalls; return the status."""
    answer = await side.callers[who].client.request("PATCH", f"/api/sessions/{key}", None, {"recall": recall})
    return answer.status


@requirement("I.sorted.board", "I.said.person")
async def test_a_private_chat_is_in_no_topic_and_found_by_nobody_else_however_long_one_waits(world: World) -> None:
    side = world.sides[0]
    await say(side, "ann", ANNS, SECRET)
    await world.catch_up()
    assert json.loads(await read(side, "owner", "/api/topics"))["topics"] == []
    assert "pelicans" in await read(side, "ann", "/api/search", q="salary")
    assert "pelicans" not in (await read(side, "bob", "/api/search", q="salary")).replace('"query":"salary"', "")
    assert "pelicans a year" not in await say(side, "bob", BOBS, QUESTION)
    (entry,) = json.loads(await read(side, "ann", "/api/log", type="conversation", limit=100))["logs"][-1:]
    assert (entry["classificationStatus"], entry["classificationError"]) == ("classified", "private")


@requirement("I.said.lane")
async def test_chats_of_one_person_recall_themselves_alone(world: World) -> None:
    side, other = world.sides[0], ANNS.replace("chat-of-ann", "another-chat")
    await say(side, "ann", ANNS, SECRET)
    await world.catch_up()
    assert "pelicans a year" not in await say(side, "ann", other, QUESTION)
    assert "pelicans a year" not in await read(
        side, "ann", "/api/context", sessionKey=other, q=QUESTION, mode="patient"
    )
    # What the timeline shows is not recalled as well.
    recalled = {"q": QUESTION, "mode": "patient", "timelineLimit": 0}
    explained = json.loads(await read(side, "ann", "/api/context", sessionKey=ANNS, **recalled))
    (line,) = [item for item in explained["data"]["items"] if item["section"] == "Semantic recall logs:"][:1]
    assert line["reason"].startswith("said here: ")
    assert explained["data"]["scope"]["recall"] == "own"


@requirement("I.recall.space", "I.person.shares")
async def test_a_chat_that_its_person_shares_is_on_the_board_until_that_is_taken_back(world: World) -> None:
    side = world.sides[0]
    await say(side, "ann", ANNS, SECRET)
    await say(side, "ann", ANNS, "yes, and the bonus of my salary is 99 herons")
    assert await choose(side, "owner", ANNS, "space") == 403
    assert await choose(side, "bob", ANNS, "space") == 404
    assert await choose(side, "ann", ANNS, "space") == 200
    await world.catch_up()
    assert "99 herons" in await read(side, "bob", "/api/search", q="salary")
    (topic,) = json.loads(await read(side, "bob", "/api/topics"))["topics"]
    assert "99 herons" in topic["digest"]
    asked = await say(side, "bob", BOBS, QUESTION)
    assert topic["id"] in asked, "a topic of the board is known by its name everywhere"
    assert "99 herons" not in asked, "but a lane of its own recalls nothing that is said there"
    assert await choose(side, "bob", BOBS, "space") == 200
    assert "99 herons" in await say(side, "bob", BOBS, QUESTION)
    assert await choose(side, "ann", ANNS, "own") == 200
    # At once, before anything has caught up.
    assert "99 herons" not in await read(side, "bob", "/api/search", q="salary")
    assert "pelicans" not in await read(side, "bob", "/api/topics")
    await world.catch_up()
    assert "99 herons" not in await read(side, "bob", "/api/search", q="salary")
    assert "herons" not in (await say(side, "bob", BOBS, QUESTION)).rpartition("CONTEXT_END")[0].rpartition("BEGIN")[2]
    assert "99 herons" in await read(side, "ann", f"/api/sessions/{ANNS}/history")


@requirement("I.person.shares")
@pytest.mark.parametrize("by", ["account", "agent"])
async def test_what_is_chosen_for_all_shares_lanes_of_agents_and_no_persons_chat(world: World, by: str) -> None:
    side = world.sides[0]
    path, body = ("/api/account", {"settings": {"recall": "space"}}) if by == "account" else (
        "/api/agents/main", {"recall": "space"})  # fmt: skip
    await side.do("owner", path, body, "PATCH")
    await say(side, "ann", ANNS, SECRET)
    await say(side, "owner", "agent:main:main", "The launch code is 77 herons")
    await world.catch_up()
    found = await read(side, "bob", "/api/search", q="salary launch code")
    assert "77 herons" in found
    assert "pelicans a year" not in found
    assert "77 herons" in await say(side, "bob", BOBS, "what is the launch code?")
    access = json.loads(await read(side, "ann", f"/api/sessions/{ANNS}/access"))["recall"]
    assert access == {"recall": "space", "chosenBy": by, "onBoard": False}
    row = json.loads(await read(side, "ann", f"/api/sessions/{ANNS}"))["session"]
    assert row["recall"] == "space"
    other = world.sides[1]
    assert json.loads((await other.owner.get("/api/topics", {})).text)["topics"] == []


@requirement("I.chain.lane")
async def test_a_run_with_the_id_of_a_goals_task_is_not_shown_what_another_persons_session_keeps(world: World) -> None:
    side = world.sides[0]
    await say(side, "ann", ANNS, "hello")
    goal = (await side.do("ann", "/api/goals", {"sessionId": ANNS, "name": "Ship it"}))["goal"]["id"]
    for scope, fact in ((f"goal:web:chat-of-ann:{goal}", "the goal's heron"), ("session:web:chat-of-ann", "my heron")):
        body = {"scope": scope, "type": "decision", "content": fact, "agentId": "main"}
        assert await side.do("ann", "/api/memory", body) is not None
    tool = {"goalId": goal, "tasks": [{"title": "Paint the heron"}]}
    told = await side.owner.post("/agent/goal_plan_tasks", tool, **{"x-openclaw-session-key": ANNS})
    task = told.json()["tasks"][0]["id"]
    lane = f"agent:main:task:{task}"
    assert "heron" not in (await say(side, "bob", BOBS, "which bird?", taskId=task)).replace("Paint the heron", "")
    assert "heron" not in (await say(side, "bob", lane, "which bird?")).replace("Paint the heron", "")
    elsewhere = await say(side, "ann", ANNS.replace("chat-of-ann", "another-chat"), "which bird?", taskId=task)
    assert "heron" not in elsewhere.replace("Paint the heron", ""), "not in her own other chats either"
    assert "the goal's heron" in await say(side, "ann", lane, "which bird?")
    run = json.loads(await read(side, "ann", "/api/runs", sessionKey=lane))["runs"][0]["id"]
    assert (await side.callers["ann"].client.get(f"/api/runs/{run}/receipt", {})).status == 200
    assert (await side.callers["bob"].client.get(f"/api/runs/{run}/receipt", {})).status == 403
    assert "heron" not in (await read(side, "bob", "/api/context", sessionKey=lane)).replace("Paint the heron", "")
    seen = [await read_in_run(side, who, lane, f"/api/runs/{run}/receipt") for who in ("bob", "ann")]
    assert [answer.status for answer in seen] == [403, 200], "nor by a run that somebody else has caused"


@requirement("I.run.both")
async def test_a_run_sees_no_more_than_whoever_caused_it(world: World) -> None:
    side = world.sides[0]
    for space, text in (("space-blue", "The vault opens with heron"), (OPEN_SPACE, "The gate opens with stork")):
        assert await side.do("owner", "/api/notes", {"content": text, "spaceId": space}) is not None
    await world.catch_up()
    asked = await say(side, "lim", LIMS, "what do the gate and the vault open with?")
    assert "stork" in asked
    assert "heron" not in asked
    asked = await say(side, "owner", "agent:main:main", "what do the gate and the vault open with?")
    assert "heron" in asked
    run = json.loads(await read(side, "lim", "/api/runs", sessionKey="agent:main:main"))["runs"][0]["id"]
    assert (await side.callers["lim"].client.get(f"/api/runs/{run}/receipt", {})).status == 403
    assert (await side.callers["bob"].client.get(f"/api/runs/{run}/receipt", {})).status == 200


@requirement("I.run.both")
async def test_a_notification_about_a_hidden_task_is_not_shown(world: World) -> None:
    side = world.sides[0]
    for space in ("space-blue", OPEN_SPACE):
        body = {"title": f"Feed the heron in {space}", "spaceId": space}
        task = (await side.do("owner", "/api/tasks", body))["task"]["id"]
        told = {"content": f"@lim the key is under the {space} stone"}
        assert await side.do("owner", f"/api/tasks/{task}/messages", told) is not None
    await world.settle()
    listed = json.loads(await read(side, "lim", "/api/notifications"))
    assert "under the space-red stone" in json.dumps(listed)
    assert "space-blue" not in json.dumps(listed)
    assert listed["unreadCount"] == len(listed["notifications"])
    assert "space-blue stone" not in await read(side, "lim", "/api/changes", sinceSeq=0)
    seen = await side.callers["lim"].client.stream("/api/stream", {"lastEventId": 0}, "under the space-red stone")
    assert "space-blue stone" not in seen.text


@requirement("I.run.both")
async def test_an_agent_sees_of_other_agents_no_sessions_of_topics_beyond_its_spaces(world: World) -> None:
    side = world.sides[0]
    assert world.together, "agents may see one another"
    await side.do("owner", "/api/agents/scout", {"visibility": "all"}, "PATCH")
    for space in ("space-blue", OPEN_SPACE):
        topic = f"topic-{space}"
        assert await side.do("owner", "/api/topics", {"id": topic, "name": "Birds", "spaceId": space})
        await say(side, "owner", f"agent:main:topic:{topic}", f"The heron nests in {space}")
    client = side.callers["agent scout"].client
    seen = await client.stream("/api/stream", {"lastEventId": 0}, "nests in space-red")
    lists = [(await client.get(path, {})).text for path in ("/api/runs", "/api/sessions", "/api/log")]
    for text in (seen.text, *lists):
        assert "space-red" in text
        assert "topic-space-blue" not in text
    missing = await client.get("/api/sessions/agent:main:topic:topic-space-blue/history", {})
    assert missing.status == 404


@requirement("I.run.both")
async def test_a_run_sees_of_its_agents_sessions_only_those_that_whoever_caused_it_may_see(world: World) -> None:
    side = world.sides[0]
    await side.do("owner", "/api/agents/main", {"visibility": "agent"}, "PATCH")
    await side.do("owner", "/api/topics", {"id": "topic-blue", "name": "Birds", "spaceId": "space-blue"})
    await say(side, "owner", "agent:main:topic:topic-blue", "The heron nests in the reeds")
    for path in ("/api/runs", "/api/sessions", "/api/sessions/agent:main:topic:topic-blue/history"):
        for who in ("lim", "bob"):
            answer = await read_in_run(side, who, "agent:main:main", path)
            assert ("topic-blue" in answer.text) == (who == "bob"), (path, who)


@requirement("I.digest.readers", "I.kept.travels")
async def test_a_task_is_known_by_its_title_elsewhere_and_by_its_digest_in_its_own_lanes(world: World) -> None:
    side = world.sides[0]
    task = (await side.do("owner", "/api/tasks", {"title": "Paint the lantern"}))["task"]["id"]
    lane = f"agent:main:task:{task}"
    await say(side, "owner", lane, "The lantern is green as a heron")
    await side.do("owner", f"/api/tasks/{task}", {"pinned": True}, "PATCH")
    await world.catch_up()
    assert "heron" in await read(side, "bob", f"/api/tasks/{task}"), "people read the digest of a task they may read"
    asked = await say(side, "bob", BOBS, "which colour does the lantern have?")
    assert "Paint the lantern" in asked
    assert "heron" not in asked
    query = {"sessionKey": BOBS, "q": "which colour has the lantern?", "mode": "patient"}
    assert "heron" not in await read(side, "bob", "/api/context", **query)
    assert "heron" in await say(side, "bob", lane.replace("main", "writer", 1), "which colour has the lantern?")
    note = {"content": "Lanterns are lit at nine", "spaceId": "space-blue"}
    assert await side.do("owner", "/api/notes", note) is not None
    await world.catch_up()
    query = {"sessionKey": BOBS, "q": "when are lanterns lit?", "mode": "full"}
    items = json.loads(await read(side, "bob", "/api/context", **query))["data"]["items"]
    (kept,) = [item for item in items if item["kind"] == "note"]
    assert kept["reason"].startswith("note in space space-blue: ")


@requirement("I.said.lane")
async def test_an_agent_is_shown_no_memory_and_nothing_said_of_another_session_that_it_may_see(world: World) -> None:
    side = world.sides[0]
    await side.do("owner", "/api/agents/main", {"visibility": "agent"}, "PATCH")
    await say(side, "ann", ANNS, SECRET)
    body = {
        "scope": "session:web:chat-of-ann",
        "type": "decision",
        "content": "Pelicans count double",
        "agentId": "main",
    }
    assert await side.do("ann", "/api/memory", body) is not None
    await world.catch_up()
    asked = {"sessionKey": ANNS, "q": QUESTION, "mode": "patient"}
    told = await side.callers["agent main"].client.post("/agent/clawboard_context", asked)
    assert told.status == 200, told.text
    assert "elicans" not in told.json()["block"].replace(QUESTION, "")
    found = await side.callers["agent main"].client.post("/agent/clawboard_search", {"q": "salary", "sessionKey": ANNS})
    assert "pelicans a year" not in found.text


@requirement("I.person.shares")
async def test_a_topic_that_was_named_after_a_chat_gets_another_name_when_the_chat_is_private_again(
    world: World,
) -> None:
    side = world.sides[0]
    await say(side, "ann", ANNS, SECRET)
    assert await choose(side, "ann", ANNS, "space") == 200
    await world.catch_up()
    (topic,) = json.loads(await read(side, "bob", "/api/topics"))["topics"]
    assert "pelicans" in topic["name"]
    body = {"content": "Salaries are paid on Fridays", "topicId": topic["id"], "type": "conversation"}
    assert await side.do("bob", "/api/log", body) is not None
    assert await choose(side, "ann", ANNS, "own") == 200
    (left,) = json.loads(await read(side, "bob", "/api/topics"))["topics"]
    assert (left["id"], left["name"]) == (topic["id"], "Salaries are paid on Fridays")


@requirement("I.sorted.board")
async def test_what_was_sorted_before_leaves_the_board_when_the_settings_say_so(world: World) -> None:
    side = world.sides[0]
    await say(side, "owner", "agent:main:main", "The launch code is 77 herons")
    await world.server.db.write(
        lambda tx: tx.run("UPDATE accounts SET recall_default = 'own' WHERE id = :account", side.access)
    )
    await settle_accounts(world.server.db, "space")
    await world.catch_up()
    assert "77 herons" in await read(side, "bob", "/api/topics")
    await settle_accounts(world.server.db, "own")

    def places(tx: Tx) -> list[Any]:
        return tx.all("SELECT topic_id, classification_error FROM entries WHERE account_id = :account", side.access)

    assert json.loads(await read(side, "owner", "/api/topics"))["topics"] == []
    assert {(row[0], row[1]) for row in await world.server.db.read(places)} == {(None, "private")}
    await world.catch_up()
    assert "77 herons" not in await say(side, "owner", ANNS.replace("ann", "owner"), "what is the launch code?")


@requirement("I.digest.readers")
async def test_what_a_tick_is_told_is_nobodys_words(world: World) -> None:
    side, lane = world.sides[0], "agent:main:main"
    started = {"sessionId": lane, "intervalSeconds": 3_600, "text": "Paint the lantern"}
    task = (await side.do("owner", "/api/auto/start", started))["run"]["taskId"]
    await world.server.until(lambda tx: tx.one("SELECT 1 FROM runs WHERE state = 'completed'") is not None)
    await world.catch_up()
    (tick,) = [request for request in world.model.requests if request.key == lane]
    assert "Current user intent" not in json.dumps(tick.body)
    assert "[AUTO]" not in json.loads(await read(side, "owner", "/api/context", sessionKey=lane, mode="full"))["block"]
    digest = json.loads(await read(side, "owner", f"/api/tasks/{task}"))["task"]["digest"]
    assert "Last answer: " in digest
    assert "[AUTO]" not in digest
