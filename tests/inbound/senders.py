"""What GitHub, Linear, Slack and other programs send: bodies as their documentation shows them, signed as they do."""

import hmac
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct, structs

from carrel.kernel import SystemClock

SECRET = "a-secret-of-the-webhook-0123456789"

ISSUE: dict[str, Any] = {
    "action": "opened",
    "issue": {
        "url": "https://api.github.com/repos/octo-org/doors/issues/1347",
        "html_url": "https://github.com/octo-org/doors/issues/1347",
        "id": 1,
        "number": 1347,
        "title": "The green door does not close",
        "user": {"login": "octocat", "id": 1, "type": "User"},
        "labels": [{"id": 208045946, "name": "bug"}],
        "state": "open",
        "comments": 0,
        "created_at": "2026-04-10T20:09:31Z",
        "updated_at": "2026-04-10T20:09:31Z",
        "body": "It stays open.\r\n\r\nSteps: push it.",
    },
    "repository": {
        "id": 1296269,
        "full_name": "octo-org/doors",
        "owner": {"login": "octo-org", "id": 1, "type": "Organization"},
        "html_url": "https://github.com/octo-org/doors",
        "private": True,
    },
    "organization": {"login": "octo-org", "id": 1},
    "sender": {"login": "octocat", "id": 1, "type": "User"},
}
COMMENT: dict[str, Any] = {
    **ISSUE,
    "action": "created",
    "comment": {
        "html_url": "https://github.com/octo-org/doors/issues/1347#issuecomment-1",
        "id": 1,
        "user": {"login": "hubot-human", "id": 2, "type": "User"},
        "created_at": "2026-04-10T21:09:31Z",
        "body": "It is the hinge.",
    },
    "sender": {"login": "hubot-human", "id": 2, "type": "User"},
}
PULL_REQUEST: dict[str, Any] = {
    "action": "opened",
    "number": 12,
    "pull_request": {
        "html_url": "https://github.com/octo-org/doors/pull/12",
        "number": 12,
        "state": "open",
        "title": "New hinges",
        "user": {"login": "octocat", "id": 1, "type": "User"},
        "body": None,
        "head": {"ref": "hinges", "sha": "ec26c3e57ca3a959ca5aad62de7213c562f8c821"},
        "base": {"ref": "main"},
    },
    "repository": ISSUE["repository"],
    "sender": ISSUE["sender"],
}
PING: dict[str, Any] = {
    "zen": "Practicality beats purity.",
    "hook_id": 109948940,
    "hook": {
        "type": "Repository",
        "id": 109948940,
        "name": "web",
        "active": True,
        "events": ["*"],
        "config": {"content_type": "json", "insecure_ssl": "0", "secret": "********"},
    },
    "repository": ISSUE["repository"],
    "sender": ISSUE["sender"],
}
LINEAR_ISSUE: dict[str, Any] = {
    "action": "create",
    "actor": {"id": "b5ea5f1f-8adc-4f52-b4bd-ab4e84cf51ba", "type": "user", "name": "Ada", "email": "ada@example.org"},
    "createdAt": "2026-01-23T12:53:18.084Z",
    "data": {
        "id": "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
        "createdAt": "2026-01-23T12:53:18.084Z",
        "number": 7,
        "identifier": "DOO-7",
        "title": "The blue door squeaks",
        "description": "Oil it.",
        "priority": 0,
        "team": {"id": "72b2a2dc-6f4f-4423-9d34-24b5bd10634a", "key": "DOO", "name": "Doors"},
        "url": "https://linear.app/doors/issue/DOO-7/the-blue-door-squeaks",
    },
    "url": "https://linear.app/doors/issue/DOO-7/the-blue-door-squeaks",
    "type": "Issue",
    "organizationId": "dd3aac8a-0a52-4e3b-9b9e-6f3b6f2e4a0b",
    "webhookId": "000042e3-d123-4980-b49f-8e140eef9329",
}
LINEAR_COMMENT: dict[str, Any] = {
    **LINEAR_ISSUE,
    "type": "Comment",
    "data": {
        "id": "2b8f4b2c-6f4f-4423-9d34-24b5bd10634b",
        "createdAt": "2026-01-23T13:53:18.084Z",
        "body": "Which oil?",
        "issueId": LINEAR_ISSUE["data"]["id"],
        "issue": {"id": LINEAR_ISSUE["data"]["id"], "identifier": "DOO-7", "title": "The blue door squeaks"},
    },
    "url": "https://linear.app/doors/issue/DOO-7/the-blue-door-squeaks#comment-2b8f4b2c",
}
MENTION: dict[str, Any] = {
    "token": "XXYYZZ",
    "team_id": "T01234567",
    "api_app_id": "A01234567",
    "event": {
        "type": "app_mention",
        "user": "U02345678",
        "text": "<@U03456789> which door is green?",
        "ts": "1715600000.001500",
        "channel": "C04567890",
        "event_ts": "1715600000.001500",
    },
    "type": "event_callback",
    "event_id": "Ev08MFMKH6",
    "event_time": 1715600000,
    "authorizations": [{"team_id": "T01234567", "user_id": "U03456789", "is_bot": True}],
}
CHALLENGE: dict[str, Any] = {
    "token": "Jhj5dZrVaK7ZwHHjRyZWjbDl",
    "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",
    "type": "url_verification",
}
ALERT: dict[str, Any] = {"title": "The disk is almost full", "text": "94% of /data", "thread": "disk-7"}


class Post(Struct, frozen=True, kw_only=True):
    """What a program posts."""

    body: bytes
    headers: Mapping[str, str]

    def with_header(self, name: str, value: str | None) -> "Post":
        """Return it with another value of a header, or without it."""
        rest = {known: given for known, given in self.headers.items() if known != name}
        return structs.replace(self, headers=rest if value is None else rest | {name: value})


def hex_of(content: bytes, secret: str = SECRET) -> str:
    """Return an HMAC-SHA256 in hex."""
    return hmac.new(secret.encode(), content, sha256).hexdigest()


def from_github(payload: Mapping[str, Any], event: str = "issues", delivery: str = "72d3162e-cc78-11e3-81ab") -> Post:
    """Return a delivery of GitHub."""
    body = json.dumps(payload).encode()
    headers = {
        "User-Agent": "GitHub-Hookshot/044aadd",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={hex_of(body)}",
    }
    return Post(body=body, headers=headers)


def from_linear(payload: Mapping[str, Any], delivery: str = "234d1a4e-b617-4388-90fe", ago_ms: int = 0) -> Post:
    """Return a delivery of Linear, signed some time ago."""
    body = json.dumps({**payload, "webhookTimestamp": SystemClock().now_ms() - ago_ms}).encode()
    headers = {"Linear-Delivery": delivery, "Linear-Event": payload["type"], "Linear-Signature": hex_of(body)}
    return Post(body=body, headers=headers)


def from_slack(payload: Mapping[str, Any], ago_ms: int = 0) -> Post:
    """Return a delivery of Slack, signed some time ago."""
    body, stamp = json.dumps(payload).encode(), str((SystemClock().now_ms() - ago_ms) // 1000)
    signature = f"v0={hex_of(f'v0:{stamp}:'.encode() + body)}"
    return Post(body=body, headers={"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature})


def from_program(payload: Any, **headers: str) -> Post:
    """Return a delivery of any other program."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Post(body=body, headers={"X-Carrel-Signature": f"sha256={hex_of(body)}", **named})
