"""The tools that list and read sessions: filters, limits, and what must never be shown."""

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import msgspec
import pytest

from carrel.agents import Profile, SubagentRules, agent_by_id, make_agent
from carrel.journal import NewEntry, append_entry
from carrel.kernel import Code, Provenance, Refusal, SessionKey
from carrel.kernel.limits import TOOL_MESSAGE_CHARS_MAX, TOOL_RESULT_BYTES_MAX
from carrel.kernel.settings import Settings, ToolsSessionsSettings, ToolsSettings
from carrel.sessions import insert_lane, lane_of, open_generation
from carrel.storage import Tx
from carrel.tools import CATALOG, ToolServices, caller_at
from carrel.work import NewTask, create_task
from tests.harness.engine import Engine, FakeClock, open_engine
from tests.requirements.mark import requirement
from tests.tools.task_world import person

AGENT = Settings(tools=ToolsSettings(sessions=ToolsSessionsSettings(visibility="agent")))
SAID = Provenance(kind="external_user")


class MainAgent:
    """The main agent in its main lane, with other lanes to look at."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def lane(self, rest: str, agent: str = "main", **columns: Any) -> str:
        """Create a lane."""
        key = SessionKey.of(agent, rest)

        def work(tx: Tx) -> None:
            insert_lane(tx, self.engine.access, key)
            for name, value in columns.items():
                tx.run(f"UPDATE lanes SET {name} = :value WHERE key = :key", value=value, key=str(key))

        await self.engine.db.write(work)
        return str(key)

    async def said(self, rest: str, *lines: tuple[str, str]) -> str:
        """Append (role, text) entries to the open generation of a lane; return the generation's id."""
        key = SessionKey.of("main", rest)

        def work(tx: Tx) -> str:
            session = open_generation(tx, self.engine.access, key)
            for role, text in lines:
                details = {"callId": "c", "name": "session_status"} if role == "toolResult" else None
                entry = NewEntry(
                    type="conversation", role=role, content=text, author="user", provenance=SAID, key=str(key),
                    session_id=session.id, details=details,
                )  # fmt: skip
                append_entry(tx, self.engine.access, entry)
            return session.id

        return await self.engine.db.write(work)

    async def ask(self, tool: str, at: str = "main", **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool called from a lane."""

        def work(tx: Tx) -> dict[str, Any]:
            engine = self.engine
            agent = agent_by_id(tx, engine.access, "main")
            lane = lane_of(tx, engine.access, SessionKey.of("main", at))
            assert agent is not None
            assert lane is not None
            access = msgspec.structs.replace(engine.access, kind="agent", actor_id="main", agent_id="main")
            caller = caller_at(tx, ToolServices(settings=AGENT, rules=engine.rules), access, agent, lane)
            found = CATALOG.find(tool)
            return found.act(tx, caller, found.read_params(json.dumps(arguments))).value

        return await self.engine.db.read(work)


@pytest.fixture
async def caller(store_url: str) -> AsyncIterator[MainAgent]:
    async with open_engine(store_url, clock=FakeClock()) as engine:
        opened = MainAgent(engine)
        await opened.lane("main")
        yield opened


def keys(answer: dict[str, Any]) -> list[str]:
    return sorted(row["key"] for row in answer["sessions"])


@requirement("S2.list.kinds", "S2.x.kind.prefixed", "S2.key.internal")
async def test_kinds_filter_rows_and_unknown_kinds_are_ignored(caller: MainAgent) -> None:
    cron, hook = await caller.lane("cron:nightly"), await caller.lane("hook:h1")
    node, group = await caller.lane("node-n1"), await caller.lane("telegram:group:g1")
    others = [await caller.lane(rest) for rest in ("web:chat-00000001", "task:task_1", "subagent:u1")]
    assert keys(await caller.ask("sessions_list", kinds=["cron"])) == [cron]
    assert keys(await caller.ask("sessions_list", kinds=["hook", "node"])) == sorted([hook, node])
    assert keys(await caller.ask("sessions_list", kinds=["group", "nonsense"])) == [group]
    assert keys(await caller.ask("sessions_list", kinds=["other"])) == sorted(others)
    assert keys(await caller.ask("sessions_list", kinds=["main"])) == ["main"]
    assert (await caller.ask("sessions_list", kinds=["nonsense"]))["count"] == 8


@requirement("S2.key.internal")
@pytest.mark.parametrize("rest", ["cron:nightly", "hook:h1", "node-n1"])
async def test_a_short_key_of_a_schedule_a_hook_or_a_node_names_a_lane_of_the_calling_agent(
    caller: MainAgent, rest: str
) -> None:
    await caller.engine.make_agent("other")
    await caller.lane(rest, agent="other")
    with pytest.raises(Refusal):
        await caller.ask("session_status", sessionKey=rest)
    own = await caller.lane(rest)
    assert (await caller.ask("session_status", sessionKey=rest))["sessionKey"] == own


@requirement("S2.key.group")
@pytest.mark.parametrize("rest", ["telegram:group:g1", "discord:channel:c1"])
async def test_a_room_is_named_by_its_full_key_in_every_tool(caller: MainAgent, rest: str) -> None:
    key = await caller.lane(rest)
    await caller.said(rest, ("user", "hello room"))
    told = await caller.ask("sessions_history", sessionKey=key)
    assert (told["sessionKey"], told["messages"][0]["content"][0]["text"]) == (key, "hello room")
    assert (await caller.ask("session_status", sessionKey=key))["sessionKey"] == key
    assert key in keys(await caller.ask("sessions_list"))


@requirement("S2.list.limit", "S2.list.active")
async def test_a_list_is_bounded_and_can_be_limited_to_recent_sessions(caller: MainAgent) -> None:
    caller.engine.advance(600)
    for n in range(60):
        await caller.lane(f"task:task_{n}")
    assert (await caller.ask("sessions_list"))["count"] == 50
    assert (await caller.ask("sessions_list", limit=0))["count"] == 1
    assert (await caller.ask("sessions_list", limit=9_999))["count"] == 61
    assert (await caller.ask("sessions_list", limit=200, activeMinutes=5))["count"] == 60
    with pytest.raises(Refusal):
        await caller.ask("sessions_list", activeMinutes=0)


# Every field of a row.
ROW_FIELDS = {
    "key", "kind", "channel", "updatedAt", "sessionId", "model", "contextTokens", "totalTokens", "thinkingLevel",
    "verboseLevel", "systemSent", "abortedLastRun", "lastChannel", "lastTo", "transcriptPath", "displayName",
    "sendPolicy", "deliveryContext", "label", "messages",
}  # fmt: skip


@requirement("S2.list.messages", "S2.list.notools", "S2.list.row", "S2.list.transcript", "S2.channel", "S2.key.main")
async def test_a_row_shows_a_session_and_its_last_messages_without_tool_results(caller: MainAgent) -> None:
    await caller.lane("web:chat-00000001", last_channel="web", last_to="b1", label="a chat")
    session = await caller.said("web:chat-00000001", ("user", "one"), ("toolResult", "{}"), ("assistant", "two"))
    rows = {row["key"]: row for row in (await caller.ask("sessions_list", messageLimit=2))["sessions"]}
    row = rows["agent:main:web:chat-00000001"]
    assert [message["content"][0]["text"] for message in row["messages"]] == ["one", "two"]
    assert (row["sessionId"], row["transcriptPath"]) == (session, f"/api/sessions/{session}/history")
    assert (row["channel"], row["label"], row["deliveryContext"]["to"]) == ("webchat", "a chat", "b1")
    assert isinstance(row["updatedAt"], int)
    assert set(row) == ROW_FIELDS
    assert "main" in rows
    assert "messages" not in (await caller.ask("sessions_list"))["sessions"][0]


@requirement("S2.channel")
async def test_automatic_lanes_are_internal_and_unused_ones_unknown(caller: MainAgent) -> None:
    cron, task = await caller.lane("cron:nightly"), await caller.lane("task:task_1")
    channels = {row["key"]: row["channel"] for row in (await caller.ask("sessions_list"))["sessions"]}
    assert (channels[cron], channels[task]) == ("internal", "unknown")


@requirement("S2.history.key", "S2.history.limit", "S2.history.tools", "S2.history.raw", "S2.key.current")
async def test_a_history_has_the_newest_messages_oldest_first(caller: MainAgent) -> None:
    session = await caller.said("main", ("user", "one"), ("toolResult", "{}"), ("assistant", "two"), ("user", "three"))
    told = await caller.ask("sessions_history", sessionKey="current")
    assert [message["content"][0]["text"] for message in told["messages"]] == ["one", "two", "three"]
    assert (told["sessionKey"], told["sessionId"]) == ("main", session)
    for reference in ("main", "agent:main:main", session):
        assert await caller.ask("sessions_history", sessionKey=reference) == told, reference
    assert set(told["messages"][0]) == {"id", "role", "content", "timestamp", "runId", "provenance"}
    newest = await caller.ask("sessions_history", sessionKey="main", limit=1)
    assert [message["content"][0]["text"] for message in newest["messages"]] == ["three"]
    with_tools = await caller.ask("sessions_history", sessionKey="main", includeTools=True)
    assert [message["role"] for message in with_tools["messages"]] == ["user", "toolResult", "assistant", "user"]


@requirement("S2.history.key")
async def test_a_missing_session_is_named_in_the_refusal(caller: MainAgent) -> None:
    missing = "ses_" + "0" * 26
    with pytest.raises(Refusal, match=missing):
        await caller.ask("sessions_history", sessionKey=missing)


@requirement("S2.x.history.caps")
async def test_long_texts_are_clipped_old_messages_dropped_and_secrets_redacted(caller: MainAgent) -> None:
    secret = "crl_owner_abc_" + "0" * 64
    lines = [("user", f"{n} " + "word " * 1_200) for n in range(40)]
    await caller.said("main", *lines, ("assistant", f"the token is {secret}"))
    told = await caller.ask("sessions_history", sessionKey="main")
    assert (told["truncated"], told["contentTruncated"], told["contentRedacted"]) == (True, True, True)
    assert told["droppedMessages"] + len(told["messages"]) == 41
    assert told["messages"][-1]["content"][0]["text"] == "the token is [redacted]"
    assert all(len(message["content"][0]["text"]) <= TOOL_MESSAGE_CHARS_MAX for message in told["messages"])
    assert len(msgspec.json.encode(told)) <= TOOL_RESULT_BYTES_MAX
    assert secret not in json.dumps(await caller.ask("sessions_list", messageLimit=5))


@requirement("S2.spawn.discovery")
async def test_agents_list_shows_spawnable_agents_the_caller_first(engine: Engine) -> None:
    caller = MainAgent(engine)
    await caller.lane("main")
    for name in ("zoe", "ann"):
        await engine.db.write(partial(_make, engine=engine, name=name))
    assert [agent["id"] for agent in (await caller.ask("agents_list"))["agents"]] == ["main"]
    rules = SubagentRules(allow_agents=("*",))
    await engine.db.write(lambda tx: _allow(tx, rules))
    told = await caller.ask("agents_list")
    assert [agent["id"] for agent in told["agents"]] == ["main", "ann", "zoe"]
    assert (told["requester"], told["allowAny"]) == ("main", True)


@requirement("A.roster")
async def test_agents_list_shows_apart_who_can_be_asked_and_given_tasks(engine: Engine) -> None:
    caller = MainAgent(engine)
    await caller.lane("main")
    await engine.db.write(lambda tx: make_agent(tx, engine.access, "ann", "Ann", Profile(description="Draws.")))
    new = NewTask(title="Draw a map", assigned_agent_ids=("ann",))
    await engine.db.write(lambda tx: create_task(tx, person(engine.access), new, engine.rules))
    told = await caller.ask("agents_list")
    assert [agent["id"] for agent in told["agents"]] == ["main"]
    assert told["team"] == [{"slug": "ann", "name": "Ann", "description": "Draws.", "openTasks": 1}]


def _make(tx: Tx, engine: Engine, name: str) -> None:
    make_agent(tx, engine.access, name, name.title(), Profile())


def _allow(tx: Tx, rules: SubagentRules) -> None:
    profile = msgspec.json.encode(Profile(subagents=rules)).decode()
    tx.run("UPDATE agents SET profile = :profile WHERE id = 'main'", profile=profile)


@requirement("S2.visibility.everywhere", "S3.id.sessionid")
async def test_an_ambiguous_name_means_the_visible_session(caller: MainAgent) -> None:
    await caller.engine.make_agent("other")
    for rest in ("web:chat-00000001", "web:chat-00000002", "cli:chat-00000002"):
        await caller.lane(rest, agent="other")
    mine = await caller.lane("web:chat-00000001")
    assert (await caller.ask("sessions_history", sessionKey="chat-00000001"))["sessionKey"] == mine
    with pytest.raises(Refusal) as hidden:
        await caller.ask("sessions_history", sessionKey="chat-00000002")
    assert hidden.value.code == Code.NOT_FOUND, "whether others have a chat of that name stays unknown"
    also_mine = await caller.lane("cli:chat-00000001")
    with pytest.raises(Refusal) as ambiguous:
        await caller.ask("session_status", sessionKey="chat-00000001")
    assert ambiguous.value.code == Code.AMBIGUOUS_SESSION
    assert ambiguous.value.details == {"sessionKeys": sorted([mine, also_mine])}
