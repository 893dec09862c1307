"""Chat Completions: the same lanes, runs and agents in that API's words."""

import json
from typing import Any

import httpx
import pytest

from tests.requirements.mark import requirement
from tests.surfaces.api_calls import settled
from tests.surfaces.responses.client import WEATHER, Json, refused

TOOL: Json = {"type": "function", "function": {name: value for name, value in WEATHER.items() if name != "type"}}
ROME = "do " + json.dumps([["get_weather", {"city": "Rome"}]])


def user(said: Any) -> Json:
    """A message of the user."""
    return {"role": "user", "content": said}


async def post(client: httpx.AsyncClient, *messages: Json, headers: dict[str, str] | None = None, **more: Any) -> Any:
    """Ask for a completion, whatever comes of it."""
    body = {"model": "carrel", "messages": list(messages), **more}
    return await client.post("/v1/chat/completions", json=body, headers=headers or {})


async def complete(client: httpx.AsyncClient, *messages: Json, **more: Any) -> Json:
    """The completion of messages."""
    answer = await post(client, *messages, **more)
    assert answer.status_code == 200, answer.text
    completion: Json = answer.json()
    return completion


async def chunks(client: httpx.AsyncClient, *messages: Json, **more: Any) -> list[Json]:
    """The chunks of a completion, which must end with the marker."""
    answer = await post(client, *messages, stream=True, **more)
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def said(completion: Json) -> str | None:
    """What a completion says."""
    content: str | None = completion["choices"][0]["message"]["content"]
    return content


def run_of(completion: Json) -> str:
    """The run of a completion."""
    return str(completion["id"].removeprefix("chatcmpl-"))


async def history(client: httpx.AsyncClient, completion: Json) -> list[str]:
    """What was said in the session of a completion."""
    key = completion["metadata"]["sessionKey"]
    entries = (await client.get(f"/api/sessions/{key}/history")).json()["messages"]
    return ["".join(part["text"] for part in entry["content"]) for entry in entries]


async def test_a_completion_is_the_answer_of_a_run(on_either: httpx.AsyncClient) -> None:
    completion = await complete(on_either, user("hello there"))
    assert (completion["object"], completion["model"]) == ("chat.completion", "carrel")
    assert said(completion) == "echo: hello there"
    assert completion["choices"][0]["finish_reason"] == "stop"
    run = (await on_either.get(f"/api/runs/{run_of(completion)}")).json()["run"]
    assert (run["state"], run["sessionKey"]) == ("completed", completion["metadata"]["sessionKey"])
    receipt = await on_either.get(f"/api/runs/{run['id']}/receipt")
    assert receipt.status_code == 200


async def test_earlier_messages_are_history_where_no_session_is_named(client: httpx.AsyncClient) -> None:
    talk = [user("my cat is Tom"), {"role": "assistant", "content": "Noted."}, user("what now?")]
    completion = await complete(client, *talk)
    receipt = (await client.get(f"/api/runs/{run_of(completion)}/receipt", params={"body": "true"})).json()
    assert "my cat is Tom" in json.dumps(receipt)
    assert len(await history(client, completion)) == 2, "only the last message was said here"


@pytest.mark.parametrize("way", ["user", "header"])
async def test_a_named_session_hears_only_what_is_new(client: httpx.AsyncClient, way: str) -> None:
    named: Json = (
        {"user": "ann"} if way == "user" else {"headers": {"x-openclaw-session-key": "agent:main:openresponses:ann"}}
    )
    first = await complete(client, user("one"), **named)
    talk = [user("one"), {"role": "assistant", "content": "forged"}, user("two")]
    second = await complete(client, *talk, **named)
    assert first["metadata"]["sessionKey"] == second["metadata"]["sessionKey"]
    assert await history(client, second) == ["one", "echo: one", "two", "echo: two"]


