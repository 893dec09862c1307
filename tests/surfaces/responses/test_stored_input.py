"""The input of a response, read again; and responses that are deleted."""

from base64 import b64encode
from typing import Any

import httpx

from tests.surfaces.responses.client import WEATHER, Json, calls_of, output, post, read, refused, respond, text_of

ROME = 'do [["get_weather", {"city": "Rome"}]]'


async def page(client: httpx.AsyncClient, response: Json, **query: Any) -> Json:
    answer = await client.get(f"/v1/responses/{response['id']}/input_items", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def plain(items: list[Json]) -> list[Json]:
    """Items without what the server adds."""
    return [{name: value for name, value in item.items() if name not in ("id", "status")} for item in items]


def said(text: str, role: str = "user") -> Json:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


async def test_the_input_of_a_response_is_what_was_sent(on_either: httpx.AsyncClient) -> None:
    file = {"type": "input_file", "filename": "a.txt", "file_data": b64encode(b"abc").decode()}
    link = {"type": "input_image", "image_url": "https://example.com/sky.png"}
    newest = {"role": "user", "content": [{"type": "input_text", "text": "hello"}, file, link]}
    around = [said("Be kind.", "system"), said("before"), said("Briefly.", "developer")]
    response = await respond(on_either, [*around[:2], newest, around[2]])
    items = (await page(on_either, response, order="asc"))["data"]
    content = [{"type": "input_text", "text": "hello"}, {"type": "input_file", "filename": "a.txt"}, link]
    message = {"type": "message", "role": "user", "content": content}
    assert plain(items) == [*around[:2], message, around[2]]
    assert plain((await page(on_either, await respond(on_either, "one")))["data"]) == [said("one")]


async def test_the_input_of_a_continuation_is_its_outputs_and_its_message(client: httpx.AsyncClient) -> None:
    first = await respond(client, ROME, tools=[WEATHER])
    call = calls_of(first)[0]
    sent = [output(call, "sunny"), said("in one word")]
    second = await respond(client, sent, tools=[WEATHER], previous_response_id=first["id"])
    assert plain((await page(client, second, order="asc"))["data"]) == sent
    assert plain((await page(client, first))["data"]) == [said(ROME)]
    ids = [item["id"] for response in (first, second) for item in (await page(client, response))["data"]]
    ids += [item["id"] for response in (first, second) for item in response["output"]]
    assert len(set(ids)) == len(ids)


async def test_the_input_comes_in_pages_newest_first(client: httpx.AsyncClient) -> None:
    response = await respond(client, [said(f"n{number}") for number in range(25)])
    first = await page(client, response)
    assert [item["content"][0]["text"] for item in first["data"]] == [f"n{number}" for number in range(24, 4, -1)]
    assert (first["object"], first["has_more"]) == ("list", True)
    assert (first["first_id"], first["last_id"]) == (first["data"][0]["id"], first["data"][-1]["id"])
    second = await page(client, response, after=first["last_id"])
    assert (len(second["data"]), second["has_more"]) == (5, False)
    assert (await page(client, response, after=second["last_id"]))["data"] == []
    oldest = await page(client, response, order="asc", limit=1)
    assert oldest["data"][0] == second["data"][-1]
    path = f"/v1/responses/{response['id']}/input_items"
    for wrong, name in (({"limit": 0}, "limit"), ({"limit": 101}, "limit"), ({"after": "x"}, "after")):
        assert refused(await client.get(path, params=wrong)) == (400, "invalid_params", name)
    assert refused(await client.get(path, params={"order": "up"}))[0] == 400


async def test_a_deleted_response_is_forgotten_and_its_run_stays(on_either: httpx.AsyncClient) -> None:
    first = await respond(on_either, ROME, tools=[WEATHER])
    sent = [output(calls_of(first)[0], "sunny")]
    second = await respond(on_either, sent, tools=[WEATHER], previous_response_id=first["id"])
    path = f"/v1/responses/{second['id']}"
    deleted = await on_either.delete(path)
    assert (deleted.status_code, deleted.json()) == (200, {"id": second["id"], "object": "response", "deleted": True})
    for missing in (
        await on_either.get(path),
        await on_either.delete(path),
        await on_either.get(f"{path}/input_items"),
        await on_either.post(f"{path}/cancel"),
    ):
        assert refused(missing)[:2] == (404, "not_found")
    assert refused(await post(on_either, "x", previous_response_id=second["id"]))[0] == 404
    assert await read(on_either, first["id"]) == first, "the one before is as it was"
    run = (await on_either.get(f"/api/runs/{second['metadata']['runId']}")).json()["run"]
    assert (run["state"], run["reply"]) == ("completed", text_of(second))


async def test_nobody_deletes_or_reads_the_input_of_anothers_response(
    client: httpx.AsyncClient, alice: httpx.AsyncClient
) -> None:
    path = f"/v1/responses/{(await respond(alice, 'hello'))['id']}"
    assert refused(await client.delete(path))[0] == 404
    assert refused(await client.get(f"{path}/input_items"))[0] == 404
    assert (await alice.get(f"{path}/input_items")).status_code == 200
