"""One definition of each operation for both clients: it says what is requested, and the client how that happens.

An operation is a generator that yields requests or parts of the feed to follow, is sent what the server said to each,
and returns a result. A blocking client makes it an ordinary method, an awaiting one a coroutine.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from carrel.bridge.api.feed import Follow
from carrel.bridge.api.requests import Request
from carrel.bridge.faults import BridgeFault
from carrel.bridge.stream import StreamEvent

P = ParamSpec("P")
T = TypeVar("T")
Y = TypeVar("Y")
Step = Request | Follow
Call = Generator[Step, Any, T]


class Blocking(ABC):
    """A client whose methods return once the server has answered."""

    @abstractmethod
    def exchange(self, request: Request) -> Any:
        """Make one request and return what the server said."""

    @abstractmethod
    def follow(self, part: Follow) -> StreamEvent | None:
        """Follow a part of the feed and return the frame that ends it; None when the time is up."""

    def act(self, step: Step) -> Any:
        """Do one step of an operation."""
        return self.follow(step) if isinstance(step, Follow) else self.exchange(step)

    def method(self, make: Callable[P, Call[T]]) -> Callable[P, T]:
        """Return an operation as a method of this client."""

        @wraps(make)
        def blocking(*args: P.args, **kwargs: P.kwargs) -> T:
            return performed(make(*args, **kwargs), self.act)

        return blocking


class Awaiting(ABC):
    """A client whose methods are awaited."""

    @abstractmethod
    async def exchange(self, request: Request) -> Any:
        """Make one request and return what the server said."""

    @abstractmethod
    async def follow(self, part: Follow) -> StreamEvent | None:
        """Follow a part of the feed and return the frame that ends it; None when the time is up."""

    async def act(self, step: Step) -> Any:
        """Do one step of an operation."""
        return await (self.follow(step) if isinstance(step, Follow) else self.exchange(step))

    def method(self, make: Callable[P, Call[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Return an operation as a method of this client."""

        @wraps(make)
        async def awaiting(*args: P.args, **kwargs: P.kwargs) -> T:
            return await awaited(make(*args, **kwargs), self.act)

        return awaiting


def performed(course: Generator[Y, Any, T], act: Callable[[Y], Any]) -> T:
    """Do each step of a generator, send it the answer or throw the fault, and return its result."""
    try:
        step = next(course)
        while True:
            try:
                answer = act(step)
            except BridgeFault as fault:
                step = course.throw(fault)
            else:
                step = course.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def awaited(course: Generator[Y, Any, T], act: Callable[[Y], Awaitable[Any]]) -> T:
    """Like `performed`, but await each step."""
    try:
        step = next(course)
        while True:
            try:
                answer = await act(step)
            except BridgeFault as fault:
                step = course.throw(fault)
            else:
                step = course.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


D = TypeVar("D", bound=Blocking | Awaiting)


class Group(Generic[D]):
    """Operations that belong together, and the client that performs them."""

    def __init__(self, driver: D) -> None:
        self._driver = driver

    @property
    def driver(self) -> D:
        """The client."""
        return self._driver


class Operation(Generic[P, T]):
    """A method of a group, in the form of its client."""

    def __init__(self, function: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, group: None, kind: type) -> Self: ...
    @overload
    def __get__(self, group: Group[Blocking], kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, group: Group[Awaiting], kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        # As a bound method, so that callers see its signature.
        return self if group is None else group.driver.method(self._function.__get__(group))


# As a decorator, it makes a generator function an operation of its group.
operation = Operation
