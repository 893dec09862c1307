"""GitHub: https://docs.github.com/webhooks, with content type application/json."""

from collections.abc import Mapping
from typing import Any

from carrel.inbound.kinds.kind import Kind, body_digest
from carrel.inbound.model import Arrival
from carrel.inbound.signatures import signature_fault, signature_of
from carrel.kernel import text_at

_SIGNATURE = "X-Hub-Signature-256"


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
        return signature_fault(headers.get(_SIGNATURE, ""), f"sha256={signature_of(secret, raw)}", _SIGNATURE)

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
