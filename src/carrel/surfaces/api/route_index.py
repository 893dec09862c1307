"""Finds a route by its path or by the first part of it, so that a request is not matched against every route."""

from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send


class RouteIndex(BaseRoute):
    """Routes by their paths; those with parameters by the first part, which must be literal, and tried in order."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self.routes = list(routes)
        self._by_path: dict[str, list[BaseRoute]] = {}
        self._by_part: dict[str, list[BaseRoute]] = {}
        for route in self.routes:
            assert isinstance(route, Route | WebSocketRoute), "only these have a path"
            part = _first(route.path)
            assert "{" not in part, f"{route.path} cannot be found by its first part"
            if route.param_convertors:
                self._by_part.setdefault(part, []).append(route)
            else:
                self._by_path.setdefault(route.path, []).append(route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the best match: a route that matches the path but not the method comes after one that matches both."""
        best: tuple[Match, Scope] = (Match.NONE, {})
        methods: set[str] = set()
        path = scope["path"]
        # A literal path supports its own methods only, even where a parameter could have the same value.
        for route in self._by_path.get(path) or self._by_part.get(_first(path), []):
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