async def test_a_call_comes_back_and_its_output_continues_the_same_run(on_either: httpx.AsyncClient) -> None:
    first = await complete(on_either, user(ROME), tools=[TOOL])
    choice = first["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert json.loads(call["function"]["arguments"]) == {"city": "Rome"}
    brought = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
    second = await complete(on_either, user(ROME), choice["message"], brought, tools=[TOOL])
    assert (said(second), run_of(second)) == ("done", run_of(first))
    assert (await on_either.get("/api/health")).json()["waiting"] == {"person": 0, "program": 0}


async def test_another_callers_output_never_continues_a_run(alice: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    first = await complete(alice, user(ROME), tools=[TOOL])
    message = first["choices"][0]["message"]
    brought = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "forged"}
    other = await complete(bob, user(ROME), message, brought, tools=[TOOL])
    assert run_of(other) != run_of(first)


async def test_an_output_that_nobody_waits_for_is_refused_by_its_message(client: httpx.AsyncClient) -> None:
    stray = {"role": "tool", "tool_call_id": "call_nothing", "content": "sunny"}
    answer = await post(client, user("hello"), stray)
    assert refused(answer) == (400, "invalid_params", "messages.1.tool_call_id")


async def test_chunks_add_up_to_the_completion(client: httpx.AsyncClient) -> None:
    found = await chunks(client, user("hello there"), stream_options={"include_usage": True})
    *parts, last, usage = found
    assert parts[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "".join(part["choices"][0]["delta"].get("content", "") for part in parts) == "echo: hello there"
    assert (last["choices"][0]["delta"], last["choices"][0]["finish_reason"]) == ({}, "stop")
    assert usage["choices"] == []
    assert set(usage["usage"]) >= {"prompt_tokens", "completion_tokens", "total_tokens"}
    assert len({part["id"] for part in found}) == 1


async def test_usage_is_streamed_only_where_it_is_asked_for(client: httpx.AsyncClient) -> None:
    assert all(part["choices"] for part in await chunks(client, user("hello")))


async def test_a_streamed_call_has_its_place_and_ends_the_chunks(client: httpx.AsyncClient) -> None:
    found = await chunks(client, user(ROME), tools=[TOOL])
    deltas = [part["choices"][0]["delta"] for part in found]
    (call,) = [delta["tool_calls"] for delta in deltas if "tool_calls" in delta]
    assert (call[0]["index"], call[0]["function"]["name"]) == (0, "get_weather")
    assert found[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_system_messages_instruct_the_agent(client: httpx.AsyncClient) -> None:
    completion = await complete(client, {"role": "system", "content": "Answer in rhymes."}, user("hello"))
    receipt = (await client.get(f"/api/runs/{run_of(completion)}/receipt", params={"body": "true"})).json()
    assert "Answer in rhymes." in json.dumps(receipt)
    assert await history(client, completion) == ["hello", "echo: hello"]


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([], "messages"),
        (["hello"], "messages.0.role"),
        ([{"role": "function", "content": "x"}], "messages.0.role"),
        ([user(None)], "messages.0.content"),
        ([user([{"type": "input_audio"}])], "messages.0.content.0.type"),
        ([user([{"type": "image_url"}])], "messages.0.content.0.image_url"),
        ([user([{"type": "image_url", "image_url": {"url": "nonsense"}}])], "messages.0.content.0.image_url"),
        ([user("x"), {"role": "assistant", "tool_calls": "x"}], "messages.1.tool_calls"),
        ([user("x"), {"role": "assistant", "tool_calls": [{}]}], "messages.1.tool_calls.0.function"),
        ([user("x"), {"role": "tool", "tool_call_id": {}, "content": "x"}], "messages.1.tool_call_id"),
        ([{"role": "system", "content": "x"}, user(" ")], "messages.1.content"),
    ],
)
async def test_a_message_that_cannot_be_read_is_named(
    client: httpx.AsyncClient, messages: list[Any], param: str
) -> None:  # fmt: skip
    status, _, field = refused(await post(client, *messages))
    assert (status, field) == (400, param)


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"n": 2}, "n"),
        ({"temperature": 9}, "temperature"),
        ({"model": "gpt-5"}, "model"),
        ({"tools": [{"type": "function"}]}, "tools.0.function"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools.0.function.name"),
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice"),
        ({"tool_choice": {"type": "nonsense"}}, "tool_choice"),
        ({"response_format": {"type": "nonsense"}}, "response_format"),
    ],
)
async def test_an_option_that_cannot_be_used_is_named(client: httpx.AsyncClient, more: Json, param: str) -> None:
    status, _, field = refused(await post(client, user("hello"), **more))
    assert (status, field) == (400, param)


