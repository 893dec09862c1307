"""The lanes of modes and schedules: creating them early, and writing to them without a request."""

from typing import Any, Literal

from msgspec import UNSET

from carrel.chats import require_valid_new_key
from carrel.kernel import Access, Envelope, Provenance, SessionKey
from carrel.outbox import keep_reply_address
from carrel.runs import Rules, Run, deliver
from carrel.sessions import lane_of, make_lane
from carrel.storage import Tx
from carrel.work import readable_task


def ensure_lane(tx: Tx, access: Access, key: SessionKey) -> None:
    """Create the lane of a session if needed; a task lane needs a task that the caller may read."""
    if lane_of(tx, access, key) is not None:
        return
    require_valid_new_key(key)
    if key.task_id is not None:
        readable_task(tx, access, key.task_id)
    make_lane(tx, access, key)


def deliver_unasked(
    tx: Tx, access: Access, key: SessionKey, text: str, kind: Literal["auto", "cron"], rules: Rules, **more: Any
) -> Run:  # fmt: skip
    """Deliver a message that nobody wrote; the reply goes to the chat where the session was last used."""
    lane = lane_of(tx, access, key)
    chat = None if lane is None else lane.chat_address
    source = Provenance(kind=kind, source_channel=chat[0] if chat else UNSET, actor=access.actor_id)
    run = deliver(tx, access, Envelope.internal(key, text, source, **more), rules)
    if chat:
        keep_reply_address(tx, access, run.id, *chat)
    return run
