"""Creating a response: what it holds, what it repeats of the request, and what is refused."""

import base64
from typing import Any

import httpx
import pytest

from tests.harness.server import HttpServer
from tests.surfaces.responses.client import WEATHER, post, refused, respond, text_of

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode()
NEEDED = [
    "id",
    "created_at",
    "completed_at",
    "status",
    "incomplete_details",
    "model",
    "previous_response_id",
    "instructions",
    "output",
    "error",
    "tools",
    "tool_choice",
    "truncation",
    "parallel_tool_calls",
    "text",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "top_logprobs",
    "temperature",
    "reasoning",
    "usage",
    "max_output_tokens",
    "max_tool_calls",
    "store",
    "background",
    "service_tier",
    "metadata",
    "safety_identifier",
    "prompt_cache_key",
    "object",
]


async def test_a_text_is_answered_by_a_whole_resource(on_either: httpx.AsyncClient) -> None:
    response = await respond(on_either, "hello", metadata={"mine": "yes"})
    assert set(NEEDED) <= set(response)
    assert response["id"].startswith("resp_")
    assert (response["object"], response["status"], response["model"]) == ("response", "completed", "carrel")
    (item,) = response["output"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    assert item["content"][0] == {"type": "output_text", "text": "echo: hello", "annotations": [], "logprobs": []}
    assert response["completed_at"] >= response["created_at"]
    assert response["usage"]["total_tokens"] == 5
    assert response["usage"]["input_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}
    assert response["metadata"]["mine"] == "yes"
    run = (await on_either.get(f"/api/runs/{response['metadata']['runId']}")).json()["run"]
    assert (run["sessionKey"], run["reply"]) == (response["metadata"]["sessionKey"], "echo: hello")


async def test_what_is_asked_for_is_repeated_and_put_to_the_model(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    wanted: dict[str, Any] = {
        "instructions": "Be brief.",
        "tools": [WEATHER],
        "tool_choice": "auto",
        "temperature": 0.3,
        "top_p": 0.9,
        "max_output_tokens": 50,
        "max_tool_calls": 3,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low"},
        "truncation": "auto",
        "top_logprobs": 2,
        "service_tier": "flex",
        "safety_identifier": "s",
        "prompt_cache_key": "p",
        "text": {"format": {"type": "json_object"}},
        "include": ["message.output_text.logprobs"],
    }
    response = await respond(client, "hello", **wanted)
    for name in wanted.keys() - {"tools", "include", "reasoning"}:
        assert response[name] == wanted[name], name
    assert response["tools"] == [WEATHER | {"strict": None}]
    assert response["reasoning"] == {"effort": "low", "summary": None}
    body = server.agent.bodies[-1]
    for name in ("temperature", "top_p", "max_output_tokens", "parallel_tool_calls", "text"):
        assert body[name] == wanted[name], name
    assert body["instructions"].endswith("Be brief.")
    assert body["tools"][-1]["name"] == "get_weather"
    assert body["reasoning"] == {"effort": "low"}


async def test_earlier_items_are_shown_to_the_model_before_what_is_said(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await respond(
        client,
        [
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": [{"type": "input_text", "text": "My name is Alice."}]},
            {"type": "message", "role": "assistant", "phase": "final_answer", "content": "Hello Alice!"},
            {"type": "reasoning", "summary": []},
            {"role": "user", "content": "What is my name?"},
        ],
    )
    items = server.agent.bodies[-1]["input"]
    assert [item["role"] for item in items] == ["system", "user", "assistant", "user"]
    assert items[2]["content"] == [{"type": "output_text", "text": "Hello Alice!", "annotations": []}]
    assert items[3]["content"][-1]["text"] == "What is my name?"


async def test_images_and_files_are_passed_to_the_gateway(server: HttpServer, client: httpx.AsyncClient) -> None:
    parts = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
        {"type": "input_image", "image_url": "https://example.com/a.png"},
        {"type": "input_file", "filename": "a.pdf", "file_data": base64.b64encode(b"%PDF").decode()},
        {"type": "input_file", "file_url": "https://example.com/b.pdf"},
    ]
    response = await respond(client, [{"role": "user", "content": parts}])
    assert text_of(response) == "echo: look"
    content = server.agent.bodies[-1]["input"][-1]["content"]
    assert content[0]["image_url"] == f"data:image/png;base64,{PIXEL}"
    assert content[1] == {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": "data:application/pdf;base64," + base64.b64encode(b"%PDF").decode(),
    }
    assert content[2] == {"type": "input_image", "image_url": "https://example.com/a.png"}
    assert content[3] == {"type": "input_file", "file_url": "https://example.com/b.pdf"}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": "x", "nonsense": 1}, "nonsense"),
        ({"input": "x", "temperature": "hot"}, "temperature"),
        ({"input": "x", "temperature": 3}, "temperature"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "tools.0.type"),
        ({"input": "x", "tools": [{"type": "function", "name": "no spaces"}]}, "tools.0.name"),
        ({"input": "x", "tools": [WEATHER, WEATHER]}, "tools.1.name"),
        ({"input": "x", "tools": [WEATHER | {"name": "session_status"}]}, "tools.0.name"),
        ({"input": "x", "tool_choice": {"type": "function", "name": "other"}, "tools": [WEATHER]}, "tool_choice"),
        ({"input": "x", "metadata": {"a": "b" * 513}}, "metadata"),
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": "  "}, "input.0.content"),
        ({"input": [{"role": "assistant", "content": "x"}]}, "input"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input.0.role"),
        ({"input": [{"type": "computer_call"}]}, "input.0.type"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input.0"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input.0.content.0.type"),
        ({"input": [{"role": "assistant", "content": [{"text": "x"}]}, {"role": "user", "content": "x"}]},
         "input.0.content.0.type"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "file:///etc/passwd"}]}]},
            "input.0.content.0.image_url",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,!"}]}]},
            "input.0.content.0.image_url",
        ),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, "input.0.call_id"),
        ({"input": [{"type": "compaction", "encrypted_content": "abc"}, {"role": "user", "content": "x"}]},
         "input.0.encrypted_content"),
    ],
)  # fmt: skip
async def test_what_cannot_be_read_is_refused_with_its_field(
    client: httpx.AsyncClient, body: dict[str, Any], param: str
) -> None:
    answer = await client.post("/v1/responses", json={"model": "carrel", **body})
    status, code, found = refused(answer)
    assert (status, code, found) == (400, "invalid_params", param), answer.text


