"""The guard against requests into private networks: by IP address, by name, or by DNS rebinding."""

import pytest

from carrel.wire import (
    ForbiddenAddress,
    Resolver,
    Wire,
    WireFault,
    WireFaultKind,
    is_in_own_network,
    public_target,
    web_host,
)
from tests.scripted_gateway import ScriptedGateway


def resolver(*numbers: str) -> Resolver:
    async def resolve(host: str, port: int) -> list[str]:
        return list(numbers)

    return resolve


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.8.9.10",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[2002:7f00:1::]",
        "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
        "[64:ff9b::7f00:1]",
        "[2001:db8::1]",
        "[fec0::1]",
        "[feff::1]",
        "[3fff::1]",
        "[5f00::1]",
        "[4000::1]",
        "[2001:2::1]",
        "[2001:20::1]",
        "[64:ff9b:1::7f00:1]",
        "[::7f00:1]",
        "[::0:5efe:127.0.0.1]",
        "[fe80::5efe:7f00:1]",
        "[2a00:1450:4001:800:0:5efe:7f00:1]",
        "[2a00:1450:4001:800:200:5efe:5db8:d822]",
        "[100::1]",
        "192.0.0.8",
        "192.88.99.1",
        "198.18.0.1",
    ],
)
async def test_ip_addresses_that_are_not_public_are_refused(host: str) -> None:
    with pytest.raises(ForbiddenAddress):
        await public_target(f"http://{host}/hook", resolver("93.184.216.34"))
    number = host.strip("[]").replace("%25", "%")
    with pytest.raises(ForbiddenAddress):
        await public_target("https://example.com/hook", resolver(number))


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "metadata.google.internal",
        "printer.local",
        "router.lan",
        "x.home.arpa",
    ],
)
async def test_names_of_private_networks_are_refused_without_resolving_them(host: str) -> None:
    with pytest.raises(ForbiddenAddress):
        await public_target(f"http://{host}/", resolver("93.184.216.34"))


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1"])
async def test_odd_notations_of_loopback_are_refused_once_resolved(host: str) -> None:
    with pytest.raises(WireFault) as caught:
        await public_target(f"http://{host}/")
    assert caught.value.kind in (WireFaultKind.FORBIDDEN, WireFaultKind.CONNECT)


async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(ForbiddenAddress):
        await public_target("https://example.com/", resolver("93.184.216.34", "10.0.0.1"))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "https://",
        "https://user:secret@example.com/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://[::1/",
        "https://example.com*/",
        "https://example.com\\.other.com/",
        "example.com",
    ],
)
async def test_urls_that_are_not_plain_web_urls_are_refused_without_quoting_them(url: str) -> None:
    with pytest.raises(ForbiddenAddress) as caught:
        await public_target(url, resolver("93.184.216.34"))
    assert "secret" not in caught.value.message


async def test_a_public_host_is_pinned_to_the_address_that_was_checked() -> None:
    target = await public_target("https://Example.com:8443/hook?x=1", resolver("93.184.216.34", "2606:2800:21f::1"))
    assert (target.address, target.host, target.port) == ("93.184.216.34", "example.com", 8443)
    assert target.host_header == "example.com:8443"


def test_the_host_of_a_web_url_is_read_without_resolving_it() -> None:
    hosts = [web_host(url) for url in ("https://Example.com/hook", "http://example.com.:8080/", "http://[::1]/")]
    assert hosts == ["example.com:443", "example.com:8080", "::1:80"]
    with pytest.raises(ForbiddenAddress):
        web_host("https://user:secret@example.com/")


async def test_a_public_ip_address_needs_no_resolver() -> None:
    target = await public_target("http://[2606:2800:21f::1]/", resolver())
    assert (target.address, target.host_header) == ("2606:2800:21f::1", "[2606:2800:21f::1]")


async def test_a_public_ipv4_address_mapped_to_ipv6_is_public() -> None:
    assert (await public_target("http://[::ffff:93.184.216.34]/", resolver())).port == 80


def test_our_own_network_is_a_list_of_private_ranges_and_nothing_unknown() -> None:
    own = ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "::1", "fd00::1", "fe80::1%eth0"]
    assert all(map(is_in_own_network, [*own, "::ffff:127.0.0.1"]))
    assert not any(map(is_in_own_network, ["", "localhost", "93.184.216.34", "64:ff9b::5db8:d822", "2002:7f00:1::"]))


async def test_an_unknown_host_is_a_connection_fault_and_not_forbidden() -> None:
    async def fail(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    for resolve in (fail, resolver()):
        with pytest.raises(WireFault) as caught:
            await public_target("https://nowhere.example/", resolve)
        assert caught.value.kind is WireFaultKind.CONNECT


async def test_a_guarded_request_never_reaches_a_server_on_this_machine() -> None:
    with ScriptedGateway() as gateway:
        for resolve, url in (
            (resolver("127.0.0.1"), gateway.base_url.replace("127.0.0.1", "example.com")),
            (resolver("93.184.216.34"), gateway.base_url),
        ):
            wire = Wire(resolve=resolve)
            with pytest.raises(ForbiddenAddress):
                await wire.request("POST", url + "/v1/responses", timeout_seconds=5, public_only=True)
            await wire.close()
        assert gateway.connections == 0


async def test_a_guarded_request_connects_to_the_checked_address_and_sends_the_host_name() -> None:
    wire = Wire(resolve=resolver("93.184.216.34"))
    # A test cannot run a public server, so the request is checked before it is sent.
    request = await wire._pinned("POST", "https://example.com:8443/hook?x=1", {"X-Own": "1"}, b"{}")
    assert str(request.url) == "https://93.184.216.34:8443/hook?x=1"
    assert (request.headers["host"], request.headers["x-own"]) == ("example.com:8443", "1")
    assert request.extensions["sni_hostname"] == "example.com"
    await wire.close()
