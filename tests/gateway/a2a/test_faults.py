"""What a remote agent may do wrong: hang up, answer nonsense, lose tasks, refuse. Played by a small server."""

import asyncio
import json
from typing import Any

import pytest

from carrel.gateway import Gateway, GatewayFault, Step, StepAnswer, open_gateway
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.bridge.tiny_server import Asked, Frames, Raw, TinyServer
from tests.requirements.mark import requirement

KEY = "key-of-the-remote-0123456789"
WORKING = {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}
DONE = WORKING | {
    "status": {"state": "TASK_STATE_COMPLETED"},
    "artifacts": [{"artifactId": "a", "parts": [{"text": "Done."}]}],
}
CANCELED = WORKING | {"status": {"state": "TASK_STATE_CANCELED"}}


def opened(tiny: TinyServer, wire: Wire, *, streaming: bool, **more: Any) -> Gateway:
    interface = {"url": tiny.url + "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    card = {"name": "Tiny", "supportedInterfaces": [interface], "capabilities": {"streaming": streaming}}
    tiny.answers("GET", "/.well-known/agent-card.json", card)
    return open_gateway("remote", GatewaySettings(kind="a2a", base_url=tiny.url, api_key=KEY, **more), wire)


def plays(tiny: TinyServer, **answers: Any) -> None:
    """Script the answer of each method of the protocol: one value, or a list of values in turn."""
    scripts = {name: iter(answer) if isinstance(answer, list) else None for name, answer in answers.items()}

    def answer(asked: Asked) -> tuple[int, Any]:
        method = asked.body["method"]
        script = scripts[method]
        given = answers[method] if script is None else next(script)
        if isinstance(given, Frames | Raw):
            return 200, given
        if isinstance(given, dict):
            return 200, {"jsonrpc": "2.0", "id": "1", **given}
        status, body = given
        return status, body

    tiny.does("POST", "/rpc", answer)


def streamed(*events: dict[str, Any]) -> Frames:
    """A stream of these events, which then ends or breaks off."""
    return Frames(iter([f"data: {json.dumps({'jsonrpc': '2.0', 'result': event})}\n\n".encode() for event in events]))


def methods(tiny: TinyServer) -> list[str]:
    return [asked.body["method"] for asked in tiny.asked if asked.path == "/rpc"]


def step_of(*items: dict[str, Any]) -> Step:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    body = {"input": [said, *items], "metadata": {"runId": "run_1", "sessionId": "ses_1"}}
    return Step(body=json.dumps(body).encode(), address="agent:main:main:v1")


async def take(gateway: Gateway, *items: dict[str, Any]) -> StepAnswer:
    async with asyncio.timeout(20):
        return await gateway.take(step_of(*items), lambda text: None)


async def fault_of(gateway: Gateway, *items: dict[str, Any]) -> GatewayFault:
    with pytest.raises(GatewayFault) as caught:
        await take(gateway, *items)
    return caught.value


async def test_a_stream_that_is_cut_is_followed_by_polling(tiny: TinyServer, wire: Wire) -> None:
    gateway = opened(tiny, wire, streaming=True)
    plays(
        tiny,
        SendStreamingMessage=streamed({"task": WORKING}),
        GetTask=[{"result": WORKING}, (503, None), {"result": DONE}],
    )
    assert (await take(gateway)).text == "Done."
    assert methods(tiny) == ["SendStreamingMessage", "GetTask", "GetTask", "GetTask"]


async def test_a_connection_that_breaks_in_the_middle_of_a_stream_is_followed_by_polling(
    tiny: TinyServer, wire: Wire
) -> None:
    """The tiny server ends its streams properly, so another server breaks this one off inside a chunk."""
    gateway = opened(tiny, wire, streaming=True)
    frame = f"data: {json.dumps({'jsonrpc': '2.0', 'result': {'task': WORKING}})}\n\n".encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        length = int(asked.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if b"SendStreamingMessage" in await reader.readexactly(length):
            writer.write(head + b"%x\r\n%b\r\n" % (len(frame), frame) + b"ff\r\nhalf a chunk")
        else:
            found = json.dumps({"jsonrpc": "2.0", "result": DONE}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(found), found))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(break_off, "127.0.0.1", 0) as breaking:
        port = breaking.sockets[0].getsockname()[1]
        interface = {"url": f"http://127.0.0.1:{port}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        card = {"supportedInterfaces": [interface], "capabilities": {"streaming": True}}
        tiny.answers("GET", "/.well-known/agent-card.json", card)
        assert (await take(gateway)).text == "Done."


async def test_a_file_is_kept_once_however_the_remote_joins_its_pieces(tiny: TinyServer, wire: Wire) -> None:
    pieces = [[{"text": "One "}], [{"text": "two."}], [{"url": "https://example.com/a"}]]
    updates = [
        {"artifactUpdate": {"taskId": "t1", "artifact": {"artifactId": "a", "parts": parts}, "append": place > 0}}
        for place, parts in enumerate(pieces)
    ]
    whole = DONE | {"artifacts": [{"artifactId": "a", "parts": [{"text": "One two."}, pieces[2][0]]}]}
    gateway = opened(tiny, wire, streaming=True)
    end = {"statusUpdate": {"taskId": "t1", "status": DONE["status"]}}
    plays(tiny, SendStreamingMessage=streamed({"task": WORKING}, *updates, end), GetTask={"result": whole})
    answer = await take(gateway)
    assert [json.loads(call.arguments) for call in answer.calls] == [{"url": "https://example.com/a"}]
    rest = await take(gateway, *answer.output)
    assert (rest.text, rest.calls) == ("One two.", ())


async def test_an_answer_that_came_too_early_is_followed_by_polling(tiny: TinyServer, wire: Wire) -> None:
    gateway = opened(tiny, wire, streaming=False)
    plays(tiny, SendMessage={"result": {"task": WORKING}}, GetTask=[{"result": WORKING}, {"result": DONE}])
    assert (await take(gateway)).text == "Done."
    assert tiny.asked[1].body["params"]["configuration"] == {"returnImmediately": False}


async def test_a_remote_that_stays_unreachable_while_polling_is_a_retryable_fault(tiny: TinyServer, wire: Wire) -> None:
    gateway = opened(tiny, wire, streaming=False)
    plays(tiny, SendMessage={"result": {"task": WORKING}}, GetTask=(503, None))
    fault = await fault_of(gateway)
    assert (fault.code, fault.retryable) == ("gateway_unavailable", True)


async def test_a_message_cancelled_before_is_sent_again_under_another_id(tiny: TinyServer, wire: Wire) -> None:
    """A remote that recognises a message id reports its old end: after a stop of this server, `canceled`."""
    gateway = opened(tiny, wire, streaming=True)
    plays(tiny, SendStreamingMessage=[streamed({"task": CANCELED}), streamed({"task": WORKING}, {"task": DONE})])
    assert (await take(gateway)).text == "Done."
    ids = [asked.body["params"]["message"]["messageId"] for asked in tiny.asked if asked.path == "/rpc"]
    assert len(set(ids)) == 2


async def test_a_task_cancelled_at_the_remote_is_not_started_again(tiny: TinyServer, wire: Wire) -> None:
    gateway = opened(tiny, wire, streaming=True)
    plays(tiny, SendStreamingMessage=streamed({"task": WORKING}, {"task": CANCELED}))
    fault = await fault_of(gateway)
    assert (fault.code, fault.retryable) == ("remote_canceled", False)
    assert methods(tiny) == ["SendStreamingMessage"]


async def test_a_remote_that_lost_its_task_is_reported(tiny: TinyServer, wire: Wire) -> None:
    gateway = opened(tiny, wire, streaming=False)
    plays(tiny, GetTask={"error": {"code": -32001, "message": "Task not found"}})
    call = {"type": "function_call", "call_id": "a2a_f00000000_t1", "name": "artifact_add", "arguments": "{}"}
    fault = await fault_of(gateway, call)
    assert (fault.code, fault.retryable) == ("remote_lost", False)
    assert "send the message again" in fault.message


@pytest.mark.parametrize(
    ("answer", "code", "retryable"),
    [
        ({"error": {"code": -32603, "message": "oops"}}, "gateway_failed", True),
        (
            {"error": {"code": -32000, "message": "full", "data": [{"reason": "QUEUE_FULL"}]}},
            "gateway_failed",
            True,
        ),
        ({"error": {"code": -32005, "message": "no pictures"}}, "gateway_refused", False),
        ({"error": {"code": -32602, "message": "no parts"}}, "gateway_refused", False),
        ({"error": {"code": -32009, "message": "only 7.0"}}, "gateway_misconfigured", False),
        ({"error": {"code": -32008, "message": "needs x"}}, "gateway_misconfigured", False),
        ({"error": "nonsense"}, "gateway_unreadable", True),
        ({"result": None}, "gateway_unreadable", True),
        ({"result": {"surprise": 1}}, "gateway_unreadable", True),
        (Raw(b"<html>hello</html>"), "gateway_unreadable", True),
        (Raw(b"[" * 100_000), "gateway_unreadable", True),
        ((500, None), "gateway_unavailable", True),
        ((429, {"error": {"message": "slow down"}}), "gateway_rate_limited", True),
        ((400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "bad"}}), "gateway_refused", False),
        ((404, None), "gateway_not_found", False),
        ((307, None), "gateway_misconfigured", False),
        ((401, {"error": {"message": KEY}}), "gateway_unauthorized", False),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_each_error_says_whether_a_retry_may_help(
    tiny: TinyServer, wire: Wire, answer: Any, code: str, retryable: bool, streaming: bool
) -> None:
    gateway = opened(tiny, wire, streaming=streaming)
    plays(tiny, SendMessage=answer, SendStreamingMessage=answer)
    fault = await fault_of(gateway)
    assert (fault.code, fault.retryable) == (code, retryable)
    assert len(methods(tiny)) == 1


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b": ping\n\n"],
        [b"data: {}\n\n"],
        [b'data: {"error": {"code": -32603, "message": "oops"}}\n\n'],
        [b"data: nonsense\n\n"],
    ],
)
async def test_a_stream_without_content_is_a_retryable_fault(tiny: TinyServer, wire: Wire, frames: list[bytes]) -> None:
    gateway = opened(tiny, wire, streaming=True)
    plays(tiny, SendStreamingMessage=Frames(iter(frames)))
    assert (await fault_of(gateway)).retryable


