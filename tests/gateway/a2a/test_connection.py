"""Where the card of a remote agent may lead, and which requests carry the API key.

A test cannot run a public server, so the internet is played: names resolve as each test says, and requests are answered
without a connection.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from carrel.gateway import GatewayFault, Step, open_gateway
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.bridge.tiny_server import tiny_server

KEY = "key-of-the-remote-0123456789"
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.7"
DONE = {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_COMPLETED"}}
ANSWER = {"jsonrpc": "2.0", "id": "1", "result": {"task": DONE | {"artifacts": [{"parts": [{"text": "Done."}]}]}}}


class Connected:
    """An open connection, as far as the client looks at it."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get_extra_info(self, name: str) -> object:
        return (self._address, 443) if name == "server_addr" else None


class Internet:
    """Serves a card from one address, and answers every message; `names` are the answers of the name server."""

    def __init__(self, leads_to: str, card_from: str, names: list[str] | None) -> None:
        self.asked: list[httpx.Request] = []
        self._card = {"supportedInterfaces": [{"url": leads_to, "protocolVersion": "1.0"}]}
        self._card_from = card_from
        self._names = names

    async def resolve(self, host: str, port: int) -> list[str]:
        if self._names is None:
            raise OSError("SERVFAIL")
        return self._names

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        body = self._card if request.method == "GET" else ANSWER
        return httpx.Response(200, json=body, extensions={"network_stream": Connected(self._card_from)})

    @asynccontextmanager
    async def wire(self) -> AsyncIterator[Wire]:
        wire = Wire(resolve=self.resolve)
        await wire.close()
        wire._client = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))
        yield wire
        await wire.close()

    async def take(self, base_url: str) -> str:
        body = {"input": "hello", "metadata": {"runId": "run_1", "sessionId": "ses_1"}}
        step = Step(body=json.dumps(body).encode(), address="agent:main:main:v1")
        async with self.wire() as wire, asyncio.timeout(20):
            settings = GatewaySettings(kind="a2a", base_url=base_url, api_key=KEY)
            return (await open_gateway("remote", settings, wire).take(step, print)).text


@pytest.mark.parametrize("names", [None, [], [PRIVATE], ["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC]])
@pytest.mark.parametrize(
    "leads_to",
    ["https://agent.example:8443/a2a", "https://api.agent.example/a2a", "http://agent.example/a2a"],
)
async def test_a_public_card_leads_only_to_hosts_all_of_whose_addresses_are_known_and_public(
    leads_to: str, names: list[str] | None
) -> None:
    internet = Internet(leads_to, PUBLIC, names)
    with pytest.raises(GatewayFault):
        await internet.take("http://agent.example:8080")
    assert [request.method for request in internet.asked] == ["GET"]


@pytest.mark.parametrize("leads_to", ["https://127.0.0.1/a2a", "https://[::1]:9000/a2a", "https://localhost/a2a"])
async def test_a_card_from_an_unknown_address_counts_as_public(leads_to: str) -> None:
    for card_from in ("", PUBLIC, "2002:7f00:1::", "64:ff9b::5db8:d822", "not an address"):
        internet = Internet(leads_to, card_from, ["127.0.0.1"])
        with pytest.raises(GatewayFault):
            await internet.take("https://agent.example")
        assert len(internet.asked) == 1


@pytest.mark.parametrize(
    ("leads_to", "host"),
    [
        ("https://agent.example:8443/a2a", "agent.example:8443"),
        ("https://api.agent.example/a2a", "api.agent.example"),
    ],
)
async def test_another_origin_is_called_at_the_checked_address_and_does_not_get_the_key(
    leads_to: str, host: str
) -> None:
    internet = Internet(leads_to, PUBLIC, [PUBLIC])
    assert await internet.take("https://agent.example") == "Done."
    card, sent = internet.asked
    assert card.headers["authorization"] == f"Bearer {KEY}"
    assert (sent.url.host, sent.headers["host"]) == (PUBLIC, host)
    assert "authorization" not in sent.headers


@pytest.mark.parametrize(
    ("base_url", "leads_to"),
    [
        ("https://agent.example", "https://agent.example/a2a"),
        ("https://agent.example", "https://Agent.example:443/a2a"),
        ("https://agent.example:8443/card.json", "/a2a"),
    ],
)
async def test_the_origin_that_was_configured_gets_the_key(base_url: str, leads_to: str) -> None:
    internet = Internet(leads_to, PUBLIC, None)
    assert await internet.take(base_url) == "Done."
    assert [request.headers["authorization"] for request in internet.asked] == [f"Bearer {KEY}"] * 2


async def test_a_card_from_our_own_network_may_name_another_host_there() -> None:
    internet = Internet("http://agents.test/a2a", PRIVATE, [PRIVATE])
    assert await internet.take("http://cards.test") == "Done."
    assert internet.asked[1].url.host == "agents.test"
    assert "authorization" not in internet.asked[1].headers


async def test_a_card_with_an_impossible_port_is_refused() -> None:
    internet = Internet("https://agent.example:99999/a2a", PUBLIC, [PUBLIC])
    with pytest.raises(GatewayFault) as caught:
        await internet.take("https://agent.example")
    assert caught.value.code == "gateway_misconfigured"


async def test_a_reply_names_the_address_that_answered() -> None:
    with tiny_server() as server:
        server.answers("GET", "/", {})
        wire = Wire()
        reply = await wire.request("GET", server.url + "/", timeout_seconds=5)
        await wire.close()
    assert reply.address == "127.0.0.1"