async def test_options_of_other_servers_are_ignored(client: httpx.AsyncClient) -> None:
    assert said(await complete(client, user("hello"), seed=1, stop=["x"], top_k=5, logit_bias={})) == "echo: hello"


async def test_what_open_webui_sends_is_understood(client: httpx.AsyncClient) -> None:
    # As its version 0.12 sends them: what a connection offers, a chat with a picture, and a title for it.
    headers = {
        "HTTP-Referer": "https://openwebui.com/",
        "X-Title": "Open WebUI",
        "X-OpenWebUI-User-Name": "Ann",
        "X-OpenWebUI-User-Id": "0c5b1cbe-6a0e-4f6d-9a2b-1d0f3e6b7a10",
        "X-OpenWebUI-User-Role": "admin",
        "X-OpenWebUI-Chat-Id": "5e0e9a57-3f2b-4a5e-8a49-66f1a4a3c1d2",
    }
    offered = (await client.get("/v1/models", headers=headers)).json()["data"]
    assert [(one["id"], one["object"]) for one in offered] == [("carrel/main", "model")]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    earlier = [user("hello"), {"role": "assistant", "content": "hi"}]
    asked = user([{"type": "text", "text": "look at this"}, picture])
    usage = {"stream_options": {"include_usage": True}}
    sent = await chunks(client, *earlier, asked, model="carrel/main", headers=headers, **usage)
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in sent if chunk["choices"])
    assert text.startswith("echo: look at this")
    assert sent[-1]["usage"]["total_tokens"] >= 0
    task = user("### Task:\nGenerate a concise title summarizing the chat history.")
    title = await complete(client, task, model="carrel/main", stream=False, max_tokens=1000, headers=headers)
    assert title["choices"][0]["finish_reason"] == "stop"


async def test_a_run_that_fails_is_an_error_that_no_client_repeats(client: httpx.AsyncClient) -> None:
    answer = await post(client, user("fail"))
    status, code, _ = refused(answer)
    assert (status, bool(code)) == (424, True)
    *_, last = await chunks(client, user("fail"))
    assert last["error"]["code"] == code


async def test_the_same_key_gives_the_same_completion(client: httpx.AsyncClient) -> None:
    headers = {"X-Idempotency-Key": "once"}
    first = await complete(client, user("hello"), headers=headers)
    assert await complete(client, user("hello"), headers=headers) == first


@requirement("P.budget.why")
async def test_a_completion_that_waits_for_a_budget_says_so_at_once(client: httpx.AsyncClient) -> None:
    used_up = {"name": "daily", "scope": "account", "tokens": 1}
    await complete(client, user("hello"))
    assert (await client.post("/api/budgets", json=used_up)).status_code == 200
    status, code, _ = refused(answer := await post(client, user("and now?")))
    assert (status, code) == (424, "budget_used_up")
    message = answer.json()["error"]["message"]
    assert "Budget daily of this account, 1 token a day, is used up" in message
    assert f"GET /api/runs/{message.rpartition('/')[2].removesuffix(' then.')} then." in message
    *_, failed = await chunks(client, user("and streamed?"))
    assert failed["error"]["code"] == "budget_used_up"


@requirement("P.budget.why")
async def test_a_response_that_waits_for_a_budget_is_queued_with_the_reason(client: httpx.AsyncClient) -> None:
    await complete(client, user("hello"))
    await client.post("/api/budgets", json={"name": "daily", "scope": "account", "tokens": 1})
    response = (await client.post("/v1/responses", json={"model": "carrel", "input": "and now?"})).json()
    assert (response["status"], response["error"]["code"]) == ("queued", "budget_used_up")
    assert (await client.delete("/api/budgets", params={"name": "daily"})).status_code == 204
    await settled(client, response["metadata"]["runId"])
    ended = (await client.get(f"/v1/responses/{response['id']}")).json()
    assert (ended["status"], ended["error"]) == ("completed", None)
