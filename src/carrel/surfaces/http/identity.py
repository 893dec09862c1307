"""Who sends a request: from its headers and cookie to an Access. A token in a query string is always refused."""

from collections import deque
from collections.abc import Callable
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from carrel.access import TOKEN_PREFIX, access_and_touch, access_by_login, owner_of_default, touch_token
from carrel.kernel import Access, Clock, Code, Refusal
from carrel.kernel.limits import WRONG_TOKENS_PER_MINUTE_MAX
from carrel.storage import Tx
from carrel.surfaces.http.house import House

COOKIE = "carrel_session"
T = TypeVar("T")
_ADDRESSES_MAX = 10_000
_CALLERS = ("owner", "user", "client")


class WrongTokens:
    """Counts wrong tokens by address over the last minute; loopback addresses are not limited."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, deque[int]] = {}

    def check(self, address: str) -> None:
        """Refuse an address that sent too many wrong tokens."""
        times = self._recent(address)
        if len(times) >= WRONG_TOKENS_PER_MINUTE_MAX:
            raise Refusal(
                Code.RATE_LIMITED, "Too many wrong tokens from this address; wait a minute.", retry_after_seconds=60
            )

    def add(self, address: str) -> None:
        """Remember one more wrong token."""
        if len(self._seen) >= _ADDRESSES_MAX:
            self._seen.clear()
        self._recent(address).append(self._clock.now_ms())

    def _recent(self, address: str) -> deque[int]:
        times = self._seen.setdefault(address, deque(maxlen=WRONG_TOKENS_PER_MINUTE_MAX))
        while times and times[0] < self._clock.now_ms() - 60_000:
            times.popleft()
        return times


class Peer(Struct, frozen=True, kw_only=True):
    """The client side of a connection: its headers, and its address if it has one."""

    headers: Headers
    address: str | None

    @property
    def is_loopback(self) -> bool:
        """Whether the client is on this machine; a forwarded request never counts."""
        if "forwarded" in self.headers or "x-forwarded-for" in self.headers or self.address is None:
            return False
        try:
            return ip_address(self.address).is_loopback
        except ValueError:
            return False


def peer_of(connection: HTTPConnection) -> Peer:
    """Return the client side of an HTTP request or a WebSocket."""
    return Peer(headers=connection.headers, address=connection.client.host if connection.client else None)


def refuse_token_in_query(connection: HTTPConnection) -> None:
    """Refuse a token in the query string, which ends up in logs and browser histories."""
    for name, value in connection.query_params.multi_items():
        if name in ("token", "access_token") or value.startswith(TOKEN_PREFIX):
            raise Refusal(Code.TOKEN_IN_QUERY, "Send the token in the Authorization header, never in the URL.")


def is_loopback(connection: HTTPConnection) -> bool:
    """Whether the client is on this machine; a forwarded request never counts."""
    return peer_of(connection).is_loopback


async def identify(
    connection: HTTPConnection, house: House, wrong: WrongTokens, *, token: str | None = None
) -> Access | None:
    """Return the Access of the client, None when it sent no credentials; Refusal for a wrong token."""
    peer = peer_of(connection)
    token = token or _header_token(peer)
    if token is not None:
        return (await _by_token(peer, house, wrong, token, _nothing))[0]
    cookie = connection.cookies.get(COOKIE)
    if cookie is not None:
        access = await house.db.read(lambda tx: access_by_login(tx, cookie))
        if access is not None:
            _require_own_origin(connection)
            return access
    if house.settings.auth.mode == "loopback" and peer.is_loopback and _is_addressed_here(connection, house):
        # A page of another site, opened in a browser on this machine, has a local address too, but not our origin.
        if any(name in connection.headers for name in ("origin", "sec-fetch-site")):
            _require_own_origin(connection)
        return await house.db.read(owner_of_default)
    return None


async def identify_and(
    connection: HTTPConnection, house: House, wrong: WrongTokens, look: Callable[[Tx, Access], T]
) -> T | None:
    """Return what `look` finds for the client, in the same read that checks its token; None without credentials."""
    peer = peer_of(connection)
    token = _header_token(peer)
    if token is not None:
        return (await _by_token(peer, house, wrong, token, look))[1]
    access = await identify(connection, house, wrong)
    return None if access is None else await house.db.read(lambda tx: look(tx, access))


async def identify_program(peer: Peer, house: House, wrong: WrongTokens) -> Access | None:
    """Like `identify`, for connections that no browser can open: there are no cookies and no pages of other sites."""
    token = _header_token(peer)
    if token is not None:
        return (await _by_token(peer, house, wrong, token, _nothing))[0]
    if house.settings.auth.mode == "loopback" and peer.is_loopback:
        return await house.db.read(owner_of_default)
    return None


def require_known(access: Access | None) -> Access:
    """Return the Access; Refusal for a client that sent no credentials."""
    if access is None:
        raise no_token()
    return access


def no_token() -> Refusal:
    """Return the refusal for a client that sent no credentials."""
    return Refusal(Code.UNAUTHENTICATED, "Send a token: Authorization: Bearer <token>.")


def require_caller(access: Access | None) -> Access:
    """Return the Access of a person or a client program; Refusal for all others, which may not call agents here."""
    known = require_known(access)
    if known.kind not in _CALLERS:
        raise Refusal(Code.FORBIDDEN, f"A token of kind {known.kind} cannot call agents here; create a client token.")
    return known


async def is_still_known(connection: HTTPConnection, house: House, wrong: WrongTokens) -> bool:
    """Return whether the credentials are still valid; Refusal while the database is unavailable."""
    try:
        return await identify(connection, house, wrong) is not None
    except Refusal as refusal:
        if refusal.code is Code.STORAGE_UNAVAILABLE:
            raise
        return False


def is_local_call(connection: HTTPConnection, house: House) -> bool:
    """Return whether a program on this machine, or one of our own pages, sent the request to this machine by name."""
    if not is_loopback(connection) or not _is_addressed_here(connection, house):
        return False
    is_browser = any(name in connection.headers for name in ("origin", "sec-fetch-site"))
    return not is_browser or from_own_pages(connection)


def _is_addressed_here(connection: HTTPConnection, house: House) -> bool:
    """Return whether the Host header names this machine; any other name may be a site that resolves to it."""
    name = urlsplit(f"//{connection.headers.get('host', '')}").hostname or ""
    if name in ("localhost", urlsplit(house.settings.server.public_url).hostname):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _header_token(peer: Peer) -> str | None:
    if len(peer.headers.getlist("authorization")) > 1:
        raise Refusal(Code.INVALID_PARAMS, "Authorization was sent twice; send it once.")
    scheme, _, bearer = peer.headers.get("authorization", "").partition(" ")
    named = peer.headers.get("x-clawboard-token")
    if bearer and scheme.lower() != "bearer":
        raise Refusal(Code.UNAUTHENTICATED, "Authorization must use the scheme Bearer.")
    if bearer and named and bearer.strip() != named:
        raise Refusal(Code.INVALID_PARAMS, "Authorization and X-Clawboard-Token differ; send one of them.")
    return bearer.strip() or named or None


async def _by_token(
    peer: Peer, house: House, wrong: WrongTokens, token: str, look: Callable[[Tx, Access], T]
) -> tuple[Access, T]:
    def known(tx: Tx) -> tuple[Access, str | None, T] | None:
        found = access_and_touch(tx, token)
        return None if found is None else (*found, look(tx, found[0]))

    address = "" if peer.is_loopback or peer.address is None else peer.address
    if address:
        wrong.check(address)
    found = await house.db.read(known)
    if found is None:
        if address:
            wrong.add(address)
        raise Refusal(
            Code.UNAUTHENTICATED, "This token is not valid (any more); create one with `carrel token create`."
        )
    access, token_id, seen = found
    if token_id is not None:
        await house.db.write(lambda tx: touch_token(tx, access, token_id))
    return access, seen


def _nothing(_tx: Tx, _access: Access) -> None:
    """Look up nothing but the Access itself."""


def _require_own_origin(connection: HTTPConnection) -> None:
    """Refuse a write by cookie from pages of other sites, which the browser sends the cookie for as well."""
    if connection.scope["type"] == "http" and connection.scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return
    if not from_own_pages(connection):
        raise foreign_page()


def foreign_page() -> Refusal:
    """Return the refusal of a write by cookie from a page of another site."""
    return Refusal(Code.FORBIDDEN, "A change by cookie must come from the dashboard's own pages.")


def from_own_pages(connection: HTTPConnection) -> bool:
    """Return whether the browser says that the request comes from our own origin."""
    origin = connection.headers.get("origin")
    if origin:
        return urlsplit(origin).netloc == connection.headers.get("host")
    return connection.headers.get("sec-fetch-site") in ("same-origin", "none")