async def test_other_refusals_have_the_same_body(server: HttpServer, client: httpx.AsyncClient) -> None:
    assert refused(await client.post("/v1/responses", content=b"{"))[:2] == (400, "invalid_json")
    assert refused(await client.post("/v1/responses", content=b"x=1", headers={"Content-Type": "text/plain"}))[0] == 415
    async with server.client(None) as nobody:
        assert refused(await post(nobody, "x"))[:2] == (401, "unauthenticated")
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        assert refused(await post(agent, "x"))[:2] == (403, "forbidden")
    assert refused(await post(client, "x" * 100_001))[:2] == (422, "too_long")
    server.drain.set()
    assert refused(await post(client, "x"))[:2] == (503, "draining")


async def test_a_run_that_fails_is_a_response_that_failed(client: httpx.AsyncClient) -> None:
    response = await respond(client, "fail")
    assert (response["status"], response["output"]) == ("failed", [])
    assert response["error"] == {"code": "scripted", "message": "Told to fail."}
    assert response["completed_at"] is None


async def test_an_agent_that_asks_back_says_its_question_and_hears_the_answer(client: httpx.AsyncClient) -> None:
    first = await respond(client, "ask Which colour?")
    assert (first["status"], text_of(first)) == ("completed", "Which colour?")
    second = await respond(client, "blue", previous_response_id=first["id"])
    assert text_of(second) == "echo: blue"
    assert second["metadata"]["runId"] == first["metadata"]["runId"]
    assert text_of((await client.get(f"/v1/responses/{first['id']}")).json()) == "Which colour?"
