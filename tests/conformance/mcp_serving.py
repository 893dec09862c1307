"""A server as it is started everywhere, but whose MCP offers what the conformance suite asks for instead of our tools.

`python -m tests.conformance.mcp_serving DIR [sessions]` serves on a free port. Everything but the tools is the
product's: the endpoint, who asks, hosts, streams. With `sessions` it keeps sessions of the protocol, as the product
never does.
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

# What they offer is offered once they are imported.
OFFERED = (mcp_asking, mcp_input_required)


class FixtureProtocol(Protocol):
    """The product's protocol, with the fixtures as its tools."""

    def _server(self) -> Any:
        return fixtures._lowlevel_server


class SessionProtocol(FixtureProtocol):
    """The same, but what a client said when it connected is known at its later requests."""

    def _transport(self, server: Server[Any], *, json_response: bool) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(server, json_response=json_response)

    async def serve(self, request: Request, send: Send) -> None:
        # A session is known only to the one of the two with which it began.
        await self._streaming.handle_request(request.scope, request.receive, send)


class FixtureEndpoint(Endpoint):
    """The product's endpoint."""

    def _new_protocol(self) -> Protocol:
        return (SessionProtocol if "sessions" in sys.argv[2:] else FixtureProtocol)(self._house)


if __name__ == "__main__":
    assembly.McpEndpoint = FixtureEndpoint  # type: ignore[attr-defined]
    sys.exit(main(["serve", "--port", "0", "--data-dir", sys.argv[1]]))
