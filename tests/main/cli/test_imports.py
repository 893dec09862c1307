"""`carrel import`: what is read from other programs, what is sent, and that importing again adds nothing."""

import json
import os
import sqlite3
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.bridge.road import Road
from tests.harness.elapsing import Elapsing
from tests.main.cli.conftest import Carrel

Json = dict[str, Any]


@pytest.fixture
def at(carrel: Carrel, road: Road) -> Carrel:
    """Run a command against that board."""
    return lambda *words, stdin="": carrel(*words, "--url", road.url, "--token", road.token, stdin=stdin)


def write_lines(path: Path, *lines: Json | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


def said_in_claude(role: str, content: Any, uuid: str, **more: Any) -> Json:
    line = {"type": role, "uuid": uuid, "sessionId": "s1", "timestamp": "2026-02-08T09:01:00.000Z"}
    return line | {"message": {"role": role, "content": content}} | more


def claude_home(home: Path) -> Path:
    write_lines(
        home / ".claude" / "projects" / "-work" / "s1.jsonl",
        {"type": "summary", "summary": "Sheep"},
        said_in_claude("user", "how many sheep?", "u1"),
        said_in_claude(
            "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Twelve."}], "a1"
        ),
        said_in_claude("assistant", [{"type": "tool_use", "name": "Bash", "input": {}}], "a2"),
        said_in_claude("user", [{"type": "tool_result", "content": "ok"}], "u2"),
        said_in_claude("user", "<command-name>/clear</command-name>", "u3"),
        said_in_claude("user", "the prompt of a sub-agent", "u4", isSidechain=True),
        said_in_claude("user", "HEARTBEAT_OK", "u5"),
        said_in_claude("user", "This session is continued; so far: sheep.", "u6", isCompactSummary=True),
        '{"half a line',
    )
    return home / ".claude"


def test_the_transcripts_of_claude_become_entries_once(at: Carrel, road: Road, tmp_path: Path) -> None:
    claude_home(tmp_path)
    done = at("import", "claude")
    assert (done.code, done.out) == (0, "")
    asked, answered = road.entries
    sent = {
        "type": "conversation",
        "content": "how many sheep?",
        "agentId": "user",
        "idempotencyKey": "claude:s1:u1",
        "createdAt": "2026-02-08T09:01:00.000Z",
    }
    assert sent.items() <= asked.items()
    source = {"channel": "claude", "sessionKey": "claude:s1", "messageId": "u1"}
    assert source.items() <= asked["source"].items()
    assert (answered["agentId"], answered["content"]) == ("claude", "Twelve.")
    assert done.err.splitlines() == [
        "2 of 2 entries sent",
        "2 entries of 1 sessions sent; those that were there already are kept once.",
        "Left out: 1 control text.",
        "Left out: 1 sub-agents and remarks.",
        "Left out: 1 summaries of earlier messages.",
        "Left out: 3 tools and commands.",
        "Left out: 1 unreadable lines.",
    ]
    assert at("import", "claude", str(tmp_path / ".claude")).code == 0
    assert (len(road.entries), road.repeated) == (2, 2)


def test_a_dry_run_counts_and_sends_nothing(carrel: Carrel, tmp_path: Path) -> None:
    claude_home(tmp_path)
    done = carrel("import", "claude", "--dry-run")
    assert (done.code, done.out) == (0, "claude:s1\t2\n")
    assert "2 entries of 1 sessions would be sent." in done.err
    counted = json.loads(carrel("import", "claude", "--dry-run", "--json").out)
    assert (counted["dryRun"], counted["entries"]) == (True, 2)
    assert counted["sessions"] == [{"sessionKey": "claude:s1", "entries": 2}]


def openclaw_home(home: Path, events: list[Json], *, compressed: bytes | None = None) -> Path:
    """OpenClaw's folder with one agent and one session, as its version 2026.9 keeps it."""
    folder = home / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "openclaw-agent.sqlite") as db:
        db.executescript(
            "CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL, reason TEXT);"
            "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB, "
            "created_at INTEGER, PRIMARY KEY (session_id, seq));"
            "INSERT INTO session_windows VALUES ('s1', 'agent:main:discord:channel:42', 'initial');"
        )
        for seq, event in enumerate(events):
            plain = ("s1", seq, json.dumps(event), None, 1_770_541_260_000)
            db.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", plain)
        if compressed is not None:
            long = ("s1", len(events), None, compressed, 1_770_541_260_000)
            db.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", long)
    db.close()
    return home / ".openclaw"


