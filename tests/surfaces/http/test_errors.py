"""Refusals: their status, and the field they name."""

import httpx
import pytest

from carrel.kernel import Code
from carrel.surfaces.http.errors import STATUS


def test_every_refusal_has_a_status() -> None:
    assert set(STATUS) == set(Code)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "X", "colour": "red"}, "colour"),
        ({}, "name"),
        ({"name": 3}, "name"),
        ({"name": "X", "role": "king"}, "role"),
        ({"name": ""}, "name"),
    ],
)
async def test_a_wrong_body_names_its_field(client: httpx.AsyncClient, body: dict[str, object], field: str) -> None:
    answer = await client.post("/api/users", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_params")
    assert answer.json()["error"]["field"] == field


async def test_a_wrong_nested_field_is_named_by_its_path(client: httpx.AsyncClient) -> None:
    answer = await client.patch(
        "/api/account", json={"settings": {"agentDefaults": {"behaviorFlags": {"canFly": True}}}}
    )
    assert answer.json()["error"]["field"] == "settings.agentDefaults.behaviorFlags.canFly"
    listed = await client.post("/api/tokens", json={"kind": "client", "name": "x", "agentIds": ["main", 7]})
    assert listed.json()["error"]["field"] == "agentIds.1"


async def test_a_wrong_query_names_its_parameter(client: httpx.AsyncClient) -> None:
    for query, field in (("limit=many", "limit"), ("colour=red", "colour"), ("limit=1&limit=2", "limit")):
        answer = await client.get(f"/api/tokens?{query}")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert (await client.get("/api/tokens?cursor=!!")).json()["error"]["field"] == "cursor"
    assert (await client.get("/api/tokens?cursor=AAAA")).json()["error"]["field"] == "cursor"
    assert (await client.get("/api/tokens?limit=0")).status_code == 200


async def test_what_is_no_json_is_told_so(client: httpx.AsyncClient) -> None:
    for content in (b"{", b"\xff\xfe", b'{"name": "x"} y'):
        answer = await client.post("/api/users", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")
    other = await client.post("/api/users", content=b"name=x", headers={"Content-Type": "text/plain"})
    assert (other.status_code, other.json()["error"]["code"]) == (415, "unsupported_media_type")


async def test_a_nul_is_told_with_the_field_it_stands_in(client: httpx.AsyncClient) -> None:
    for body, field in (
        ({"agentId": "main", "message": "a\0b"}, "message"),
        ({"agentId": "main", "message": "x", "a": [{"b": "x"}, {"b": ["\0"]}]}, "a.1.b.0"),
        ({"agentId": "main", "message": "x", "a": {"\0": 1}}, "a"),
    ):
        error = (await client.post("/api/runs", json=body)).json()["error"]
        assert (error["code"], error["field"]) == ("invalid_params", field)
