"""Responses on their way to clients: large ones share a budget, go out in pieces and have a time limit."""

import asyncio
from logging import getLogger

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from carrel.kernel import Refusal
from carrel.kernel.limits import RESPONSE_BYTES_PER_SECOND_MIN, SMALL_BODY_BYTES_MAX, STREAM_SEND_SECONDS_MAX
from carrel.surfaces.http.byte_budgets import ByteBudget, Share
from carrel.surfaces.http.errors import refused_in_format

_log = getLogger("carrel.surfaces")


class ResponseLimits:
    """Refuses a response that does not fit the budget, and cuts off one that is read too slowly.

    Streams have no length and limit themselves; connections that nobody reads at all are closed by main.
    """

    def __init__(self, app: ASGIApp, budget: ByteBudget) -> None:
        self._app = app
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] == "HEAD":
            await self._app(scope, receive, send)
            return
        with self._budget.share_of(scope) as share:
            try:
                await self._app(scope, receive, _Sending(scope, receive, send, share))
            except _TooSlow:
                # The response stays unfinished, so that the server closes the connection.
                _log.warning("response_cut_off", extra={"request_id": scope["state"]["request_id"]})


class _TooSlow(Exception):
    """The client has not read its response in time."""


class _Sending(Struct):
    scope: Scope
    receive: Receive
    send: Send
    share: Share
    is_refused: bool = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            size = int(next((value for name, value in message["headers"] if name == b"content-length"), 0))
            try:
                self.share.grow(size)
            except Refusal as refusal:
                self.is_refused = True
                await refused_in_format(self.scope, refusal)(self.scope, self.receive, self.send)
        if not self.is_refused:
            await self._send_pieces(message)

    async def _send_pieces(self, message: Message) -> None:
        body = message.get("body", b"")
        if len(body) <= SMALL_BODY_BYTES_MAX:
            await self.send(message)
            return
        seconds_max = STREAM_SEND_SECONDS_MAX + len(body) / RESPONSE_BYTES_PER_SECOND_MIN
        try:
            async with asyncio.timeout(seconds_max):
                # A connection accepts a piece of any size; waiting for the client happens only between pieces.
                for first in range(0, len(body), SMALL_BODY_BYTES_MAX):
                    after = first + SMALL_BODY_BYTES_MAX
                    more = after < len(body) or message.get("more_body", False)
                    await self.send({**message, "body": body[first:after], "more_body": more})
        except TimeoutError:
            raise _TooSlow from None