def turn(id_: str, parent: str | None, role: str, content: Any, **more: Any) -> Json:
    return {"type": "message", "id": id_, "parentId": parent, "message": {"role": role, "content": content}} | more


TALK = [
    {"type": "session", "version": 4, "id": "e0", "parentId": None},
    turn("e1", "e0", "user", "how many shep?"),
    turn("e2", "e1", "assistant", [{"type": "text", "text": "What?"}]),
    turn("e3", "e0", "user", "how many sheep?", timestamp="2026-02-08T09:02:00Z"),
    turn("e4", "e3", "assistant", [{"type": "toolCall", "name": "count"}]),
    turn("e5", "e4", "toolResult", [{"type": "text", "text": "12"}]),
    turn("e6", "e5", "assistant", [{"type": "text", "text": "Twelve."}]),
]


def test_the_sessions_of_openclaw_become_entries_without_what_was_edited(
    at: Carrel, road: Road, tmp_path: Path
) -> None:
    openclaw_home(tmp_path, TALK)
    assert at("import", "openclaw").code == 0
    asked, answered = road.entries
    assert (asked["content"], asked["agentId"], asked["createdAt"]) == (
        "how many sheep?",
        "user",
        "2026-02-08T09:02:00.000Z",
    )
    assert asked["source"]["sessionKey"] == "openclaw:agent:main:discord:channel:42", "no lane of ours"
    assert (answered["content"], answered["agentId"], answered["createdAt"]) == (
        "Twelve.",
        "main",
        "2026-02-08T09:01:00.000Z",
    )
    at("import", "openclaw")
    assert (len(road.entries), road.repeated) == (2, 2)


@pytest.mark.parametrize(
    "key",
    [
        "agent:main:carrel:writer~task~t1~v2",
        "agent:main:carrel:internal:clawboard-classifier:cyc_1:1",
        "agent:main:internal:clawboard-classifier:cyc_1:1",
        "agent:main:task:t1:v2",
    ],
)
def test_sessions_that_carrel_opened_at_openclaw_are_left_out(at: Carrel, road: Road, tmp_path: Path, key: str) -> None:
    home = openclaw_home(tmp_path, TALK)
    with sqlite3.connect(home / "agents" / "main" / "agent" / "openclaw-agent.sqlite") as db:
        db.execute("UPDATE session_windows SET session_key = ?", (key,))
    db.close()
    done = at("import", "openclaw")
    assert (done.code, road.entries) == (0, [])
    assert "Left out: 2 messages of Carrel's own sessions" in done.err


@pytest.mark.parametrize("installed", [True, False])
def test_compressed_messages_are_read_where_that_is_possible_and_counted_elsewhere(
    carrel: Carrel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    long = turn("e7", "e6", "user", "long " * 300)
    openclaw_home(tmp_path, TALK, compressed=json.dumps(long).encode()[::-1])
    reversing: Any = ModuleType("zstandard")
    reversing.decompress = lambda data: data[::-1]
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "zstandard", reversing if installed else None)
    counted = json.loads(carrel("import", "openclaw", "--dry-run", "--json").out)
    assert counted["entries"] == (3 if installed else 2)
    assert any("zstandard" in reason for reason in counted["skipped"]) is not installed


