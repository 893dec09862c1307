"""Plan mode, auto runs and memory of a running server: whatever one session does or knows, no other session has it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.end_to_end.chats import TICK, Chat, Model, TelegramChat, WebChat, new_session, say, with_a_bot
from tests.harness.process import ANSWER_SECONDS, RunningServer, Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway
from tests.surfaces.api.chat_line import open_line
from tests.surfaces.api_calls import refused, settled
from tests.surfaces.telegram.bot_api import BotApi
from tests.surfaces.telegram.chats import group

Json = dict[str, Any]


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    """A Bot API on a free port."""
    async with BotApi().serving() as serving:
        yield serving


@pytest.fixture
def running(start: Start, gateway: ScriptedGateway, api: BotApi) -> RunningServer:
    """A server with a Telegram bot, whose agents reach the scripted gateway."""
    # Nothing is sorted into topics, which all sessions may read.
    return start(**reaching(gateway) | with_a_bot(api) | {"CARREL_CLASSIFIER__MODE": "off"})


@pytest.fixture
def model(gateway: ScriptedGateway) -> Model:
    return Model(gateway)


@pytest.fixture
async def owner(running: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {running.token}"}
    async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=ANSWER_SECONDS) as client:
        yield client


@pytest.fixture(params=["web", "telegram"])
async def chats(
    request: pytest.FixtureRequest, running: RunningServer, owner: httpx.AsyncClient, api: BotApi
) -> AsyncIterator[tuple[Chat, Chat]]:
    """Two chats of one person: two tabs of a browser, or a private chat with the bot and a group."""
    if request.param == "telegram":
        yield TelegramChat(owner, api), TelegramChat(owner, api, group())
        return
    async with open_line(running.url, running.token) as one, open_line(running.url, running.token) as two:
        yield WebChat(one, "tab-1"), WebChat(two, "tab-2")


@pytest.fixture
def chat(chats: tuple[Chat, Chat]) -> Chat:
    return chats[0]


async def plan_mode(client: httpx.AsyncClient, session: str) -> Json:
    """Return the plan mode of a session as the API shows it, apart from whether a chat is in that session."""
    answer = await client.get("/api/plans", params={"sessionId": session})
    assert answer.status_code == 200, answer.text
    state: Json = answer.json()
    return {name: state[name] for name in ("enabled", "activePlanId", "updatedAt", "plans")}


async def auto_run(client: httpx.AsyncClient, chat: Chat, command: str) -> Json:
    """Start an auto run with a command, and return its first tick once that has ended."""
    started = (await say(chat, command)).split()
    assert started[0] == "Started", started
    ticks: list[Json] = []
    async with asyncio.timeout(ANSWER_SECONDS):
        while not ticks:
            ticks = (await client.get("/api/runs", params={"autoRunId": started[1]})).json()["runs"]
    tick = await settled(client, ticks[-1]["id"])
    assert tick["state"] == "completed", tick
    return tick


@requirement("S3.accept")
async def test_plan_mode_in_one_session_never_changes_another(
    chat: Chat, owner: httpx.AsyncClient, model: Model
) -> None:
    first, second = await new_session(chat), await new_session(chat)
    assert await say(chat, "/plan on") == await say(chat, "/plan status")
    before = await plan_mode(owner, second)
    assert before["enabled"]
    assert (await plan_mode(owner, first))["enabled"] is False
    await say(chat, "write this down")
    await say(chat, f"/switch {first}")
    assert await say(chat, "/plan") == "Plan mode: off"
    await say(chat, "write that down")
    for change in ("/plan on", "/plan off"):
        await say(chat, change)
        assert (await plan_mode(owner, first))["enabled"] == (change == "/plan on")
        assert await plan_mode(owner, second) == before
    offered = [
        {tool["name"] for tool in model.asked(f"write {what} down")[0].json["tools"]} for what in ("this", "that")
    ]
    assert ["memory_add" in names for names in offered] == [False, True]
    rows = (await owner.get("/api/sessions")).json()["sessions"]
    assert [row["sessionKey"] for row in rows if row["planMode"]["enabled"]] == [f"agent:main:{chat.channel}:{second}"]


@requirement("S3.accept")
async def test_auto_runs_on_tasks_of_their_own_share_nothing_of_them(
    chat: Chat, owner: httpx.AsyncClient, model: Model
) -> None:
    await new_session(chat)
    kept = {"type": "task_state", "content": "The fence needs four pots of teal."}
    model.on("paint the fence", ("memory_add", kept), ("memory_search", {"query": "teal"}))
    model.on("mow the lawn", ("memory_search", {"query": "teal"}))
    one = await auto_run(owner, chat, "/auto on paint the fence")
    written, own = model.results("paint the fence")
    assert written["item"]["scope"] == f"task:{one['taskId']}"
    assert [item["content"] for item in own["items"]] == [kept["content"]]
    two = await auto_run(owner, chat, "/auto on mow the lawn")
    (found,) = model.results("mow the lawn")
    assert (found["items"], found["chain"][0]) == ([], f"task:{two['taskId']}")
    assert [one["runKind"], two["runKind"]] == ["TASK_RUN", "TASK_RUN"]
    assert not [request for request in model.asked("mow the lawn") if b"four pots" in request.body]


@requirement("S3.accept")
async def test_tasks_of_a_goal_share_it_within_its_own_session_alone(
    chat: Chat, owner: httpx.AsyncClient, model: Model
) -> None:
    elsewhere, here = await new_session(chat), await new_session(chat)
    goal = (await say(chat, "/goal A garden for frogs")).split()[1].rstrip(":")
    tasks = [{"title": "dig the pond"}, {"title": "plant the reeds", "dependencies": ["task-0"]}]
    model.on("plan the garden", ("goal_plan_tasks", {"goalId": goal, "tasks": tasks}))
    look = ("memory_search", {"query": "native plants and the spade"})
    model.on(
        "dig the pond",
        ("memory_add", {"type": "decision", "content": "Only native plants."}),
        ("memory_add", {"type": "task_state", "content": "The spade is in the shed."}),
        ("task_status", {"taskId": "{task}", "status": "review"}),
        ("task_status", {"taskId": "{task}", "status": "done"}),
    )
    model.on("plant the reeds", look)
    await say(chat, "plan the garden")
    one = await auto_run(owner, chat, f"/auto on goal:{goal}")
    await say(chat, "/auto off")
    two = await auto_run(owner, chat, f"/auto on goal:{goal}")
    await say(chat, "/auto off")
    assert [(tick["runKind"], tick["goalId"]) for tick in (one, two)] == [("GOAL_RUN", goal)] * 2
    scope = f"goal:{chat.channel}:{here}:{goal}"
    assert [kept["item"]["scope"] for kept in model.results("dig the pond")[:2]] == [scope, f"task:{one['taskId']}"]
    (found,) = model.results("plant the reeds")
    assert [item["content"] for item in found["items"]] == ["Only native plants."]
    shown = model.asked("plant the reeds")[0]
    assert "Only native plants." in shown.block
    assert b"in the shed" not in shown.body

    await say(chat, f"/switch {elsewhere}")
    assert "no such goal" in await say(chat, f"/auto on goal:{goal}")
    other = (await say(chat, "/goal A garden for newts")).split()[1].rstrip(":")
    model.on("plan its pond", ("goal_plan_tasks", {"goalId": other, "tasks": [{"title": "count the newts"}]}))
    model.on("count the newts", look)
    await say(chat, "plan its pond")
    await auto_run(owner, chat, f"/auto on goal:{other}")
    (found,) = model.results("count the newts")
    assert found["items"] == []
    assert not [request for request in model.asked("count the newts") if b"native plants." in request.body]
    own = await owner.get("/api/memory", params={"scope": scope})
    assert [item["content"] for item in own.json()["items"]] == ["Only native plants."]
    for foreign in ({"scope": scope.replace(here, elsewhere)}, {"sessionId": elsewhere, "goalId": goal}):
        assert refused(await owner.get("/api/memory", params=foreign))[:2] == (404, "not_found")


@requirement("S3.accept")
async def test_nothing_that_one_session_says_appears_in_the_chat_of_another(
    chats: tuple[Chat, Chat], owner: httpx.AsyncClient, model: Model
) -> None:
    one, two = chats
    session = await new_session(one)
    other = await new_session(two)
    gate = model.hold("alpha is long")
    await one.send("alpha is long")
    await gate.reached()
    for line in ("beta speaks", "/plan on", "/goal beta wins", "/whoami"):
        await say(two, line)
    gate.open()
    assert await one.hear() == "echo: alpha is long"
    await auto_run(owner, one, "/auto on alpha works by itself")
    await say(two, "beta at last")
    await say(one, "alpha at last")
    for own, theirs, chat, key in (("alpha", "beta", one, session), ("beta", "alpha", two, other)):
        assert own in chat.everything()
        assert theirs not in chat.everything()
        if isinstance(chat, WebChat):
            # Before its first command a connection is on the session that the command was given in.
            assert {frame["sessionId"] for frame in chat.frames} == {key}
    assert (TICK in one.everything(), TICK in two.everything()) == (True, False)


@requirement("S3.accept")
async def test_no_memory_of_another_session_is_ever_returned(
    chat: Chat, owner: httpx.AsyncClient, model: Model
) -> None:
    stranger, keeper = await new_session(chat), await new_session(chat)
    secret = "The safe opens with 4711."
    model.on("keep the number", ("memory_add", {"type": "fact", "content": secret}))
    await say(chat, "keep the number")
    (kept,) = model.results("keep the number")
    assert kept["item"]["scope"] == f"session:{chat.channel}:{keeper}"
    memory_id = kept["item"]["id"]
    await say(chat, "how does the safe open?")
    assert secret in model.asked("how does the safe open?")[-1].block

    await say(chat, f"/switch {stranger}")
    model.on(
        "try everything",
        ("memory_search", {"query": "safe opens 4711"}),
        ("memory_read", {"id": memory_id}),
        ("memory_update", {"id": memory_id, "content": "mine"}),
        ("memory_forget", {"id": memory_id}),
        ("memory_add", {"type": "fact", "content": "mine", "supersedes": memory_id}),
    )
    await say(chat, "try everything about the safe")
    found, *others = model.results("try everything")
    assert found["items"] == []
    assert [other["error"]["code"] for other in others] == ["not_found"] * 4
    await say(chat, "so how does the safe open?")
    for phrase in ("try everything", "so how does the safe"):
        assert not [request for request in model.asked(phrase) if b"opens with" in request.body]
    assert "4711" not in await say(chat, "/memory")
    assert "4711" not in await say(chat, f"/memory promote {memory_id} me too")
    assert (await owner.get("/api/memory", params={"sessionId": stranger})).json()["items"] == []
    asked = {"sessionKey": f"agent:main:{chat.channel}:{stranger}", "q": "how does the safe open?"}
    assert "A:memory" not in (await owner.get("/api/context", params=asked)).json()["layers"]

    await say(chat, f"/switch {keeper}")
    assert secret in await say(chat, "/memory"), "nothing of it was changed"
    await say(chat, f"/memory promote {memory_id} all should know")
    await say(chat, f"/switch {stranger}")
    await say(chat, "once more, how does the safe open?")
    assert secret in model.asked("once more")[-1].block, "only a promotion lets others know"


@requirement("S3.accept")
async def test_plan_mode_is_always_that_of_the_selected_session_however_fast_it_is_switched(
    chat: Chat, owner: httpx.AsyncClient
) -> None:
    off, on = await new_session(chat), await new_session(chat)
    shown = {on: await say(chat, "/plan on"), off: "Plan mode: off"}
    order = [off, on, on, off, on, off] * 3
    for session in order:
        # Nothing waits for a reply, as when somebody clicks faster than the server answers.
        await chat.send(f"/switch {session}")
        await chat.send("/plan")
    replies = [await chat.hear() for _ in range(2 * len(order))]
    assert replies[1::2] == [shown[session] for session in order]
    if isinstance(chat, WebChat):
        told = [frame for frame in chat.frames if frame.get("command")][-2 * len(order) :]
        assert [frame["sessionId"] for frame in told[1::2]] == order
    client = {"channelType": chat.channel, "clientInstanceId": "tab-1" if chat.channel == "web" else "1001"}
    for session in (on, off, on):
        await owner.post("/api/sessions/active", json={**client, "sessionId": session})
        active = (await owner.get("/api/sessions/active", params=client)).json()["sessionId"]
        assert (active, (await plan_mode(owner, active))["enabled"]) == (session, session == on)