async def test_a_streaming_remote_may_answer_without_a_stream(tiny: TinyServer, wire: Wire) -> None:
    gateway = opened(tiny, wire, streaming=True)
    plays(tiny, SendStreamingMessage={"result": {"task": DONE}})
    assert (await take(gateway)).text == "Done."


async def test_streaming_can_be_switched_off(tiny: TinyServer, wire: Wire) -> None:
    gateway = opened(tiny, wire, streaming=True, stream=False)
    plays(tiny, SendMessage={"result": {"task": DONE}})
    assert (await take(gateway)).text == "Done."


@requirement("S0.x.secrets")
@pytest.mark.parametrize("where", ["status", "error", "http"])
async def test_no_fault_repeats_the_key_even_when_the_remote_does(tiny: TinyServer, wire: Wire, where: str) -> None:
    message = {"role": "agent", "parts": [{"kind": "text", "text": f"your key {KEY} is no good"}]}
    failed = WORKING | {"status": {"state": "failed", "message": message}}
    answers: dict[str, Any] = {
        "status": {"result": {"task": failed}},
        "error": {"error": {"code": -32602, "message": f"Bearer {KEY}"}},
        "http": (400, {"error": {"message": KEY}}),
    }
    gateway = opened(tiny, wire, streaming=False)
    plays(tiny, SendMessage=answers[where])
    fault = await fault_of(gateway)
    assert KEY not in fault.message
    assert KEY not in repr(fault)
