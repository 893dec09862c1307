"""The guard against requests into our own network: which addresses a stranger may make us call.

Used for addresses that others give us (webhooks). What the operator configures may be private and is not guarded.
The host is resolved once, every address of it is checked, and the request goes to a checked address: a name that
resolves differently a moment later gains nothing.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import urlsplit

from msgspec import Struct

from carrel.kernel.limits import NAME_LOOKUPS_AT_A_TIME
from carrel.wire.model import WireFault, WireFaultKind

Resolver = Callable[[str, int], Awaitable[list[str]]]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_PRIVATE_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa", "localdomain")
# Public by their number, yet answered by the host of a virtual machine and not by the internet.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16"), ipaddress.ip_address("192.0.0.192")})
_TUNNELS = tuple(ipaddress.IPv6Network(text) for text in ("2002::/16", "2001::/32", "64:ff9b::/96", "64:ff9b:1::/48"))
_PORTS = {"http": 80, "https": 443}
# The loop's own lookups share a few places, and a stranger's dead name server could hold up our way to the models.
_lookups = ThreadPoolExecutor(NAME_LOOKUPS_AT_A_TIME, thread_name_prefix="carrel-names")


class ForbiddenAddress(WireFault):
    """An address that a stranger may not make us call, with the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(WireFaultKind.FORBIDDEN, reason)


class Target(Struct, frozen=True, kw_only=True):
    """A checked way to a public host: the number to connect to and the name to speak to."""

    address: str
    host: str
    port: int
    is_default_port: bool

    @property
    def host_header(self) -> str:
        """The host as a request names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.is_default_port else f"{host}:{self.port}"


async def resolve_by_system(host: str, port: int) -> list[str]:
    """The numbers of `host`, as this machine's resolver gives them."""
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_lookups, look)
    return [str(entry[4][0]) for entry in found]


def web_host(url: str) -> str:
    """The host and port of a plain web address; raises ForbiddenAddress for anything else. Asks no name server."""
    host, port, _ = _parse(url)
    return f"{host}:{port}"


async def public_target(url: str, resolve: Resolver = resolve_by_system) -> Target:
    """Where a request to `url` may go; raises ForbiddenAddress unless every address of its host is public."""
    host, port, is_default_port = _parse(url)
    literal = _as_address(host)
    if literal is not None:
        _check(literal)
        return Target(address=str(literal), host=host, port=port, is_default_port=is_default_port)
    if any(host == name or host.endswith("." + name) for name in _PRIVATE_NAMES):
        raise ForbiddenAddress(f"{host} is a name of a private network. Use the address of a public host.")
    try:
        numbers = await resolve(host, port)
    except (OSError, UnicodeError):
        raise WireFault(WireFaultKind.CONNECT, f"The host {host} could not be found.") from None
    addresses = [_as_address(number) for number in numbers]
    if not addresses:
        raise WireFault(WireFaultKind.CONNECT, f"The host {host} could not be found.")
    for address in addresses:
        if address is None:
            raise ForbiddenAddress(f"{host} resolves to something that is no address.")
        _check(address)
    return Target(address=str(addresses[0]), host=host, port=port, is_default_port=is_default_port)


def _parse(url: str) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ForbiddenAddress("The address cannot be read.") from None
    if parts.scheme not in _PORTS:
        raise ForbiddenAddress("Only http and https addresses can be called.")
    if parts.username is not None or parts.password is not None:
        raise ForbiddenAddress("An address must not carry a user name or password.")
    host = (parts.hostname or "").rstrip(".").lower()
    if not host:
        raise ForbiddenAddress("The address names no host.")
    if "%" in host:
        raise ForbiddenAddress("An address with a zone belongs to a local network.")
    if port == 0:
        raise ForbiddenAddress("Port 0 cannot be called.")
    default_port = _PORTS[parts.scheme]
    return host, port or default_port, port in (None, default_port)


def _as_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _check(address: Address) -> None:
    plain = address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
    if _is_tunnel(plain) or plain in _METADATA or not plain.is_global or plain.is_multicast or plain.is_reserved:
        raise ForbiddenAddress(
            f"{address} is not a public address (loopback, private, link-local, metadata, tunnel or reserved)."
        )


def _is_tunnel(address: Address) -> bool:
    """Whether a router on the way would unpack another address from this one and call that."""
    return isinstance(address, ipaddress.IPv6Address) and any(address in network for network in _TUNNELS)
