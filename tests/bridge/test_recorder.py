"""The bridge against a real server, on a road that loses what is sent, or its answers."""

import json
from typing import Any

import pytest

from carrel.bridge import Bridge
from carrel.journal import ContextMarks
from tests.bridge.road import Road
from tests.requirements.mark import requirement

SECONDS_MAX = 10.0


def bridge_to(road: Road, path: str, **more: Any) -> Bridge:
    return Bridge(baseUrl=road.url, token=road.token, queuePath=path, **more)


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "inbound", "sessionKey": "discord:42", "text": text, "channel": "discord"} | more


@requirement("S4.bridge.hooks")
def test_messages_tools_and_errors_become_entries_in_order(road: Road, path: str) -> None:
    with bridge_to(road, path) as bridge:
        bridge.record(said("how many sheep?", messageId="m1", agentLabel="Ada"))
        bridge.record(
            {"kind": "tool_call", "sessionKey": "discord:42", "toolName": "count", "arguments": {"of": "sheep"}}
        )
        bridge.record({"kind": "tool_result", "sessionKey": "discord:42", "toolName": "count", "result": "12"})
        bridge.record({"kind": "tool_result", "sessionKey": "discord:42", "toolName": "feed", "error": "no hay"})
        bridge.record({"kind": "outbound", "sessionKey": "discord:42", "text": "twelve", "agentId": "shepherd"})
        assert bridge.flush(SECONDS_MAX)
    entries = road.entries
    assert [(entry["type"], entry["agentId"], entry["content"]) for entry in entries] == [
        ("conversation", "user", "how many sheep?"),
        ("action", "assistant", "Tool call: count"),
        ("action", "assistant", "Tool result: count"),
        ("action", "assistant", "Tool error: feed: no hay"),
        ("conversation", "shepherd", "twelve"),
    ]
    source = {"channel": "discord", "messageId": "m1", "sessionKey": "discord:42"}
    assert source.items() <= entries[0]["source"].items()
    assert (entries[0]["agentLabel"], entries[1]["raw"], entries[2]["raw"]) == ("Ada", '{"of": "sheep"}', "12")
    assert all(entry["createdAt"].endswith("Z") for entry in entries)
    assert len({entry["idempotencyKey"] for entry in entries}) == 5
    assert road.tokens == {f"Bearer {road.token}"}


@requirement("S4.bridge.hooks")
def test_the_end_output_is_recorded_only_when_nothing_was_said_in_its_turn(road: Road, path: str) -> None:
    end = {"kind": "end", "sessionKey": "discord:42", "text": "twelve sheep"}
    with bridge_to(road, path) as bridge:
        bridge.record(said("one"))
        bridge.record(end)
        bridge.record(said("two"))
        bridge.record({"kind": "outbound", "sessionKey": "discord:42", "text": "twelve"})
        bridge.record({"kind": "outbound", "sessionKey": "discord:43", "text": "elsewhere"})
        bridge.record(end)
        bridge.record(end | {"text": "a later turn"})
        assert bridge.flush(SECONDS_MAX)
    texts = [entry["content"] for entry in road.entries]
    assert texts == ["one", "twelve sheep", "two", "twelve", "elsewhere", "a later turn"]


@requirement("S4.bridge.hooks")
def test_the_end_of_a_turn_is_known_to_the_next_process(road: Road, path: str) -> None:
    with bridge_to(road, path) as bridge:
        bridge.record({"kind": "outbound", "sessionKey": "s", "text": "twelve"})
    with bridge_to(road, path) as bridge:
        bridge.record({"kind": "end", "sessionKey": "s", "text": "twelve"})
        assert bridge.flush(SECONDS_MAX)
    assert len(road.entries) == 1


