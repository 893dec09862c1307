"""Accounts, users and tokens: what an owner may do, and what is refused."""

from typing import Any

import httpx
import pytest

from tests.harness.server import HttpServer

LATER, EARLIER = "2126-01-01T00:00:00Z", "2020-01-01T00:00:00Z"


async def test_an_account_comes_with_its_agent_and_its_owner(server: HttpServer, client: httpx.AsyncClient) -> None:
    made = await client.post("/api/accounts", json={"name": "Ada & Sons, Ltd."})
    assert made.status_code == 201
    assert made.json()["account"]["slug"] == "ada-sons-ltd"
    async with server.client(made.json()["ownerToken"]) as owner:
        me = (await owner.get("/api/auth/me")).json()
        assert (me["account"]["slug"], me["actor"]["kind"]) == ("ada-sons-ltd", "owner")
        assert [agent["id"] for agent in (await owner.get("/api/agents")).json()["agents"]] == ["main"]
        assert (await owner.get("/api/account")).json()["account"]["settings"]["defaultAgentId"] == "main"
    slugs = [account["slug"] for account in (await client.get("/api/accounts")).json()["accounts"]]
    assert slugs == ["default", "other", "ada-sons-ltd"]


async def test_accounts_are_kept_by_the_owner_of_the_default_one(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    assert (await other_client.get("/api/accounts")).status_code == 403
    assert (await other_client.post("/api/accounts", json={"name": "x"})).status_code == 403
    taken = await client.post("/api/accounts", json={"name": "x", "slug": "other"})
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "conflict")
    for body in ({"name": "x", "slug": "A B"}, {"name": "…"}):
        assert (await client.post("/api/accounts", json=body)).json()["error"]["field"] == "slug"


async def test_account_settings_are_merged_key_by_key_and_null_clears(client: httpx.AsyncClient) -> None:
    before = (await client.get("/api/account")).json()["account"]
    assert before["settings"] == {
        "defaultAgentId": "main",
        "orchestratorAgentId": None,
        "orchestratorChatTaskId": None,
        "briefing": None,
        "recall": None,
        "agentDefaults": {"behaviorFlags": {}},
        "notificationPreferences": {},
    }

    async def patch(settings: dict[str, Any]) -> dict[str, Any]:
        answer = await client.patch("/api/account", json={"settings": settings})
        assert answer.status_code == 200, answer.text
        changed: dict[str, Any] = answer.json()["account"]["settings"]
        return changed

    first = await patch({"briefing": "Be kind.", "agentDefaults": {"behaviorFlags": {"canCreateTasks": True}}})
    assert first["briefing"] == "Be kind."
    second = await patch({"agentDefaults": {"behaviorFlags": {"canMarkDone": False}}, "orchestratorAgentId": "main"})
    assert second["agentDefaults"]["behaviorFlags"] == {"canCreateTasks": True, "canMarkDone": False}
    assert (second["briefing"], second["orchestratorAgentId"]) == ("Be kind.", "main")
    third = await patch({"briefing": None, "agentDefaults": {"behaviorFlags": {"canMarkDone": None}}})
    assert third["briefing"] is None
    assert third["agentDefaults"]["behaviorFlags"] == {"canCreateTasks": True}
    assert await patch(third) == third
    renamed = (await client.patch("/api/account", json={"name": "Ours"})).json()["account"]
    assert (renamed["name"], renamed["settings"]) == ("Ours", third)


@pytest.mark.parametrize("key", ["defaultAgentId", "orchestratorAgentId", "orchestratorChatTaskId"])
async def test_account_settings_name_what_there_is(client: httpx.AsyncClient, key: str) -> None:
    answer = await client.patch("/api/account", json={"settings": {key: "nobody"}})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, f"settings.{key}")


