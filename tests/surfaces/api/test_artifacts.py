"""Artifacts over HTTP: listed with their beginning, downloaded as something that no browser runs."""

import base64

import httpx

from carrel.records import Artifact, insert_artifact
from carrel.storage import Tx
from tests.harness.server import HttpServer
from tests.surfaces.api_calls import Json, refused, send_and_wait

PAGE = base64.b64encode(b"<script>alert(1)</script>").decode()


async def with_artifacts(server: HttpServer, client: httpx.AsyncClient, *parts: tuple[str, str, str | None]) -> str:
    """A run to which (kind, content, media type) were added, the texts to one another; its id."""
    run_id = str((await send_and_wait(client, "hello"))["id"])

    def work(tx: Tx) -> None:
        for kind, content, media in parts:
            name = "story" if kind == "text" else kind
            part = Artifact(name, tx.tick(), name, media, f"{name}.html", kind, content, tx.now, 0)
            insert_artifact(tx, server.access, run_id, part)

    await server.db.write(work)
    return run_id


async def listed(client: httpx.AsyncClient, run_id: str) -> list[Json]:
    answer = await client.get(f"/api/runs/{run_id}/artifacts")
    assert answer.status_code == 200, answer.text
    artifacts: list[Json] = answer.json()["artifacts"]
    return artifacts


async def test_a_text_that_was_added_in_parts_is_one_artifact(server: HttpServer, client: httpx.AsyncClient) -> None:
    run_id = await with_artifacts(
        server, client, ("text", "Once ", None), ("url", "http://x", None), ("text", "up", None)
    )
    text, url = await listed(client, run_id)
    assert text == {
        "id": text["id"], "runId": run_id, "name": "story", "kind": "text", "mediaType": None,
        "filename": "story.html", "bytes": 7, "url": None, "text": "Once up", "addedAt": text["addedAt"],
    }  # fmt: skip
    assert (url["kind"], url["url"], url["text"]) == ("url", "http://x", None)
    content = await client.get(f"/api/artifacts/{text['id']}/content")
    assert content.content == b"Once up"


async def test_no_artifact_is_sent_as_something_that_a_browser_runs(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    parts = [("bytes", PAGE, "text/html"), ("text", "<b>", "text/html"), ("data", "{}", "image/svg+xml")]
    run_id = await with_artifacts(server, client, *parts)
    sent = [await client.get(f"/api/artifacts/{one['id']}/content") for one in await listed(client, run_id)]
    types = [answer.headers["content-type"] for answer in sent]
    assert types == ["application/octet-stream", "text/plain; charset=utf-8", "application/json"]
    assert {answer.headers["x-content-type-options"] for answer in sent} == {"nosniff"}
    assert all(answer.headers["content-disposition"].startswith("attachment; ") for answer in sent)
    assert sent[0].content == b"<script>alert(1)</script>"


async def test_a_picture_keeps_its_type(server: HttpServer, client: httpx.AsyncClient) -> None:
    run_id = await with_artifacts(server, client, ("bytes", PAGE, "image/png"))
    (one,) = await listed(client, run_id)
    assert one["text"] is None
    content = await client.get(f"/api/artifacts/{one['id']}/content")
    assert content.headers["content-type"] == "image/png"


async def test_artifacts_of_another_account_are_not_found(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    run_id = await with_artifacts(server, client, ("text", "secret", None))
    (one,) = await listed(client, run_id)
    for path in (f"/api/runs/{run_id}/artifacts", f"/api/artifacts/{one['id']}/content"):
        assert refused(await other_client.get(path))[:2] == (404, "not_found")
    assert refused(await client.get(f"/api/artifacts/{run_id}.0/content"))[:2] == (404, "not_found")
