"""Linear: https://linear.app/developers/webhooks."""

from collections.abc import Mapping
from typing import Any

import msgspec

from carrel.inbound.kinds.kind import Kind, body_digest
from carrel.inbound.model import Arrival
from carrel.inbound.signatures import age_fault, signature_fault, signature_of
from carrel.kernel import text_at

_SIGNATURE = "Linear-Signature"


class _Signed(msgspec.Struct):
    """When a body was signed, in milliseconds."""

    webhookTimestamp: int | None = None  # noqa: N815  (as Linear calls it)


class Linear(Kind):
    """Issues and comments of a team or a workspace."""

    name = "Linear"
    events = ("Issue.create", "Comment.create")
    title = "{data.identifier|data.issue.identifier}: {data.title|data.issue.title|@event}"
    text = "{data.title|data.issue.title}\n{url|data.url}\n\n{data.body|data.description}"
    thread = "{data.issue.id|data.issueId|data.id}"
    # It resends everything that is answered with another status.
    accepted = 200
    sample = (
        "Issue.create",
        {
            "action": "create",
            "type": "Issue",
            "actor": {"name": "Ada", "type": "user"},
            "data": {
                "id": "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
                "identifier": "DOO-7",
                "title": "The door does not close",
                "description": "It worked yesterday.",
            },
            "url": "https://linear.app/doors/issue/DOO-7",
        },
    )

    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        fault = signature_fault(headers.get(_SIGNATURE, ""), signature_of(secret, raw), _SIGNATURE)
        return fault or age_fault(_signed_at(raw), now_ms)

    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        digest = body_digest(raw)
        return Arrival(
            event=".".join(filter(None, (text_at(payload, "type"), text_at(payload, "action")))),
            sender_id=headers.get("Linear-Delivery") or digest,
            author=text_at(payload, "actor.name"),
            by_bot=text_at(payload, "actor.type") not in ("", "user"),
            payload=payload,
            digest=digest,
        )


def _signed_at(raw: bytes) -> int | None:
    try:
        return msgspec.json.decode(raw, type=_Signed).webhookTimestamp
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
