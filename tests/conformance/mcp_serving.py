"""The product's server, but with the fixtures of the MCP conformance suite instead of our tools.

`python -m tests.conformance.mcp_serving DIR [sessions]` serves on a free port. Everything else is the product's: the
endpoint, authentication, hosts, streams. With `sessions` it keeps MCP sessions, which the product never does.
"""

import sys
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Send

from carrel.main import assembly
from carrel.main.cli import main
from carrel.surfaces.mcp.endpoint import Endpoint
from carrel.surfaces.mcp.protocol import Protocol
from tests.conformance import mcp_asking, mcp_input_required
from tests.conformance.mcp_fixtures import fixtures

# Importing these modules registers their fixtures.
OFFERED = (mcp_asking, mcp_input_required)


class FixtureProtocol(Protocol):
    """The product's protocol, with the fixtures as its tools."""

    def _server(self) -> Any:
        return fixtures._lowlevel_server


class SessionProtocol(FixtureProtocol):
    """The same, with sessions that remember what a client sent when it connected."""

    def _transport(self, server: Server[Any], *, json_response: bool) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(server, json_response=json_response)

    async def serve(self, request: Request, send: Send) -> None:
        # Only the manager that opened a session knows it, so use one for everything.
        await self._streaming.handle_request(request.scope, request.receive, send)


class FixtureEndpoint(Endpoint):
    """The product's endpoint with the fixtures."""

    def _new_protocol(self) -> Protocol:
        return (SessionProtocol if "sessions" in sys.argv[2:] else FixtureProtocol)(self._services)


if __name__ == "__main__":
    assembly.McpEndpoint = FixtureEndpoint  # type: ignore[attr-defined]
    sys.exit(main(["serve", "--port", "0", "--data-dir", sys.argv[1]]))
