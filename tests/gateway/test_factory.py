"""A check tells a server that is not there from one that answers something else."""

import asyncio

import pytest

from carrel.gateway import Gateway, GatewayFault, model_window, open_gateway
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, ScriptedGateway, dropped, http_error, raw

NOBODY_THERE = {
    "hangs up": dropped(),
    "a server in between finds nobody": http_error(502),
    "a server in between waits in vain": http_error(504),
    "llama.cpp loads its model": raw(
        b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}', status=503
    ),
}
SOMEBODY_THERE = {
    "broken": http_error(500),
    "too busy": http_error(503),
    "a wrong key": http_error(401),
}


def opened(gateway: ScriptedGateway, wire: Wire) -> Gateway:
    settings = GatewaySettings(kind="responses", base_url=gateway.base_url)
    return open_gateway("default", settings, wire)


async def found(gateway: Gateway) -> GatewayFault:
    with pytest.raises(GatewayFault) as caught:
        await gateway.check()
    return caught.value


@requirement("T.unreachable")
@pytest.mark.parametrize("answer", NOBODY_THERE.values(), ids=NOBODY_THERE)
async def test_a_check_finds_nobody(gateway: ScriptedGateway, wire: Wire, answer: Answer) -> None:
    gateway.models = answer
    fault = await found(opened(gateway, wire))
    assert (fault.unreachable, fault.retryable) == (True, True)


@requirement("T.unreachable")
@pytest.mark.parametrize("answer", SOMEBODY_THERE.values(), ids=SOMEBODY_THERE)
async def test_a_check_finds_a_server_with_other_troubles(gateway: ScriptedGateway, wire: Wire, answer: Answer) -> None:
    gateway.models = answer
    assert not (await found(opened(gateway, wire))).unreachable


@requirement("T.unreachable")
async def test_a_server_that_stopped_listening_is_not_there(gateway: ScriptedGateway, wire: Wire) -> None:
    gateway.go_away()
    fault = await found(opened(gateway, wire))
    assert (fault.code, fault.unreachable) == ("gateway_unreachable", True)
    assert "Start it, or correct gateway.default.base_url." in fault.message
    gateway.come_back()
    await opened(gateway, wire).check()


@requirement("T.unreachable")
async def test_a_remote_agent_whose_card_cannot_be_read_is_not_there(wire: Wire) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listening = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        settings = GatewaySettings(kind="a2a", base_url=f"http://127.0.0.1:{port}")
        assert (await found(open_gateway("far", settings, wire))).unreachable


LISTS = {
    "vLLM": b'{"data":[{"id":"m","max_model_len":8192}]}',
    "OpenRouter": b'{"data":[{"id":"m","context_length":8192}]}',
    "LM Studio": b'{"data":[{"id":"m","max_context_length":131072,"loaded_context_length":8192}]}',
    "llama.cpp": b'{"data":[{"id":"m","meta":{"n_ctx":8192,"n_ctx_train":32768}}]}',
}


@pytest.mark.parametrize("body", LISTS.values(), ids=LISTS)
async def test_a_server_that_lists_its_models_says_how_much_they_take(
    gateway: ScriptedGateway, wire: Wire, body: bytes
) -> None:
    settings = GatewaySettings(kind="responses", base_url=gateway.base_url, model="m")
    connected = open_gateway("default", settings, wire)
    assert model_window(connected, settings, "") is None
    gateway.models = raw(body)
    await connected.check()
    assert (model_window(connected, settings, ""), model_window(connected, settings, "other")) == (8192, None)
    said = GatewaySettings(kind="responses", base_url=gateway.base_url, context_tokens=100)
    assert model_window(connected, said, "m") == 100
