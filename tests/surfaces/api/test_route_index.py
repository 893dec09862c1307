"""Finding routes by the first part of a path gives the same answers as a plain list of routes."""

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from carrel.surfaces.api.route_index import RouteIndex

PATHS = ("/", "/a", "/a/", "/a/one", "/a/two", "/a/two/three", "/b/one", "/c", "/a?b=c", "/%61/one", "//a")


async def told(request: Request) -> Response:
    """Which route it was, and what it read."""
    return PlainTextResponse(f"{request.scope['route'].path} {request.path_params} {request.method}")


def routes() -> list[BaseRoute]:
    """A literal path before one with a parameter, and one path in two routes."""
    return [
        Route("/", told),
        Route("/a/one", told, methods=["GET"]),
        Route("/a/one", told, methods=["POST"]),
        Route("/a/{name}", told, methods=["GET"]),
        Route("/a/{name}", told, methods=["POST"]),
        Route("/a/{name}/{rest:path}", told),
        Route("/b/{name}", told, methods=["POST"]),
        Route("/a", told),
    ]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "DELETE"])
def test_the_same_route_answers_as_in_a_list(method: str, path: str) -> None:
    listed, indexed = (TestClient(Starlette(routes=given)) for given in (routes(), [RouteIndex(routes())]))
    plain, found = listed.request(method, path), indexed.request(method, path)
    assert (found.status_code, found.text) == (plain.status_code, plain.text)
    # A list tells the methods of the first route of a path, the index those of all.
    allowed, expected = (set(answer.headers.pop("allow", "").split(", ")) for answer in (found, plain))
    assert expected <= allowed
    assert found.headers == plain.headers


def test_a_literal_path_has_only_its_own_methods() -> None:
    index = RouteIndex([Route("/a/{name}", told, methods=["DELETE"]), *routes()])
    answer = TestClient(Starlette(routes=[index])).delete("/a/one")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_a_route_whose_first_part_is_a_parameter_is_not_taken() -> None:
    with pytest.raises(AssertionError):
        RouteIndex([Route("/{name}", told)])
