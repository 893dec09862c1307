"""What owners see of webhooks, and that nobody else sees it."""

import httpx

from tests.harness.server import HttpServer
from tests.inbound.posts import deliveries, post, webhooks
from tests.inbound.senders import ALERT, ISSUE, from_program
from tests.requirements.mark import requirement


@requirement("P.webhook.wall")
async def test_another_account_sees_and_repeats_nothing(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    mine = await post(hooked, "lost", from_program(ALERT))
    theirs = await post(hooked, "elsewhere", from_program(ALERT))
    async with hooked.client(hooked.other_owner) as other:
        assert [one["name"] for one in await webhooks(other)] == ["elsewhere"]
        assert [one["id"] for one in await deliveries(other)] == [theirs["deliveryId"]]
        address = f"/api/hooks/in/deliveries/{mine['deliveryId']}"
        assert (await other.get(address)).status_code == 404
        assert (await other.post(f"{address}/redeliver")).status_code == 404
        assert (await other.post("/api/hooks/in/github/test", json={})).status_code == 404
        assert len((await other.get("/api/runs")).json()["runs"]) == 1
    assert "elsewhere" not in [one["name"] for one in await webhooks(owner)]
    assert [one["id"] for one in await deliveries(owner)] == [mine["deliveryId"]]


@requirement("P.webhook.rights")
async def test_only_owners_see_deliveries_and_repeat_them(hooked: HttpServer, owner: httpx.AsyncClient) -> None:
    sent = await post(hooked, "lost", from_program(ALERT))
    user = (await owner.post("/api/users", json={"name": "Ada", "slug": "ada"})).json()["user"]["id"]
    for options in ({"kind": "user", "userId": user}, {"kind": "agent", "agentId": "main"}):
        async with hooked.client(await hooked.token(owner, **options)) as other:
            answers = [
                await other.get("/api/hooks/in"),
                await other.get("/api/hooks/in/deliveries"),
                await other.get(f"/api/hooks/in/deliveries/{sent['deliveryId']}"),
                await other.post(f"/api/hooks/in/deliveries/{sent['deliveryId']}/redeliver"),
                await other.post("/api/hooks/in/lost/test", json={}),
            ]
            assert [answer.status_code for answer in answers] == [403] * 5


@requirement("P.webhook.list")
async def test_webhooks_are_listed_with_their_address_and_how_they_fare(
    hooked: HttpServer, owner: httpx.AsyncClient
) -> None:
    for n in range(3):
        await post(hooked, "alerts", from_program({"title": f"alert {n}"}))
    await post(hooked, "lost", from_program(ALERT))
    by_name = {one["name"]: one for one in await webhooks(owner)}
    assert by_name["alerts"]["address"] == f"{hooked.url}/api/hooks/in/alerts"
    assert (by_name["alerts"]["done"], by_name["alerts"]["failed"], by_name["lost"]["failed"]) == (3, 0, 1)
    assert (by_name["alerts"]["target"], by_name["github"]["target"]) == (
        "a message to the default agent",
        "a task, assigned to main",
    )
    assert [one["title"] for one in await deliveries(owner, webhook="alerts")] == ["alert 2", "alert 1", "alert 0"]
    assert [one["webhook"] for one in await deliveries(owner, outcome="failed")] == ["lost"]
    page = (await owner.get("/api/hooks/in/deliveries", params={"limit": 3})).json()
    rest = await deliveries(owner, cursor=page["nextCursor"])
    assert [one["title"] for one in rest] == ["alert 0"]


@requirement("P.webhook.test")
async def test_a_trial_shows_what_a_delivery_would_become_and_does_nothing(
    hooked: HttpServer, owner: httpx.AsyncClient
) -> None:
    shown = (await owner.post("/api/hooks/in/github/test", json={})).json()["preview"]
    assert (shown["event"], shown["title"]) == ("issues.opened", "octo-org/doors#7: The door does not close")
    assert (shown["action"], shown["thread"], shown["ignoredBecause"]) == ("task", "octo-org/doors#7", None)
    body = {"event": "issues.edited", "payload": ISSUE}
    other = (await owner.post("/api/hooks/in/github/test", json=body)).json()["preview"]
    assert other["ignoredBecause"] == "webhooks.github.events does not name issues.edited."
    assert await deliveries(owner) == []
    assert (await owner.get("/api/tasks")).json()["tasks"] == []
