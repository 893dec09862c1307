"""The bridge against a real server, on a road that loses what is sent, or its answers."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from carrel.bridge import Bridge, BridgeFault
from carrel.bridge import outbox as outbox_module
from carrel.bridge import sender as sender_module
from carrel.journal import ContextMarks
from tests.bridge.road import Road
from tests.requirements.mark import requirement

SECONDS_MAX = 10.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "queue.sqlite")


def bridge_to(board: Road, path: str, **more: Any) -> Bridge:
    return Bridge(baseUrl=board.url, token=board.token, queuePath=path, **more)


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "inbound", "sessionKey": "discord:42", "text": text, "channel": "discord"} | more


@requirement("S4.bridge.hooks")
def test_messages_tools_and_errors_become_entries_in_order(board: Road, path: str) -> None:
    with bridge_to(board, path) as bridge:
        bridge.record(said("how many sheep?", messageId="m1", agentLabel="Ada"))
        bridge.record(
            {"kind": "tool_call", "sessionKey": "discord:42", "toolName": "count", "arguments": {"of": "sheep"}}
        )
        bridge.record({"kind": "tool_result", "sessionKey": "discord:42", "toolName": "count", "result": "12"})
        bridge.record({"kind": "tool_result", "sessionKey": "discord:42", "toolName": "feed", "error": "no hay"})
        bridge.record({"kind": "outbound", "sessionKey": "discord:42", "text": "twelve", "agentId": "shepherd"})
        assert bridge.flush(SECONDS_MAX)
    entries = board.entries
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
    assert board.tokens == {f"Bearer {board.token}"}


@requirement("S4.bridge.hooks")
def test_the_end_output_is_recorded_only_when_nothing_was_said_in_its_turn(board: Road, path: str) -> None:
    end = {"kind": "end", "sessionKey": "discord:42", "text": "twelve sheep"}
    with bridge_to(board, path) as bridge:
        bridge.record(said("one"))
        bridge.record(end)
        bridge.record(said("two"))
        bridge.record({"kind": "outbound", "sessionKey": "discord:42", "text": "twelve"})
        bridge.record({"kind": "outbound", "sessionKey": "discord:43", "text": "elsewhere"})
        bridge.record(end)
        bridge.record(end | {"text": "a later turn"})
        assert bridge.flush(SECONDS_MAX)
    texts = [entry["content"] for entry in board.entries]
    assert texts == ["one", "twelve sheep", "two", "twelve", "elsewhere", "a later turn"]


@requirement("S4.bridge.hooks")
def test_the_end_of_a_turn_is_known_to_the_next_process(board: Road, path: str) -> None:
    with bridge_to(board, path) as bridge:
        bridge.record({"kind": "outbound", "sessionKey": "s", "text": "twelve"})
    with bridge_to(board, path) as bridge:
        bridge.record({"kind": "end", "sessionKey": "s", "text": "twelve"})
        assert bridge.flush(SECONDS_MAX)
    assert len(board.entries) == 1


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
    board: Road, path: str, event: dict[str, Any]
) -> None:
    with bridge_to(board, path) as bridge:
        bridge.record(event)
        bridge.record(said("HEARTBEAT_OK is what it says"))
        assert bridge.flush(SECONDS_MAX)
    assert [entry["content"] for entry in board.entries] == ["HEARTBEAT_OK is what it says"]


def test_secrets_in_tool_calls_do_not_leave(board: Road, path: str) -> None:
    arguments = {"auth": {"apiKey": "hush", "list": [{"Password": "hush"}]}, "text": "use sk-aaaaaaaaaaaaaaaaaaaaaaaa"}
    with bridge_to(board, path) as bridge:
        bridge.record({"kind": "tool_call", "sessionKey": "s", "toolName": "post", "arguments": arguments})
        bridge.record({"kind": "tool_result", "sessionKey": "s", "toolName": "post", "result": "x" * 9_000})
        assert bridge.flush(SECONDS_MAX)
    call, result = board.entries
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
    board: Road, path: str, where: dict[str, Any], key: str
) -> None:
    board.ask("POST", "/api/topics", {"id": "t1", "name": "Launch"})
    board.ask("POST", "/api/tasks", {"id": "t2", "title": "Paint", "topicId": "t1"})
    with bridge_to(board, path) as bridge:
        bridge.record({"kind": "outbound", "text": "hi"} | where)
        assert bridge.flush(SECONDS_MAX)
    assert board.entries[-1]["source"]["sessionKey"] == key


def test_a_long_session_key_is_shortened_and_stays_distinct(board: Road, path: str) -> None:
    with bridge_to(board, path) as bridge:
        for end in "ab":
            bridge.record(said("hi", sessionKey="x" * 300 + end))
        assert bridge.flush(SECONDS_MAX)
        bridge.context("x" * 300 + "a", "hi")
    keys = [entry["source"]["sessionKey"] for entry in board.entries]
    assert board.contexts[0]["sessionKey"] == keys[0]
    assert (len(set(keys)), [len(key) for key in keys]) == (2, [240, 240])


def test_an_entry_is_sent_as_it_is_given(board: Road, path: str) -> None:
    source = {"channel": "web", "sessionKey": "s"}
    entry: dict[str, Any] = {
        "type": "note",
        "content": "remember",
        "topicId": "topic-1",
        "idempotencyKey": "mine",
        "createdAt": "2026-01-31T12:00:00.000Z",
        "source": source,
    }
    board.ask("POST", "/api/topics", {"id": "topic-1", "name": "Launch"})
    with bridge_to(board, path) as bridge:
        bridge.record(entry)
        assert bridge.flush(SECONDS_MAX)
    (stored,) = board.entries
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
def test_a_malformed_event_is_refused_at_once(board: Road, path: str, event: dict[str, Any], words: str) -> None:
    with bridge_to(board, path) as bridge, pytest.raises(ValueError, match=words):
        bridge.record(event)


@requirement("S4.bridge.queue")
def test_entries_of_an_absence_arrive_once_and_in_order(board: Road, path: str) -> None:
    board.away()
    with bridge_to(board, path) as bridge:
        for number in range(30):
            bridge.record(said(f"line {number}"))
        assert not bridge.flush(0.3)
        board.back()
        assert bridge.flush(SECONDS_MAX)
    assert [entry["content"] for entry in board.entries] == [f"line {number}" for number in range(30)]


@requirement("S4.bridge.queue")
@pytest.mark.parametrize("queued", [False, True])
def test_an_entry_whose_answer_was_lost_is_stored_once(board: Road, path: str, queued: bool) -> None:
    board.lose_answers(3)
    with bridge_to(board, path, queue=queued) as bridge:
        for number in range(5):
            bridge.record(said(f"line {number}"))
        assert bridge.flush(SECONDS_MAX)
    assert [entry["content"] for entry in board.entries] == [f"line {number}" for number in range(5)]
    assert board.repeated > 0


@requirement("S4.bridge.queue")
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_a_refusal_that_may_pass_keeps_the_entry(board: Road, path: str, status: int) -> None:
    board.refuse("line 1", status, times=2)
    with bridge_to(board, path) as bridge:
        for number in range(3):
            bridge.record(said(f"line {number}"))
        assert bridge.flush(SECONDS_MAX)
        assert bridge.refused() == []
    assert [entry["content"] for entry in board.entries] == ["line 0", "line 1", "line 2"]


@pytest.mark.parametrize(("status", "queued"), [(400, False), (413, False), (422, True), (400, True)])
def test_an_entry_that_is_never_taken_is_put_aside_and_holds_up_no_other(
    board: Road, path: str, status: int, queued: bool
) -> None:
    board.away()
    board.refuse("line 1", status)
    with bridge_to(board, path, queue=queued) as bridge:
        for number in range(3):
            bridge.record(said(f"line {number}"))
        board.back()
        assert bridge.flush(SECONDS_MAX)
        ((body, reason),) = bridge.refused()
    assert (json.loads(body)["content"], reason) == ("line 1", "No.")
    assert [entry["content"] for entry in board.entries] == ["line 0", "line 2"]


def test_an_entry_that_names_a_missing_topic_is_put_aside(board: Road, path: str) -> None:
    with bridge_to(board, path) as bridge:
        bridge.record(said("line 1", topicId="gone"))
        bridge.record(said("line 2"))
        assert bridge.flush(SECONDS_MAX)
        assert len(bridge.refused()) == 1
    assert [entry["content"] for entry in board.entries] == ["line 2"]


def test_a_full_queue_says_so(board: Road, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "WAITING_MAX", 2)
    board.away()
    with bridge_to(board, path) as bridge:
        bridge.record(said("1"))
        bridge.record(said("2"))
        with pytest.raises(BridgeFault, match="2 entries wait to be sent"):
            bridge.record(said("3"))


def test_two_bridges_share_a_queue_and_its_order(board: Road, path: str) -> None:
    """The second one sends only after the first has left; what it adds is sent by the first."""
    with bridge_to(board, path) as first, bridge_to(board, path) as second:
        for number in range(20):
            (first if number % 2 else second).record(said(f"line {number}"))
        assert second.flush(SECONDS_MAX)
        assert board.repeated == 0
        first.close()
        second.record(said("line 20"))
        assert second.flush(SECONDS_MAX)
    assert [entry["content"] for entry in board.entries] == [f"line {number}" for number in range(21)]


def test_threads_may_record_at_the_same_time(board: Road, path: str) -> None:
    with bridge_to(board, path) as bridge:

        def write(name: int) -> None:
            for number in range(20):
                bridge.record(said(f"{name}:{number}"))

        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS_MAX)
        assert bridge.flush(SECONDS_MAX)
    texts = [entry["content"] for entry in board.entries]
    assert len(set(texts)) == len(texts) == 80
    for name in range(4):
        assert [text for text in texts if text.startswith(f"{name}:")] == [f"{name}:{number}" for number in range(20)]


@requirement("S4.bridge.knobs")
def test_queue_chooses_ingest_and_sends_several_at_a_time(board: Road, path: str) -> None:
    board.away()
    with bridge_to(board, path, queue=True) as bridge:
        for number in range(250):
            bridge.record(said(f"line {number}"))
        board.back()
        assert bridge.flush(SECONDS_MAX)
    assert {asked for method, asked in board.asked if method == "POST"} == {"/api/ingest"}
    assert [entry["content"] for entry in board.entries] == [f"line {number}" for number in range(250)]
    assert max(board.batches) == sender_module.BATCH_MAX


@requirement("S4.bridge.knobs")
def test_a_bridge_that_is_turned_off_does_nothing(board: Road, path: str) -> None:
    with bridge_to(board, path, enabled=False) as bridge:
        bridge.record(said("hi"))
        assert bridge.context("s", "hi") == ""
        assert bridge.flush(0)
    assert board.asked == []
    assert not Path(path).exists()


@requirement("S4.bridge.knobs")
def test_settings_have_defaults_and_two_spellings(board: Road, path: str) -> None:
    with Bridge(base_url=board.url, queue_path=path) as bridge:
        settings = bridge.settings
    assert (settings.token, settings.enabled, settings.queue, settings.auto_topic_by_session) == (
        "",
        True,
        False,
        False,
    )
    assert (settings.context_augment, settings.context_mode, settings.context_fetch_timeout_ms) == (True, "auto", 1200)
    assert (settings.context_max_chars, settings.context_topic_limit) == (2200, 3)
    assert (settings.context_task_limit, settings.context_log_limit) == (3, 6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs baseUrl"),
        ({"baseUrl": "http://x", "colour": 1}, "colour is not a setting of a bridge"),
        ({"baseUrl": "http://x", "queue": "yes"}, "queue must be of type bool"),
        ({"baseUrl": "http://x", "contextMode": "deep"}, "contextMode must be one of"),
        ({"baseUrl": "http://x", "contextFetchTimeoutMs": 0}, "must be more than 0"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        Bridge(**settings)


def test_a_queue_that_cannot_be_opened_says_so(board: Road, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BridgeFault, match="choose another queuePath"):
        bridge_to(board, str(tmp_path / "file" / "queue.sqlite"))


def test_the_queue_is_readable_by_its_owner_only(board: Road, path: str) -> None:
    with bridge_to(board, path) as bridge:
        bridge.record(said("hi"))
        for file in Path(path).parent.iterdir():
            assert file.stat().st_mode & 0o077 == 0, file


@requirement("S4.bridge.autotopic")
def test_each_session_gets_one_topic_where_that_is_wanted(board: Road, path: str) -> None:
    board.ask("POST", "/api/topics", {"id": "topic-mine", "name": "mine"})
    for _ in range(2):
        with bridge_to(board, path, autoTopicBySession=True) as bridge:
            for session in ("a", "b", "a"):
                bridge.record(said("hi", sessionKey=session))
            bridge.record(said("hi", sessionKey="a", topicId="topic-mine"))
            assert bridge.flush(SECONDS_MAX)
    assert [(topic["name"], topic["tags"]) for topic in board.topics.values()] == [
        ("mine", []),
        ("a", ["openclaw"]),
        ("b", ["openclaw"]),
    ]
    _, of_a, of_b = board.topics
    assert [entry["topicId"] for entry in board.entries] == [of_a, of_b, of_a, "topic-mine"] * 2
    board.ask("PATCH", f"/api/topics/{of_a}", {"name": "what people call it"})
    with bridge_to(board, path, autoTopicBySession=True) as bridge:
        bridge.record(said("hi", sessionKey="a"))
        assert bridge.flush(SECONDS_MAX)
    assert board.topics[of_a]["name"] == "what people call it"


@requirement("S4.bridge.knobs")
def test_the_context_is_asked_for_with_the_settings_and_put_between_markers(board: Road, path: str) -> None:
    more = {"contextMode": "patient", "contextMaxChars": 500, "contextTopicLimit": 1, "contextTaskLimit": 2}
    for number in range(20):
        board.ask("POST", "/api/log", {"type": "conversation", "content": f"{number} sheep are white",
                                       "source": {"sessionKey": "discord:42"}})  # fmt: skip
    with bridge_to(board, path, contextLogLimit=4, **more) as bridge:
        context = bridge.context("discord:42", "how many sheep?" + "!" * 600)
    (asked,) = board.contexts
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
def test_the_context_is_fetched_once_in_a_turn(board: Road, path: str) -> None:
    with bridge_to(board, path) as bridge:
        bridge.record(said("yes"))
        first = bridge.context("discord:42", "yes")
        assert bridge.context("discord:42", "yes") == first
        assert len(board.contexts) == 1
        bridge.context("discord:43", "yes")
        bridge.record({"kind": "end", "sessionKey": "discord:42"})
        bridge.context("discord:42", "yes")
        bridge.record(said("yes"))
        bridge.context("discord:42", "yes")
        bridge.context("discord:42", "no")
    assert len(board.contexts) == 5


@requirement("S4.bridge.knobs")
def test_a_turn_goes_on_without_a_context_that_is_late_missing_or_not_wanted(board: Road, path: str) -> None:
    with bridge_to(board, path, contextAugment=False) as bridge:
        assert bridge.context("s", "hi") == ""
    with bridge_to(board, path, contextMaxChars=20) as bridge:
        assert bridge.context("s", "hi") == ""
    assert board.contexts == []
    board.hold_contexts()
    with bridge_to(board, path, contextFetchTimeoutMs=50) as bridge:
        assert bridge.context("s", "hi") == ""
        board.away()
        assert bridge.context("t", "hi") == ""
    board.release_contexts()