@requirement("S4.bridge.hooks")
@pytest.mark.parametrize(
    "event",
    [
        said("HEARTBEAT_OK"),
        said(" HEARTBEAT_OK\n", kind="outbound"),
        said("[cron:42] back up"),
        said("[System Message] compacted"),
        said("[Subagent Context] You are a sub-agent"),
        said("Read HEARTBEAT.md if it exists"),
        said("NO_REPLY", kind="outbound"),
        said("   "),
        said("hi", sessionKey="internal:clawboard-classifier:1"),
        said("hi", sessionKey="agent:main:task:7:v3"),
        said("hi", sessionKey="agent:main:main:v1@acme", kind="tool_call", toolName="x"),
        said("hi", sessionKey="clawboard:topic:topic-1"),
        {"type": "conversation", "content": "HEARTBEAT_OK", "agentId": "main", "source": {}},
    ],
    ids=lambda event: event.get("text", "entry")[:20].strip() + event.get("sessionKey", "")[-4:],
)
def test_control_text_and_what_the_server_records_itself_is_not_sent(
    road: Road, path: str, event: dict[str, Any]
) -> None:
    with bridge_to(road, path) as bridge:
        bridge.record(event)
        bridge.record(said("HEARTBEAT_OK is what it says"))
        assert bridge.flush(SECONDS_MAX)
    assert [entry["content"] for entry in road.entries] == ["HEARTBEAT_OK is what it says"]


def test_secrets_in_tool_calls_do_not_leave(road: Road, path: str) -> None:
    arguments = {"auth": {"apiKey": "hush", "list": [{"Password": "hush"}]}, "text": "use sk-aaaaaaaaaaaaaaaaaaaaaaaa"}
    with bridge_to(road, path) as bridge:
        bridge.record({"kind": "tool_call", "sessionKey": "s", "toolName": "post", "arguments": arguments})
        bridge.record({"kind": "tool_result", "sessionKey": "s", "toolName": "post", "result": "x" * 9_000})
        assert bridge.flush(SECONDS_MAX)
    call, result = road.entries
    assert "hush" not in json.dumps(call)
    assert "sk-aaa" not in json.dumps(call)
    assert len(result["raw"]) == 5_000


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ({"sessionKey": "clawboard:task:t1:t2", "conversationId": "c", "channelId": "9"}, "clawboard:task:t1:t2"),
        ({"sessionKey": "agent:main:main", "conversationId": "c", "threadId": "7"}, "c|thread:7"),
        ({"sessionKey": "agent:main:main", "conversationId": "c"}, "c"),
        ({"sessionKey": "agent:main:main", "channelId": "9"}, "agent:main:main"),
        ({"sessionKey": None, "channelId": "9"}, "channel:9"),
    ],
)
def test_a_board_key_wins_over_the_conversation_and_that_over_the_channel(
    road: Road, path: str, where: dict[str, Any], key: str
) -> None:
    road.ask("POST", "/api/topics", {"id": "t1", "name": "Launch"})
    road.ask("POST", "/api/tasks", {"id": "t2", "title": "Paint", "topicId": "t1"})
    with bridge_to(road, path) as bridge:
        bridge.record({"kind": "outbound", "text": "hi"} | where)
        assert bridge.flush(SECONDS_MAX)
    assert road.entries[-1]["source"]["sessionKey"] == key


def test_a_long_session_key_is_shortened_and_stays_distinct(road: Road, path: str) -> None:
    with bridge_to(road, path) as bridge:
        for end in "ab":
            bridge.record(said("hi", sessionKey="x" * 300 + end))
        assert bridge.flush(SECONDS_MAX)
        bridge.context("x" * 300 + "a", "hi")
    keys = [entry["source"]["sessionKey"] for entry in road.entries]
    assert road.contexts[0]["sessionKey"] == keys[0]
    assert (len(set(keys)), [len(key) for key in keys]) == (2, [240, 240])


def test_an_entry_is_sent_as_it_is_given(road: Road, path: str) -> None:
    source = {"channel": "web", "sessionKey": "s"}
    entry: dict[str, Any] = {
        "type": "note",
        "content": "remember",
        "topicId": "topic-1",
        "idempotencyKey": "mine",
        "createdAt": "2026-01-31T12:00:00.000Z",
        "source": source,
    }
    road.ask("POST", "/api/topics", {"id": "topic-1", "name": "Launch"})
    with bridge_to(road, path) as bridge:
        bridge.record(entry)
        assert bridge.flush(SECONDS_MAX)
    (stored,) = road.entries
    assert source.items() <= stored["source"].items()
    assert entry.items() <= (stored | {"source": source}).items()


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({}, "An event needs a kind"),
        ({"kind": "shouted"}, "An event needs a kind"),
        ({"kind": "inbound", "text": 7}, "text must be a string."),
        ({"type": "note", "content": None}, "content must be a string."),
        ({"type": "note", "content": "x", "colour": "red"}, "colour is not a field of an entry."),
    ],
)
def test_a_malformed_event_is_refused_at_once(road: Road, path: str, event: dict[str, Any], words: str) -> None:
    with bridge_to(road, path) as bridge, pytest.raises(ValueError, match=words):
        bridge.record(event)


