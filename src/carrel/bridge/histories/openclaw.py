"""The sessions of OpenClaw: a database for each agent, or files of JSON lines as older versions wrote them.

The database is opened for reading only; the gateway may be running.
"""

import importlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from carrel.bridge.faults import BridgeFault
from carrel.bridge.histories.model import Entry, PastMessage, Skipped, json_lines, moment, parsed, require_folder, words

CHANNEL = "openclaw"
_DATABASE = "agent/openclaw-agent.sqlite"
_SESSIONS = "SELECT session_id, session_key FROM session_windows ORDER BY rowid"
_EVENTS = "SELECT seq, event_json, event_zstd, created_at FROM transcript_events WHERE session_id = ? ORDER BY seq"
# Long events are compressed; any module that can read them will do.
_DECOMPRESSORS = ("compression.zstd", "zstandard")
Event = dict[str, Any]


def read_openclaw(home: Path, skipped: Skipped) -> Iterator[Entry]:
    """Yield what people and agents said, session by session; tools are left out."""
    require_folder(home / "agents", "OpenClaw")
    for agent in sorted(path for path in (home / "agents").iterdir() if path.is_dir()):
        sessions = _stored(agent / _DATABASE, skipped) if (agent / _DATABASE).is_file() else _written(agent, skipped)
        for key, session_id, events in sessions:
            said = (_said(agent.name, key, session_id, event, skipped) for event in _active_branch(events))
            yield from (entry for entry in said if entry is not None)


def _said(agent: str, key: str, session_id: str, event: Event, skipped: Skipped) -> Entry | None:
    message = event.get("message")
    if event.get("type") != "message" or not isinstance(message, dict):
        return None
    text = words(message.get("content")).strip()
    if message.get("role") not in ("user", "assistant") or not text:
        skipped["tools"] += 1
        return None
    if unsaid := _unsaid(key, message):
        skipped[unsaid] += 1
        return None
    said = PastMessage(
        channel=CHANNEL,
        session=key,
        message_id=f"{session_id}:{event['seq']}",
        at=moment(event.get("timestamp")) or moment(message.get("timestamp")) or moment(event.get("created_at")),
        agent=agent if message["role"] == "assistant" else None,
        text=text,
        identity=_identity(key, message),
    )
    return said.entry(skipped)


def _unsaid(key: str, message: Event) -> str | None:
    """Return why a message with words counts as said by nobody; the OpenClaw plugin leaves out the same."""
    if message.get("stopReason") == "error":
        return "answers that broke off"
    if message["role"] == "user" and ":clawboard:" in f":{key}":
        return "messages that the board has recorded itself"
    origin = message.get("provenance")
    is_relayed = isinstance(origin, dict) and origin.get("kind", "external_user") != "external_user"
    return "messages of other sessions" if message["role"] == "user" and is_relayed else None


def _identity(key: str, message: Event) -> str | None:
    """Return the message's key in the OpenClaw plugin, so that a message it has sent is not imported again."""
    timestamp = message.get("timestamp")
    if not isinstance(timestamp, int):
        return None
    named = "\n".join((key, str(message["role"]), str(timestamp)))
    return f"openclaw:{sha256(named.encode()).hexdigest()}"


def _active_branch(events: list[Event]) -> list[Event]:
    """Return the events from the beginning to the last one: what was edited or tried again is left out."""
    known = {event["id"]: event for event in events if isinstance(event.get("id"), str)}
    newest = next((event for event in reversed(events) if event.get("id") in known), None)
    branch: list[Event] = []
    while newest is not None and len(branch) < len(events):
        branch.append(newest)
        newest = known.get(newest.get("parentId") or "")
    # A branch that does not lead back to a first event was cut, so it does not show what was left out.
    is_whole = bool(branch) and branch[-1].get("parentId") is None
    return branch[::-1] if is_whole else events


def _stored(path: Path, skipped: Skipped) -> Iterator[tuple[str, str, list[Event]]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            for session_id, key in db.execute(_SESSIONS).fetchall():
                events = (_event(row, skipped) for row in db.execute(_EVENTS, (session_id,)))
                yield str(key), str(session_id), [event for event in events if event is not None]
    except sqlite3.Error as fault:
        raise BridgeFault(f"{path} cannot be read ({fault}); is it of a newer version of OpenClaw?") from fault


def _event(row: tuple[Any, ...], skipped: Skipped) -> Event | None:
    seq, text, compressed, created_at = row
    try:
        event = parsed(text if text is not None else _decompressed(compressed))
    except ImportError:
        skipped["compressed messages (install the package zstandard to read them)"] += 1
        return None
    except ValueError:
        skipped["unreadable events"] += 1
        return None
    return {"created_at": created_at} | event | {"seq": seq} if isinstance(event, dict) else None


def _decompressed(compressed: bytes) -> bytes:
    for name in _DECOMPRESSORS:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        read = module.decompress if hasattr(module, "decompress") else module.ZstdDecompressor().decompress
        try:
            return bytes(read(compressed))
        except Exception as fault:  # boundary: each module has its own exceptions, and a bad event must not lose others
            raise ValueError(str(fault)) from fault
    raise ImportError("zstandard")


def _written(agent: Path, skipped: Skipped) -> Iterator[tuple[str, str, list[Event]]]:
    """Yield the sessions of older versions: an index of keys, and a file for each session."""
    index = agent / "sessions" / "sessions.json"
    keys: dict[str, str] = {}
    if index.is_file():
        try:
            listed = parsed(index.read_text(encoding="utf-8"))
            keys = {str(entry["sessionId"]): key for key, entry in listed.items() if "sessionId" in entry}
        except (OSError, ValueError, AttributeError, TypeError) as fault:
            raise BridgeFault(f"{index} cannot be read ({fault}).") from fault
    for path in sorted((agent / "sessions").glob("*.jsonl")):
        events = [event | {"seq": number} for number, event in enumerate(json_lines(path, skipped))]
        yield keys.get(path.stem, f"agent:{agent.name}:{path.stem}"), path.stem, events
