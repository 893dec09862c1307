"""The yardstick of the tools: the official SDK's own server with one tool that does nothing.

A program of its own: `python -m bench.mcp_peer DIR` serves on a free port and says where. It is set up as its
documentation does, on the same HTTP server as ours; it asks nobody for a token and has no store to look into.
"""

import contextlib
import socket
import sys
from collections.abc import AsyncIterator

import uvicorn
import uvloop
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.routing import Mount

peer = MCPServer("yardstick", log_level="WARNING")


@peer.tool()
async def nothing() -> dict[str, bool]:
    """Do nothing."""
    return {"ok": True}


def application() -> Starlette:
    """The SDK's application, beneath one whose lifespan is the SDK's."""
    inner = peer.streamable_http_app(stateless_http=True, json_response=True)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with peer.session_manager.run():
            yield

    return Starlette(routes=[Mount("/", inner)], lifespan=lifespan)


async def serve() -> None:
    """Listen, say where, serve until killed."""
    sock = socket.socket(proto=socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(1024)
    config = uvicorn.Config(application(), loop="none", http="httptools", log_config=None, access_log=False)
    sys.stdout.write(f"ready http://127.0.0.1:{sock.getsockname()[1]}\n")
    sys.stdout.flush()
    await uvicorn.Server(config).serve(sockets=[sock])


if __name__ == "__main__":
    uvloop.run(serve())
