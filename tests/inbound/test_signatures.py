"""Signatures: what is not signed with the secret of a webhook, and just now, is refused and not kept."""

import httpx
import pytest

from carrel.kernel.limits import WEBHOOK_BODY_BYTES_MAX
from tests.harness.server import HttpServer
from tests.inbound.posts import deliveries, delivery, done, post, webhooks
from tests.inbound.senders import (
    ALERT,
    CHALLENGE,
    ISSUE,
    LINEAR_ISSUE,
    MENTION,
    PING,
    SECRET,
    Post,
    from_github,
    from_linear,
    from_program,
    from_slack,
)
from tests.requirements.mark import requirement


@requirement("P.webhook.signed")
@pytest.mark.parametrize(
    ("name", "good", "header", "wrong"),
    [
        ("github", from_github(ISSUE), "X-Hub-Signature-256", "sha256=" + "0" * 64),
        ("github", from_github(ISSUE), "X-Hub-Signature-256", "sha256=é"),
        ("linear", from_linear(LINEAR_ISSUE), "Linear-Signature", "0" * 64),
        ("slack", from_slack(MENTION), "X-Slack-Signature", "v0=" + "0" * 64),
        ("slack", from_slack(MENTION), "X-Slack-Request-Timestamp", "9" * 5_000),
        ("alerts", from_program(ALERT), "X-Carrel-Signature", "sha256=" + "0" * 64),
    ],
)
async def test_what_is_not_signed_is_counted_and_nothing_of_it_is_kept(
    hooked: HttpServer, owner: httpx.AsyncClient, name: str, good: Post, header: str, wrong: str
) -> None:
    unknown = await post(hooked, "nothing-here", good, 401)
    for bad in (
        good.with_header(header, wrong),
        good.with_header(header, None),
        Post(body=b"{}", headers=good.headers),
    ):
        assert (await post(hooked, name, bad, 401))["error"] == unknown["error"]
    assert await deliveries(owner) == []
    (shown,) = [one for one in await webhooks(owner) if one["name"] == name]
    assert (shown["refused"], bool(shown["refusedReason"]), bool(shown["refusedAt"])) == (3, True, True)
    assert SECRET not in str(await webhooks(owner))


@requirement("P.webhook.signed")
async def test_an_old_signature_is_refused(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    for name, make, what in (("linear", from_linear, LINEAR_ISSUE), ("slack", from_slack, MENTION)):
        for ago_ms in (301_000, -310_000):
            await post(hooked, name, make(what, ago_ms=ago_ms), 401)
        shown = next(one for one in await webhooks(owner) if one["name"] == name)
        assert "more than 5 minutes ago" in shown["refusedReason"]
        await done(hooked, owner, name, make(what, ago_ms=290_000), 200 if name == "linear" else 202)


@requirement("P.webhook.signed")
async def test_the_secret_of_one_webhook_opens_no_other_kind(hooked: HttpServer) -> None:
    await post(hooked, "linear", from_github(ISSUE), 401)
    await post(hooked, "slack", from_github(ISSUE), 401)


@requirement("P.webhook.signed")
async def test_bodies_that_are_malformed_or_huge_are_refused(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    for body in (b"", b"[1]", b'"text"', b"{", b"\xff", b"[" * 100_000, b'{"a": "\\ud800"}'):
        refusal = await post(hooked, "alerts", from_program(body), 400)
        assert refusal["error"]["code"] == "invalid_json"
    await post(hooked, "alerts", from_program(b'{"text": "' + b"a" * WEBHOOK_BODY_BYTES_MAX + b'"}'), 413)
    form = from_program(ALERT).with_header("Content-Type", "application/x-www-form-urlencoded")
    await post(hooked, "alerts", form, 415)
    assert await deliveries(owner) == []
    kept = await done(hooked, owner, "alerts", from_program({"title": 7, "text": {"a": [None, "\u0000x"]}}))
    assert kept["title"] == "7"


@requirement("P.webhook.handshake")
async def test_the_questions_of_slack_and_github_are_answered(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    assert await post(hooked, "slack", from_slack(CHALLENGE), 200) == {"challenge": CHALLENGE["challenge"]}
    assert await deliveries(owner) == []
    await post(hooked, "slack", from_slack(CHALLENGE).with_header("X-Slack-Signature", "v0=0"), 401)
    ping = await post(hooked, "github", from_github(PING, "ping"))
    kept = await delivery(owner, ping["deliveryId"])
    assert (kept["outcome"], kept["reason"]) == ("ignored", "GitHub asks whether the webhook works: it does.")
