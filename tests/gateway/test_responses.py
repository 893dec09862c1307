"""A step reaches a real server unchanged and returns an answer, or a fault that says what to do."""

import asyncio
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.gateway import Gateway, GatewayFault, Step, StepAnswer, open_gateway
from carrel.gateway.model_gateway import SecretFilter
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.requirements.mark import requirement
from tests.scripted_gateway import (
    DROP,
    MODEL,
    Answer,
    Gate,
    ScriptedGateway,
    calls,
    dropped,
    http_error,
    raw,
    stream_of,
    text,
)

KEY = "gw-key-0123456789"
RUN_TOKEN = f"crl_run_{'a1' * 13}_{'0f' * 32}"
BODY = '{"model":"m",  "input":"h\\u00e9llo wörld","stream":true}'.encode()
ADDRESS = "agent:writer:task:task_1:v2@acme"


def opened(gateway: ScriptedGateway, wire: Wire, **more: object) -> Gateway:
    settings = GatewaySettings(kind="responses", base_url=gateway.base_url, api_key=KEY, **more)  # type: ignore[arg-type]
    return open_gateway("default", settings, wire)


async def take(client: Gateway, body: bytes = BODY, heard: list[str] | None = None, run_token: str = "") -> StepAnswer:
    step = Step(body=body, address=ADDRESS, agent_id="writer", run_token=run_token)
    return await client.take(step, (heard if heard is not None else []).append)


async def fault_of(client: Gateway) -> GatewayFault:
    with pytest.raises(GatewayFault) as caught:
        await take(client)
    return caught.value


