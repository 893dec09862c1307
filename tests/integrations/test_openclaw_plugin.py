"""The OpenClaw plugin, run by Node against a real server: its settings, tools and outbox, and how it is shipped."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from carrel.bridge.settings import BridgeSettings
from tests.bridge.road import Road
from tests.integrations.openclaw import NODE, PLUGIN, SECONDS_MAX, Host, Json, recording

SESSION = "agent:main:discord:channel:42"
HostOf = Callable[..., Host]


def texts(road: Road) -> list[str]:
    return [entry["content"] for entry in road.entries]


def write(host: Host, text: str, at: int, role: str = "user", session: str = SESSION, **more: Any) -> None:
    message = {"role": role, "content": text, "timestamp": at, "idempotencyKey": f"k{at}"} | more
    host.fire("before_message_write", {"message": message}, sessionKey=session, agentId="main")


def test_a_turn_of_a_runtime_that_writes_no_transcript_is_recorded_at_its_end(road: Road, host: Host) -> None:
    answer = [{"type": "toolCall"}, {"type": "text", "text": "Twelve."}]
    messages = [
        {"role": "assistant", "content": "An answer of before.", "timestamp": 1},
        {"role": "user", "content": "how many sheep?", "timestamp": 2},
        {"role": "assistant", "content": answer, "timestamp": 3},
        {"role": "toolResult", "content": "ok", "timestamp": 4},
    ]
    host.fire("agent_end", {"messages": messages}, sessionKey=SESSION, agentId="main")
    host.fire("agent_end", {"messages": messages}, sessionKey="agent:main:beat", trigger="heartbeat")
    road.wait_for(2)
    assert texts(road) == ["how many sheep?", "Twelve."]


def test_control_text_and_contexts_are_not_recorded(road: Road, host: Host) -> None:
    road.ask("POST", "/api/topics", {"id": "topic-1", "name": "Launch"})
    control = ("HEARTBEAT_OK", "[cron:1] back up", "[Subagent Context] You are", "NO_REPLY", " ")
    for at, text in enumerate(control):
        write(host, text, at)
        write(host, text, at, "assistant")
    write(host, "Another session says", 20, provenance={"kind": "inter_session"})
    chat = "agent:main:clawboard:topic:topic-1"
    write(host, "hi", 21, session=chat)
    write(host, "[CLAWBOARD_CONTEXT_BEGIN]\nx\n[CLAWBOARD_CONTEXT_END]\n\nhi yourself", 22, "assistant", chat)
    road.wait_for(1)
    host.stop()
    assert texts(road) == ["hi yourself"]
    assert road.entries[0]["source"]["sessionKey"] == "clawboard:topic:topic-1"


def test_the_conversation_of_a_session_has_its_thread_and_outlives_the_gateway(road: Road, host_of: HostOf) -> None:
    host = host_of()
    received = {"content": "hi", "sessionKey": SESSION, "threadId": 7}
    host.fire("message_received", received, registration=1, conversationId="c42", channelId="discord")
    write(host, "hi", 1)
    host.kill()
    write(host_of(), "hi again", 2)
    road.wait_for(2)
    assert {entry["source"]["sessionKey"] for entry in road.entries} == {"c42|thread:7"}


def test_what_looks_like_a_secret_in_a_tool_call_stays_at_the_gateway(road: Road, host: Host) -> None:
    where: Json = {"sessionKey": SESSION, "agentId": "main"}
    params = {"of": "sheep", "apiKey": "hush", "header": "Bearer abcdefghijklmnopqrstuvwxyz"}
    host.fire("before_tool_call", {"toolName": "count", "params": params, "toolCallId": "t"}, **where)
    host.fire("after_tool_call", {"toolName": "count", "error": "no hay", "toolCallId": "t"}, **where)
    road.wait_for(2)
    assert texts(road) == ["Tool call: count", "Tool error: count: no hay"]
    assert "sheep" in road.entries[0]["raw"]
    assert "hush" not in json.dumps(road.entries)
    assert "abcdefgh" not in json.dumps(road.entries)


def test_the_context_is_fetched_once_in_a_turn(road: Road, host_of: HostOf) -> None:
    for number in range(20):
        source = {"sessionKey": f"openclaw:{SESSION}"}
        road.ask("POST", "/api/log", {"type": "conversation", "content": f"{number} sheep are white", "source": source})
    host = host_of(contextMaxChars=400)
    ask = {"prompt": "how many sheep?", "messages": []}
    first = host.fire("before_prompt_build", ask, sessionKey=SESSION)
    assert host.fire("before_prompt_build", ask, registration=3, sessionKey=SESSION) == first
    assert "sheep are white" in first["prependContext"]
    assert 300 < len(first["prependContext"]) <= 400
    assert first["prependContext"].startswith("[CLAWBOARD_CONTEXT_BEGIN]\n")
    (asked,) = road.contexts
    assert (asked["q"], asked["topicLimit"], asked["logLimit"]) == ("how many sheep?", "3", "6")
    host.fire("agent_end", {"messages": []}, sessionKey=SESSION)
    host.fire("before_prompt_build", ask, sessionKey=SESSION)
    assert len(road.contexts) == 2
    road.away()
    host.fire("agent_end", {"messages": []}, sessionKey=SESSION)
    assert host.fire("before_prompt_build", ask, sessionKey=SESSION) is None
    road.back()


@pytest.mark.parametrize("config", [{"enabled": False}, {"contextAugment": False}])
def test_the_plugin_can_be_turned_off(road: Road, host_of: HostOf, config: Json) -> None:
    assert host_of(**config).fire("before_prompt_build", {"prompt": "hi"}, sessionKey=SESSION) is None
    assert road.contexts == []


def test_settings_come_from_the_environment_where_the_configuration_is_silent(road: Road, host_of: HostOf) -> None:
    environment = {
        "CLAWBOARD_LOGGER_BASE_URL": road.url,
        "CLAWBOARD_LOGGER_CONTEXT_MODE": "cheap",
        "CLAWBOARD_LOGGER_CONTEXT_MAX_CHARS": "900",
        "CLAWBOARD_LOGGER_CONTEXT_LOG_LIMIT": "many",
        "CLAWBOARD_LOGGER_IGNORE_SESSION_PREFIXES": "discord:, agent:main:probe",
    }
    host = host_of(environment, baseUrl=None, contextTopicLimit=1, contextMode="full")
    for session in (SESSION, "agent:main:probe:1", "agent:main:telegram:7"):
        host.fire("before_prompt_build", {"prompt": "hi"}, sessionKey=session)
    (asked,) = road.contexts
    assert asked["sessionKey"] == "openclaw:agent:main:telegram:7"
    assert (asked["mode"], asked["topicLimit"], asked["logLimit"]) == ("full", "1", "6")
    assert 700 < int(asked["maxChars"]) < 900


def test_agents_use_the_board_through_the_tools_of_the_plugin(road: Road, host: Host) -> None:
    road.ask("POST", "/api/topics", {"id": "topic-1", "name": "Farm"})
    task = road.ask("POST", "/api/tasks", {"title": "Count hens", "topicId": "topic-1"})["task"]["id"]
    said = {"type": "conversation", "content": "The gate is green", "topicId": "topic-1"}
    log = road.ask("POST", "/api/log", said)["log"]["id"]
    where = {"sessionKey": SESSION, "agentId": "shepherd"}
    assert host.searched("gate", **where) == ["The gate is green"]
    assert "Count hens" in host.call("clawboard_context", {"q": "hens", "mode": "full"}, **where)["block"]
    assert host.call("clawboard_get_topic", {"id": "topic-1"}, **where)["topic"]["name"] == "Farm"
    assert host.call("clawboard_get_log", {"id": log}, **where)["log"]["content"] == "The gate is green"
    note = host.call("clawboard_create_note", {"relatedLogId": log, "text": "Gates are green"}, **where)["log"]
    assert (note["type"], note["agentId"], note["topicId"]) == ("note", "shepherd", "topic-1")
    host.call("clawboard_update_task", {"id": task, "status": "in_progress"}, **where)
    assert host.call("clawboard_get_task", {"id": task}, **where)["task"]["status"] == "in_progress"


def test_a_tool_that_fails_says_why_in_words(road: Road, host: Host) -> None:
    where = {"sessionKey": SESSION, "agentId": "main"}
    assert "no such task" in host.call("clawboard_get_task", {"id": "nope"}, **where)["error"]
    assert host.call("clawboard_search", {}, **where) == {"error": "clawboard_search needs q."}
    road.away()
    missed = host.call("clawboard_get_topic", {"id": "topic-1"}, **where)
    assert missed == {"error": "Carrel cannot be reached; go on without it, or try again later."}
    road.back()


def test_a_session_that_carrel_has_opened_gets_no_tools_of_the_plugin(host: Host) -> None:
    (own, classifier) = sorted({hook["where"]["sessionKey"] for hook in recording("own_sessions")})
    for session in (own, classifier):
        assert host.call("clawboard_search", {"q": "x"}, sessionKey=session) == {"missing": "clawboard_search"}


def test_each_session_gets_one_topic_where_that_is_wanted(road: Road, host_of: HostOf) -> None:
    host = host_of(autoTopicBySession=True, queue=True)
    for at, name in enumerate(("a", "b", "a")):
        write(host, "hi", at, session=f"agent:main:{name}")
    road.wait_for(3)
    named = [(f"openclaw:agent:main:{name}", ["openclaw"]) for name in "ab"]
    assert [(topic["name"], topic["tags"]) for topic in road.topics.values()] == named
    assert {path for method, path in road.asked if method == "POST"} == {"/api/ingest", "/api/topics"}


def test_what_was_recorded_survives_a_kill_and_the_absence_of_the_server(
    road: Road, host_of: HostOf, tmp_path: Path
) -> None:
    road.away()
    host = host_of()
    for number in range(20):
        write(host, f"line {number}", number)
    host.kill()
    assert (tmp_path / "queue.sqlite").stat().st_mode & 0o077 == 0
    road.back()
    road.lose_answers(2)
    write(host_of(), "line 20", 20)
    road.wait_for(21)
    assert texts(road) == [f"line {number}" for number in range(21)]
    assert road.repeated > 0


def test_a_process_that_only_registers_the_plugin_leaves_the_outbox_alone(host: Host, tmp_path: Path) -> None:
    assert host.call("clawboard_search", {}, sessionKey=SESSION)
    assert not (tmp_path / "queue.sqlite").exists()


def test_the_manifest_names_every_setting_of_the_bridge() -> None:
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text())
    known = manifest["configSchema"]["properties"]
    defaults = {re.sub(r"_(\w)", lambda found: found[1].upper(), f.name): f.default for f in fields(BridgeSettings)}
    assert known.keys() == defaults.keys() | {"ignoreSessionPrefixes"}
    for name in defaults.keys() - {"baseUrl", "token", "queuePath"}:
        # OpenClaw would put a default of the schema in place of what the environment says.
        assert known[name]["description"] == f"default: {json.dumps(defaults[name])}"
        assert "default" not in known[name]


def test_the_manifest_names_every_tool_that_is_registered(host: Host) -> None:
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text())
    named = re.findall(r'name: "(clawboard_\w+)"', (PLUGIN / "src" / "tools.ts").read_text())
    assert manifest["contracts"]["tools"] == named
    assert len(named) == 7


def test_the_javascript_that_is_shipped_is_what_the_sources_are_built_to(tmp_path: Path) -> None:
    built, shipped = tmp_path / "dist", PLUGIN / "dist"
    subprocess.run([str(NODE), str(PLUGIN / "build.mjs"), str(built)], check=True, timeout=SECONDS_MAX)
    assert {path.name: path.read_text() for path in built.iterdir()} == {
        path.name: path.read_text() for path in shipped.iterdir()
    }
