"""Finds a route by the first part of the path, so that a request is not matched against the routes of every surface."""

from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send


class RouteIndex(BaseRoute):
    """Routes by the first part of their paths, which must be literal; those with the same one are tried in order."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._by_part: dict[str, list[BaseRoute]] = {}
        for route in routes:
            assert isinstance(route, Route | WebSocketRoute), "only these have a path"
            part = _first(route.path)
            assert "{" not in part, f"{route.path} cannot be found by its first part"
            self._by_part.setdefault(part, []).append(route)

    @property
    def routes(self) -> list[BaseRoute]:
        """Every route."""
        return [route for routes in self._by_part.values() for route in routes]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the best match: a route that matches the path but not the method comes after one that matches both."""
        best: tuple[Match, Scope] = (Match.NONE, {})
        methods: set[str] = set()
        for route in self._by_part.get(_first(scope["path"]), ()):
            match, found = route.matches(scope)
            if match.value > best[0].value:
                best = (match, {**found, "route": route})
            if match is Match.FULL:
                return best
            if match is Match.PARTIAL:
                methods |= getattr(route, "methods", None) or set()
        return best[0], {**best[1], "allowed_methods": methods}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the route that was found; 405 if it and others on its path have only other methods."""
        if scope.get("allowed_methods"):
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(scope["allowed_methods"]))})
        await scope["route"].handle(scope, receive, send)


def _first(path: str) -> str:
    return path[1:].partition("/")[0]
