"""One definition of each operation for both clients: a coroutine, or a generator of what arrives over time.

The client for asyncio awaits it. The blocking client needs no event loop: its driver has done its work when it returns,
so a coroutine never suspends, and its first step is also its last.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from carrel.bridge.api.requests import Address, Query, Request, segment
from carrel.bridge.api.shapes import Page, S, read, read_page

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


class Socket(Protocol):
    """A WebSocket as both clients use it."""

    async def send(self, text: str) -> None:
        """Send a frame."""

    async def receive(self, seconds: float) -> str | bytes:
        """Return the next frame; TimeoutError when none has come in time."""
        ...

    async def close(self) -> None:
        """Close the connection."""


class Driver(ABC):
    """How requests reach a server: what differs between the two clients."""

    def __init__(self, address: Address, timeout_seconds: float) -> None:
        self.address = address
        self.timeout_seconds = timeout_seconds

    @abstractmethod
    async def exchange(self, request: Request) -> Any:
        """Make one request and return what the server said."""

    @abstractmethod
    def pieces(
        self, request: Request, headers: dict[str, str], silence_seconds: float, ends_at: float
    ) -> AsyncGenerator[bytes, None]:  # fmt: skip
        """Yield a response as it arrives, until it ends or the time is up; `TimedOut` after so much silence.

        It has a connection of its own, so that requests can be made between two pieces.
        """

    @abstractmethod
    async def pause(self, seconds: float) -> None:
        """Wait."""

    @abstractmethod
    async def open_socket(self, url: str, options: dict[str, Any]) -> Socket:
        """Open a WebSocket."""


class Blocking(Driver):
    """A driver whose coroutines never suspend."""


class Awaiting(Driver):
    """A driver whose coroutines are awaited."""


D_co = TypeVar("D_co", bound=Blocking | Awaiting, covariant=True)


class Group(Generic[D_co]):
    """Operations that belong together, and the driver of their client."""

    def __init__(self, driver: D_co) -> None:
        self.driver = driver

    async def one(self, kind: type[S], method: str, path: str, part: str = "", **more: Any) -> S:
        """Make a request and return its answer, or a part of it, as a shape."""
        answer = await self.driver.exchange(Request(method, path, **more))
        return read(kind, answer[part] if part else answer)

    async def page(self, kind: type[S], path: str, part: str, query: Query | None = None) -> Page[S]:
        """Return one page of a list."""
        return read_page(kind, await self.driver.exchange(Request("GET", path, query)), part)


class Method(Generic[P, B, A]):
    """A function of a group, as a method that returns B for the blocking client and A for the other."""

    def __init__(self, function: Callable[..., Any], finish: Callable[[Any], Any]) -> None:
        self._function = function
        self._finish = finish
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, group: None, kind: type) -> Self: ...
    @overload
    def __get__(self, group: Group[Blocking], kind: type) -> Callable[P, B]: ...
    @overload
    def __get__(self, group: Group[Awaiting], kind: type) -> Callable[P, A]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        if group is None:
            return self
        # As a bound method, so that callers see its signature.
        function = self._function.__get__(group)
        if isinstance(group.driver, Awaiting):
            return function

        @wraps(function)
        def blocking(*args: P.args, **kwargs: P.kwargs) -> Any:
            return self._finish(function(*args, **kwargs))

        return blocking


def operation(function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Method[P, T, Coroutine[Any, Any, T]]:
    """Make a coroutine of a group a method of both clients."""
    return Method(function, finished)


def iteration(
    function: Callable[Concatenate[Any, P], AsyncGenerator[T, None]],
) -> Method[P, Generator[T, None, None], AsyncGenerator[T, None]]:
    """Make a generator of a group a method of both clients."""
    return Method(function, finished_each)


def finished(work: Awaitable[T]) -> T:
    """Return the result of a coroutine that never suspends."""
    try:
        next(work.__await__())
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("a blocking driver has done its work when it returns")


def finished_each(items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """Yield what a generator yields that never suspends."""
    try:
        with suppress(StopAsyncIteration):
            while True:
                yield finished(anext(items))
    finally:
        finished(items.aclose())


def path_of(kind: str, name: str, *rest: str) -> str:
    """Return the path of a thing, such as /api/runs/run_1/why."""
    return "/".join(["/api", kind, segment(name), *rest])
