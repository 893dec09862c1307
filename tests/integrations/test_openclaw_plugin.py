"""The OpenClaw plugin, run by Node against a real server: what it records, and that its outbox is durable."""

import json
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from carrel.bridge.settings import BridgeSettings
from tests.bridge.road import Road

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "openclaw"
HOST = Path(__file__).with_name("openclaw_host.mjs")
SECONDS_MAX = 20.0
# The Node that drives the browsers of other tests; it runs TypeScript as it is, and has SQLite.
NODE = Path(str(files("playwright"))) / "driver" / "node"
WHERE = {"agentId": "main", "sessionKey": "agent:main:discord:channel:42", "channelId": "discord"}
Json = dict[str, Any]


class Host:
    """OpenClaw with the plugin, in a process of its own."""

    def __init__(self, board: Road, path: Path, **config: Any) -> None:
        given = {"baseUrl": board.url, "token": board.token, "queuePath": str(path)} | config
        command = [str(NODE), str(HOST), str(PLUGIN / "src" / "index.ts"), json.dumps(given)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def fire(self, hook: str, event: Json | None = None, where: Json | None = None) -> Any:
        """Call a hook and return what it returns."""
        line = json.dumps({"hook": hook, "event": event or {}, "where": WHERE if where is None else where})
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(line + "\n")
        stdin.flush()
        return json.loads(stdout.readline())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._close()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.fire("gateway_stop")
            self._close()

    def _close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(SECONDS_MAX)


@pytest.fixture
def host_of(board: Road, tmp_path: Path) -> Iterator[Callable[..., Host]]:
    started: list[Host] = []

    def start(**config: Any) -> Host:
        started.append(Host(board, tmp_path / "queue.sqlite", **config))
        return started[-1]

    yield start
    for host in started:
        host.stop()


def texts(board: Road) -> list[str]:
    return [entry["content"] for entry in board.entries]


def test_a_turn_of_a_channel_is_recorded_once(board: Road, host_of: Callable[..., Host]) -> None:
    host = host_of()
    received = {"content": "how many sheep?", "messageId": "m1", "threadId": 7, "sessionKey": WHERE["sessionKey"]}
    channel = {"channelId": "discord", "conversationId": "c42"}
    host.fire("message_received", received, channel)
    host.fire("before_tool_call", {"toolName": "count", "params": {"of": "sheep", "apiKey": "hush"}, "toolCallId": "t"})
    host.fire("after_tool_call", {"toolName": "count", "result": "12", "toolCallId": "t"})
    host.fire("after_tool_call", {"toolName": "feed", "error": "no hay"})
    sending = {"content": "Twelve.", "threadId": 7, "sessionKey": WHERE["sessionKey"]}
    host.fire("message_sending", sending, channel | {"agentId": "main"})
    messages = [{"role": "user", "content": "how many sheep?"}, {"role": "assistant", "content": "Twelve."}]
    host.fire("agent_end", {"messages": messages, "success": True})
    board.wait_for(5)
    wanted = ["how many sheep?", "Tool call: count", "Tool result: count", "Tool error: feed: no hay", "Twelve."]
    assert texts(board) == wanted
    assert [entry["agentId"] for entry in board.entries] == ["user", "main", "main", "main", "main"]
    assert {entry["source"]["sessionKey"] for entry in board.entries} == {"c42|thread:7"}
    assert board.entries[0]["source"]["messageId"] == "m1"
    assert "hush" not in json.dumps(board.entries)


def test_a_turn_without_message_hooks_is_recorded_at_its_end(board: Road, host_of: Callable[..., Host]) -> None:
    host = host_of()
    context = "[CLAWBOARD_CONTEXT_BEGIN]\nx\n[CLAWBOARD_CONTEXT_END]\n\n"
    messages = [
        {"role": "user", "content": context + "how many sheep?"},
        {"role": "assistant", "content": [{"type": "toolCall"}, {"type": "text", "text": "Twelve."}]},
        {"role": "toolResult", "content": "ok"},
    ]
    host.fire("agent_end", {"messages": messages})
    host.fire("agent_end", {"messages": messages}, WHERE | {"trigger": "heartbeat"})
    host.fire("agent_end", {"messages": messages}, WHERE | {"sessionKey": "agent:main:task:7:v3"})
    board.wait_for(2)
    assert texts(board) == ["how many sheep?", "Twelve."]
    assert board.entries[0]["source"]["sessionKey"] == "openclaw:agent:main:discord:channel:42"


def test_control_text_is_not_sent(board: Road, host_of: Callable[..., Host]) -> None:
    board.ask("POST", "/api/topics", {"id": "topic-1", "name": "Launch"})
    host = host_of()
    for text in ("HEARTBEAT_OK", "[cron:1] back up", "[Subagent Context] You are", "NO_REPLY", " "):
        host.fire("message_received", {"content": text})
        host.fire("message_sending", {"content": text})
    host.fire("message_received", {"content": "hi"}, {"sessionKey": "clawboard:topic:topic-1"})
    host.fire("message_sending", {"content": "hi yourself"}, {"sessionKey": "clawboard:topic:topic-1"})
    board.wait_for(1)
    assert texts(board) == ["hi yourself"]


def test_the_context_is_fetched_once_in_a_turn(board: Road, host_of: Callable[..., Host]) -> None:
    for number in range(20):
        board.ask("POST", "/api/log", {"type": "conversation", "content": f"{number} sheep are white",
                                       "source": {"sessionKey": "openclaw:agent:main:discord:channel:42"}})  # fmt: skip
    host = host_of(contextMaxChars=400)
    first = host.fire("before_prompt_build", {"prompt": "how many sheep?", "messages": []})
    assert host.fire("before_prompt_build", {"prompt": "how many sheep?", "messages": []}) == first
    assert "19 sheep are white" in first["prependContext"]
    assert 300 < len(first["prependContext"]) <= 400
    assert first["prependContext"].startswith("[CLAWBOARD_CONTEXT_BEGIN]\n")
    (asked,) = board.contexts
    assert (asked["q"], asked["topicLimit"], asked["logLimit"]) == ("how many sheep?", "3", "6")
    host.fire("agent_end", {"messages": []})
    host.fire("before_prompt_build", {"prompt": "how many sheep?", "messages": []})
    assert len(board.contexts) == 2
    board.away()
    host.fire("agent_end", {"messages": []})
    assert host.fire("before_prompt_build", {"prompt": "how many sheep?", "messages": []}) is None
    board.back()


@pytest.mark.parametrize("config", [{"enabled": False}, {"contextAugment": False}])
def test_the_plugin_can_be_turned_off(board: Road, host_of: Callable[..., Host], config: Json) -> None:
    assert host_of(**config).fire("before_prompt_build", {"prompt": "hi"}) is None
    assert board.contexts == []


def test_each_session_gets_one_topic_where_that_is_wanted(board: Road, host_of: Callable[..., Host]) -> None:
    host = host_of(autoTopicBySession=True, queue=True)
    for name in ("a", "b", "a"):
        host.fire("message_received", {"content": "hi"}, {"conversationId": name})
    board.wait_for(3)
    assert [(topic["name"], topic["tags"]) for topic in board.topics.values()] == [(n, ["openclaw"]) for n in "ab"]
    assert {path for method, path in board.asked if method == "POST"} == {"/api/ingest", "/api/topics"}


def test_what_was_recorded_survives_a_kill_and_the_absence_of_the_server(
    board: Road, host_of: Callable[..., Host], tmp_path: Path
) -> None:
    board.away()
    host = host_of()
    for number in range(20):
        host.fire("message_received", {"content": f"line {number}"}, {"conversationId": "c"})
    host.kill()
    assert (tmp_path / "queue.sqlite").stat().st_mode & 0o077 == 0
    board.back()
    board.lose_answers(2)
    # A dead process holds the right to send for half a minute; the next one takes it over at once here.
    _end_lease(tmp_path / "queue.sqlite")
    again = host_of()
    again.fire("message_received", {"content": "line 20"}, {"conversationId": "c"})
    board.wait_for(21)
    assert texts(board) == [f"line {number}" for number in range(21)]
    assert board.repeated > 0


def _end_lease(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sender SET until = 0")
    db.close()


def test_the_manifest_names_every_setting_of_the_bridge() -> None:
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text())
    known = manifest["configSchema"]["properties"]
    defaults = {re.sub(r"_(\w)", lambda found: found[1].upper(), f.name): f.default for f in fields(BridgeSettings)}
    assert known.keys() == defaults.keys()
    for name in defaults.keys() - {"baseUrl", "token", "queuePath"}:
        assert known[name]["default"] == defaults[name], name
