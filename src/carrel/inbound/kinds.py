"""The kinds of senders: how each signs, names its events and deliveries, and is worded by default."""

import hmac
from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar

import msgspec

from carrel.inbound.model import Arrival
from carrel.kernel import MS_PER_SECOND, text_at
from carrel.kernel.limits import WEBHOOK_AGE_SECONDS_MAX
from carrel.kernel.settings import WebhookSettings

_AGE_MS = WEBHOOK_AGE_SECONDS_MAX * MS_PER_SECOND
_GITHUB_SIGNATURE = "X-Hub-Signature-256"
_LINEAR_SIGNATURE = "Linear-Signature"
_SLACK_SIGNATURE, _TIMESTAMP = "X-Slack-Signature", "X-Slack-Request-Timestamp"
_SECONDS_DIGITS_MAX = 12
# The event of a program that names none.
_UNNAMED = "json"


def signature_of(secret: bytes, content: bytes) -> str:
    """Return the signature of some content: HMAC-SHA256 in hex."""
    return hmac.new(secret, content, sha256).hexdigest()


def signature_fault(given: str, expected: str, header: str) -> str | None:
    """Return what is wrong with a signature; None if it is the expected one. Compares in constant time."""
    if hmac.compare_digest(given.strip().encode(), expected.encode()):
        return None
    return f"the signature in {header} is wrong" if given else f"the header {header} is missing"


def age_fault(sent_ms: int | None, now_ms: int) -> str | None:
    """Return what is wrong with the time of a signature; None if it is recent."""
    if sent_ms is None:
        return "it does not say when it was signed"
    if abs(now_ms - sent_ms) <= _AGE_MS:
        return None
    return f"it was signed more than {WEBHOOK_AGE_SECONDS_MAX // 60} minutes ago, or the clocks differ"


class Kind(ABC):
    """A kind of sender. Header names are looked up case-insensitively."""

    name: ClassVar[str]
    # The default events and wording.
    events: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    text: ClassVar[str]
    # The template of the value that deliveries about the same thing share.
    thread: ClassVar[str]
    # The status that acknowledges a delivery to the sender.
    accepted: ClassVar[int] = 202
    # A sample event and body, for trying out settings.
    sample: ClassVar[tuple[str, Mapping[str, Any]]]

    def __init__(self, settings: WebhookSettings) -> None:
        self.settings = settings

    @abstractmethod
    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        """Return what is wrong with the signature of a delivery; None if it is authentic."""

    def handshake(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer to a verification request; None for a delivery."""
        return None

    @abstractmethod
    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        """Return the parts of an authentic delivery."""

    def reported(self, event: str) -> str:
        """Return an event as agents are told of it."""
        return f"{event or 'a delivery'} from {self.name}"

    def nothing_to_do(self, event: str) -> str | None:
        """Return why an event never needs anything done, whatever the settings; None if it may."""
        return None


def body_digest(raw: bytes) -> str:
    return f"sha256:{sha256(raw).hexdigest()}"


class GitHub(Kind):
    """Issues, pull requests, comments and all other events of a repository, an organization or an app."""

    name = "GitHub"
    events = (
        "issues.opened", "issues.reopened", "issues.closed", "issue_comment.created",
        "pull_request.opened", "pull_request.reopened", "pull_request.closed", "pull_request_review.submitted",
        "pull_request_review_comment.created",
    )  # fmt: skip
    title = "{repository.full_name}#{issue.number|pull_request.number|@event}: {issue.title|pull_request.title|ref}"
    text = (
        "{issue.title|pull_request.title|head_commit.message}\n"
        "{comment.html_url|review.html_url|issue.html_url|pull_request.html_url|compare|repository.html_url}\n\n"
        "{comment.body|review.body|issue.body|pull_request.body}"
    )
    thread = "{repository.full_name}#{issue.number|pull_request.number}"
    sample = (
        "issues.opened",
        {
            "action": "opened",
            "issue": {
                "number": 7,
                "title": "The door does not close",
                "body": "It worked yesterday.",
                "html_url": "https://github.com/octo-org/doors/issues/7",
            },
            "repository": {"full_name": "octo-org/doors", "html_url": "https://github.com/octo-org/doors"},
            "sender": {"login": "octocat", "type": "User"},
        },
    )

    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        expected = f"sha256={signature_of(secret, raw)}"
        return signature_fault(headers.get(_GITHUB_SIGNATURE, ""), expected, _GITHUB_SIGNATURE)

    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        event, action, digest = headers.get("X-GitHub-Event", ""), text_at(payload, "action"), body_digest(raw)
        return Arrival(
            event=f"{event}.{action}" if action else event,
            sender_id=headers.get("X-GitHub-Delivery") or digest,
            author=text_at(payload, "sender.login"),
            by_bot=text_at(payload, "sender.type") == "Bot",
            payload=payload,
            digest=digest,
        )

    def nothing_to_do(self, event: str) -> str | None:
        return "GitHub asks whether the webhook works: it does." if event == "ping" else None


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
        fault = signature_fault(headers.get(_LINEAR_SIGNATURE, ""), signature_of(secret, raw), _LINEAR_SIGNATURE)
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
        fault = signature_fault(headers.get(_SLACK_SIGNATURE, ""), expected, _SLACK_SIGNATURE)
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


class PlainJson(Kind):
    """A body signed as GitHub does, in a header of our own or of the program's."""

    name = "JSON"
    events = ("*",)
    title = "{title|subject|name|@event|@webhook}"
    text = "{title|subject|name}\n\n{text|message|description|body|@payload}"
    thread = "{thread}"
    sample = ("alert", {"title": "The disk is almost full", "text": "94% of /data", "thread": "disk-7"})

    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        name = self.settings.signature_header or "X-Carrel-Signature"
        # Some programs send only the hex digits.
        given = headers.get(name, "").strip().removeprefix("sha256=")
        return signature_fault(given, signature_of(secret, raw), name)

    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        return Arrival(
            event=headers.get(self.settings.event_header or "X-Carrel-Event", "") or _UNNAMED,
            sender_id=headers.get(self.settings.delivery_header or "X-Carrel-Delivery", "") or body_digest(raw),
            author=text_at(payload, "author"),
            by_bot=False,
            payload=payload,
        )

    def reported(self, event: str) -> str:
        return "this" if event == _UNNAMED else event


KINDS: dict[str, type[Kind]] = {"github": GitHub, "linear": Linear, "slack": Slack, "json": PlainJson}
