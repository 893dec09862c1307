"""The HTTP client: limited in time and size, and closing what nobody waits for."""

import asyncio
from contextlib import aclosing

import pytest

from carrel.wire import Wire, WireFault, WireFaultKind
from carrel.wire.model import WireLimits
from tests.requirements.mark import requirement
from tests.scripted_gateway import DROP, Answer, Gate, ScriptedGateway, dropped, http_error, raw, stream_of

PATH = "/v1/responses"


async def fault_of(wire: Wire, url: str, *, timeout_seconds: float = 10, **headers: str) -> WireFault:
    with pytest.raises(WireFault) as caught:
        await wire.request("POST", url, headers=headers, body=b"{}", timeout_seconds=timeout_seconds)
    await wire.close()
    return caught.value


async def test_a_request_arrives_unchanged_and_its_response_is_returned_whole() -> None:
    wire = Wire()
    with ScriptedGateway() as gateway:
        gateway.script(raw(b"first ", b"second", content_type="text/plain"))
        body = '{"a" : "ä\\u0000", \n "b":1.0}'.encode()
        reply = await wire.request(
            "POST", gateway.base_url + PATH, headers={"X-Own": "1"}, body=body, timeout_seconds=10
        )
        assert (reply.status, reply.body, reply.headers["content-type"]) == (200, b"first second", "text/plain")
        assert gateway.requests[0].body == body
        assert gateway.requests[0].headers["x-own"] == "1"
    await wire.close()


async def test_error_statuses_and_redirects_are_returned_and_not_followed() -> None:
    wire = Wire()
    with ScriptedGateway() as gateway:
        gateway.script(http_error(503), http_error(307, location=gateway.base_url + PATH))
        statuses = [(await wire.request("POST", gateway.base_url + PATH, timeout_seconds=10)).status for _ in range(2)]
        assert statuses == [503, 307]
        assert len(gateway.requests) == 2
    await wire.close()


async def test_events_are_yielded_while_the_response_is_still_arriving() -> None:
    wire, gate = Wire(), Gate()
    with ScriptedGateway() as gateway:
        gateway.script(stream_of("one", gate, "two"))
        seen = []
        async with (
            wire.stream("POST", gateway.base_url + PATH, timeout_seconds=10) as reply,
            aclosing(reply.events()) as events,
        ):
            assert reply.media_type == "text/event-stream"
            async for event in events:
                seen.append(event.text)
                gate.open()
        assert seen == ["one", "two"]
    await wire.close()


async def test_every_request_has_its_own_connection_and_says_so() -> None:
    wire = Wire()
    with ScriptedGateway() as gateway:
        gateway.script(raw(b"{}"), raw(b"{}"))
        for _ in range(2):
            await wire.request("POST", gateway.base_url + PATH, timeout_seconds=10)
        assert gateway.connections == 2
        assert gateway.requests[1].headers["connection"] == "close"
    await wire.close()


async def test_a_finished_stream_may_end_before_the_connection_is_closed() -> None:
    wire, gate = Wire(WireLimits(drain_seconds=10)), Gate()
    with ScriptedGateway() as gateway:
        gateway.script(stream_of("last word", gate, "[DONE]"))
        async with wire.stream("POST", gateway.base_url + PATH, timeout_seconds=10) as reply:
            async with aclosing(reply.events()) as events:
                await anext(events)
            gate.open()
            await reply.drain()
        assert gateway.disconnects == 0
    await wire.close()


async def test_a_server_that_never_ends_its_stream_blocks_nobody() -> None:
    wire, gate = Wire(WireLimits(drain_seconds=0.01)), Gate()
    with ScriptedGateway() as gateway:
        gateway.script(stream_of("last word", gate))
        async with wire.stream("POST", gateway.base_url + PATH, timeout_seconds=10) as reply:
            async with aclosing(reply.events()) as events:
                await anext(events)
            await reply.drain()
        await asyncio.to_thread(gateway.wait_for_disconnects, 1)
    await wire.close()


async def test_cancelling_a_request_closes_its_connection_at_once() -> None:
    wire, gate = Wire(), Gate()
    with ScriptedGateway() as gateway:
        gateway.script(stream_of("one", gate))
        asking = asyncio.ensure_future(wire.request("POST", gateway.base_url + PATH, timeout_seconds=60))
        await gate.reached()
        asking.cancel()
        await asyncio.wait({asking}, timeout=10)
        assert asking.cancelled()
        await asyncio.to_thread(gateway.wait_for_disconnects, 1)
    await wire.close()


async def test_a_silent_server_times_out() -> None:
    with ScriptedGateway() as gateway:
        gateway.script(stream_of("never", before=Gate()))
        fault = await fault_of(Wire(), gateway.base_url + PATH, timeout_seconds=0.05)
        assert fault.kind is WireFaultKind.TIMEOUT
        await asyncio.to_thread(gateway.wait_for_disconnects, 1)


async def test_a_time_out_set_by_the_caller_is_raised_unchanged() -> None:
    wire = Wire()
    with ScriptedGateway() as gateway:
        gateway.script(stream_of("one"))
        with pytest.raises(TimeoutError, match="mine"):
            async with wire.stream("POST", gateway.base_url + PATH, timeout_seconds=10):
                raise TimeoutError("mine")
    await wire.close()


async def test_an_event_beyond_the_size_limit_is_refused() -> None:
    wire = Wire(WireLimits(event_bytes_max=100))
    with ScriptedGateway() as gateway:
        gateway.script(raw(b"data: " + b"x" * 200))
        async with wire.stream("POST", gateway.base_url + PATH, timeout_seconds=10) as reply:
            with pytest.raises(WireFault) as caught:
                await anext(reply.events())
    assert caught.value.kind is WireFaultKind.TOO_LARGE
    await wire.close()


async def test_a_response_beyond_the_size_limit_is_refused() -> None:
    with ScriptedGateway() as gateway:
        gateway.script(raw(b"x" * 50, b"y" * 60))
        fault = await fault_of(Wire(WireLimits(response_bytes_max=100)), gateway.base_url + PATH)
        assert fault.kind is WireFaultKind.TOO_LARGE


@pytest.mark.parametrize("answer", [dropped(), stream_of("one", DROP)])
async def test_a_broken_connection_is_reported_as_such(answer: Answer) -> None:
    with ScriptedGateway() as gateway:
        gateway.script(answer)
        fault = await fault_of(Wire(), gateway.base_url + PATH)
        assert fault.kind is WireFaultKind.BROKEN


async def test_a_port_without_a_server_is_reported_as_such() -> None:
    with ScriptedGateway() as gateway:
        url = gateway.base_url
    assert (await fault_of(Wire(), url)).kind is WireFaultKind.CONNECT


@requirement("S0.x.secrets")
@pytest.mark.parametrize("key", ["Bearer sk-very-secret\n", "Bearer sk-very-secret-ü", "Bearer \x00sk-very-secret"])
async def test_a_header_that_cannot_be_sent_is_not_quoted(key: str) -> None:
    with ScriptedGateway() as gateway:
        fault = await fault_of(Wire(), gateway.base_url.replace("//", "//me:pass@") + "/v1?key=pass", Own=key)
    assert fault.kind is WireFaultKind.INVALID
    assert "secret" not in fault.message
    assert "pass" not in fault.message
    assert fault.__cause__ is None
    assert fault.__suppress_context__


@pytest.mark.parametrize("url", ["ftp://example.com/", "http://", "http://[::1", "nonsense"])
async def test_a_url_that_cannot_be_called_is_invalid(url: str) -> None:
    assert (await fault_of(Wire(), url)).kind is WireFaultKind.INVALID
