"""Finds a route by its path or by its first two parts, so that a request is not matched against every route."""

from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send


class _Ends:
    """Routes with the same beginning, by how many parts they have and by the last one if they name it."""

    def __init__(self, routes: list[BaseRoute]) -> None:
        ends = [(_end(route.path), route) for route in routes if isinstance(route, Route | WebSocketRoute)]
        # A parameter that matches several parts fits every length.
        self._any = [route for route in routes if ":path}" in getattr(route, "path", "")]
        self._by_end: dict[tuple[int, str], list[BaseRoute]] = {}
        for length, last in {end for end, _ in ends}:
            fitting: list[BaseRoute] = [
                route
                for end, route in ends
                if route in self._any or (end[0] == length and ("{" in end[1] or end[1] == last))
            ]
            self._by_end[length, "{" if "{" in last else last] = fitting

    def routes_for(self, path: str) -> list[BaseRoute]:
        """Return the routes that a path may match."""
        length, last = _end(path)
        return self._by_end.get((length, last)) or self._by_end.get((length, "{")) or self._any


def _end(path: str) -> tuple[int, str]:
    return path.count("/"), path.rpartition("/")[2]


class RouteIndex(BaseRoute):
    """Routes by their paths; those with parameters by their first two parts, length and last part, tried in order.

    The first part must be literal; a route whose second or last part is a parameter is tried for every value of it.
    """

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self.routes = list(routes)
        self._by_path: dict[str, list[BaseRoute]] = {}
        # By the first part, and by the second if a route names it; then by the length and the last part.
        self._by_parts: dict[tuple[str, str | None], _Ends] = {}
        placed: list[tuple[str, str | None, BaseRoute]] = []
        for route in self.routes:
            assert isinstance(route, Route | WebSocketRoute), "only these have a path"
            first, second = _parts(route.path)
            assert "{" not in first, f"{route.path} cannot be found by its first part"
            if route.param_convertors:
                placed.append((first, None if "{" in second else second, route))
            else:
                self._by_path.setdefault(route.path, []).append(route)
        for part in {(first, second) for first, second, _ in placed}:
            found = [route for first, second, route in placed if first == part[0] and second in (None, part[1])]
            self._by_parts[part] = _Ends(found)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the best match: a route that matches the path but not the method comes after one that matches both."""
        best: tuple[Match, Scope] = (Match.NONE, {})
        methods: set[str] = set()
        path = scope["path"]
        first, second = _parts(path)
        ends = self._by_parts.get((first, second)) or self._by_parts.get((first, None))
        # A literal path supports its own methods only, even where a parameter could have the same value.
        for route in self._by_path.get(path) or (ends.routes_for(path) if ends else ()):
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


def _parts(path: str) -> tuple[str, str]:
    first, _, rest = path[1:].partition("/")
    return first, rest.partition("/")[0]
