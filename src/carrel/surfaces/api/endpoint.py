"""Endpoints: method, path, input, output and who may call them. Routes and OpenAPI are built from this table."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct
from starlette.requests import Request

from carrel.kernel import PEOPLE, Access, Kind
from carrel.storage import LongTx, Tx
from carrel.surfaces.http.house import House

B = TypeVar("B")
Q = TypeVar("Q")
T = TypeVar("T")

READERS: tuple[Kind, ...] = (*PEOPLE, "agent", "run")
EVERYONE: tuple[Kind, ...] = (*READERS, "client")
OWNER: tuple[Kind, ...] = ("owner",)
OPEN: tuple[Kind, ...] = ()


class In(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A request body or query: strict types, unknown names are refused."""


class Out(Struct, frozen=True, kw_only=True, rename="camel"):
    """A response body."""


class NoQuery(In, frozen=True, kw_only=True):
    """An endpoint without query parameters."""


class Call(Generic[B, Q]):
    """One call of an endpoint: the caller, the decoded body and query, and the server."""

    def __init__(self, request: Request, house: House, access: Access, body: B, query: Q) -> None:
        self.request = request
        self.house = house
        self.access = access
        self.body = body
        self.query = query
        self.keep: Callable[[Tx, object], None] | None = None

    def promise(self, tx: Tx, answer: T) -> T:
        """Announce the answer within the transaction: under an idempotency key it is stored with what was done."""
        if self.keep is not None:
            self.keep(tx, answer)
        return answer

    def path(self, name: str) -> str:
        """Return a parameter of the path."""
        return str(self.request.path_params[name])

    async def read(self, work: Callable[[Tx, Access], T]) -> T:
        """Read with the caller's access."""
        return await self.house.db.read(lambda tx: work(tx, self.access))

    async def long_read(self, work: Callable[[LongTx, Access], T]) -> T:
        """Read much with the caller's access, outside the loop."""
        return await self.house.db.long_read(lambda tx: work(tx, self.access))

    async def write(self, work: Callable[[Tx, Access], T]) -> T:
        """Change something with the caller's access, in one transaction."""
        return await self.house.db.write(lambda tx: work(tx, self.access))


class Reply(Struct, frozen=True):
    """An answer with its own status or headers."""

    status: int
    value: object = None
    headers: dict[str, str] = {}


class Endpoint(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    method: str
    path: str
    handler: Callable[[Any], Awaitable[Any]]
    summary: str
    who: tuple[Kind, ...]
    body: type | None
    # The name of the one part of a multipart body, which is a file; empty for an endpoint that takes none.
    file: str
    query: type
    # Status -> type of the answer, None for an empty one; the first status is the default.
    answers: dict[int, Any]
    creates: bool
    # The answer holds a secret that is shown once: a repeated request may see it, the database may not.
    secret: bool
    # A caller on this machine needs no token.
    open_on_loopback: bool
    # The tool with which agents do the same; empty when there is none.
    tool: str
    media: str
    tag: str


ENDPOINTS: list[Endpoint] = []


def endpoint(
    method: str,
    path: str,
    *,
    answers: dict[int, Any],
    who: tuple[Kind, ...] = READERS,
    body: type | None = None,
    file: str = "",
    query: type = NoQuery,
    creates: bool = False,
    secret: bool = False,
    open_on_loopback: bool = False,
    tool: str = "",
    media: str = "application/json",
    tag: str = "",
) -> Callable[[Callable[[Any], Awaitable[Any]]], Callable[[Any], Awaitable[Any]]]:
    """Add a handler to the table; its docstring's first line is its summary. `creates` supports X-Idempotency-Key."""

    def add(handler: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        summary = (handler.__doc__ or "").strip().partition("\n")[0]
        ENDPOINTS.append(
            Endpoint(
                method=method,
                path=path,
                handler=handler,
                summary=summary,
                who=who,
                body=body,
                file=file,
                query=query,
                answers=answers,
                creates=creates,
                secret=secret,
                open_on_loopback=open_on_loopback,
                tool=tool,
                media=media,
                tag=tag or (path.split("/")[2] if path.startswith("/api/") else "health"),
            )
        )
        return handler

    return add
