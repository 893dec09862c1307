"""Who asks: from headers and cookie to an Access, once. A token in a query string is refused, never used."""

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
    """Counts wrong tokens by address over the last minute; loopback is never held back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, deque[int]] = {}

    def check(self, address: str) -> None:
        """Refuse an address that has been wrong too often."""
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


class Asker(Struct, frozen=True, kw_only=True):
    """Who asks, as far as any connection tells: its headers, and the address it comes from where it has one."""

    headers: Headers
    address: str | None

    @property
    def is_loopback(self) -> bool:
        """True for a caller on this very machine; a forwarded request never counts."""
        if "forwarded" in self.headers or "x-forwarded-for" in self.headers or self.address is None:
            return False
        try:
            return ip_address(self.address).is_loopback
        except ValueError:
            return False


def asker_of(connection: HTTPConnection) -> Asker:
    """Who asks over HTTP or a WebSocket."""
    return Asker(headers=connection.headers, address=connection.client.host if connection.client else None)


def refuse_token_in_query(connection: HTTPConnection) -> None:
    """A query string ends up in logs and histories: no token may stand in it."""
    for name, value in connection.query_params.multi_items():
        if name in ("token", "access_token") or value.startswith(TOKEN_PREFIX):
            raise Refusal(Code.TOKEN_IN_QUERY, "Send the token in the Authorization header, never in the address.")


def is_loopback(connection: HTTPConnection) -> bool:
    """True for a caller on this very machine; a forwarded request never counts."""
    return asker_of(connection).is_loopback


async def identify(
    connection: HTTPConnection, house: House, wrong: WrongTokens, *, token: str | None = None
) -> Access | None:
    """The asker's Access, None for one who sent nothing; Refusal for a wrong token."""
    asker = asker_of(connection)
    token = token or _header_token(asker)
    if token is not None:
        return (await _by_token(asker, house, wrong, token, _no_more))[0]
    cookie = connection.cookies.get(COOKIE)
    if cookie is not None:
        access = await house.db.read(lambda tx: access_by_login(tx, cookie))
        if access is not None:
            _require_own_origin(connection)
            return access
    if house.settings.auth.mode == "loopback" and asker.is_loopback and _is_addressed_here(connection, house):
        # Whoever opens a foreign page on this machine lends it this machine's address, but not its own origin.
        if any(name in connection.headers for name in ("origin", "sec-fetch-site")):
            _require_own_origin(connection)
        return await house.db.read(owner_of_default)
    return None


async def identify_and(
    connection: HTTPConnection, house: House, wrong: WrongTokens, look: Callable[[Tx, Access], T]
) -> T | None:
    """What `look` finds for the asker, in the very read that tells who it is where a token does; None for nobody."""
    asker = asker_of(connection)
    token = _header_token(asker)
    if token is not None:
        return (await _by_token(asker, house, wrong, token, look))[1]
    access = await identify(connection, house, wrong)
    return None if access is None else await house.db.read(lambda tx: look(tx, access))


async def identify_program(asker: Asker, house: House, wrong: WrongTokens) -> Access | None:
    """The Access of an asker who came by a way that no browser can take; None and Refusal as in `identify`.

    There is no cookie then, and no foreign page that could borrow this machine's address.
    """
    token = _header_token(asker)
    if token is not None:
        return (await _by_token(asker, house, wrong, token, _no_more))[0]
    if house.settings.auth.mode == "loopback" and asker.is_loopback:
        return await house.db.read(owner_of_default)
    return None


def require_known(access: Access | None) -> Access:
    """The Access of one who said who it is; Refusal for one who sent nothing."""
    if access is None:
        raise no_token()
    return access


def no_token() -> Refusal:
    """What a caller is told who sent no token."""
    return Refusal(Code.UNAUTHENTICATED, "Send a token: Authorization: Bearer <token>.")


def require_caller(access: Access | None) -> Access:
    """The Access of one who may ask agents from outside: a person or a program; Refusal for everybody else."""
    known = require_known(access)
    if known.kind not in _CALLERS:
        raise Refusal(Code.FORBIDDEN, f"A token of kind {known.kind} asks no agents here; make a client token.")
    return known


async def is_still_known(connection: HTTPConnection, house: House, wrong: WrongTokens) -> bool:
    """Look again who asks: a token that was revoked meanwhile hears no more. Refusal while the store is away."""
    try:
        return await identify(connection, house, wrong) is not None
    except Refusal as refusal:
        if refusal.code is Code.STORAGE_UNAVAILABLE:
            raise
        return False


def comes_from_here(connection: HTTPConnection, house: House) -> bool:
    """True for a caller on this machine who named this machine, and for no page of another site opened on it."""
    if not is_loopback(connection) or not _is_addressed_here(connection, house):
        return False
    is_browser = any(name in connection.headers for name in ("origin", "sec-fetch-site"))
    return not is_browser or from_own_pages(connection)


def _is_addressed_here(connection: HTTPConnection, house: House) -> bool:
    """True when the caller named this machine; a foreign name that was made to lead here is another site's."""
    name = urlsplit(f"//{connection.headers.get('host', '')}").hostname or ""
    if name in ("localhost", urlsplit(house.settings.server.public_url).hostname):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _header_token(asker: Asker) -> str | None:
    if len(asker.headers.getlist("authorization")) > 1:
        raise Refusal(Code.INVALID_PARAMS, "Authorization stands twice; send one.")
    scheme, _, bearer = asker.headers.get("authorization", "").partition(" ")
    named = asker.headers.get("x-clawboard-token")
    if bearer and scheme.lower() != "bearer":
        raise Refusal(Code.UNAUTHENTICATED, "Authorization takes the scheme Bearer.")
    if bearer and named and bearer.strip() != named:
        raise Refusal(Code.INVALID_PARAMS, "Authorization and X-Clawboard-Token name different tokens; send one.")
    return bearer.strip() or named or None


async def _by_token(
    asker: Asker, house: House, wrong: WrongTokens, token: str, look: Callable[[Tx, Access], T]
) -> tuple[Access, T]:
    def known(tx: Tx) -> tuple[Access, str | None, T] | None:
        found = access_and_touch(tx, token)
        return None if found is None else (*found, look(tx, found[0]))

    address = "" if asker.is_loopback or asker.address is None else asker.address
    if address:
        wrong.check(address)
    found = await house.db.read(known)
    if found is None:
        if address:
            wrong.add(address)
        raise Refusal(Code.UNAUTHENTICATED, "This token is not valid (any more); make one with `carrel token create`.")
    access, token_id, seen = found
    if token_id is not None:
        await house.db.write(lambda tx: touch_token(tx, access, token_id))
    return access, seen


def _no_more(_tx: Tx, _access: Access) -> None:
    """Who it is was all that was asked for."""


def _require_own_origin(connection: HTTPConnection) -> None:
    """A write by cookie must come from our own pages, or any site could write with it."""
    if connection.scope["type"] == "http" and connection.scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return
    if not from_own_pages(connection):
        raise Refusal(Code.FORBIDDEN, "A write by cookie must come from the dashboard's own pages.")


def from_own_pages(connection: HTTPConnection) -> bool:
    """True when the browser says that the request comes from our own origin."""
    origin = connection.headers.get("origin")
    if origin:
        return urlsplit(origin).netloc == connection.headers.get("host")
    return connection.headers.get("sec-fetch-site") in ("same-origin", "none")
