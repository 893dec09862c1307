"""Endpoints: method, path, input, output and who may call them. Routes and OpenAPI are built from this table."""

from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from inspect import iscoroutinefunction
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin

from msgspec import Struct, defstruct, structs
from starlette.requests import Request

from carrel.kernel import PEOPLE, Access, Input, Kind
from carrel.storage import LongTx, Tx
from carrel.surfaces.http.services import Services

B = TypeVar("B")
Q = TypeVar("Q")
T = TypeVar("T")
Shown = TypeVar("Shown")
Handler = TypeVar("Handler", bound=Callable[..., Any])

READERS: tuple[Kind, ...] = (*PEOPLE, "agent", "run")
EVERYONE: tuple[Kind, ...] = (*READERS, "client")
OWNER: tuple[Kind, ...] = ("owner",)
OPEN: tuple[Kind, ...] = ()


class NoQuery(Input, frozen=True, kw_only=True):
    """An endpoint without query parameters."""


class Call(Struct, Generic[B, Q]):
    """One call of an endpoint: the caller, the decoded body and query, and the server."""

    request: Request
    services: Services
    access: Access
    body: B
    query: Q
    # Stores an answer under the idempotency key of the call.
    keep: Callable[[Tx, object], None] | None = None

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
        return await self.services.db.read(lambda tx: work(tx, self.access))

    async def long_read(self, work: Callable[[LongTx, Access], T]) -> T:
        """Read much with the caller's access, outside the loop."""
        return await self.services.db.long_read(lambda tx: work(tx, self.access))

    async def write(self, work: Callable[[Tx, Access], T]) -> T:
        """Change something with the caller's access, in one transaction."""
        return await self.services.db.write(lambda tx: work(tx, self.access))


class Page(Struct, Generic[T], frozen=True):
    """A page of a list, and the cursor of the next one."""

    items: list[T]
    next_cursor: str | None = None

    def shown(self, shapes: Callable[[list[T]], Iterable[Shown]]) -> "Page[Shown]":
        """Return the page with its rows as callers see them."""
        return Page([*shapes(self.items)], self.next_cursor)


class Named(Struct, frozen=True):
    """An answer that is a value, or a page of values, under a name; `described` is its type in the OpenAPI document."""

    name: str
    described: type

    def body(self, value: object) -> dict[str, object]:
        """Return what is sent for the value that a handler returned."""
        if isinstance(value, Page):
            return {self.name: value.items, "nextCursor": value.next_cursor}
        return {self.name: value}


@cache
def one(name: str, shape: Any) -> Named:
    """Describe an answer with one value, which is all that its handler returns: `{"task": …}`."""
    is_struct = isinstance(shape, type) and issubclass(shape, Struct)
    title = f"One{_word(shape)}" if is_struct else f"{name[0].upper()}{name[1:]}Answer"
    return Named(name, defstruct(title, [(name, shape)], kw_only=True))


@cache
def page_of(name: str, shape: type[Struct]) -> Named:
    """Describe an answer with a page of values; its handler returns a Page: `{"tasks": […], "nextCursor": …}`."""
    fields = [(name, list[shape]), ("nextCursor", str | None)]  # type: ignore[valid-type]
    return Named(name, defstruct(f"{_word(shape)}Page", fields, kw_only=True))


def _word(shape: type[Struct]) -> str:
    return shape.__name__.removesuffix("Shape")


class Reply(Struct, Generic[T], frozen=True):
    """An answer with its own status or headers."""

    status: int
    value: T | None = None
    headers: dict[str, str] = {}


class Endpoint(Struct, frozen=True):
    """One row of the table, which as a decorator adds its handler to the table.

    A plain function takes the call, a transaction and the caller's access: it reads for GET, outside the loop if its
    transaction is a LongTx, and writes for other methods. A coroutine function takes the call alone. The types of the
    body, the query and the answer are those in the handler's signature.
    """

    method: str
    path: str
    # The name of the value or the list in the answer; empty for an answer without one.
    named: str = ""
    # By default 204 for no answer, 201 for what creates something, else 200.
    status: int = 0
    # A second status with the same answer.
    also: int = 0
    # Status -> type of the answer or a Named one, None for an empty one; the first status is the default.
    answers: dict[int, Any] = {}
    who: tuple[Kind, ...] = READERS
    # Only the owner of the account `default`, who runs the server, may call it.
    by_operator: bool = False
    # The name of the one part of a multipart body, which is a file; empty for an endpoint that takes none.
    file: str = ""
    # It supports X-Idempotency-Key.
    creates: bool = False
    # It is refused while the server is stopping.
    new_work: bool = False
    # The answer holds a secret that is shown once: a repeated request may see it, the database may not.
    secret: bool = False
    # A caller on this machine needs no token.
    open_on_loopback: bool = False
    media: str = "application/json"
    tag: str = ""
    # The tool that does the same: an agent's tool rules apply to its token here as well, and where only people may call
    # the endpoint, its refusal tells agents about the tool. Empty if none does.
    tool: str = ""
    # What follows is taken from the handler, which is made to take a Call and to be awaited.
    handler: Any = None
    name: str = ""
    summary: str = ""
    body: Any = None
    query: Any = NoQuery

    def __call__(self, handler: Handler) -> Handler:
        """Add a handler to the table."""
        types, is_async = handler.__annotations__, iscoroutinefunction(handler)
        body, query = get_args(next(iter(types.values())))
        ENDPOINTS.append(
            structs.replace(
                self,
                tag=self.tag or (self.path.split("/")[2] if self.path.startswith("/api/") else "health"),
                answers=self.answers or self._answers(types["return"]),
                handler=handler if is_async else _in_transaction(handler, writes=self.method != "GET"),
                name=handler.__name__,
                summary=(handler.__doc__ or "").strip().partition("\n")[0],
                body=None if body is NoneType else body,
                query=query,
            )
        )
        return handler

    def _answers(self, returned: Any) -> dict[int, Any]:
        kind = get_args(returned)[0] if get_origin(returned) is Reply else returned
        if kind in (None, NoneType):
            return {self.status or 204: None}
        if self.named:
            kind = page_of(self.named, *get_args(kind)) if get_origin(kind) is Page else one(self.named, kind)
        statuses = (self.status or (201 if self.creates else 200), self.also)
        return {status: kind for status in statuses if status}


# As it is written above a handler.
endpoint = Endpoint
ENDPOINTS: list[Endpoint] = []


def _in_transaction(handler: Callable[..., Any], *, writes: bool) -> Callable[[Any], Awaitable[Any]]:
    """Return the handler as one that takes the call alone; what it returns is promised in its transaction."""
    is_long = handler.__annotations__["tx"] is LongTx

    def run(call: Call[Any, Any]) -> Awaitable[Any]:
        def work(tx: Any, access: Access) -> Any:
            return call.promise(tx, handler(call, tx, access))

        return call.write(work) if writes else call.long_read(work) if is_long else call.read(work)

    return run