async def test_people_are_made_changed_and_removed(server: HttpServer, client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/users", json={"name": "Ada Lovelace", "email": "ada@example.org"})).json()["user"]
    assert (made["slug"], made["role"]) == ("ada-lovelace", "member")
    path = f"/api/users/{made['id']}"
    changed = (await client.patch(path, json={"role": "owner", "email": None})).json()["user"]
    assert (changed["role"], changed["email"], changed["name"]) == ("owner", None, "Ada Lovelace")
    token = await server.token(client, kind="user", userId=made["id"])
    assert (await client.delete(path)).status_code == 204
    async with server.client(token) as person:
        assert (await person.get("/api/auth/me")).status_code == 401
    for answer in (await client.delete(path), await client.patch(path, json={})):
        assert answer.status_code == 404
    assert (await client.get("/api/users")).json() == {"users": [], "nextCursor": None}


async def test_a_person_s_slug_is_theirs_alone(client: httpx.AsyncClient) -> None:
    await client.post("/api/users", json={"name": "Ada"})
    assert (await client.post("/api/users", json={"name": "Ada"})).json()["error"]["code"] == "conflict"
    eve = (await client.post("/api/users", json={"name": "Eve"})).json()["user"]
    taken = await client.patch(f"/api/users/{eve['id']}", json={"slug": "ada"})
    assert (taken.status_code, taken.json()["error"]["field"]) == (409, "slug")
    assert (await client.patch(f"/api/users/{eve['id']}", json={"slug": "eve"})).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "run"}, "kind"),
        ({"kind": "agent"}, "agentId"),
        ({"kind": "agent", "agentId": "nobody"}, "agentId"),
        ({"kind": "user"}, "userId"),
        ({"kind": "user", "userId": "usr_none"}, "userId"),
        ({"kind": "client"}, "agentIds"),
        ({"kind": "client", "agentIds": []}, "agentIds"),
        ({"kind": "client", "agentIds": ["main", "nobody"]}, "agentIds"),
        ({"kind": "owner", "agentId": "main"}, "agentId"),
        ({"kind": "owner", "expiresAt": EARLIER}, "expiresAt"),
        ({"kind": "owner", "expiresAt": "soon"}, "expiresAt"),
        ({"kind": "king"}, "kind"),
        ({"kind": "owner", "spaceIds": []}, "spaceIds"),
        ({"kind": "owner", "spaceIds": ["space-default"]}, "spaceIds"),
    ],
)
async def test_a_token_needs_what_its_kind_needs(client: httpx.AsyncClient, body: dict[str, Any], field: str) -> None:
    answer = await client.post("/api/tokens", json={"name": "x", **body})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field), answer.text


async def test_a_token_s_secret_is_shown_once(client: httpx.AsyncClient) -> None:
    made = (
        await client.post("/api/tokens", json={"kind": "agent", "name": "x", "agentId": "main", "expiresAt": LATER})
    ).json()
    assert made["secret"].startswith("crl_agent_")
    listed = await client.get("/api/tokens")
    assert made["token"] in listed.json()["tokens"]
    assert "crl_" not in listed.text
    assert made["token"]["expiresAt"] == "2126-01-01T00:00:00.000Z"


async def test_tokens_are_listed_page_by_page(client: httpx.AsyncClient) -> None:
    for number in range(4):
        await client.post("/api/tokens", json={"kind": "owner", "name": str(number)})
    seen, cursor = [], None
    for _ in range(3):
        page = (await client.get("/api/tokens", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [token["name"] for token in page["tokens"]]
        cursor = page["nextCursor"]
    assert (seen, cursor) == (["first owner", "0", "1", "2", "3"], None)


async def test_the_last_owner_token_stays(client: httpx.AsyncClient) -> None:
    first = (await client.get("/api/tokens")).json()["tokens"][0]["id"]
    refused = await client.delete(f"/api/tokens/{first}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    await client.post("/api/tokens", json={"kind": "owner", "name": "second"})
    assert (await client.delete(f"/api/tokens/{first}")).status_code == 204
    assert (await client.get("/api/tokens")).status_code == 401


async def test_a_token_that_is_gone_is_not_found(server: HttpServer, client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/tokens", json={"kind": "agent", "name": "x", "agentId": "main"})).json()
    path = f"/api/tokens/{made['token']['id']}"
    assert (await client.delete(path)).status_code == 204
    assert (await client.delete(path)).status_code == 404
    async with server.client(made["secret"]) as agent:
        assert (await agent.get("/api/auth/me")).status_code == 401
