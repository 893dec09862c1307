"""The WebSocket transport: one request at a time, each answered by its events.

A response that is not stored can be continued only on the connection that created it. A failed attempt to continue it
ends that as well, because the client's view of the conversation would then be wrong.
"""

import asyncio
from logging import getLogger

from starlette.websockets import WebSocket, WebSocketDisconnect

from carrel.kernel import Access, Code, Refusal, invalid
from carrel.surfaces.http import websockets
from carrel.surfaces.http.bodies import decode_body, refuse_too_many_values
from carrel.surfaces.http.house import House
from carrel.surfaces.http.idempotency import read_key
from carrel.surfaces.http.identity import WrongTokens, identify, refuse_token_in_query, require_caller
from carrel.surfaces.http.rights_end import rights_end
from carrel.surfaces.responses.errors import ResponsesError, from_refusal, wrong
from carrel.surfaces.responses.operations import Responses
from carrel.surfaces.responses.requests import SocketCreate

_log = getLogger("carrel.responses")
# Options of the HTTP transport.
_NOT_HERE = ("stream", "stream_options", "background")


class Socket:
    """Serves connections."""

    def __init__(self, house: House, wrong_tokens: WrongTokens, responses: Responses) -> None:
        self._house = house
        self._wrong = wrong_tokens
        self._responses = responses

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection from its handshake to its end."""
        try:
            access = await self._identify(socket)
            _refuse_key(socket)
        except Refusal as refusal:
            await socket.send_denial_response(from_refusal(refusal).response())
            return
        await socket.accept()
        await websockets.close(socket, await self._answer_until_closed(socket, access))

    async def _identify(self, socket: WebSocket) -> Access:
        refuse_token_in_query(socket)
        return require_caller(await identify(socket, self._house, self._wrong))

    async def _answer_until_closed(self, socket: WebSocket, access: Access) -> int:
        """Answer requests until either side ends it; return the code to close with."""
        code = websockets.DONE
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._answer_all(socket))
                group.create_task(websockets.close_with_server(self._house))
                ended = rights_end(self._house, access, lambda: self._identify(socket))
                group.create_task(websockets.close_with_rights(ended))
        except* WebSocketDisconnect:
            code = websockets.DONE
        except* websockets.Closing as closings:
            code = websockets.code_in(closings)
        except* Exception:  # boundary: one broken connection must not take the server's others with it
            _log.exception("responses_socket_failed", extra={"request_id": socket.state.request_id})
            code = websockets.BROKEN
        return code

    async def _answer_all(self, socket: WebSocket) -> None:
        kept: set[str] = set()
        while True:
            raw = await websockets.next_message(socket)
            try:
                access = await self._identify(socket)
            except Refusal as refusal:
                raise websockets.Closing(
                    websockets.TRY_AGAIN_LATER if refusal.code is Code.STORAGE_UNAVAILABLE else websockets.NOT_ALLOWED
                ) from None
            await self._answer(socket, access, raw, kept)

    async def _answer(self, socket: WebSocket, access: Access, raw: bytes, kept: set[str]) -> None:
        """Answer one request: with its events, or with an error."""
        previous: str | None = None
        try:
            await refuse_too_many_values(raw)
            request = _request(raw)
            previous = request.previous_response_id
            started = await self._responses.start(access, socket.headers, request, raw, kept, None)
            async for event in started.events():
                if event is not None:
                    await websockets.send_value(socket, event)
            if not started.response.stored:
                kept.add(started.response.id)
        except (ResponsesError, Refusal) as refused:
            error = refused if isinstance(refused, ResponsesError) else from_refusal(refused)
            kept.discard(previous or "")
            await websockets.send_value(socket, {"type": "error", "status": error.status, "error": error.body()})


def _refuse_key(socket: WebSocket) -> None:
    """Refuse an idempotency key: it belongs to one request, and a connection carries many."""
    if read_key(socket.headers) is not None:
        raise invalid("X-Idempotency-Key", "WebSockets do not support idempotency keys; send the request by POST.")


def _request(raw: bytes) -> SocketCreate:
    request: SocketCreate = decode_body(raw, SocketCreate)
    given = next((name for name in _NOT_HERE if getattr(request, name) is not None), None)
    if given is not None:
        raise wrong(given, f"{given} is not supported on a WebSocket, which always streams.")
    return request
