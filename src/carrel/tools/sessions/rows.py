"""Sessions and transcripts as tools show them: the rows of a list, and messages within their limits."""

from typing import Any

import msgspec
from msgspec import UNSET

from carrel.journal import Entry
from carrel.kernel import REDACTED, Access, SessionKey, clip
from carrel.kernel.limits import TOOL_MESSAGE_CHARS_MAX, TOOL_RESULT_BYTES_MAX
from carrel.sessions import LaneRow, shown_channel
from carrel.storage import Tx
from carrel.tools.sessions.shapes import DeliveryContext, SessionRow
from carrel.tools.tasks.shapes import first_that_fit
from carrel.tools.transcript import message_shape

# Space for the rest of a result beside its messages.
_FRAME_BYTES = 2 * 1024


def shown_key(agent_id: str | None, key: SessionKey) -> str:
    """Return a key as its reader knows it: to an agent, its own main lane is `main`."""
    return "main" if agent_id is not None and key == SessionKey(agent_id, "main") else str(key)


def session_row(tx: Tx, access: Access, agent_id: str | None, row: LaneRow) -> SessionRow:
    """Return the row of one session, with the key as that agent knows it; None stands for a person."""
    lane, session, key = row.lane, row.session, row.lane.session_key
    channel = lane.last_channel
    sender = DeliveryContext(channel=channel, to=lane.last_to, account_id=access.account_id) if channel else UNSET
    return SessionRow.of(
        lane,
        key=shown_key(agent_id, key),
        kind=key.listed_kind,
        channel=shown_channel(key, channel),
        session_id=session.id if session else None,
        context_tokens=lane.last_tokens,
        system_sent=session is not None,
        aborted_last_run=row.last_end == "cancelled",
        transcript_path=f"/api/sessions/{session.id}/history" if session else None,
        delivery_context=sender,
        messages=UNSET,
    )


def clip_messages(entries: list[Entry]) -> dict[str, Any]:
    """Return entries as messages, and what was done: secrets redacted, long texts clipped, the oldest dropped."""
    plain = [msgspec.to_builtins(message_shape(entry, redacted=True)) for entry in entries]
    hidden = any(REDACTED in str(message["content"]) for message in plain)
    clipped = [_clip_blocks(message) for message in plain]
    kept = first_that_fit(plain[::-1], TOOL_RESULT_BYTES_MAX - _FRAME_BYTES)[::-1]
    return {
        "messages": kept,
        "truncated": len(kept) < len(plain) or any(clipped),
        "droppedMessages": len(plain) - len(kept),
        "contentTruncated": any(clipped),
        "contentRedacted": hidden,
        "bytes": len(msgspec.json.encode(kept)),
    }


def _clip_blocks(message: dict[str, Any]) -> bool:
    """Clip long texts in a message; True if any was clipped."""
    cut = False
    for block in message["content"]:
        for name in ("text", "arguments"):
            value = block.get(name, "")
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            if len(text) > TOOL_MESSAGE_CHARS_MAX:
                block[name], cut = clip(text, TOOL_MESSAGE_CHARS_MAX), True
    return cut
