"""Any program that posts JSON and signs it."""

from collections.abc import Mapping
from typing import Any

from carrel.inbound.kinds.kind import Kind, body_digest
from carrel.inbound.model import Arrival
from carrel.inbound.signatures import signature_fault, signature_of
from carrel.kernel import text_at


class PlainJson(Kind):
    """A body signed as GitHub does, in a header of our own or of the program's."""

    name = "JSON"
    events = ("*",)
    title = "{title|subject|name|@event|@webhook}"
    text = "{text|message|description|body|@payload}"
    thread = "{thread}"
    sample = ("alert", {"title": "The disk is almost full", "text": "94% of /data", "thread": "disk-7"})

    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        name = self.settings.signature_header or "X-Carrel-Signature"
        # Some programs send only the hex digits.
        given = headers.get(name, "").strip().removeprefix("sha256=")
        return signature_fault(given, signature_of(secret, raw), name)

    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        return Arrival(
            event=headers.get(self.settings.event_header or "X-Carrel-Event", "") or "json",
            sender_id=headers.get(self.settings.delivery_header or "X-Carrel-Delivery", "") or body_digest(raw),
            author=text_at(payload, "author"),
            by_bot=False,
            payload=payload,
        )
