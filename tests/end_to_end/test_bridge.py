"""Other programs and a server in a process of its own: a bridge whose server is killed, and an import."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from carrel.bridge import Bridge
from tests.harness.process import RunningServer, Start
from tests.requirements.mark import requirement

SECONDS_MAX = 30.0
ENTRIES_MAX = 1_000


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "inbound", "conversationId": "c42", "channel": "discord", "text": text} | more


def logs_of(client: httpx.Client, key: str) -> list[dict[str, Any]]:
    """Return the entries of a session, oldest first."""
    answer = client.get("/api/log", params={"sessionKey": key, "limit": ENTRIES_MAX})
    assert answer.status_code == 200, answer.text
    logs: list[dict[str, Any]] = answer.json()["logs"]
    return logs[::-1]


def until_stored(client: httpx.Client, key: str, count: int) -> list[dict[str, Any]]:
    """Return the entries of a session once so many are stored; the stream says when to look again."""
    with client.stream("GET", "/api/stream", params={"events": "log.appended"}) as stream:
        for line in stream.iter_lines():
            if line.startswith(("event:", ":")) and len(found := logs_of(client, key)) >= count:
                return found
    raise AssertionError("the stream has ended")


@requirement("S4.bridge.queue")
@pytest.mark.parametrize("queued", [False, True], ids=["log", "ingest"])
def test_a_killed_server_gets_every_line_once_and_in_order(start: Start, tmp_path: Path, queued: bool) -> None:
    running = start()
    port = str(urlsplit(running.url).port)
    settings = {
        "baseUrl": running.url,
        "token": running.token,
        "queuePath": str(tmp_path / "q.sqlite"),
        "queue": queued,
    }
    with Bridge(**settings) as bridge:
        for number in range(40):
            bridge.record(said(f"line {number}"))
            if number == 15:
                running.kill()
        running = start("--port", port)
        assert bridge.flush(SECONDS_MAX)
        assert bridge.refused() == []
    with running.client() as client:
        logs = until_stored(client, "c42", 40)
    assert [log["content"] for log in logs] == [f"line {number}" for number in range(40)]


@requirement("S4.bridge.knobs", "S4.bridge.autotopic", "S4.bridge.hooks")
def test_what_is_recorded_comes_back_as_context(start: Start, tmp_path: Path) -> None:
    running = start()
    settings = {"baseUrl": running.url, "token": running.token, "queuePath": str(tmp_path / "q.sqlite")}
    with Bridge(**settings, autoTopicBySession=True, contextFetchTimeoutMs=20_000) as bridge:
        bridge.record(said("the north field has twelve sheep", messageId="m1"))
        bridge.record({"kind": "tool_call", "conversationId": "c42", "toolName": "count", "arguments": {}})
        bridge.record({"kind": "outbound", "conversationId": "c42", "text": "Noted.", "agentId": "shepherd"})
        assert bridge.flush(SECONDS_MAX)
        context = bridge.context("c42", "how many sheep are in the north field?")
        assert bridge.refused() == []
    assert "the north field has twelve sheep" in context
    assert len(context) <= 2_200
    with running.client() as client:
        logs = logs_of(client, "c42")
        (topic,) = [one for one in client.get("/api/topics").json()["topics"] if one["name"] == "c42"]
    assert [(log["type"], log["agentId"], log["topicId"]) for log in logs] == [
        ("conversation", "user", topic["id"]),
        ("action", "assistant", topic["id"]),
        ("conversation", "shepherd", topic["id"]),
    ]
    assert topic["tags"] == ["openclaw"]


def test_an_import_is_stored_once(start: Start, tmp_path: Path) -> None:
    running = start()
    path = tmp_path / "notes.jsonl"
    lines = [{"type": "note", "content": f"note {n}", "source": {"sessionKey": "notes"}} for n in range(5)]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    _import(running, path)
    _import(running, path)
    path.write_text(path.read_text() + "\n" + json.dumps(lines[0] | {"content": "note 5"}))
    _import(running, path)
    with running.client() as client:
        logs = until_stored(client, "notes", 6)
    assert [log["content"] for log in logs] == [f"note {n}" for n in range(6)]


def _import(running: RunningServer, path: Path) -> None:
    done = running.carrel("import", "jsonl", str(path))
    assert done.code == 0, done.err