def test_the_files_of_older_versions_of_openclaw_are_read(at: Carrel, road: Road, tmp_path: Path) -> None:
    folder = tmp_path / "claw" / "agents" / "main" / "sessions"
    write_lines(folder / "s1.jsonl", *TALK)
    write_lines(folder / "lost.jsonl", turn("x1", None, "user", "hello"))
    (folder / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": "s1"}}))
    assert at("import", "openclaw", str(tmp_path / "claw")).code == 0
    keys = [entry["source"]["sessionKey"] for entry in road.entries]
    assert keys == ["openclaw:agent:main:lost", *["openclaw:agent:main:main"] * 2]


def test_a_database_of_another_shape_is_named(carrel: Carrel, tmp_path: Path) -> None:
    folder = tmp_path / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    sqlite3.connect(folder / "openclaw-agent.sqlite").close()
    done = carrel("import", "openclaw", "--dry-run")
    assert done.code == 1
    assert "newer version of OpenClaw" in done.err


@pytest.mark.parametrize("program", ["openclaw", "claude"])
def test_a_missing_folder_is_named(carrel: Carrel, program: str) -> None:
    done = carrel("import", program)
    assert (done.code, f".{program}" in done.err) == (1, True)


def test_lines_of_a_file_are_stored_once_each_also_equal_ones(at: Carrel, road: Road, tmp_path: Path) -> None:
    line = {"type": "note", "content": "remember", "source": {"sessionKey": "s"}}
    path = write_lines(tmp_path / "notes.jsonl", line, line, "", line | {"idempotencyKey": "mine"})
    for _ in range(2):
        assert at("import", "jsonl", str(path)).code == 0
    assert [entry["content"] for entry in road.entries] == ["remember"] * 3
    assert road.entries[2]["idempotencyKey"] == "mine"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "is not valid JSON ("),
        ("[" * 100_000, "is not valid JSON ("),
        ('{"type": "note", "content": "x", "createdAt": Infinity}', "is not valid JSON ("),
        ('{"type": "note", "content": "x", "createdAt": 1e999}', "is not valid JSON ("),
        ('{"type": "note", "content": "x", "source": "s"}', "source must be an object."),
        ("[]", "must be a JSON object."),
        ('{"type": "shout", "content": "x"}', "type must be one of"),
        ('{"type": "note"}', "content must be a string."),
        ('{"type": "note", "content": "x", "colour": 1}', "colour is not a field of an entry."),
    ],
)
def test_a_wrong_line_is_named_before_anything_is_sent(
    at: Carrel, road: Road, tmp_path: Path, line: str, words: str
) -> None:
    path = write_lines(tmp_path / "notes.jsonl", {"type": "note", "content": "good"}, line)
    done = at("import", "jsonl", str(path))
    assert done.code == 1
    assert f"{path}, line 2" in done.err
    assert words in done.err
    assert road.entries == []


def test_lines_of_a_transcript_that_no_json_can_be_are_left_out(at: Carrel, road: Road, tmp_path: Path) -> None:
    good = said_in_claude("user", "how many sheep?", "u1", timestamp=1e17)
    wrong = ("[" * 100_000, '{"type": "user", "timestamp": Infinity}', '{"type": "user", "timestamp": 1e999}')
    write_lines(tmp_path / ".claude" / "projects" / "-work" / "s1.jsonl", *wrong, good)
    done = at("import", "claude", str(tmp_path / ".claude"))
    assert (done.code, "Left out: 3 unreadable lines." in done.err) == (0, True), done.err
    assert [entry["content"] for entry in road.entries] == ["how many sheep?"]


def test_a_pipe_is_refused_instead_of_waited_for(carrel: Carrel, tmp_path: Path) -> None:
    pipe = tmp_path / "notes.jsonl"
    os.mkfifo(pipe)
    done = carrel("import", "jsonl", str(pipe))
    assert done.code == 1
    assert done.err.startswith(f"{pipe} cannot be read (not a regular file)")


def test_much_is_sent_in_pieces_with_progress(at: Carrel, road: Road, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "notes.jsonl", *({"type": "note", "content": str(n)} for n in range(250)))
    done = at("import", "jsonl", str(path))
    assert done.err.splitlines()[:3] == [f"{sent} of 250 entries sent" for sent in (100, 200, 250)]
    assert [entry["content"] for entry in road.entries] == [str(n) for n in range(250)]


def test_a_server_without_room_is_asked_again(at: Carrel, road: Road, tmp_path: Path, elapsing: Elapsing) -> None:
    elapsing.skip_pauses()
    road.refuse("one", 429, times=3)
    path = write_lines(tmp_path / "notes.jsonl", {"type": "note", "content": "one"})
    assert at("import", "jsonl", str(path)).code == 0
    assert len(road.entries) == 1
    road.refuse("two", 429)
    write_lines(path, {"type": "note", "content": "two"})
    assert at("import", "jsonl", str(path)).code == 1
