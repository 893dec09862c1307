"""MCP itself, by the official SDK: which tools there are for whoever asks, and what a call of one gives.

Importing this imports the SDK; only `serving` does, and late.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from logging import WARNING, getLogger
from typing import Any

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ShownTool
from starlette.requests import Request
from starlette.types import Send

from carrel.kernel import Code, Refusal
from carrel.kernel.limits import BODY_BYTES_MAX, TOOL_RESULT_BYTES_MAX
from carrel.surfaces.http.errors import error_body
from carrel.surfaces.http.house import House
from carrel.tools import CATALOG, NewCall, OutsideCaller, OutsideCalls, Tool

# The SDK tells of every request that begins and ends.
getLogger("mcp").setLevel(WARNING)
_TOOLS = {tool.name: tool for tool in CATALOG.offered()}
_INSTRUCTIONS = (
    "Carrel gives agents sessions of their own. These tools list, read and speak to the sessions that the token's "
    "agent may see; `session_status` tells where you sit."
)
Asked = ServerRequestContext[Any, Request]


class Speaking:
    """Answers requests of MCP in one house."""

    def __init__(self, house: House) -> None:
        self._version = house.version
        self._calls = OutsideCalls(house.db, house.watch, house.closing)
        server = self._server()
        self._plain = self._answering(server, json_response=True)
        self._streaming = self._answering(server, json_response=False)

    def _server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "carrel",
            version=self._version,
            title="Carrel",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=lambda name: _TOOLS[name].schema() if name in _TOOLS else None,
            on_list_tools=_offered,
            on_call_tool=self._called,
            on_list_resources=_no_resources,
            on_list_resource_templates=_no_templates,
            on_list_prompts=_no_prompts,
        )
        # It would trace every request for nobody.
        server.middleware.clear()
        return server

    def _answering(self, server: Server[Any], *, json_response: bool) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(
            server, json_response=json_response, stateless=True, max_request_body_size=BODY_BYTES_MAX
        )

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[None]:
        """Answer requests for as long as this is held; what the SDK starts for them ends with it."""
        async with self._plain.run(), self._streaming.run():
            yield

    async def serve(self, request: Request, send: Send) -> None:
        """Answer one request."""
        speaking = self._streaming if _wants_stream(request) else self._plain
        await speaking.handle_request(request.scope, request.receive, send)

    async def _called(self, asked: Asked, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in _TOOLS:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:80]}")
        arguments = msgspec.json.encode(params.arguments or {}).decode()
        call = NewCall(caller=_caller(asked), tool=params.name, arguments=arguments)
        try:
            text = await self._calls.make(call)
        except Refusal as refusal:
            return _refused(asked, refusal)
        given = msgspec.json.decode(text)
        if given.get("truncated") is True and given.get("bytes", 0) > TOOL_RESULT_BYTES_MAX:
            # Half of a result is none that the tool's schema describes.
            return _refused(asked, Refusal(Code.TOO_LARGE, f"The result has {given['bytes']} bytes; ask for less."))
        return CallToolResult(content=[TextContent(text=text)], structured_content=given)


def _wants_stream(request: Request) -> bool:
    """True for one who takes a stream and may have to wait: only a stream shows that the server is still there."""
    if "text/event-stream" not in request.headers.get("accept", ""):
        return False
    method, tool = request.headers.get("mcp-method"), _TOOLS.get(request.headers.get("mcp-name", ""))
    if method is None:
        # In earlier versions the headers do not tell what is asked.
        return True
    return method == "tools/call" and (tool is None or tool.finish is not None)


def _caller(asked: Asked) -> OutsideCaller:
    assert asked.request is not None, "every request comes over HTTP"
    caller: OutsideCaller = asked.request.state.caller
    return caller


async def _offered(asked: Asked, _params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[_shown(tool) for tool in _caller(asked).toolset.offered()])


def _shown(tool: Tool) -> ShownTool:
    is_read = tool.effect == "read"
    return ShownTool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        output_schema=tool.result_schema(),
        annotations=ToolAnnotations(read_only_hint=is_read, destructive_hint=False, open_world_hint=False),
    )


def _refused(asked: Asked, refusal: Refusal) -> CallToolResult:
    assert asked.request is not None, "every request comes over HTTP"
    told = msgspec.to_builtins(error_body(refusal, asked.request.state.request_id))
    text = msgspec.json.encode(told).decode()
    return CallToolResult(content=[TextContent(text=text)], structured_content=told, is_error=True)


async def _no_resources(_asked: Asked, _params: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(resources=[])


async def _no_templates(_asked: Asked, _params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=[])


async def _no_prompts(_asked: Asked, _params: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=[])