async def test_the_server_receives_exactly_the_bytes_of_the_step(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Yes."))
    await take(opened(gateway, wire))
    (request,) = gateway.requests
    assert request.body == BODY
    assert sha256(request.body).hexdigest() == sha256(BODY).hexdigest()
    assert KEY.encode() not in request.body


async def test_the_headers_name_key_session_and_agent(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(text("Yes."), text("Yes."))
    await take(opened(gateway, wire))
    headers = gateway.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-openclaw-session-key"] == ADDRESS
    assert headers["x-openclaw-agent-id"] == "writer"
    assert headers["content-type"] == "application/json"
    keyless = open_gateway("default", GatewaySettings(kind="responses", base_url=gateway.base_url), wire)
    await keyless.take(Step(body=b"{}", address="internal:clawboard-digest"), print)
    headers = gateway.requests[1].headers
    assert "authorization" not in headers
    assert "x-openclaw-agent-id" not in headers


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/responses", "/behind/a/proxy", "/behind/a/proxy/v1"])
async def test_the_base_url_may_be_written_with_or_without_its_version(
    gateway: ScriptedGateway, wire: Wire, tail: str
) -> None:
    gateway.script(text("Yes."))
    settings = GatewaySettings(kind="responses", base_url=gateway.base_url + tail)
    assert (await take(open_gateway("default", settings, wire))).text == "Yes."
    assert gateway.requests[0].path == ("/behind/a/proxy" if "proxy" in tail else "") + "/v1/responses"


async def test_text_arrives_while_the_model_is_still_streaming(gateway: ScriptedGateway, wire: Wire) -> None:
    gate, heard = Gate(), asyncio.Queue[str]()
    gateway.script(text("One ", gate, "two."))
    step = Step(body=BODY, address=ADDRESS)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        taking = group.create_task(opened(gateway, wire).take(step, heard.put_nowait))
        assert await heard.get() == "One "
        assert not taking.done()
        gate.open()
    answer = taking.result()
    assert (answer.text, answer.model, answer.usage.total_tokens) == ("One two.", MODEL, 18)


@pytest.mark.parametrize("body", [BODY, BODY.replace(b"true", b"false")])
async def test_plain_json_is_read_whether_or_not_a_stream_was_requested(
    gateway: ScriptedGateway, wire: Wire, body: bytes
) -> None:
    gateway.script(text("Plain.", as_json=True))
    heard: list[str] = []
    assert (await take(opened(gateway, wire), body, heard)).text == "Plain."
    assert heard == ["Plain."]


async def test_a_stream_without_its_content_type_is_read_all_the_same(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(
        raw(b'data: {"type":"response.output_text.delta","delta":"Hi"}\r\n\r\ndata: [DONE]', content_type="text/plain")
    )
    assert (await take(opened(gateway, wire))).text == "Hi"


async def test_calls_come_with_their_ids_and_raw_arguments(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(calls(("task_list", '{"limit" : 2}'), ("agents_list", {}), said="Let me look."))
    answer = await take(opened(gateway, wire))
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("task_list", '{"limit" : 2}'),
        ("agents_list", "{}"),
    ]
    assert len({call.call_id for call in answer.calls}) == 2
    assert answer.text == "Let me look."


async def test_a_server_that_closes_after_each_stream_loses_no_step(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.rule = lambda request: text("Yes.")
    client = opened(gateway, wire)
    for _ in range(3):
        await take(client)
    assert gateway.connections == 3


async def test_a_finished_stream_is_read_to_its_end_before_the_connection_is_closed(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    gate = Gate()
    completed = {"type": "response.completed", "response": {"output": []}}
    gateway.script(stream_of({"type": "response.output_text.delta", "delta": "Yes."}, completed, gate, "[DONE]"))
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        taking = group.create_task(take(opened(gateway, wire)))
        await gate.reached()
        gate.open()
    assert taking.result().text == "Yes."
    assert gateway.disconnects == 0


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (http_error(408), "gateway_unavailable"),
        (http_error(429), "gateway_rate_limited"),
        (http_error(500), "gateway_unavailable"),
        (http_error(503), "gateway_unavailable"),
        (raw(b"<html>Bad gateway</html>", content_type="text/html", status=502), "gateway_unavailable"),
        (dropped(), "gateway_unreadable"),
        (text("Half", DROP), "gateway_unreadable"),
        (stream_of("garbage", "more garbage"), "gateway_unreadable"),
        (raw(b"\x00\xffgarbage"), "gateway_unreadable"),
        (raw(b'{"output": ['), "gateway_unreadable"),
        (raw(b"x" * 200_000), "gateway_unreadable"),
        (stream_of({"type": "response.failed", "response": {"error": {"code": "server_error"}}}), "gateway_failed"),
    ],
)
async def test_transient_errors_are_retryable(gateway: ScriptedGateway, wire: Wire, answer: Answer, code: str) -> None:
    gateway.script(answer)
    fault = await fault_of(opened(gateway, wire))
    assert (fault.code, fault.retryable) == (code, True)
    assert "<html>" not in fault.message


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (http_error(400, "bad field"), "gateway_refused"),
        (http_error(401), "gateway_unauthorized"),
        (http_error(403), "gateway_unauthorized"),
        (http_error(404, "no model m"), "gateway_not_found"),
        (http_error(422), "gateway_refused"),
        (http_error(307, location="http://elsewhere.example/"), "gateway_misconfigured"),
        (raw(b'{"error":{"code":"invalid_prompt","message":"no"}}'), "gateway_failed"),
    ],
)
async def test_errors_that_would_occur_again_are_not_retryable(
    gateway: ScriptedGateway, wire: Wire, answer: Answer, code: str
) -> None:
    gateway.script(answer)
    fault = await fault_of(opened(gateway, wire))
    assert (fault.code, fault.retryable, fault.retry_after_seconds) == (code, False, None)
    assert len(gateway.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        http_error(400, "too many tokens", code="context_length_exceeded"),
        http_error(400, "You passed 99 input tokens. However, the model's context length is only 64 tokens."),
        http_error(500, "Context size has been exceeded."),
        raw(b'{"error":{"code":400,"message":"request (99 tokens)","type":"exceed_context_size_error"}}', status=400),
        raw(b'{"object":"error","message":"This model\'s maximum context length is 64 tokens."}', status=400),
        stream_of({"type": "response.failed", "response": {"error": {"code": "context_length_exceeded"}}}),
    ],
)
async def test_a_prompt_too_long_for_its_model_says_what_to_do(
    gateway: ScriptedGateway, wire: Wire, answer: Answer
) -> None:
    gateway.script(answer)
    fault = await fault_of(opened(gateway, wire))
    assert (fault.code, fault.retryable) == ("gateway_prompt_too_long", False)
    assert "delivery.history_chars_max" in fault.message


async def test_an_unreachable_server_is_a_retryable_fault_that_names_the_setting(wire: Wire) -> None:
    with ScriptedGateway() as gone:
        client = opened(gone, wire)
    fault = await fault_of(client)
    assert (fault.code, fault.retryable) == ("gateway_unreachable", True)
    assert "gateway.default.base_url" in fault.message


async def test_retry_after_of_the_server_is_passed_on(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.script(http_error(429, "slow down", retry_after="7"), http_error(503, retry_after="2"))
    faults = [await fault_of(opened(gateway, wire)) for _ in range(2)]
    assert [fault.retry_after_seconds for fault in faults] == [7.0, 2.0]
    assert "slow down" in faults[0].message


@pytest.mark.parametrize("answer", [text("late", before=Gate()), text("Half", Gate(), "late")])
async def test_a_step_that_takes_longer_than_allowed_times_out(
    gateway: ScriptedGateway, wire: Wire, answer: Answer
) -> None:
    gateway.script(answer)
    fault = await fault_of(opened(gateway, wire, timeout_seconds=1))
    assert (fault.code, fault.retryable) == ("gateway_timeout", True)
    await asyncio.to_thread(gateway.wait_for_disconnects, 1)


async def test_cancelling_a_step_closes_its_connection_at_once(gateway: ScriptedGateway, wire: Wire) -> None:
    gate = Gate()
    gateway.script(text("Half ", gate, "never"))
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        taking = group.create_task(take(opened(gateway, wire)))
        await gate.reached()
        taking.cancel()
    assert taking.cancelled()
    await asyncio.to_thread(gateway.wait_for_disconnects, 1)


@requirement("S0.x.secrets")
@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500])
async def test_no_error_message_contains_the_key_even_if_the_server_repeats_it(
    gateway: ScriptedGateway, wire: Wire, status: int
) -> None:
    gateway.script(http_error(status, f"your header was Authorization: Bearer {KEY}", code=KEY))
    fault = await fault_of(opened(gateway, wire))
    assert KEY not in fault.message
    assert KEY not in str(fault)
    assert KEY not in repr(fault)


