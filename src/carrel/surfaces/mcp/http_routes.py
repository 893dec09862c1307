"""The routes of MCP: the endpoint, and the metadata that tells clients where tokens come from (RFC 9728)."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.surfaces.http.house import House
from carrel.surfaces.mcp.endpoint import MCP_PATH, METADATA_PATH, Endpoint


def routes(house: House, endpoint: Endpoint) -> list[BaseRoute]:
    """Return the routes of MCP."""

    async def metadata(request: Request) -> Response:
        base = house.base_url(request.base_url)
        # Tokens are created on this server by its owner, so it is its own authorization server.
        values = {
            "resource": base + MCP_PATH,
            "resource_name": "Carrel",
            "authorization_servers": [base],
            "bearer_methods_supported": ["header"],
        }
        return Response(msgspec.json.encode(values), media_type="application/json")

    paths = (METADATA_PATH, METADATA_PATH.removesuffix(MCP_PATH))
    described = [Route(path, metadata, methods=["GET"], name=path) for path in paths]
    return [Route(MCP_PATH, endpoint, name=MCP_PATH), *described]
