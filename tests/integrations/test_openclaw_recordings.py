"""What the real OpenClaw gateway does, replayed to the plugin and a real server: each message is one entry."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from carrel.bridge import read_openclaw
from tests.bridge.road import Road
from tests.integrations.openclaw import Host, Json, recording

CHANNEL_SESSION = "agent:main:a2a:default:direct:hermes:barn"


def said(road: Road) -> list[tuple[str, str]]:
    found = [entry for entry in road.entries if entry["type"] == "conversation"]
    return [(entry["agentId"], entry["content"]) for entry in found]


def written(hooks: list[Json]) -> list[Json]:
    return [hook for hook in hooks if hook["hook"] == "before_message_write"]


def test_a_turn_of_a_channel_is_recorded_once_under_its_conversation(road: Road, host: Host) -> None:
    hooks = recording("channel_turn")
    assert [hook["registration"] for hook in hooks] == [1, 2, 2, 2, 2, 2, 1]
    host.replay(hooks)
    road.wait_for(2)
    host.stop()
    assert said(road) == [("user", "How many cows?"), ("main", "answer 10")]
    assert {(entry["source"]["sessionKey"], entry["source"]["channel"]) for entry in road.entries} == {
        ("a2a:hermes", "a2a")
    }
    assert road.contexts[0]["sessionKey"] == "a2a:hermes"


@pytest.mark.parametrize("order", ["backwards", "doubled"])
def test_neither_the_order_nor_the_number_of_hooks_changes_what_is_recorded(road: Road, host: Host, order: str) -> None:
    first, *rest = recording("channel_turn")
    host.replay([first, *(rest[::-1] if order == "backwards" else [*rest, *rest])])
    road.wait_for(2)
    host.stop()
    assert sorted(said(road)) == [("main", "answer 10"), ("user", "How many cows?")]


def test_a_turn_over_http_is_recorded_under_its_session(road: Road, host: Host) -> None:
    host.replay(recording("http_turn"))
    road.wait_for(2)
    host.stop()
    assert said(road) == [("user", "How many goats?"), ("main", "answer 4")]
    assert {entry["source"]["sessionKey"] for entry in road.entries} == {"openclaw:agent:main:goats"}


def test_a_tool_of_the_catalogue_is_recorded_by_its_own_name(road: Road, host: Host) -> None:
    host.replay(recording("tools"))
    road.wait_for(8)
    host.stop()
    actions = [entry["content"] for entry in road.entries if entry["type"] == "action"]
    assert actions == [
        *("Tool call: exec", "Tool result: exec"),
        *("Tool call: session_status", "Tool result: session_status"),
    ]
    assert len(said(road)) == 4


def test_a_model_that_dies_repeats_neither_the_question_nor_an_answer(road: Road, host: Host) -> None:
    hooks = recording("dying_model")
    assert len(written(hooks)) == 18
    host.replay(hooks)
    road.wait_for(3)
    host.stop()
    assert said(road) == [("user", "Please DIE now"), ("user", "Are you there again?"), ("main", "answer 16")]


def test_what_carrel_asks_a_gateway_is_neither_recorded_nor_given_a_context(road: Road, host: Host) -> None:
    hooks = recording("own_sessions")
    assert {hook["where"]["sessionKey"] for hook in hooks} == {
        "agent:main:carrel:task:t1:v1",
        "agent:main:internal:clawboard-classifier:abc",
    }
    assert not any(host.replay(hooks))
    host.replay(recording("http_turn"))
    road.wait_for(2)
    host.stop()
    assert [text for _, text in said(road)] == ["How many goats?", "answer 4"]
    assert len(road.contexts) == 1


def test_a_request_of_carrel_is_known_by_its_text_whatever_its_key(road: Road, host: Host) -> None:
    recorded = json.dumps(recording("channel_turn"))
    marked = json.loads(recorded.replace("How many cows?", "[carrel:internal-request] Sort it"))
    assert not any(host.replay(marked))
    host.replay(recording("http_turn"))
    road.wait_for(2)
    host.stop()
    assert [text for _, text in said(road)] == ["How many goats?", "answer 4"]


def test_the_work_of_a_sub_agent_is_under_the_task_of_the_chat_that_spawned_it(road: Road, host: Host) -> None:
    road.ask("POST", "/api/topics", {"id": "topic-1", "name": "Farm"})
    task = road.ask("POST", "/api/tasks", {"title": "Count hens", "topicId": "topic-1"})["task"]["id"]
    before = len(road.entries)
    host.replay(recording("spawn", TASK=task))
    road.wait_for(before + 6)
    host.stop()
    (child,) = [entry for entry in road.entries if ":subagent:" in str(entry["source"])]
    assert child["source"]["sessionKey"].startswith("openclaw:agent:main:subagent:")
    assert (child["agentId"], child["taskId"], child["topicId"]) == ("main", task, "topic-1")


def test_a_child_of_a_session_of_carrel_is_left_out_as_well(road: Road, host: Host) -> None:
    parent = "agent:main:clawboard:task:topic-1:TASK"
    hooks = json.loads(json.dumps(recording("spawn")).replace(parent, "agent:main:carrel:task:t1:v1"))
    host.replay(hooks)
    host.replay(recording("http_turn"))
    road.wait_for(2)
    host.stop()
    assert [text for _, text in said(road)] == ["How many goats?", "answer 4"]


def test_the_question_of_a_turn_is_not_in_its_own_context(road: Road, host: Host) -> None:
    hooks = recording("channel_turn")
    host.replay(hooks[:2])
    road.wait_for(1)
    # By now the question is on the board, before its context is asked for.
    (context,) = host.replay(hooks[2:3])
    assert " user: How many cows?" not in context["prependContext"]
    (asked,) = road.contexts
    shown = road.ask("GET", "/api/context", None, sessionKey="a2a:hermes", q="How many cows?")["block"]
    assert " user: How many cows?" in shown
    assert asked["withoutKeys"] == road.entries[0]["idempotencyKey"]


def test_an_import_of_what_the_plugin_has_recorded_adds_nothing(road: Road, host: Host, tmp_path: Path) -> None:
    hooks = [*recording("channel_turn"), *recording("dying_model")]
    host.replay(hooks)
    road.wait_for(5)
    host.stop()
    store_of(tmp_path, written(hooks), CHANNEL_SESSION)
    imported = list(read_openclaw(tmp_path, Counter()))
    assert len({entry["idempotencyKey"] for entry in imported}) == 5
    before = road.entries
    for entry in imported:
        road.ask("POST", "/api/log", entry)
    assert road.entries == before


def test_an_import_leaves_out_what_the_plugin_leaves_out(tmp_path: Path) -> None:
    spawned = [hook for hook in written(recording("spawn")) if "subagent" not in hook["where"]["sessionKey"]]
    skipped = Counter[str]()
    store_of(tmp_path, spawned, spawned[0]["where"]["sessionKey"])
    assert {entry["agentId"] for entry in read_openclaw(tmp_path, skipped)} == {"main"}
    assert skipped["messages that the board has recorded itself"] == 1
    told = [hook for hook in spawned if "provenance" in hook["event"]["message"]]
    told[0]["event"]["message"]["idempotencyKey"] = "stored"
    store_of(tmp_path / "other", told, CHANNEL_SESSION)
    assert not list(read_openclaw(tmp_path / "other", skipped))
    assert skipped["messages of other sessions"] == 1


def store_of(home: Path, rows: list[Json], session: str) -> None:
    """Write the store that OpenClaw had after a recording: of several attempts, it keeps the last answer alone."""
    path = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE session_windows (session_id TEXT, session_key TEXT)")
        db.execute("CREATE TABLE transcript_events (session_id, seq, event_json, event_zstd, created_at)")
        db.execute("INSERT INTO session_windows VALUES ('s1', ?)", (session,))
        kept: dict[Any, Json] = {}
        for row in rows:
            message = row["event"]["message"]
            if message["role"] == "assistant" or "idempotencyKey" in message:
                kept[(message["role"], message["timestamp"])] = message
        parent = None
        for seq, message in enumerate(kept.values()):
            event = {"type": "message", "id": f"e{seq}", "parentId": parent, "message": message}
            parent = event["id"]
            db.execute("INSERT INTO transcript_events VALUES ('s1', ?, ?, NULL, 0)", (seq, json.dumps(event)))
