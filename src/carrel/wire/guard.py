"""The guard against server-side request forgery: refuses URLs that lead into a private network.

Used for URLs that others give us: webhooks of clients, and interfaces that an agent's card names. What the operator
configures may be private and is not checked. The host is resolved once, all its addresses are checked, and the request
goes to a checked address, so a name that resolves differently a moment later (DNS rebinding) gains nothing.
"""

import asyncio
import ipaddress
import re
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
# Everything else in IPv6 is special or unassigned, whatever the `ipaddress` of this Python version says about it.
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
# Not public although some versions of `ipaddress` call them global: special assignments, addresses that the host of a
# virtual machine answers, and tunnels, whose routers extract another address and forward to it.
_SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    )
)  # fmt: skip
# What precedes the IPv4 address in the second half of an ISATAP address, for private and for public ones.
_ISATAP = (0x00005EFE, 0x02005EFE)
# Networks of an operator's own servers. Not the opposite of public: a tunnel, for example, is neither.
_OWN = tuple(
    ipaddress.ip_network(text)
    for text in (
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
        "::1/128", "fc00::/7", "fe80::/10",
    )
)  # fmt: skip
_PORTS = {"http": 80, "https": 443}
# Programs disagree about other characters: in https://example.com\.other.com, some take the backslash for a slash.
_NAME = re.compile(r"[\w.-]+")
# A separate pool: the event loop's has few threads, and a client's dead name server could block calls to models.
_lookups = ThreadPoolExecutor(NAME_LOOKUPS_AT_A_TIME, thread_name_prefix="carrel-names")


class ForbiddenAddress(WireFault):
    """A URL that the guard refuses, with the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(WireFaultKind.FORBIDDEN, reason)


class Target(Struct, frozen=True, kw_only=True):
    """A checked public host: the IP address to connect to and the host name to send."""

    address: str
    host: str
    port: int
    is_default_port: bool

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.is_default_port else f"{host}:{self.port}"


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Resolve `host` to IP addresses with this machine's resolver."""
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_lookups, look)
    return [str(entry[4][0]) for entry in found]


def web_host(url: str) -> str:
    """Return the host and port of a web URL, without resolving it; raise ForbiddenAddress for anything else."""
    host, port, _ = _parse(url)
    return f"{host}:{port}"


def is_in_own_network(address: str) -> bool:
    """Return whether an IP address is in an operator's network, such as 127.0.0.1; False if it is unknown."""
    parsed = _as_address(address)
    return parsed is not None and any(_plain(parsed) in network for network in _OWN)


async def public_target(url: str, resolve: Resolver = resolve_by_system) -> Target:
    """Resolve and check the host of `url`; raise ForbiddenAddress unless all its addresses are public."""
    host, port, is_default_port = _parse(url)
    literal = _as_address(host)
    if literal is not None:
        _check(literal)
        return Target(address=str(literal), host=host, port=port, is_default_port=is_default_port)
    if any(host == name or host.endswith("." + name) for name in _PRIVATE_NAMES):
        raise ForbiddenAddress(f"{host} is a name in a private network. Use a public host.")
    try:
        resolved = await resolve(host, port)
    except (OSError, UnicodeError):
        raise WireFault(WireFaultKind.CONNECT, f"The host {host} was not found.") from None
    addresses = [_as_address(text) for text in resolved]
    if not addresses:
        raise WireFault(WireFaultKind.CONNECT, f"The host {host} was not found.")
    for address in addresses:
        if address is None:
            raise ForbiddenAddress(f"{host} does not resolve to an IP address.")
        _check(address)
    return Target(address=str(addresses[0]), host=host, port=port, is_default_port=is_default_port)


def _parse(url: str) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ForbiddenAddress("The URL is malformed.") from None
    if parts.scheme not in _PORTS:
        raise ForbiddenAddress("The URL must start with http:// or https://.")
    if parts.username is not None or parts.password is not None:
        raise ForbiddenAddress("The URL must not contain a user name or password.")
    host = (parts.hostname or "").rstrip(".").lower()
    if not host:
        raise ForbiddenAddress("The URL has no host.")
    if "%" in host:
        raise ForbiddenAddress("The URL has an IPv6 zone, which only exists in local networks.")
    if not _NAME.fullmatch(host) and _as_address(host) is None:
        raise ForbiddenAddress("The URL's host is neither a name nor an IP address.")
    if port == 0:
        raise ForbiddenAddress("The URL has port 0, which cannot be called.")
    default_port = _PORTS[parts.scheme]
    return host, port or default_port, port in (None, default_port)


def _as_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _check(address: Address) -> None:
    plain = _plain(address)
    is_special = any(plain in network for network in _SPECIAL) or _is_special_ipv6(plain)
    if is_special or not plain.is_global or plain.is_multicast or plain.is_reserved:
        kinds = "loopback, private, link-local, metadata, tunnel or reserved"
        raise ForbiddenAddress(f"{address} is not a public address ({kinds}).")


def _is_special_ipv6(address: Address) -> bool:
    """Return whether an IPv6 address is not public, or a tunnel (ISATAP) into the network behind its prefix."""
    return isinstance(address, ipaddress.IPv6Address) and (
        address not in _PUBLIC_IPV6 or int(address) >> 32 & 0xFFFFFFFF in _ISATAP
    )


def _plain(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address contains, else the address itself."""
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
