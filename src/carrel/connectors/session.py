"""One connection to a server through the official client, with its tools, until it ends.

Importing this module imports the SDK; import it only to start a server.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from logging import CRITICAL, getLogger
from typing import Any, Self

import mcp_types
from mcp import Client
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from carrel import __version__
from carrel.connectors.launch import Launch
from carrel.connectors.model import CallFailed, CallResult
from carrel.connectors.program import program_streams
from carrel.connectors.results import read_result
from carrel.connectors.tools import Listed, read_tools
from carrel.kernel import clip, limits, one_line, redact
from carrel.kernel.settings import McpServerSettings
from carrel.programs import FloodGuard, ProgramFault
from carrel.wire import sdk_client

# The SDK logs every message of a server that it does not understand.
for _name in ("mcp", "client", "httpx2"):
    getLogger(_name).setLevel(CRITICAL)


class Session:
    """A connected server; `changed` says that its tools have changed."""

    def __init__(self, name: str, settings: McpServerSettings, launch: Launch) -> None:
        self._name = name
        self._settings = settings
        self._secrets = launch.secrets
        self.changed = asyncio.Event()
        messages_max, bytes_max = limits.MCP_UNASKED_MESSAGES_MAX, limits.MCP_RECEIVED_BYTES_MAX
        self.guard = FloodGuard(messages_max=messages_max, bytes_max=bytes_max, seconds=limits.MCP_FLOOD_SECONDS)
        self.stream: _GuardedStream | None = None
        self.client = Client(
            _streams(settings, launch, self),
            message_handler=self._noted,
            client_info=mcp_types.Implementation(name="carrel", version=__version__),
            cache=None,
        )

    async def list_tools(self, written: Collection[str], taken: Collection[str]) -> Listed:
        """Return the tools that the server offers now; see `read_tools`."""
        tools: list[mcp_types.Tool] = []
        cursor = None
        for _ in range(limits.MCP_TOOL_PAGES_MAX):
            self.guard.asked()
            page = await self.client.session.list_tools(params=mcp_types.PaginatedRequestParams(cursor=cursor))
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        return read_tools(self._name, tools, self._settings, written, taken)

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallResult:
        """Call a tool; raise CallFailed if there is no result."""
        request = mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name=tool, arguments=arguments))
        self.guard.asked()
        try:
            # Not the client's own call_tool: it checks results by patterns that the server wrote, which may take any
            # time, and meanwhile answers questions of the server.
            result = await self.client.session.send_request(request, mcp_types.CallToolResult)
        except MCPError as error:
            is_unknown = error.code == mcp_types.CONNECTION_CLOSED
            said = "It closed the connection during the call." if is_unknown else error.message
            raise CallFailed(redact(clip(said, limits.ERROR_CHARS_MAX)), is_unknown=is_unknown) from error
        except ValidationError as error:
            raise CallFailed("It answered with something that is no result of a tool.", is_unknown=True) from error
        return read_result(tool, result, self._secrets)

    @property
    def is_over(self) -> bool:
        return self.stream is not None and self.stream.ended.is_set()

    async def until_ended(self) -> str:
        """Wait for the end of the connection and return why it ended."""
        assert self.stream is not None, "connected before it is waited for"
        await self.stream.ended.wait()
        return self.stream.fault

    async def _noted(self, message: IncomingMessage) -> None:
        """Note a message that the server sends unasked."""
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.changed.set()


class _GuardedStream:
    """The messages of a server until it disconnects or floods; then `ended` is set and `fault` says why."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], guard: FloodGuard) -> None:
        self._inner = inner
        self._guard = guard
        self.ended = asyncio.Event()
        self.fault = "It closed the connection."

    @property
    def last_context(self) -> Any:
        """The context in which the newest message was sent, which the SDK's HTTP transport records."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return await self._inner.receive()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item = await self._inner.__anext__()
            if isinstance(item, ProgramFault):
                raise item
            self._guard.received(messages=1)
        except ProgramFault as fault:
            self.fault = str(fault)
            self.ended.set()
            raise StopAsyncIteration from fault
        except BaseException:
            self.ended.set()
            raise
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def open_session(name: str, settings: McpServerSettings, launch: Launch) -> AsyncIterator[Session]:
    """Connect to a server; raise ProgramFault if that fails or takes too long, or the connection breaks."""
    session, bound = Session(name, settings, launch), asyncio.timeout(settings.start_seconds)
    try:
        async with AsyncExitStack() as stack:
            async with bound:
                await stack.enter_async_context(session.client)
            yield session
    except TimeoutError as error:
        if not bound.expired():
            raise
        message = f"It did not get ready within {settings.start_seconds} seconds (mcp.{name}.start_seconds)."
        raise ProgramFault(message) from error
    except Exception as error:  # boundary: whatever a server does, only that server becomes unusable
        raise ProgramFault(_why(error, session)) from error


@asynccontextmanager
async def _streams(settings: McpServerSettings, launch: Launch, session: Session) -> AsyncIterator[TransportStreams]:
    async with AsyncExitStack() as stack:
        if launch.program is not None:
            streams = program_streams(launch.program, session.guard)
        else:
            bytes_max = limits.MCP_MESSAGE_BYTES_MAX
            http = await stack.enter_async_context(sdk_client(launch.headers, bytes_max))
            streams = streamable_http_client(settings.url, http_client=http, max_sse_event_size=bytes_max)
        received, sent = await stack.enter_async_context(streams)
        session.stream = _GuardedStream(received, session.guard)
        yield session.stream, sent


def _why(error: BaseException, session: Session) -> str:
    """Return why a server cannot be used, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ProgramFault):
        return str(error)
    if isinstance(error, MCPError) and session.stream is not None and session.stream.ended.is_set():
        return session.stream.fault
    return clip(redact(one_line(f"{type(error).__name__}: {error}")), limits.ERROR_CHARS_MAX)
