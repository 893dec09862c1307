"""Exchanges that are the same for every kind of model server, in the shapes that providers document."""

import json
from typing import Any

import pytest

from carrel.gateway import PROMPT_TOO_LONG
from carrel.wire import Wire
from tests.gateway.dialects import KINDS, fault_of, opened, take
from tests.scripted_gateway import Answer, ScriptedGateway, raw, text

pytestmark = pytest.mark.kinds(*KINDS)
LATER = {"date": "Fri, 01 Jan 2027 00:00:00 GMT", "retry-after": "Fri, 01 Jan 2027 00:00:30 GMT"}


def error(status: int, body: Any, **headers: str) -> Answer:
    """Return an error in a provider's own words; a text is the page of a proxy."""
    is_page = isinstance(body, str)
    named = {"content-type": "text/html" if is_page else "application/json"} | headers
    return Answer(status=status, headers=named, pieces=[body.encode() if is_page else json.dumps(body).encode()])


def openai(message: str, kind: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(message: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message} | more, "request_id": "req_011"}


RETRIED = {
    "OpenAI: a rate limit, until a time": (
        error(429, openai("Rate limit reached on tokens per min (TPM).", "tokens", "rate_limit_exceeded"), **LATER),
        "gateway_rate_limited", 30.0,
    ),
    "Anthropic: a rate limit, for some seconds": (
        error(429, anthropic("This request would exceed your rate limit.", "rate_limit_error"), **{"retry-after": "9"}),
        "gateway_rate_limited", 9.0,
    ),
    "Anthropic: overloaded": (error(529, anthropic("Overloaded", "overloaded_error")), "gateway_unavailable", None),
    "Anthropic: a conflict": (error(409, anthropic("Try again.", "conflict_error")), "gateway_unavailable", None),
    "llama.cpp: the model is being loaded": (
        error(503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
        "gateway_unavailable", None,
    ),
    "a proxy without its server": (error(502, "<html>Bad Gateway</html>"), "gateway_unavailable", None),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "code", "seconds"), RETRIED.values(), ids=RETRIED)
async def test_a_server_that_is_busy_is_asked_again(
    kind: str, gateway: ScriptedGateway, wire: Wire, answer: Answer, code: str, seconds: float | None
) -> None:
    gateway.script(answer)
    fault = await fault_of(opened(kind, gateway, wire))
    assert (fault.code, fault.retryable, fault.retry_after_seconds) == (code, True, seconds)


REFUSED = {
    "OpenAI: no money left": error(429, openai("You exceeded your quota.", "insufficient_quota", "insufficient_quota")),
    "Anthropic: the limit of the month": error(
        429, anthropic("Spend limit", "rate_limit_error", details={"error_code": "enforced_spend_limit_reached"})
    ),
    "OpenRouter: no credits": error(402, {"error": {"code": 402, "message": "Insufficient credits"}}),
    "Ollama: no tools": error(400, openai("smollm:135m does not support tools", "invalid_request_error", None)),
    "FastAPI: a field": error(422, {"detail": [{"loc": ["body", "tools"], "msg": "Field required"}]}),
}


@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED)
async def test_what_waiting_does_not_change_fails_at_once(
    kind: str, gateway: ScriptedGateway, wire: Wire, answer: Answer
) -> None:
    gateway.script(answer)
    fault = await fault_of(opened(kind, gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_refused", False)


TOO_LONG = {
    "OpenAI": error(400, openai("Too many tokens.", "invalid_request_error", "context_length_exceeded")),
    "Anthropic": error(400, anthropic("prompt is too long: 9 tokens > 8 maximum", "invalid_request_error")),
    "Anthropic: bytes": error(413, anthropic("Request exceeds the maximum size", "request_too_large")),
    "Groq": error(413, openai("Request too large for model `m`: Limit 6000", "tokens", "rate_limit_exceeded")),
    "Anthropic: with the answer": error(
        400, anthropic("input length and `max_tokens` exceed context limit: 9 + 2 > 8", "invalid_request_error")
    ),
    "Gemini": error(400, {"error": {"code": 400, "message": "The input token count (9) exceeds the maximum (8)."}}),
    "llama.cpp": error(400, {"error": {"code": 400, "message": "request (9)", "type": "exceed_context_size_error"}}),
    "vLLM": error(400, {"object": "error", "message": "This model's maximum context length is 8 tokens.", "code": 400}),
    "xAI": error(400, {"code": "invalid", "error": "This model's maximum prompt length is 8 but the request has 9."}),
    "Bedrock": error(400, {"message": "Input is too long for requested model."}),
    "a proxy": error(413, "<html>Request Entity Too Large</html>"),
}  # fmt: skip


@pytest.mark.parametrize("answer", TOO_LONG.values(), ids=TOO_LONG)
async def test_a_request_that_is_too_large_is_told_as_such(
    kind: str, gateway: ScriptedGateway, wire: Wire, answer: Answer
) -> None:
    gateway.script(answer)
    fault = await fault_of(opened(kind, gateway, wire))
    assert (fault.code, fault.retryable) == (PROMPT_TOO_LONG, False)
    assert "delivery.history_chars_max" in fault.message


async def test_a_stream_without_its_type_is_read_although_it_begins_with_a_comment(
    kind: str, gateway: ScriptedGateway, wire: Wire
) -> None:
    _, pieces = KINDS[kind].render(text("Good."), True)
    gateway.script(raw(b": PROCESSING\n\n", *pieces, content_type="application/octet-stream"))
    assert (await take(opened(kind, gateway, wire))).answer.text == "Good."
