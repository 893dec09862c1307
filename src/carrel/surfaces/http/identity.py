"""Who sends a request: from its headers and cookie to an Access. A token in a query string is always refused."""

import re
from collections import deque
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from carrel.access import TOKEN_PREFIX, access_and_touch, access_by_login, owner_of_default, touch_token
from carrel.kernel import Access, Clock, Code, Refusal, is_loopback
from carrel.kernel.limits import QUERY_PARAMETERS_MAX, WRONG_TOKENS_PER_MINUTE_MAX
from carrel.storage import Tx
from carrel.surfaces.http.services import Services

COOKIE = "carrel_session"
T = TypeVar("T")
_ADDRESSES_MAX = 10_000
_CALLERS = ("owner", "user", "client")
# Headers that a proxy adds. No program on this machine sends them, so one is enough to know that a client is elsewhere.
_FORWARDING = re.compile(
    "forwarded|via|x-forwarded.*|x-original-.*|x-real-ip|(x-)?client-ip|x-cluster-client-ip|true-client-ip|cf-.*"
    "|fastly-client-ip|fly-client-ip|x-envoy-.*|x-azure-.*|x-amzn-.*|x-appengine-.*|x-proxyuser-ip"
)


class WrongTokens:
    """Counts wrong tokens by address over the last minute; programs on this machine are not limited."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, deque[int]] = {}

    def add(self, peer: "Peer") -> None:
        """Count one more wrong token; Refusal for an address that has sent too many.

        A right token is never refused for the wrong ones of others: behind a proxy, all clients share one address.
        """
        if peer.address is None or peer.is_loopback:
            return
        now = self._clock.now_ms()
        times = self._seen.pop(peer.address, None) or deque(maxlen=WRONG_TOKENS_PER_MINUTE_MAX)
        # Put back last, so that the address that has been quiet for longest is the first to be forgotten.
        self._seen[peer.address] = times
        if len(self._seen) > _ADDRESSES_MAX:
            self._seen.pop(next(iter(self._seen)))
        while times and times[0] < now - 60_000:
            times.popleft()
        if len(times) == WRONG_TOKENS_PER_MINUTE_MAX:
            raise Refusal(
                Code.RATE_LIMITED, "Too many wrong tokens from this address; wait a minute.", retry_after_seconds=60
            )
        times.append(now)


class Peer(Struct, frozen=True, kw_only=True):
    """The client side of a connection: its headers, and its address if it has one."""

    headers: Headers
    address: str | None

    @property
    def is_loopback(self) -> bool:
        """Whether the client is on this machine; a forwarded request never counts."""
        return is_loopback(self.address) and not any(map(_FORWARDING.fullmatch, self.headers.keys()))


def peer_of(connection: HTTPConnection) -> Peer:
    """Return the client side of an HTTP request or a WebSocket."""
    return Peer(headers=connection.headers, address=connection.client.host if connection.client else None)


def refuse_token_in_query(connection: HTTPConnection) -> None:
    """Refuse a token in the query string, which ends up in logs and browser histories; and very many parameters."""
    if connection.scope["query_string"].count(b"&") >= QUERY_PARAMETERS_MAX:
        raise Refusal(Code.INVALID_PARAMS, f"A request may have at most {QUERY_PARAMETERS_MAX} query parameters.")
    if not connection.scope["query_string"]:
        return
    for name, value in connection.query_params.multi_items():
        if name in ("token", "access_token") or value.startswith(TOKEN_PREFIX):
            raise Refusal(Code.TOKEN_IN_QUERY, "Send the token in the Authorization header, never in the URL.")


async def identify(
    connection: HTTPConnection, services: Services, wrong: WrongTokens, *, token: str | None = None
) -> Access | None:
    """Return the Access of the client, None when it sent no credentials; Refusal for a wrong token."""
    access = await _identify(connection, services, wrong, token)
    # For the audit log.
    connection.state.access = access
    return access


async def _identify(
    connection: HTTPConnection, services: Services, wrong: WrongTokens, token: str | None
) -> Access | None:
    peer = peer_of(connection)
    token = token or _header_token(peer)
    if token is not None:
        return (await _by_token(peer, services, wrong, token, _nothing))[0]
    cookie = connection.cookies.get(COOKIE)
    if cookie is not None:
        access = await services.db.read(lambda tx: access_by_login(tx, cookie))
        if access is not None:
            _require_own_origin(connection)
            return access
    if services.settings.auth.mode == "loopback" and peer.is_loopback and _is_addressed_here(connection):
        # A page of another site, opened in a browser on this machine, has a local address too, but not our origin.
        if any(name in connection.headers for name in ("origin", "sec-fetch-site")):
            _require_own_origin(connection)
        return await services.db.read(owner_of_default)
    return None


async def identify_and(
    connection: HTTPConnection, services: Services, wrong: WrongTokens, look: Callable[[Tx, Access], T]
) -> T | None:
    """Return what `look` finds for the client, in the same read that checks its token; None without credentials."""
    peer = peer_of(connection)
    token = _header_token(peer)
    if token is not None:
        connection.state.access, seen = await _by_token(peer, services, wrong, token, look)
        return seen
    access = await identify(connection, services, wrong)
    return None if access is None else await services.db.read(lambda tx: look(tx, access))


async def identify_program(peer: Peer, services: Services, wrong: WrongTokens) -> Access | None:
    """Like `identify`, for connections that no browser can open: there are no cookies and no pages of other sites."""
    token = _header_token(peer)
    if token is not None:
        return (await _by_token(peer, services, wrong, token, _nothing))[0]
    if services.settings.auth.mode == "loopback" and peer.is_loopback:
        return await services.db.read(owner_of_default)
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


def is_local_call(connection: HTTPConnection) -> bool:
    """Return whether a program on this machine, or one of our own pages, sent the request to this machine by name."""
    if not peer_of(connection).is_loopback or not _is_addressed_here(connection):
        return False
    is_browser = any(name in connection.headers for name in ("origin", "sec-fetch-site"))
    return not is_browser or from_own_pages(connection)


def _is_addressed_here(connection: HTTPConnection) -> bool:
    """Return whether the Host header names this machine; any other name may be a site that resolves to it."""
    try:
        return is_loopback(urlsplit(f"//{connection.headers.get('host', '')}").hostname)
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
    peer: Peer, services: Services, wrong: WrongTokens, token: str, look: Callable[[Tx, Access], T]
) -> tuple[Access, T]:
    def known(tx: Tx) -> tuple[Access, str | None, T] | None:
        found = access_and_touch(tx, token)
        return None if found is None else (*found, look(tx, found[0]))

    found = await services.db.read(known)
    if found is None:
        wrong.add(peer)
        raise Refusal(
            Code.UNAUTHENTICATED, "This token is not valid (any more); create one with `carrel token create`."
        )
    access, token_id, seen = found
    if token_id is not None:
        await services.db.write(lambda tx: touch_token(tx, access, token_id))
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
