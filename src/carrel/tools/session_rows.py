"""Sessions and transcripts as the tools show them: rows of a list, and messages within their bounds."""

from typing import Any

import msgspec

from carrel.journal import Entry
from carrel.kernel import REDACTED, Access, SessionKey, clip
from carrel.kernel.limits import TOOL_MESSAGE_CHARS_MAX, TOOL_RESULT_BYTES_MAX
from carrel.runs import newest_end
from carrel.sessions import LaneRow, shown_channel
from carrel.storage import Tx
from carrel.tools.transcript import message_shape

# What the rest of a result takes beside its messages.
_FRAME_BYTES = 2 * 1024


def shown_key(own: SessionKey, key: SessionKey) -> str:
    """The key as an agent knows it: its main lane is `main` to that agent."""
    return "main" if key == SessionKey(own.agent, "main") else str(key)


def row_of(tx: Tx, access: Access, own: SessionKey, row: LaneRow) -> dict[str, Any]:
    """One session of a list."""
    lane, session = row.lane, row.session
    key = lane.session_key
    found: dict[str, Any] = {
        "key": shown_key(own, key),
        "kind": key.listed_kind,
        "channel": shown_channel(key, lane.last_channel),
        "displayName": lane.display_name,
        "updatedAt": lane.updated_at,
        "sessionId": session.id if session else None,
        "model": lane.model,
        "contextTokens": lane.last_tokens,
        "totalTokens": lane.total_tokens,
        "thinkingLevel": lane.thinking_level,
        "verboseLevel": lane.verbose_level,
        "systemSent": session is not None,
        "abortedLastRun": newest_end(tx, access, lane.key) == "cancelled",
        "sendPolicy": lane.send_policy,
        "lastChannel": lane.last_channel,
        "lastTo": lane.last_to,
        "transcriptPath": f"/api/sessions/{session.id}/history" if session else None,
        "label": lane.label,
    }
    if lane.last_channel:
        context = {"channel": lane.last_channel, "to": lane.last_to, "accountId": access.account_id}
        found["deliveryContext"] = context
    return found


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Messages within their bounds, and what the bounds took away."""

    messages: list[Any]
    dropped: int = 0
    clipped: bool = False
    redacted: bool = False
    bytes: int = 0


def messages_within(entries: list[Entry]) -> Told:
    """Entries as messages: secrets taken out, long texts cut, and of too many the oldest left out."""
    plain = [msgspec.to_builtins(message_shape(entry, redacted=True)) for entry in entries]
    hidden = any(REDACTED in str(message["content"]) for message in plain)
    clipped = [_clip_blocks(message) for message in plain]
    room, kept = TOOL_RESULT_BYTES_MAX - _FRAME_BYTES, []
    for message in reversed(plain):
        room -= len(msgspec.json.encode(message)) + 1
        if room < 0:
            break
        kept.append(message)
    kept.reverse()
    size = len(msgspec.json.encode(kept))
    return Told(
        messages=kept, dropped=len(plain) - len(kept), clipped=any(clipped), redacted=hidden, bytes=size
    )  # fmt: skip


def _clip_blocks(message: dict[str, Any]) -> bool:
    """Cut what is too long in one message; whether anything was."""
    cut = False
    for block in message["content"]:
        for name in ("text", "arguments"):
            words = block.get(name)
            if words is None:
                continue
            text = words if isinstance(words, str) else msgspec.json.encode(words).decode()
            if len(text) > TOOL_MESSAGE_CHARS_MAX:
                block[name], cut = clip(text, TOOL_MESSAGE_CHARS_MAX), True
    return cut
