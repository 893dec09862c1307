"""The MCP endpoint: it identifies the caller and leaves the protocol to the SDK.

No protocol session is kept, whatever version a client uses, so any server on the same database can answer the next
request. The SDK is imported at the first request, so that servers without MCP clients do not load it.
"""

import asyncio
from ipaddress import ip_address
from logging import getLogger
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from carrel.kernel import METRICS, Access, Code, Refusal, is_loopback
from carrel.kernel.limits import BODY_BYTES_MAX
from carrel.kernel.settings import ServerSettings
from carrel.surfaces.http.bodies import receive_body, refuse_too_many_values
from carrel.surfaces.http.errors import broken, refusal_response
from carrel.surfaces.http.identity import WrongTokens
from carrel.surfaces.http.revocation import until_revoked
from carrel.surfaces.http.services import Services
from carrel.surfaces.http.streaming import first_to_end
from carrel.surfaces.http.tool_callers import tool_caller
from carrel.tools import ExternalCaller

if TYPE_CHECKING:
    from carrel.surfaces.mcp.protocol import Protocol

MCP_PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"
# The SDK is large, and a busy machine loads it slowly.
LOAD_SECONDS_MAX = 30
_log = getLogger("carrel.mcp")


class Endpoint:
    """The ASGI application of MCP; it answers while `serve` is running."""

    def __init__(self, services: Services, wrong: WrongTokens) -> None:
        self._services = services
        self._wrong = wrong
        self._requested = asyncio.Event()
        self._started = asyncio.Event()
        self._protocol: Protocol | None = None

    async def serve(self) -> None:
        """Run the SDK's servers from the first request on, forever."""
        await self._requested.wait()
        protocol = await asyncio.to_thread(self._new_protocol)
        async with protocol.running():
            self._protocol = protocol
            self._started.set()
            await asyncio.Event().wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # White space around a header is not part of its value, and the SDK compares values with the body.
        scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}
        request = Request(scope, receive)
        answer = _TrackedSend(send)
        try:
            _require_known_host(request.headers, self._services.settings.server)
            request.state.caller = await tool_caller(request, self._services, self._wrong)
            await self._answer(request, answer)
        except Refusal as refusal:
            await self._refused(request, refusal)(scope, receive, answer)
        except ClientDisconnect:
            # The client has left.
            return
        except Exception:  # boundary: one broken request must not end the connection without an answer
            _log.exception("request_failed", extra={"request_id": request.state.request_id, "route": MCP_PATH})
            if not answer.status:
                await self._refused(request, broken())(scope, receive, answer)
        METRICS.count("http.requests.count", "", route=MCP_PATH, status=str(answer.status))

    async def _answer(self, request: Request, answer: "_TrackedSend") -> None:
        protocol = self._protocol or await self._load()
        if request.method != "GET":
            await protocol.serve(await _with_body(request), answer)
            return

        async def look() -> Access:
            return (await tool_caller(request, self._services, self._wrong)).caller.access

        caller: ExternalCaller = request.state.caller
        # A stream that may never end must not delay the end of the server.
        await first_to_end(
            protocol.serve(request, answer),
            self._services.closing.wait(),
            until_revoked(self._services, caller.caller.access, look),
        )
        await answer.end()

    def _new_protocol(self) -> "Protocol":
        from carrel.surfaces.mcp.protocol import Protocol

        return Protocol(self._services)

    async def _load(self) -> "Protocol":
        self._requested.set()
        async with asyncio.timeout(LOAD_SECONDS_MAX):
            await self._started.wait()
        assert self._protocol is not None, "it is set before the event"
        return self._protocol

    def _refused(self, request: Request, refusal: Refusal) -> Response:
        response = refusal_response(refusal, request.state.request_id)
        if refusal.code is Code.UNKNOWN_SESSION:
            # To an MCP client, 401 means that it must log in, which would not help here.
            response.status_code = 403
        if refusal.code is Code.UNAUTHENTICATED:
            wrong = ', error="invalid_token"' if "authorization" in request.headers else ""
            where = f'resource_metadata="{self._services.base_url(request.base_url)}{METADATA_PATH}"'
            response.headers["WWW-Authenticate"] = f"Bearer {where}{wrong}"
        return response


async def _with_body(request: Request) -> Request:
    """Return the request with its whole body, received within the budget of all requests."""
    raw = await receive_body(request, BODY_BYTES_MAX)
    await refuse_too_many_values(raw)
    pending: list[Message] = [{"type": "http.request", "body": raw}]

    async def receive() -> Message:
        return pending.pop() if pending else await request.receive()

    return Request(request.scope, receive)


class _TrackedSend:
    """Sends a response and remembers how far it has come."""

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
        """Finish a response that was started."""
        if self.status and not self._ended:
            await self({"type": "http.response.body", "body": b""})


def _require_known_host(headers: Headers, server: ServerSettings) -> None:
    """Refuse a request for another host, or from a page of another site: DNS may be made to name this machine."""
    known = {"localhost", server.host, urlsplit(server.public_url).hostname}
    host = _hostname(f"//{headers.get('host', '')}")
    # Only names can be made to resolve to another address; IP addresses cannot.
    if host not in known and not _is_address(host):
        raise Refusal(
            Code.FORBIDDEN, f"This server does not answer to '{host[:80]}'; set server.public_url to its name."
        )
    origin = headers.get("origin")
    if origin is None:
        return
    page = _hostname(origin)
    if page not in known and page != host and not is_loopback(page):
        raise Refusal(Code.FORBIDDEN, f"Pages of '{origin[:80]}' may not call tools here.")


def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def routes(services: Services, endpoint: "Endpoint") -> list[BaseRoute]:
    """Return the routes of MCP: the endpoint, and the metadata that tells clients where tokens come from (RFC 9728)."""

    async def metadata(request: Request) -> Response:
        base = services.base_url(request.base_url)
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
