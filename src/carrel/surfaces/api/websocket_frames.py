"""The frames of the chat's WebSocket, and what each event of the feed becomes there."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from carrel.journal import Event
from carrel.kernel import Refusal, visible_reply
from carrel.surfaces.api.chat import NewFile
from carrel.surfaces.api.endpoint import In
from carrel.surfaces.api.sessions.changes import ClientId, Reference

EventType = Literal["typing", "progress_update", "runtime_event", "error"]
_NAMES = {
    "session_id": "sessionId",
    "run_id": "runId",
    "event_type": "eventType",
    # The contract's name for what an event says.
    "said": "payload",
}
_body = msgspec.json.Decoder(dict[str, Any]).decode
# What an event is told as; every other one is left out.
_TOLD: dict[str, EventType] = {
    "run.queued": "runtime_event",
    "run.started": "typing",
    "run.progress": "progress_update",
    "run.retrying": "progress_update",
    "run.rescued": "progress_update",
    "run.waiting": "runtime_event",
    "run.cancelled": "runtime_event",
    "run.failed": "error",
    "session.opened": "runtime_event",
    "session.closed": "runtime_event",
    "session.updated": "runtime_event",
    "session.deleted": "runtime_event",
}


class InFrame(In, frozen=True, kw_only=True):
    """What a client sends."""

    type: Literal["bind", "message", "stop"]
    session_id: Reference | None = None
    client_instance_id: ClientId | None = None
    client_message_id: ClientId | None = None
    text: str = ""
    attachments: tuple[NewFile, ...] = ()


class Frame(Struct, frozen=True, kw_only=True, rename=_NAMES, omit_defaults=True):
    """What a client hears."""

    type: Literal["assistant_chunk", "assistant_done", "system_event"]
    session_id: str | None
    run_id: str | None = None
    text: str | UnsetType = UNSET
    command: bool | UnsetType = UNSET
    event_type: EventType | UnsetType = UNSET
    said: dict[str, Any] | UnsetType = UNSET
    seq: int | UnsetType = UNSET


def frame_of(event: Event) -> Frame | None:
    """An event as its lane's listeners hear it; None for what they need not hear."""
    if event.name == "run.completed":
        return _done_frame(event)
    told = _TOLD.get(event.name)
    if told is None:
        return None
    said = {"name": event.name, **_body(event.body)}
    if event.name == "run.failed":
        said |= said.get("error") or {}
    return system_frame(event.conversation, told, said, run_id=event.run_id, seq=event.seq)


def _done_frame(event: Event) -> Frame:
    """The end of a reply; one that no person in a chat asked for says by whose doing it is."""
    body = _body(event.body)
    reply, provenance = body.get("reply") or "", body["provenance"]
    return Frame(
        type="assistant_done",
        session_id=event.conversation,
        run_id=event.run_id,
        text=reply if visible_reply(reply) else "",
        said=UNSET if provenance["kind"] == "external_user" else {"provenance": provenance},
        seq=event.seq,
    )


def system_frame(
    session_id: str | None,
    event_type: EventType,
    said: dict[str, Any],
    *,
    run_id: str | None = None,
    seq: int | UnsetType = UNSET,
) -> Frame:
    """A frame that is no answer."""
    return Frame(type="system_event", session_id=session_id, run_id=run_id, event_type=event_type, said=said, seq=seq)


def error_frame(session_id: str | None, refusal: Refusal) -> Frame:
    """What was wrong with a client's frame."""
    said: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.field is not None:
        said["field"] = refusal.field
    return system_frame(session_id, "error", said)
