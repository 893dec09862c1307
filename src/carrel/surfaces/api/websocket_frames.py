"""The frames of the chat's WebSocket, and the frame for each event of the feed."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from carrel.exchanges import visible_reply
from carrel.journal import Event
from carrel.kernel import Input, Refusal
from carrel.surfaces.api.chat import NewFile
from carrel.surfaces.api.session_ids import Reference
from carrel.surfaces.api.sessions.changes import ClientId

EventType = Literal["typing", "progress_update", "runtime_event", "error"]
_body = msgspec.json.Decoder(dict[str, Any]).decode
# The type of frame for each event; other events are not sent.
_EVENT_TYPES: dict[str, EventType] = {
    "run.queued": "runtime_event",
    "run.started": "typing",
    "run.progress": "progress_update",
    "run.retrying": "progress_update",
    "run.held": "progress_update",
    "run.rescued": "progress_update",
    "run.waiting": "runtime_event",
    "run.cancelled": "runtime_event",
    "run.failed": "error",
    "session.opened": "runtime_event",
    "session.closed": "runtime_event",
    "session.updated": "runtime_event",
    "session.deleted": "runtime_event",
}


class InFrame(Input, frozen=True, kw_only=True):
    """What a client sends."""

    type: Literal["bind", "message", "stop"]
    session_id: Reference | None = None
    client_instance_id: ClientId | None = None
    client_message_id: ClientId | None = None
    answers_run_id: ClientId | UnsetType | None = UNSET
    text: str = ""
    attachments: tuple[NewFile, ...] = ()


class Frame(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a client receives."""

    type: Literal["assistant_chunk", "assistant_done", "system_event"]
    session_id: str | None
    run_id: str | None = None
    text: str | UnsetType = UNSET
    command: bool | UnsetType = UNSET
    event_type: EventType | UnsetType = UNSET
    # The name that clients know.
    content: dict[str, Any] | UnsetType = field(name="payload", default=UNSET)
    seq: int | UnsetType = UNSET


def frame_of(event: Event) -> Frame | None:
    """Return the frame for an event; None for events that are not sent."""
    if event.name == "run.completed":
        return _done_frame(event)
    event_type = _EVENT_TYPES.get(event.name)
    if event_type is None:
        return None
    content = {"name": event.name, **_body(event.body)}
    if event.name in ("run.failed", "run.retrying", "run.held"):
        content |= content.get("error") or {}
    return system_frame(event.conversation, event_type, content, run_id=event.run_id, seq=event.seq)


def _done_frame(event: Event) -> Frame:
    """Return the frame that ends a reply; a reply that no person asked for includes its provenance."""
    body = _body(event.body)
    reply, provenance = body.get("reply") or "", body["provenance"]
    return Frame(
        type="assistant_done",
        session_id=event.conversation,
        run_id=event.run_id,
        text=reply if visible_reply(reply) else "",
        content=UNSET if provenance["kind"] == "external_user" else {"provenance": provenance},
        seq=event.seq,
    )


def system_frame(
    session_id: str | None,
    event_type: EventType,
    content: dict[str, Any],
    *,
    run_id: str | None = None,
    seq: int | UnsetType = UNSET,
) -> Frame:
    """Return a frame that is not part of a reply."""
    return Frame(
        type="system_event", session_id=session_id, run_id=run_id, event_type=event_type, content=content, seq=seq
    )


def error_frame(session_id: str | None, refusal: Refusal) -> Frame:
    """Return the frame that reports an error in a client's frame."""
    content: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.field is not None:
        content["field"] = refusal.field
    return system_frame(session_id, "error", content)
