"""The endpoint of MCP: who asks is known before the protocol is read; the protocol itself is the SDK's affair.

Every request stands for itself, whatever version it is in: no session of the protocol is kept, so that any server on
the same store answers the next one. The SDK is imported with the first request, for a server that nobody asks.
"""

import asyncio
from logging import getLogger
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from carrel.kernel import METRICS, Code, Refusal
from carrel.surfaces.http.errors import refusal_response
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens
from carrel.surfaces.http.tool_callers import tool_caller
from carrel.surfaces.mcp.allowed_hosts import require_known_host

if TYPE_CHECKING:
    from carrel.surfaces.mcp.protocol import Speaking

MCP_PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"
# The SDK is large, and a busy machine reads it slowly.
LOAD_SECONDS_MAX = 30
_log = getLogger("carrel.mcp")


class Endpoint:
    """One address for everything of MCP, as an ASGI application; it answers while `serve` goes on."""

    def __init__(self, house: House, wrong: WrongTokens) -> None:
        self._house = house
        self._wrong = wrong
        self._wanted = asyncio.Event()
        self._begun = asyncio.Event()
        self._speaking: Speaking | None = None

    async def serve(self) -> None:
        """Hold what requests are answered with, from the first one on; for ever."""
        await self._wanted.wait()
        speaking = await asyncio.to_thread(self._make)
        async with speaking.begun():
            self._speaking = speaking
            self._begun.set()
            await asyncio.Event().wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # White space around a value is no part of it, and the SDK compares values with what the body says.
        scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}
        request = Request(scope, receive)
        answer = _Answer(send)
        try:
            require_known_host(request.headers, self._house.settings.server)
            request.state.caller = await tool_caller(request, self._house, self._wrong)
            await self._speak(request, answer)
        except Refusal as refusal:
            await self._refused(request, refusal)(scope, receive, answer)
        except Exception:  # boundary: one broken request must not end the connection without an answer
            _log.exception("request_failed", extra={"request_id": request.state.request_id, "route": MCP_PATH})
            broken = Refusal(
                Code.INTERNAL, "Something went wrong here; the server's log knows more under this request id."
            )
            if not answer.status:
                await self._refused(request, broken)(scope, receive, answer)
        METRICS.count("http.requests.count", route=MCP_PATH, status=str(answer.status))

    async def _speak(self, request: Request, answer: "_Answer") -> None:
        speaking = self._speaking or await self._load()
        if request.method != "GET":
            await speaking.serve(request, answer)
            return
        # A stream that waits for what may never come must not hold up the server's end.
        async with asyncio.TaskGroup() as group:
            ends = {
                group.create_task(speaking.serve(request, answer)),
                group.create_task(self._house.closing.wait()),
            }
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends - done:
                end.cancel()
        await answer.end()

    def _make(self) -> "Speaking":
        from carrel.surfaces.mcp.protocol import Speaking

        return Speaking(self._house)

    async def _load(self) -> "Speaking":
        self._wanted.set()
        async with asyncio.timeout(LOAD_SECONDS_MAX):
            await self._begun.wait()
        assert self._speaking is not None, "it is there once it has begun"
        return self._speaking

    def _refused(self, request: Request, refusal: Refusal) -> Response:
        response = refusal_response(refusal, request.state.request_id)
        if refusal.code is Code.UNKNOWN_SESSION:
            # To a client of MCP 401 means that it must log in, which would not help here.
            response.status_code = 403
        if refusal.code is Code.UNAUTHENTICATED:
            wrong = ', error="invalid_token"' if "authorization" in request.headers else ""
            where = f'resource_metadata="{self._house.base_url(request.base_url)}{METADATA_PATH}"'
            response.headers["WWW-Authenticate"] = f"Bearer {where}{wrong}"
        return response


class _Answer:
    """What is sent, and how far it has come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self._ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Finish in form what was begun."""
        if self.status and not self._ended:
            await self({"type": "http.response.body", "body": b""})
