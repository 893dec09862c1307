"""The MCP protocol, by the official SDK: listing the caller's tools and calling them.

Importing this module imports the SDK; only the endpoint does so, at the first request.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from logging import WARNING, getLogger
from typing import Any, TypeVar

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
    ServerCapabilities,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ShownTool
from starlette.requests import Request
from starlette.types import Send

from carrel.kernel import Code, Refusal
from carrel.kernel.limits import BODY_BYTES_MAX, TOOL_RESULT_BYTES_MAX
from carrel.surfaces.http.errors import error_body
from carrel.surfaces.http.services import Services
from carrel.tools import CATALOG, ExternalCaller, ExternalCalls, NewCall, Tool

# The SDK logs every request.
getLogger("mcp").setLevel(WARNING)
_TOOLS = {name: tool for tool in CATALOG.offered() for name in tool.names}
_INSTRUCTIONS = (
    "Carrel gives agents sessions of their own. These tools list, read and message the sessions that the token's "
    "agent may see; `session_status` shows the session you are in."
)
Context = ServerRequestContext[Any, Request]
R = TypeVar("R")


class _ToolServer(Server[Any]):
    """The SDK's server, which declares tools only.

    The SDK declares whatever has a handler. Clients may list resources and prompts that nothing declares, so these
    lists are answered all the same.
    """

    def get_capabilities(self, *options: Any, **named_options: Any) -> ServerCapabilities:
        return ServerCapabilities(tools=super().get_capabilities(*options, **named_options).tools)


class Protocol:
    def __init__(self, services: Services) -> None:
        self._version = services.version
        self._calls = ExternalCalls(services.db, services.watch, services.closing)
        server = self._server()
        self._plain, self._streaming = (
            StreamableHTTPSessionManager(
                server, json_response=is_plain, stateless=True, max_request_body_size=BODY_BYTES_MAX
            )
            for is_plain in (True, False)
        )

    def _server(self) -> Server[Any]:
        server = _ToolServer(
            "carrel",
            version=self._version,
            title="Carrel",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=lambda name: _TOOLS[name].schema() if name in _TOOLS else None,
            on_list_tools=_list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=_listing(ListResourcesResult(resources=[])),
            on_list_resource_templates=_listing(ListResourceTemplatesResult(resource_templates=[])),
            on_list_prompts=_listing(ListPromptsResult(prompts=[])),
        )
        # The default only traces every request.
        server.middleware.clear()
        return server

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests within this context; the tasks that the SDK starts for them end with it."""
        async with self._plain.run(), self._streaming.run():
            yield

    async def serve(self, request: Request, send: Send) -> None:
        transport = self._streaming if _wants_stream(request) else self._plain
        await transport.handle_request(request.scope, request.receive, send)

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in _TOOLS:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:80]}")
        arguments = msgspec.json.encode(params.arguments or {}).decode()
        call = NewCall(caller=_caller(context), tool=params.name, arguments=arguments)
        try:
            text = await self._calls.make(call)
        except Refusal as refusal:
            return _refused(context, refusal)
        result = msgspec.json.decode(text)
        if result.get("truncated") is True and result.get("bytes", 0) > TOOL_RESULT_BYTES_MAX:
            # A truncated result does not match the tool's schema.
            message = f"The result has {result['bytes']} bytes, which is too large; ask for less."
            return _refused(context, Refusal(Code.TOO_LARGE, message))
        return CallToolResult(content=[TextContent(text=text)], structured_content=result)


def _wants_stream(request: Request) -> bool:
    """Whether the client accepts a stream and may have to wait: only a stream shows that the server is still there."""
    if "text/event-stream" not in request.headers.get("accept", ""):
        return False
    method, tool = request.headers.get("mcp-method"), _TOOLS.get(request.headers.get("mcp-name", ""))
    if method is None:
        # In earlier versions the headers do not name the method.
        return True
    return method == "tools/call" and (tool is None or tool.finish is not None)


def _caller(context: Context) -> ExternalCaller:
    assert context.request is not None, "every request comes by HTTP"
    caller: ExternalCaller = context.request.state.caller
    return caller


async def _list_tools(context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[_shown(tool) for tool in _caller(context).toolset.offered()])


def _shown(tool: Tool) -> ShownTool:
    is_read = tool.effect == "read"
    return ShownTool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        output_schema=tool.result_schema(),
        annotations=ToolAnnotations(read_only_hint=is_read, destructive_hint=False, open_world_hint=False),
    )


def _refused(context: Context, refusal: Refusal) -> CallToolResult:
    """Return the error body as text only: as structured content, clients would check it against the output schema."""
    assert context.request is not None, "every request comes by HTTP"
    text = msgspec.json.encode(error_body(refusal, context.request.state.request_id)).decode()
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _listing(listed: R) -> Callable[[Context, PaginatedRequestParams | None], Awaitable[R]]:
    async def answer(_context: Context, _params: PaginatedRequestParams | None) -> R:
        return listed

    return answer
