"""What a host reports, as entries of the board; control text is left out. Pure."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from carrel.kernel import Echoes, clip, is_control_text, redact, secret_digest
from carrel.kernel.limits import MESSAGE_CHARS_MAX, NAME_CHARS_MAX, SESSION_REFERENCE_CHARS_MAX

Event = Mapping[str, Any]
Kind = Literal["inbound", "outbound", "tool_call", "tool_result", "tool_error", "end"]
# The kinds, also by the names of OpenClaw's hooks.
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)} | {
    "message_received": "inbound",
    "message_sending": "outbound",
    "before_tool_call": "tool_call",
    "after_tool_call": "tool_result",
    "agent_end": "end",
}
# The fields of POST /api/log, for events that are entries already.
ENTRY_TYPES = ("conversation", "action", "note", "system", "import")
ENTRY_FIELDS = frozenset((
    "type", "content", "summary", "raw", "topicId", "taskId", "spaceId", "relatedLogId", "agentId", "agentLabel",
    "source", "idempotencyKey", "createdAt", "attachmentIds",
))  # fmt: skip
_WHERE_FIELDS = frozenset(("sessionKey", "conversationId", "threadId", "channelId", "channel"))
_RAW_CHARS_MAX = 5_000
_TOOLS = {"tool_call": "Tool call", "tool_result": "Tool result", "tool_error": "Tool error"}
# How a host begins the task of a sub-agent.
_SCAFFOLD = "[Subagent Context]"


class Reported(NamedTuple):
    """An entry to be sent, and its part in the turn of its session."""

    session: str
    kind: Kind | None
    body: dict[str, Any]


def read_event(event: Event) -> Reported | None:
    """Return what an event reports; None when it is not to be recorded, ValueError when it is malformed."""
    session = session_of(event)
    # The server keeps the transcripts of its lanes itself, and its own requests belong to none.
    if Echoes.is_session(session):
        return None
    if "kind" not in event and event.get("type") in ENTRY_TYPES:
        reported = _entry(event, session)
    else:
        kind = KINDS.get(str(event.get("kind")))
        if kind is None:
            raise ValueError(f"An event needs a kind, one of {', '.join(KINDS)}; or a type, as POST /api/log takes it.")
        reported = _tool(event, session, kind) if kind in _TOOLS else _words(event, session, kind)
    text = reported.body["content"]
    if Echoes.is_request(text) or (reported.body["type"] == "conversation" and not is_said(text)):
        return None
    # The board's own endpoint has recorded what people say in a chat of the board.
    is_double = reported.kind == "inbound" and session.startswith("clawboard:")
    return None if is_double else reported


def is_end(event: Event) -> bool:
    """Return whether an event reports the end of a turn."""
    return KINDS.get(str(event.get("kind"))) == "end"


def session_of(event: Event) -> str:
    """Return the session key of an event: a board key, else the provider's conversation, else the channel."""
    source = event.get("source") or {}
    key = str(event.get("sessionKey") or source.get("sessionKey") or "")
    if event.get("conversationId") and not key.startswith("clawboard:"):
        thread = event.get("threadId")
        key = f"{event['conversationId']}{f'|thread:{thread}' if thread else ''}"
    elif not key and event.get("channelId"):
        key = f"channel:{event['channelId']}"
    return fitted_key(key)


def is_said(text: str) -> bool:
    """Return whether somebody said a text; False for text with which a host controls its agents."""
    said = text.strip()
    return bool(said) and not is_control_text(said) and not said.startswith(_SCAFFOLD)


def fitted_key(key: str, chars_max: int = SESSION_REFERENCE_CHARS_MAX) -> str:
    """Return a key within a length, by default that of session keys; a shortened one stays distinct."""
    if len(key) <= chars_max:
        return key
    digest = secret_digest(key)[:32]
    return f"{key[: chars_max - len(digest) - 1]}:{digest}"


def _entry(event: Event, session: str) -> Reported:
    unknown = next((name for name in event if name not in ENTRY_FIELDS | _WHERE_FIELDS), None)
    if unknown is not None:
        raise ValueError(f"{unknown} is not a field of an entry.")
    if not isinstance(event.get("content"), str):
        raise ValueError("content must be a string.")
    body = {name: value for name, value in event.items() if name in ENTRY_FIELDS}
    body["source"] = dict(event.get("source") or {}) | _source(event, session)
    by_person = body.get("agentId", "user") == "user"
    kind: Kind | None = ("inbound" if by_person else "outbound") if body["type"] == "conversation" else None
    return Reported(session, kind, body)


def _words(event: Event, session: str, kind: Kind) -> Reported:
    text = event.get("text", "")
    if not isinstance(text, str):
        raise ValueError("text must be a string.")
    agent = "user" if kind == "inbound" else _agent(event, session)
    body = {"type": "conversation", "content": clip(text, MESSAGE_CHARS_MAX), "agentId": agent}
    return Reported(session, kind, body | _common(event, session))


def _tool(event: Event, session: str, kind: Kind) -> Reported:
    name, error = str(event.get("toolName") or "unknown"), event.get("error")
    if kind == "tool_result" and error:
        kind = "tool_error"
    why = f": {redact(str(error), _RAW_CHARS_MAX)}" if kind == "tool_error" and error else ""
    shown = event.get("arguments") if kind == "tool_call" else event.get("result")
    body = {"type": "action", "content": clip(f"{_TOOLS[kind]}: {name}{why}", MESSAGE_CHARS_MAX)}
    body["agentId"] = _agent(event, session)
    if shown is not None:
        body["raw"] = redact(shown, _RAW_CHARS_MAX)
    return Reported(session, kind, body | _common(event, session))


def _agent(event: Event, session: str) -> str:
    """Return the id of the agent that speaks: as given, else the one of the session key."""
    parts = session.split(":")
    named = event.get("agentId") or (parts[1] if parts[0] == "agent" and len(parts) > 2 else "assistant")
    return clip(str(named), NAME_CHARS_MAX)


def _common(event: Event, session: str) -> dict[str, Any]:
    given = {
        name: event[name] for name in ("agentLabel", "createdAt", "topicId", "taskId", "spaceId") if event.get(name)
    }
    return given | {"source": _source(event, session)}


def _source(event: Event, session: str) -> dict[str, str]:
    named = {name: fitted_key(str(event[name])) for name in ("messageId", "requestId") if event.get(name)}
    if event.get("channel"):
        named["channel"] = clip(str(event["channel"]), NAME_CHARS_MAX)
    return named | ({"sessionKey": session} if session else {})
