"""Deliveries: each is carried out once, what fails is kept, and owners see and repeat them."""

import asyncio

import httpx

from carrel.inbound import prune_deliveries
from carrel.kernel.limits import WEBHOOK_BODIES_KEPT_MAX
from carrel.kernel.settings import RunsSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.inbound.posts import WEBHOOKS, deliveries, delivery, done, post
from tests.inbound.senders import ALERT, COMMENT, ISSUE, MENTION, from_github, from_program, from_slack
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused


@requirement("P.webhook.once")
async def test_a_delivery_that_is_sent_again_gets_the_first_answer(
    hooked: HttpServer, owner: httpx.AsyncClient
) -> None:
    first = await post(hooked, "github", from_github(ISSUE))
    for again in (from_github(ISSUE), from_github(COMMENT, "issue_comment")):
        assert await post(hooked, "github", again) == first
    # The id is not signed: who has got hold of a body cannot send it under another one.
    assert await post(hooked, "github", from_github(ISSUE, delivery="made-up")) == first
    alert = await post(hooked, "alerts", from_program(ALERT))
    assert await post(hooked, "alerts", from_program(ALERT)) == alert
    named = await post(hooked, "alerts", from_program(ALERT, X_Carrel_Delivery="7"))
    assert named != alert
    assert await post(hooked, "alerts", from_program({"title": "other"}, X_Carrel_Delivery="7")) == named
    slack = await post(hooked, "slack", from_slack(MENTION))
    assert await post(hooked, "slack", from_slack(MENTION, ago_ms=2_000).with_header("X-Slack-Retry-Num", "1")) == slack
    assert len(await deliveries(owner)) == 4


@requirement("P.webhook.once")
async def test_fifty_copies_at_once_are_carried_out_once(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    copies = [post(hooked, "github", from_github(ISSUE)) for _ in range(50)]
    answers = await asyncio.gather(*copies)
    assert len({answer["deliveryId"] for answer in answers}) == 1
    assert len((await owner.get("/api/tasks")).json()["tasks"]) == 1
    assert len(await deliveries(owner)) == 1


@requirement("P.webhook.once", "P.webhook.thread")
async def test_deliveries_about_the_same_thing_at_once_share_a_task(
    hooked: HttpServer, owner: httpx.AsyncClient
) -> None:
    comments = [{**COMMENT, "comment": {**COMMENT["comment"], "id": n, "body": f"number {n}"}} for n in range(10)]
    posts = [post(hooked, "github", from_github(each, "issue_comment", f"d{n}")) for n, each in enumerate(comments)]
    await asyncio.gather(*posts)
    assert {one["outcome"] for one in await deliveries(owner)} == {"done"}
    (task,) = (await owner.get("/api/tasks")).json()["tasks"]
    thread = (await owner.get(f"/api/tasks/{task['id']}/thread")).json()["messages"]
    assert len(thread) == 9


@requirement("P.webhook.failed")
async def test_what_fails_is_kept_with_its_reason_and_can_be_redelivered(
    hooked: HttpServer, owner: httpx.AsyncClient
) -> None:
    sent = await post(hooked, "lost", from_program(ALERT))
    failed = await delivery(owner, sent["deliveryId"])
    assert (failed["outcome"], failed["attempts"], failed["canRepeat"]) == ("failed", 1, True)
    assert "There is no agent 'nobody'" in failed["reason"]
    assert failed["payload"] == ALERT
    again = f"/api/hooks/in/deliveries/{sent['deliveryId']}/redeliver"
    assert (await owner.post(again)).json()["delivery"]["outcome"] == "failed"
    assert (await owner.post("/api/agents", json={"id": "nobody"})).status_code == 201
    repeated = (await owner.post(again)).json()["delivery"]
    assert (repeated["outcome"], repeated["attempts"], repeated["reason"]) == ("done", 3, None)
    assert (await owner.get(f"/api/runs/{repeated['runId']}")).json()["run"]["state"] == "queued"
    # What was done is not done twice, whoever asks for it.
    assert refused(await owner.post(again)) == (409, "conflict", None)
    assert await post(hooked, "lost", from_program(ALERT)) == sent
    assert len((await owner.get("/api/runs")).json()["runs"]) == 1


@requirement("P.webhook.failed")
async def test_what_a_delivery_had_begun_before_it_failed_is_gone(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    assert (await owner.post("/api/agents", json={"id": "nobody", "enabled": False})).status_code == 201
    failed = await delivery(owner, (await post(hooked, "lost", from_program(ALERT)))["deliveryId"])
    assert (failed["outcome"], failed["sessionKey"]) == ("failed", None)
    assert (await owner.get("/api/sessions")).json()["sessions"] == []


@requirement("P.webhook.failed")
async def test_a_full_lane_makes_a_delivery_fail_and_leaves_nothing(store_url: str, secret: str) -> None:
    settings = Settings(webhooks=WEBHOOKS, runs=RunsSettings(lane_queue_max=1))
    async with open_http_server(store_url, settings=settings, works=False) as server, server.client() as owner:
        await done(server, owner, "slack", from_slack(MENTION))
        # The head of the queue counts as running.
        inside = {**MENTION["event"], "thread_ts": MENTION["event"]["ts"]}
        outcomes = []
        for n in range(3):
            sent = await post(server, "slack", from_slack({**MENTION, "event_id": f"Ev{n}", "event": inside}))
            outcomes.append(await delivery(owner, sent["deliveryId"]))
        assert outcomes[-1]["outcome"] == "failed"
        assert "The queue of" in outcomes[-1]["reason"]
        runs = (await owner.get("/api/runs")).json()["runs"]
        assert len(runs) == 1 + sum(one["outcome"] == "done" for one in outcomes)


@requirement("P.webhook.kept")
async def test_old_deliveries_go_and_bodies_of_all_but_the_newest(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    sent = [await post(hooked, "lost", from_program({"title": f"{n}"})) for n in range(WEBHOOK_BODIES_KEPT_MAX + 2)]
    await hooked.db.write(lambda tx: prune_deliveries(tx, hooked.access))
    first = await delivery(owner, sent[0]["deliveryId"])
    assert (first["payload"], first["canRepeat"]) == (None, False)
    assert refused(await owner.post(f"/api/hooks/in/deliveries/{first['id']}/redeliver"))[1] == "conflict"
    assert (await delivery(owner, sent[2]["deliveryId"]))["payload"] == {"title": "2"}
    # Its id is still known.
    assert await post(hooked, "lost", from_program({"title": "0"})) == sent[0]
    aged = "UPDATE webhook_deliveries SET received_at = 0 WHERE account_id = :account AND id = :id"
    await hooked.db.write(lambda tx: tx.run(aged, hooked.access, id=first["id"]))
    await hooked.db.write(lambda tx: prune_deliveries(tx, hooked.access))
    assert (await owner.get(f"/api/hooks/in/deliveries/{first['id']}")).status_code == 404
