"""Slack's Events API: https://docs.slack.dev/apis/events-api."""

from collections.abc import Mapping
from typing import Any

from carrel.inbound.kinds.kind import Kind, body_digest
from carrel.inbound.model import Arrival
from carrel.inbound.signatures import age_fault, signature_fault, signature_of
from carrel.kernel import MS_PER_SECOND, text_at

_SIGNATURE, _TIMESTAMP = "X-Slack-Signature", "X-Slack-Request-Timestamp"
_SECONDS_DIGITS_MAX = 12


class Slack(Kind):
    """Messages and mentions of an app in channels and direct messages."""

    name = "Slack"
    events = ("app_mention", "message")
    title = "{event.text|@event}"
    text = "{event.text}"
    thread = "{event.channel}:{event.thread_ts|event.ts}"
    sample = (
        "app_mention",
        {
            "type": "event_callback",
            "event_id": "Ev08MFMKH6",
            "event": {
                "type": "app_mention",
                "user": "U02345678",
                "text": "<@U03456789> why does the door not close?",
                "ts": "1715600000.001500",
                "channel": "C04567890",
            },
        },
    )

    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        stamp = headers.get(_TIMESTAMP, "")
        expected = f"v0={signature_of(secret, b'v0:' + stamp.encode() + b':' + raw)}"
        fault = signature_fault(headers.get(_SIGNATURE, ""), expected, _SIGNATURE)
        is_number = stamp.isascii() and stamp.isdecimal() and len(stamp) <= _SECONDS_DIGITS_MAX
        return fault or age_fault(int(stamp) * MS_PER_SECOND if is_number else None, now_ms)

    def handshake(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        is_asked = payload.get("type") == "url_verification"
        return {"challenge": text_at(payload, "challenge")} if is_asked else None

    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        # Slack sends edits, deletions and joins as messages with a subtype.
        event = text_at(payload, "event.subtype") or text_at(payload, "event.type") or text_at(payload, "type")
        return Arrival(
            event=event,
            sender_id=text_at(payload, "event_id") or body_digest(raw),
            author=text_at(payload, "event.user"),
            by_bot=bool(text_at(payload, "event.bot_id")),
            payload=payload,
        )
