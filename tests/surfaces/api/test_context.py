"""The context of a session over the API, in chats and on the receipt."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from carrel.access import make_space
from carrel.board import LogSource, NewLog, record
from carrel.kernel import SessionKey
from carrel.kernel.limits import CONTEXT_TEXT_CHARS_MAX
from carrel.sessions import NewChild, insert_child
from carrel.topics import NewTopic, put_topic
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, send_and_wait

MAIN = "agent:main:main"


async def topic(server: HttpServer, name: str, **more: Any) -> None:
    """Make a topic."""
    access = await server.access_of()
    await server.db.write(lambda tx: put_topic(tx, access, NewTopic(name=name, id=name.lower(), **more)))


async def log(server: HttpServer, content: str, session: str, **more: Any) -> None:
    """Record what was said."""
    access = await server.access_of()
    new = NewLog(type="conversation", content=content, source=LogSource(session_key=session), **more)
    await server.db.write(lambda tx: record(tx, access, new))


async def context(client: httpx.AsyncClient, **query: Any) -> Json:
    """Return a context."""
    answer = await client.get("/api/context", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


@requirement("S4.context.output", "S4.context.data", "S4.context.params", "S4.context.mode.default")
async def test_a_context_has_a_block_and_everything_that_it_shows_as_data(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await topic(server, "Launch", pinned=True)
    await topic(server, "Launches")
    await log(server, "the launch is in May", "discord-1")
    await server.indexed()
    found = await context(client, sessionKey="discord-1", q=" when is the launch? ", mode="deep")
    assert set(found) == {"ok", "sessionKey", "q", "mode", "layers", "block", "data"}
    assert (found["ok"], found["sessionKey"], found["q"], found["mode"]) == (
        True, "discord-1", "when is the launch?", "auto",
    )  # fmt: skip
    assert found["layers"] == ["A:working_set", "A:timeline", "B:semantic"]
    assert found["block"].split("\n")[:4] == [
        "Clawboard context (layered):",
        "Current user intent: when is the launch?",
        "Working set topics:",
        "- Launch (launch)",
    ]
    data = found["data"]
    assert set(data) == {
        "scope", "workingSet", "routingMemory", "timeline", "memory", "semantic", "omitted", "items",
    }  # fmt: skip
    assert data["scope"] == {"sourceSpaceId": None, "resolvedFrom": None, "allowedSpaceIds": None, "recall": "space"}
    ((day, _, said),) = [row["text"].partition(" ") for row in data["timeline"]]
    assert (len(day), said) == (len("2026-01-31"), "user: the launch is in May")
    assert [row["id"] for row in data["workingSet"]["topics"]] == ["launch"]
    (recalled,) = data["semantic"]["topics"]
    assert 0 < recalled["score"] <= 1
    assert set(data["items"][0]) == {"id", "kind", "section", "scope", "source", "reason", "chars"}
    assert [item["chars"] for item in data["items"]] == [
        len(line) for line in found["block"].split("\n") if line.startswith("- ")
    ]
    bare = await context(client)
    assert set(bare) == {"ok", "mode", "layers", "block", "data"}
    assert bare["layers"] == ["A:working_set"]


@requirement("S4.context.maxchars", "S4.context.params")
async def test_limits_hold_and_numbers_out_of_range_are_clamped(server: HttpServer, client: httpx.AsyncClient) -> None:
    for n in range(30):
        await topic(server, f"Topic{n}", pinned=True, description="d")
    for size in (1, 27, 200, 2_200, 50_000):
        block = (await context(client, maxChars=size, workingSetLimit=40, q="😀" * 900))["block"]
        assert 0 < len(block.encode("utf-16-le")) // 2 <= min(size, CONTEXT_TEXT_CHARS_MAX)
    assert len((await context(client, q="x" * 900))["q"]) == 500
    assert (await context(client, workingSetLimit=0))["layers"] == []
    assert len((await context(client, maxChars=0))["block"]) == 1
    most = await context(client, maxChars=12_000, workingSetLimit=40)
    assert (await context(client, maxChars=12_001, workingSetLimit=41))["block"] == most["block"]
    await context(
        client, q="Topic1", workingSetLimit=-1, timelineLimit=-1, topicLimit=-1, taskLimit=41, logLimit=10**30
    )
    for wrong in ({"depth": 1}, {"maxChars": "all"}):
        assert refused(await client.get("/api/context", params=wrong))[0] == 400


@requirement("S4.context.scoped")
async def test_an_agent_sees_only_its_spaces_and_its_own_memory(server: HttpServer, client: httpx.AsyncClient) -> None:
    access = await server.access_of()
    await server.db.write(lambda tx: make_space(tx, access, "Home", default_visible=False))
    await server.db.write(lambda tx: make_space(tx, access, "Secret", default_visible=False))
    await topic(server, "Ours", pinned=True, space_id="space-home")
    await topic(server, "Theirs", pinned=True, space_id="space-secret")
    created = await client.post("/api/agents", json={"id": "boxed", "spaceIds": ["space-home"]})
    assert created.status_code == 201, created.text
    await send_and_wait(client, "hello", sessionKey="agent:boxed:main")
    fact = {"scope": "session:main:main", "agentId": "boxed", "type": "fact", "content": "The door is green"}
    assert (await client.post("/api/memory", json=fact)).status_code == 201
    token = await server.token(client, kind="agent", agentId="boxed")
    async with server.client(token) as agent:
        found = await context(agent, sessionKey="agent:boxed:main", q="which door?")
        assert [row["id"] for row in found["data"]["workingSet"]["topics"]] == ["ours"]
        assert [row["text"] for row in found["data"]["memory"]] == ["[session] The door is green"]
        wider = await context(agent, allowedSpaceIds="space-secret,space-home")
        assert "Theirs" not in wider["block"]
        foreign = await agent.get("/api/context", params={"sessionKey": MAIN})
        assert refused(foreign)[0] in (403, 404)
    assert "Theirs" in (await context(client, sessionKey=MAIN))["block"]


@requirement("S4.x.health.injection", "S4.flow.inject")
async def test_runs_and_health_say_what_was_injected(server: HttpServer, client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "hello", sessionKey=MAIN)
    (before,) = (await client.get("/api/health")).json()["contextInjection"]
    assert before == {"agentId": "main", "lastInjectedAt": None, "runsSince": 1}
    await topic(server, "Launch", pinned=True)
    await send_and_wait(client, "hello again", sessionKey=MAIN)
    (after,) = (await client.get("/api/health")).json()["contextInjection"]
    assert (after["agentId"], after["runsSince"]) == ("main", 0)
    agent = (await client.get("/api/agents/main")).json()["agent"]
    assert agent["lastContextInjectedAt"] == after["lastInjectedAt"] is not None
    newest, oldest = (await client.get("/api/runs", params={"sessionKey": MAIN})).json()["runs"]
    assert oldest["context"] == {"injected": False, "layers": [], "chars": 0, "degraded": None}
    block = (await client.get(f"/api/runs/{newest['id']}/receipt")).json()["steps"][0]["context"]["block"]
    assert newest["context"] == {"injected": True, "layers": ["A:working_set"], "chars": len(block), "degraded": None}


QUESTION = "Which harbour lamps do we order?"


async def shown_to_run(server: HttpServer, client: httpx.AsyncClient, session: str) -> tuple[str, str]:
    """Return what the next run of a session is said to be shown for the question, and what it was shown then."""
    await server.indexed()
    foreseen = await context(client, sessionKey=session, q=QUESTION, form="run")
    run = await send_and_wait(client, QUESTION, sessionKey=session)
    step = (await client.get(f"/api/runs/{run['id']}/receipt")).json()["steps"][0]
    return foreseen["block"], step["context"]["block"]


@requirement("S4.flow.one.path")
@pytest.mark.parametrize("session", [MAIN, "agent:main:task:lamps", "agent:main:topic:harbour", "agent:boxed:main"])
@pytest.mark.parametrize("recall", ["own", "space"])
async def test_the_form_of_a_run_is_what_a_run_is_shown_to_the_byte(
    server: HttpServer, client: httpx.AsyncClient, session: str, recall: str
) -> None:
    await topic(server, "Harbour", pinned=True)
    made = {"id": "lamps", "title": "Order harbour lamps", "topicId": "harbour", "assignedAgentIds": []}
    assert (await client.post("/api/tasks", json=made)).status_code == 201
    boxed = {"id": "boxed", "sandbox": "on"}
    assert (await client.post("/api/agents", json=boxed)).status_code == 201
    for n in range(4):
        await log(server, f"harbour lamps number {n} must be green", f"talk {n}", topic_id="harbour")
        await log(server, f"harbour lamps order {n} goes to Hamburg", f"task talk {n}", task_id="lamps")
    for n in range(8):
        await send_and_wait(client, f"the harbour lamps cost {n} crowns", sessionKey=session)
    fact = {"scope": "session:main:main", "agentId": "main", "type": "fact", "content": "Harbour lamps are dear"}
    kept = (await client.post("/api/memory", json=fact)).json()["item"]
    assert (await client.post(f"/api/memory/{kept['id']}/promote", json={"reason": "for all"})).is_success
    path = f"/api/sessions/{quote(session, safe='')}"
    assert (await client.patch(path, json={"recall": recall})).status_code == 200
    foreseen, shown = await shown_to_run(server, client, session)
    assert foreseen == shown
    assert shown.startswith("Context from Carrel:\n")
    assert "crowns" not in shown, "what was said is in the request already"
    assert QUESTION not in shown


async def test_a_sub_agent_is_shown_a_context_only_where_what_it_recalls_was_set(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await topic(server, "Harbour", pinned=True)
    access, session = await server.access_of(), "agent:main:subagent:one"
    child = NewChild(key=SessionKey.parse(session), spawned_by=SessionKey.parse(MAIN))
    await server.db.write(lambda tx: insert_child(tx, access, child))
    assert await shown_to_run(server, client, session) == ("", "")
    path = f"/api/sessions/{quote(session, safe='')}"
    assert (await client.patch(path, json={"recall": "own"})).status_code == 200
    foreseen, shown = await shown_to_run(server, client, session)
    assert foreseen == shown
    assert "Harbour" in shown


async def test_a_chat_shows_its_context(server: HttpServer, client: httpx.AsyncClient) -> None:
    await topic(server, "Launch", pinned=True)
    answer = await client.post("/api/chat", json={"text": "/context full", "sessionKey": MAIN})
    assert answer.status_code == 200, answer.text
    assert answer.json()["command"] == "context"
    assert answer.json()["reply"] == (
        "Clawboard context (layered):\nMode: full\nWorking set topics:\n- Launch (launch)"
    )


async def test_people_can_ask_what_a_session_would_recall_if_that_were_chosen(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await topic(server, "Parcels")
    await log(server, "the blue parcel goes to Vienna by train", "discord-1", topic_id="parcels")
    await server.indexed()
    asked = {"sessionKey": MAIN, "q": "does the blue parcel go by train?", "form": "run", "mode": "full"}
    assert "Vienna" not in (await context(client, **asked))["block"]
    supposed = await context(client, **asked, recall="space")
    assert (supposed["data"]["scope"]["recall"], "Vienna" in supposed["block"]) == ("space", True)
    assert "Vienna" not in (await context(client, **asked, recall="own"))["block"]


async def test_an_agent_recalls_no_more_by_supposing_so(server: HttpServer, client: httpx.AsyncClient) -> None:
    await topic(server, "Parcels")
    await log(server, "the blue parcel goes to Vienna by train", "discord-1", topic_id="parcels")
    await server.indexed()
    await send_and_wait(client, "hello")
    asked = {
        "sessionKey": MAIN,
        "q": "does the blue parcel go by train?",
        "form": "run",
        "mode": "full",
        "recall": "space",
    }
    assert "Vienna" in (await context(client, **asked))["block"]
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        assert "Vienna" not in (await context(agent, **asked))["block"]