@requirement("S4.bridge.autotopic")
def test_each_session_gets_one_topic_where_that_is_wanted(road: Road, path: str) -> None:
    road.ask("POST", "/api/topics", {"id": "topic-mine", "name": "mine"})
    for _ in range(2):
        with bridge_to(road, path, autoTopicBySession=True) as bridge:
            for session in ("a", "b", "a"):
                bridge.record(said("hi", sessionKey=session))
            bridge.record(said("hi", sessionKey="a", topicId="topic-mine"))
            assert bridge.flush(SECONDS_MAX)
    assert [(topic["name"], topic["tags"]) for topic in road.topics.values()] == [
        ("mine", []),
        ("a", ["openclaw"]),
        ("b", ["openclaw"]),
    ]
    _, of_a, of_b = road.topics
    assert [entry["topicId"] for entry in road.entries] == [of_a, of_b, of_a, "topic-mine"] * 2
    road.ask("PATCH", f"/api/topics/{of_a}", {"name": "what people call it"})
    with bridge_to(road, path, autoTopicBySession=True) as bridge:
        bridge.record(said("hi", sessionKey="a"))
        assert bridge.flush(SECONDS_MAX)
    assert road.topics[of_a]["name"] == "what people call it"


@requirement("S4.bridge.knobs")
def test_the_context_is_asked_for_with_the_settings_and_put_between_markers(road: Road, path: str) -> None:
    more = {"contextMode": "patient", "contextMaxChars": 500, "contextTopicLimit": 1, "contextTaskLimit": 2}
    for number in range(20):
        road.ask("POST", "/api/log", {"type": "conversation", "content": f"{number} sheep are white",
                                       "source": {"sessionKey": "discord:42"}})  # fmt: skip
    with bridge_to(road, path, contextLogLimit=4, **more) as bridge:
        context = bridge.context("discord:42", "how many sheep?" + "!" * 600)
    (asked,) = road.contexts
    assert asked["sessionKey"] == "discord:42"
    assert (asked["mode"], asked["topicLimit"], asked["taskLimit"], asked["logLimit"]) == ("patient", "1", "2", "4")
    assert len(asked["q"]) == 500
    lines = context.splitlines()
    assert (lines[0], lines[2], lines[-1]) == (
        "[CLAWBOARD_CONTEXT_BEGIN]",
        "Clawboard context (layered):",
        "[CLAWBOARD_CONTEXT_END]",
    )
    assert lines[1] == ContextMarks.PREAMBLE
    assert "19 sheep are white" in context
    assert 400 < len(context) <= 500


@requirement("S4.bridge.hooks")
def test_the_context_is_fetched_once_in_a_turn(road: Road, path: str) -> None:
    with bridge_to(road, path) as bridge:
        bridge.record(said("yes"))
        first = bridge.context("discord:42", "yes")
        assert bridge.context("discord:42", "yes") == first
        assert len(road.contexts) == 1
        bridge.context("discord:43", "yes")
        bridge.record({"kind": "end", "sessionKey": "discord:42"})
        bridge.context("discord:42", "yes")
        bridge.record(said("yes"))
        bridge.context("discord:42", "yes")
        bridge.context("discord:42", "no")
    assert len(road.contexts) == 5


@requirement("S4.bridge.knobs")
def test_a_turn_goes_on_without_a_context_that_is_late_missing_or_not_wanted(road: Road, path: str) -> None:
    with bridge_to(road, path, contextAugment=False) as bridge:
        assert bridge.context("s", "hi") == ""
    with bridge_to(road, path, contextMaxChars=20) as bridge:
        assert bridge.context("s", "hi") == ""
    assert road.contexts == []
    road.hold_contexts()
    with bridge_to(road, path, contextFetchTimeoutMs=50) as bridge:
        assert bridge.context("s", "hi") == ""
        road.away()
        assert bridge.context("t", "hi") == ""
    road.release_contexts()
