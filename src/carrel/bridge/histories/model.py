"""What the readers of histories share: how a message becomes an entry, and what is left out."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from carrel.bridge.events import fitted_key, is_said
from carrel.bridge.faults import BridgeFault
from carrel.kernel import Echoes, clip, iso, parse_iso
from carrel.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX, MESSAGE_CHARS_MAX

# A line of a transcript may hold a picture.
LINE_CHARS_MAX = 64 * 1024 * 1024
# What was left out, by reason; each reader counts.
Skipped = Counter[str]
Entry = dict[str, Any]


class PastMessage(NamedTuple):
    """One message of a history: where, when, by whom, and its name there."""

    channel: str
    session: str
    message_id: str
    at: int | None
    agent: str | None
    text: str
    # Identifies the message however it was imported; by default its session and its id there.
    identity: str | None = None

    def entry(self, skipped: Skipped) -> Entry | None:
        """Return the message as an entry; if nobody said it, count it as skipped and return None."""
        if Echoes.is_session(self.session) or Echoes.is_request(self.text):
            skipped["messages of Carrel's own sessions"] += 1
            return None
        if not is_said(self.text):
            skipped["control text"] += 1
            return None
        # A session of another program is not a lane of ours, even if the keys look alike.
        session = fitted_key(f"{self.channel}:{self.session}")
        name = self.identity or fitted_key(f"{session}:{self.message_id}", IDEMPOTENCY_KEY_CHARS_MAX)
        said = {"type": "conversation", "content": clip(self.text, MESSAGE_CHARS_MAX), "agentId": self.agent or "user"}
        source = {"channel": self.channel, "sessionKey": session, "messageId": fitted_key(self.message_id)}
        when = {} if self.at is None else {"createdAt": iso(self.at)}
        return said | {"source": source, "idempotencyKey": name} | when


def moment(value: object) -> int | None:
    """Return a moment in milliseconds: given as such, or as ISO 8601; None when it is neither."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        at = parse_iso(value) if isinstance(value, str) else int(value)
        # Refuses a moment beyond the calendar.
        iso(at)
    except (ValueError, OverflowError, OSError):
        return None
    return at


def words(content: object) -> str:
    """Return the text of a message: a string, or the texts among a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def parsed(text: str | bytes) -> Any:
    """Return the value of JSON; ValueError for what the server would not accept either, such as `Infinity`."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise ValueError(str(fault)) from fault


def text_lines(path: Path, errors: str = "strict") -> Iterator[str]:
    """Yield the lines of a file, which is read more than once and so must not be a pipe."""
    if path.exists() and not path.is_file():
        raise BridgeFault(f"{path} cannot be read (not a regular file); write it into a file first.")
    try:
        with path.open(encoding="utf-8", errors=errors) as lines:
            while line := lines.readline(LINE_CHARS_MAX):
                yield line
    except (OSError, UnicodeDecodeError) as fault:
        raise BridgeFault(f"{path} cannot be read ({fault}).") from fault


def json_lines(path: Path, skipped: Skipped) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines; count all other lines as skipped."""
    for line in text_lines(path, errors="replace"):
        try:
            value = parsed(line) if line.strip() else {}
        except ValueError:
            # The program may be writing its last line.
            skipped["unreadable lines"] += 1
            continue
        if isinstance(value, dict):
            yield value


def require_folder(path: Path, program: str) -> None:
    if not path.is_dir():
        raise BridgeFault(f"There is no folder {path}; name the folder in which {program} keeps its files.")
