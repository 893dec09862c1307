"""Finding a route by the first part of a path, so that a request is not held against the routes of every surface."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send


class FirstParts(BaseRoute):
    """Routes whose paths all begin with a word, found by that word and tried in the order in which they were given."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._by_part: dict[str, list[BaseRoute]] = {}
        for route in routes:
            assert isinstance(route, Route | WebSocketRoute), "only these have a path of their own"
            part = _first(route.path)
            assert "{" not in part, f"{route.path} could not be found by its first part"
            self._by_part.setdefault(part, []).append(route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """What the best of the routes says: one that takes the path, but not its method, comes after one that does."""
        best: tuple[Match, Scope] = (Match.NONE, {})
        for route in self._by_part.get(_first(scope["path"]), ()):
            match, found = route.matches(scope)
            if match.value > best[0].value:
                best = (match, {**found, "route": route})
            if match is Match.FULL:
                break
        return best

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route that was found answer."""
        await scope["route"].handle(scope, receive, send)


def _first(path: str) -> str:
    return path[1:].partition("/")[0]