@requirement("S0.x.secrets")
@pytest.mark.parametrize("as_json", [False, True])
async def test_a_run_token_is_sent_only_with_its_step_and_removed_from_the_answer(
    gateway: ScriptedGateway, wire: Wire, as_json: bool
) -> None:
    gateway.script(text(f"I hold {RUN_TOKEN}.", as_json=as_json), text("I hold nothing."))
    client = opened(gateway, wire, run_tokens=True)
    heard: list[str] = []
    answer = await take(client, heard=heard, run_token=RUN_TOKEN)
    assert (await take(client)).text == "I hold nothing."
    await client.check()
    assert [request.headers.get("x-carrel-run-token") for request in gateway.requests] == [RUN_TOKEN, None]
    assert gateway.requests[0].body == BODY
    assert "".join(heard) == answer.text == "I hold [redacted]."
    assert RUN_TOKEN not in repr(answer)


@requirement("S0.x.secrets")
@given(st.lists(st.sampled_from([RUN_TOKEN, RUN_TOKEN[:9], RUN_TOKEN[9:], RUN_TOKEN[:-1], "c", "crl_run_", "é "])))
def test_live_text_lacks_the_run_token_however_it_is_cut_and_nothing_else(pieces: list[str]) -> None:
    heard: list[str] = []
    filtered = SecretFilter(RUN_TOKEN, heard.append)
    for piece in pieces:
        filtered.feed(piece)
    filtered.end()
    assert "".join(heard) == "".join(pieces).replace(RUN_TOKEN, "[redacted]")


def test_live_text_is_held_back_only_if_it_may_start_a_run_token() -> None:
    heard: list[str] = []
    filtered = SecretFilter(RUN_TOKEN, heard.append)
    for piece in ("The c", "ar stops. crl_run", RUN_TOKEN[7:], " was mine."):
        filtered.feed(piece)
    assert heard == ["The ", "car stops. ", "[redacted]", " was mine."]


@requirement("S0.x.secrets")
@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500])
async def test_no_error_message_contains_a_run_token_even_if_the_server_repeats_it(
    gateway: ScriptedGateway, wire: Wire, status: int
) -> None:
    gateway.script(http_error(status, f"your token was {RUN_TOKEN}", code=RUN_TOKEN))
    with pytest.raises(GatewayFault) as caught:
        await take(opened(gateway, wire, run_tokens=True), run_token=RUN_TOKEN)
    assert RUN_TOKEN not in repr(caught.value) + str(caught.value) + caught.value.message + caught.value.code


async def test_readiness_is_checked_without_a_step(gateway: ScriptedGateway, wire: Wire) -> None:
    await opened(gateway, wire).check()
    assert gateway.requests == []
    with ScriptedGateway() as gone:
        client = opened(gone, wire)
    with pytest.raises(GatewayFault, match="cannot be reached"):
        await client.check()


async def test_models_are_the_configured_ones_and_the_listed_ones_once_each(
    gateway: ScriptedGateway, wire: Wire
) -> None:
    assert await opened(gateway, wire, model="mine", models=("other", "mine")).models() == ("mine", "other", MODEL)
    with ScriptedGateway() as gone:
        client = opened(gone, wire)
    with pytest.raises(GatewayFault):
        await client.models()


@requirement("S0.x.secrets")
@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (GatewaySettings(kind="responses"), "base_url"),
        (GatewaySettings(kind="responses", base_url="http://"), "base_url"),
        (GatewaySettings(kind="responses", base_url="http://[::1"), "base_url"),
        (GatewaySettings(kind="responses", base_url="http://me:pass@host", api_key="k"), "base_url"),
        (GatewaySettings(kind="responses", base_url="http://host", api_key="secrét"), "api_key"),
        (GatewaySettings(kind="responses", base_url="http://host", api_key="secret\n"), "api_key"),
    ],
)
async def test_settings_that_cannot_work_are_refused_by_name_and_without_the_key(
    wire: Wire, settings: GatewaySettings, named: str
) -> None:
    with pytest.raises(ValueError, match=f"gateway.main.{named}") as caught:
        open_gateway("main", settings, wire)
    assert "secr" not in str(caught.value)
    assert "pass" not in str(caught.value)
