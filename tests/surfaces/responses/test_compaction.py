"""Talk is compacted into one item that can be brought back."""

import httpx

from tests.harness.server import HttpServer
from tests.surfaces.responses.client import refused, respond


async def test_what_was_said_is_compacted_into_one_item_that_can_be_brought_back(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    said = [{"role": "user", "content": "We launch on Tuesday."}, {"role": "assistant", "content": "Understood."}]
    answer = await client.post("/v1/responses/compact", json={"model": "carrel", "input": said})
    assert answer.status_code == 200, answer.text
    compacted = answer.json()
    assert compacted["object"] == "response.compaction"
    (item,) = compacted["output"]
    assert item["type"] == "compaction"
    assert compacted["usage"]["total_tokens"] == 0
    await respond(client, [item, {"role": "user", "content": "When?"}])
    shown = server.agent.bodies[-1]["input"][0]
    assert shown["role"] == "developer"
    assert "We launch on Tuesday." in shown["content"][0]["text"]


async def test_a_talk_is_compacted_by_its_last_response(server: HttpServer, client: httpx.AsyncClient) -> None:
    first = await respond(client, "We launch on Tuesday.")
    body = {"model": "carrel", "previous_response_id": first["id"]}
    (item,) = (await client.post("/v1/responses/compact", json=body)).json()["output"]
    await respond(client, [item, {"role": "user", "content": "When?"}])
    words = server.agent.bodies[-1]["input"][0]["content"][0]["text"]
    assert words.splitlines()[1:] == ["user: We launch on Tuesday.", "assistant: echo: We launch on Tuesday."]


async def test_what_cannot_be_compacted_is_refused(client: httpx.AsyncClient) -> None:
    for body, refusal in (
        ({"input": "x"}, (400, "invalid_params", "model")),
        ({"model": "gpt", "input": "x"}, (400, "unknown_model", "model")),
        ({"model": "carrel"}, (400, "invalid_params", "input")),
        ({"model": "carrel", "input": []}, (400, "invalid_params", "input")),
        ({"model": "carrel", "previous_response_id": "resp_x"}, (404, "previous_response_not_found",
                                                                "previous_response_id")),
    ):  # fmt: skip
        assert refused(await client.post("/v1/responses/compact", json=body)) == refusal
