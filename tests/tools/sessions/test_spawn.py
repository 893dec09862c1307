"""sessions_spawn: an accepted spawn creates a lane and a queued run at once; a refused one creates nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from carrel.agents import SubagentRules
from carrel.kernel import Refusal
from carrel.kernel.settings import (
    AgentDefaultsSettings,
    AgentsSettings,
    SendMatch,
    SendPolicySettings,
    SendRule,
    SessionsSettings,
    Settings,
    SubagentDefaultsSettings,
)
from carrel.tools import CATALOG
from tests.harness.server import gateways_to
from tests.requirements.mark import requirement
from tests.scripted_gateway import MODEL, ScriptedGateway
from tests.tools.spawning import Requester, open_requester, requester_at, settings_in


@pytest.fixture
async def requester(store_url: str, tmp_path: Path) -> AsyncIterator[Requester]:
    async with open_requester(store_url, settings_in(tmp_path)) as opened:
        yield opened


def subagents(folder: Path, **defaults: Any) -> Settings:
    """Return settings with other defaults for sub-agents."""
    changed = SubagentDefaultsSettings(**defaults)
    return settings_in(folder, agents=AgentsSettings(defaults=AgentDefaultsSettings(subagents=changed)))


@requirement("S2.spawn.accepted", "S2.spawn.key", "S2.spawn.label", "S2.spawn.mode")
async def test_a_spawn_is_accepted_before_its_child_starts(requester: Requester) -> None:
    answer = await requester.spawn(label="sheep")
    assert answer["status"] == "accepted"
    assert answer["mode"] == "run"
    assert answer["childSessionKey"].startswith("agent:main:subagent:")
    run = await requester.server.run(answer["runId"])
    assert (run.state, run.text, run.key) == ("queued", "count the sheep", answer["childSessionKey"])
    assert (run.source().kind, run.source().source_session_key) == ("spawn", "agent:main:main")
    assert run.channel == "internal", "nothing that the child says goes out on a channel"
    lane = await requester.lane(answer["childSessionKey"])
    assert (lane.spawned_by, lane.label, run.label) == ("agent:main:main", "sheep", "sheep")
    listed = await requester.call("sessions_list", {})
    assert "sheep" in [row["label"] for row in listed["sessions"]]


@requirement("S2.spawn.task", "S2.spawn.thinking", "S2.spawn.mode")
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"task": ""},
        {"task": " \n"},
        {"task": "x", "thinking": "very hard"},
        {"task": "x", "mode": "session"},
        {"task": "x", "mode": "for ever"},
        {"task": "x", "cleanup": "burn"},
        {"task": "x", "sandbox": "maybe"},
        {"task": "x", "runTimeoutSeconds": -1},
        {"task": "x", "channel": "telegram"},
        {"task": "x", "attachments": [{"name": "a"}]},
        {"task": "x", "attachments": [{"name": "a", "content": "b", "encoding": "rot13"}]},
    ],
)
async def test_invalid_values_are_refused_and_create_nothing(requester: Requester, wrong: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        await requester.call("sessions_spawn", wrong)
    assert refused.value.code == "invalid_params"
    assert await requester.lanes() == []


@requirement("S2.spawn.mode")
async def test_a_session_that_lasts_needs_a_thread_and_the_refusal_names_the_mode(requester: Requester) -> None:
    with pytest.raises(Refusal) as refused:
        await requester.call("sessions_spawn", {"task": "x", "mode": "session"})
    assert refused.value.field == "mode"


@requirement("S2.spawn.agent", "S2.spawn.discovery", "S2.x.agentid.strict")
async def test_exactly_the_listed_agents_can_be_spawned(requester: Requester) -> None:
    server = requester.server
    for name in ("baker", "cook", "gone"):
        await server.make_agent(name)
    await server.make_agent("chef", subagents=SubagentRules(allow_agents=("baker", "gone", "nobody")))
    await server.make_agent("king", subagents=SubagentRules(allow_agents=("*",)))
    await server.db.write(lambda tx: tx.run("UPDATE agents SET enabled = 0 WHERE id = 'gone'"))
    everyone = ("main", "baker", "cook", "gone", "chef", "king", "nobody", "Baker", "ba ker", "", "../baker", "x" * 65)
    for requesting, accepted in (
        ("main", {"main"}),
        ("chef", {"chef", "baker"}),
        ("king", {*everyone[:3], "chef", "king"}),
    ):
        caller = await requester_at(server, requesting)
        listed = await caller.call("agents_list", {})
        assert {row["id"] for row in listed["agents"]} == accepted
        assert listed["agents"][0]["id"] == requesting
        for name in everyone:
            answer = await caller.spawn(agentId=name)
            expected = ("accepted", None) if name in accepted else ("forbidden", "agent_not_allowed")
            assert (answer["status"], answer.get("code")) == expected, f"{requesting} spawning {name!r}"
            if answer["status"] == "accepted":
                assert answer["childSessionKey"].startswith(f"agent:{name}:subagent:")
                await caller.server.cancel(answer["runId"])
    agents = await server.read(
        lambda tx: tx.one("SELECT count(*) FROM agents WHERE account_id = :a", a=server.access.account_id)
    )
    assert agents == (6,), "no wrong id became an agent"


@requirement("S2.spawn.model", "S2.spawn.thinking")
async def test_the_model_must_be_one_of_the_gateway(sqlite_url: str, tmp_path: Path) -> None:
    with ScriptedGateway() as gateway:
        gateways = gateways_to(gateway, model="own", models=("spare",))
        settings = settings_in(tmp_path, gateway=gateways)
        async with open_requester(sqlite_url, settings, gateways) as requester:
            for model in ("own", "spare", MODEL):
                answer = await requester.spawn(model=model, thinking="high")
                lane = await requester.lane(answer["childSessionKey"])
                assert (lane.model, lane.thinking_level) == (model, "high")
            before = await requester.lanes()
            answer = await requester.spawn(model="no-such-model")
            assert (answer["status"], answer["code"]) == ("error", "unknown_model")
            assert await requester.lanes() == before


@requirement("S2.spawn.model")
async def test_an_unreachable_gateway_offers_only_its_configured_models(sqlite_url: str, tmp_path: Path) -> None:
    with ScriptedGateway() as gateway:
        gateways = gateways_to(gateway, model="own")
    async with open_requester(sqlite_url, settings_in(tmp_path, gateway=gateways), gateways) as requester:
        assert (await requester.spawn(model="own"))["status"] == "accepted"
        answer = await requester.spawn(model="other")
        assert (answer["status"], answer["code"]) == ("error", "unknown_model")


@requirement("S2.spawn.timeout")
async def test_a_childs_time_limit_is_its_own_the_agents_or_the_default(sqlite_url: str, tmp_path: Path) -> None:
    async with open_requester(sqlite_url, subagents(tmp_path, run_timeout_seconds=40)) as requester:
        server = requester.server
        await server.make_agent("slow", subagents=SubagentRules(run_timeout_seconds=20))
        slow = await requester_at(server, "slow")
        cases: list[tuple[Requester, dict[str, Any], int]]
        cases = [(requester, {}, 40), (slow, {}, 20), (slow, {"runTimeoutSeconds": 7}, 7)]
        for caller, given, expected in cases:
            run = await caller.server.run((await caller.spawn(**given))["runId"])
            assert run.timeout_ms == expected * 1000
        unlimited = await requester.server.run((await requester.spawn(runTimeoutSeconds=0))["runId"])
        assert unlimited.timeout_ms == 0, "0 is no limit, not even that of other runs"


@requirement("S2.spawn.timeout")
async def test_without_any_setting_a_child_has_no_limit(requester: Requester) -> None:
    run = await requester.server.run((await requester.spawn())["runId"])
    assert run.timeout_ms == 0


@requirement("S2.spawn.thread", "S2.spawn.mode")
async def test_a_channel_without_threads_refuses_one(requester: Requester) -> None:
    for mode in ({}, {"mode": "run"}, {"mode": "session"}):
        answer = await requester.spawn(thread=True, **mode)
        assert (answer["status"], answer["code"]) == ("error", "thread_unsupported")
        assert answer["mode"] == mode.get("mode", "session")
    assert await requester.lanes() == []


@requirement("S2.spawn.sandbox.require", "S2.spawn.sandbox.guard")
async def test_a_sandbox_can_be_required_and_is_never_left(requester: Requester) -> None:
    server = requester.server
    await server.make_agent("boxed", sandbox="on", subagents=SubagentRules(allow_agents=("*",)))
    await server.make_agent("free", subagents=SubagentRules(allow_agents=("*",)))
    boxed, free = await requester_at(server, "boxed"), await requester_at(server, "free")
    for caller, wanted, sandbox, expected in (
        (free, "free", "inherit", 0),
        (free, "boxed", "inherit", 1),
        (free, "boxed", "require", 1),
        (free, "free", "require", None),
        (boxed, "boxed", "inherit", 1),
        (boxed, "boxed", "require", 1),
        (boxed, "free", "inherit", None),
        (boxed, "free", "require", None),
    ):
        answer = await caller.spawn(agentId=wanted, sandbox=sandbox)
        if expected is None:
            assert (answer["status"], answer["code"]) == ("forbidden", "sandbox_required")
        else:
            assert (await caller.lane(answer["childSessionKey"])).sandboxed == expected


@requirement("S2.spawn.discovery")
async def test_a_sandboxed_agent_is_shown_only_agents_that_stay_in_a_sandbox(requester: Requester) -> None:
    server, anybody = requester.server, SubagentRules(allow_agents=("*",))
    for name, sandbox in (("boxed", "on"), ("crate", "on"), ("free", "off")):
        await server.make_agent(name, sandbox=sandbox, subagents=anybody)
    for name, listed in (("boxed", ["boxed", "crate"]), ("free", ["free", "boxed", "crate", "main"])):
        caller = await requester_at(server, name)
        shown = [agent["id"] for agent in (await caller.call("agents_list", {}))["agents"]]
        assert shown == listed
        for agent_id in ("boxed", "crate", "free", "main"):
            answer = await caller.spawn(agentId=agent_id)
            assert (answer["status"] == "accepted") is (agent_id in listed), (name, agent_id)


@requirement("S2.x.children.limit")
async def test_a_lane_has_a_limited_number_of_live_children(store_url: str, tmp_path: Path) -> None:
    async with open_requester(store_url, subagents(tmp_path, max_children=2)) as requester:
        server = requester.server
        first = await requester.spawn()
        await requester.spawn()
        answer = await requester.spawn()
        assert (answer["status"], answer["code"]) == ("forbidden", "children_limit")
        assert len(await requester.lanes()) == 2
        other = await requester_at(server, "main", "task:task_1")
        assert (await other.spawn())["status"] == "accepted", "another lane counts its own"
        await requester.server.cancel(first["runId"])
        assert (await requester.spawn())["status"] == "accepted", "what has ended is no longer counted"
        await server.make_agent("busy", subagents=SubagentRules(max_children=3))
        busy = await requester_at(server, "busy")
        assert [(await busy.spawn())["status"] for _ in range(4)] == [*["accepted"] * 3, "forbidden"]


@requirement("S2.x.children.limit")
async def test_concurrent_calls_do_not_exceed_the_limit(store_url: str, tmp_path: Path) -> None:
    async with open_requester(store_url, subagents(tmp_path, max_children=3)) as requester:
        answers = await asyncio.gather(*(requester.spawn() for _ in range(10)))
        assert sorted(answer["status"] for answer in answers) == [*["accepted"] * 3, *["forbidden"] * 7]
        assert len(await requester.lanes()) == 3


@requirement("S2.spawn.nonest", "S2.spawn.notools")
async def test_a_child_is_neither_offered_nor_allowed_to_spawn(requester: Requester) -> None:
    answer = await requester.spawn()
    rest = answer["childSessionKey"].removeprefix("agent:main:")
    child = await requester_at(requester.server, "main", rest)
    offered = {tool.name for tool in child.toolset.offered()}
    hidden = {"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "agents_list"}
    assert not offered & hidden
    assert offered >= {tool.name for tool in requester.toolset.offered()} - hidden
    with pytest.raises(Refusal) as refused:
        await child.spawn()
    assert refused.value.code == "tool_not_allowed"
    again = await child.call("sessions_spawn", {"task": "one more"}, CATALOG)
    assert again["status"] == "forbidden"
    assert len(await requester.lanes()) == 1


async def test_a_lane_that_accepts_no_messages_is_not_created(sqlite_url: str, tmp_path: Path) -> None:
    rule = SendRule(action="deny", match=SendMatch(key_prefix="subagent:"))
    sessions = SessionsSettings(send_policy=SendPolicySettings(rules=(rule,)))
    async with open_requester(sqlite_url, settings_in(tmp_path, sessions=sessions)) as requester:
        answer = await requester.spawn()
        assert (answer["status"], answer["code"]) == ("forbidden", "send_denied")
        assert await requester.lanes() == []


@requirement("S2.subannounce.posts")
async def test_a_spawn_records_its_requester_in_the_same_transaction(requester: Requester) -> None:
    server = requester.server
    person = await requester_at(server, "main", "main", kind="owner")
    for caller, cleanup, wakes in ((requester, "keep", 1), (requester, "delete", 1), (person, "keep", 0)):
        answer = await caller.spawn(cleanup=cleanup)
        exchange = await caller.exchange(answer["runId"])
        assert (exchange.kind, exchange.state, exchange.step) == ("spawn", "open", "primary")
        assert (exchange.requester_key, exchange.target_key) == ("agent:main:main", answer["childSessionKey"])
        assert (exchange.cleanup, exchange.wakes) == (cleanup, wakes)
