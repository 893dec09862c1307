"""The webhook that Telegram posts updates to. A 200 acknowledges an update; Telegram repeats all others."""

from hmac import compare_digest
from logging import getLogger
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.kernel import Code, Refusal
from carrel.surfaces.http.bodies import decode_body, read_body
from carrel.surfaces.http.errors import STATUS, nothing_here
from carrel.surfaces.http.responder import answer_request
from carrel.surfaces.http.services import Services
from carrel.surfaces.telegram.bot import Bot, BotFault
from carrel.surfaces.telegram.messages import chat_message, is_owner, receive_once
from carrel.surfaces.telegram.updates import Update, UserMessage, address_of, user_message

_log = getLogger("carrel.telegram")
_ROUTE = "/channels/telegram/{secret}"
_UNREADABLE = "I can only read text, pictures and files here."
# Telegram should try these again, like every error of the server itself; all others would only fail again.
_TEMPORARY = (Code.QUEUE_FULL, Code.CONFLICT)


def routes(services: Services, bot: Bot) -> list[BaseRoute]:
    """Return the route of the webhook; without a bot in the settings it answers 404."""
    return [Route(_ROUTE, _Webhook(services, bot).serve, methods=["POST"])]


class _Webhook:
    def __init__(self, services: Services, bot: Bot) -> None:
        self._services = services
        self._settings = services.settings.channels.telegram
        self._bot = bot

    async def serve(self, request: Request) -> Response:
        """Receive one update."""
        return await answer_request(request, _ROUTE, lambda: self._receive_update(request))

    async def _receive_update(self, request: Request) -> Response:
        given = request.path_params["secret"].encode()
        if not self._settings.enabled or not compare_digest(given, self._settings.webhook_secret.encode()):
            raise nothing_here()
        try:
            update = decode_body(await read_body(request), Update)
        except Refusal as refusal:
            if refusal.code is not Code.INVALID_PARAMS:
                raise
            # Valid JSON but not an update we know; repeating it would not help.
            _log.warning("update_unread", extra={"error": refusal.message})
            return _acknowledge()
        sent = user_message(update)
        return _acknowledge() if sent is None else await self._receive(sent)

    async def _receive(self, sent: UserMessage) -> Response:
        if not is_owner(self._settings, sent) and not self._settings.open:
            _log.info("stranger_refused")
            words = f"This bot only talks to its owner. Your Telegram id is {sent.sender_id}."
            return _acknowledge(sent, words) if sent.is_private else _acknowledge()
        if sent.is_unreadable and not sent.text:
            return _acknowledge(sent, _UNREADABLE)
        try:
            if await self._is_for_another(sent):
                return _acknowledge()
            files = () if sent.file is None else (await self._bot.fetch(sent.file),)
        except BotFault as fault:
            if fault.final:
                return _acknowledge(sent, fault.message)
            _log.warning("telegram_unreachable", extra={"error": fault.message})
            raise Refusal(Code.DRAINING, "Telegram cannot be reached right now; send the update again.") from None
        message = chat_message(self._settings, self._bot.id, sent, files)
        try:
            if message.command is None:
                self._services.refuse_when_draining()
            await self._services.db.write(lambda tx: receive_once(tx, self._services, sent, message))
        except Refusal as refusal:
            return self._refused(sent, refusal)
        return _acknowledge()

    async def _is_for_another(self, sent: UserMessage) -> bool:
        """Return whether this is a command for another bot, as there may be in a group."""
        first, _, named = sent.first_word.partition("@")
        return first.startswith("/") and bool(named) and named.lower() != await self._bot.name()

    def _refused(self, sent: UserMessage, refusal: Refusal) -> Response:
        if refusal.code in _TEMPORARY or STATUS[refusal.code] >= 500:
            raise refusal
        _log.info("line_refused", extra={"error_code": str(refusal.code), "error": refusal.message})
        # Where sending is denied, not even the refusal is sent.
        return _acknowledge() if refusal.code is Code.SEND_DENIED else _acknowledge(sent, refusal.message)


def _acknowledge(sent: UserMessage | None = None, words: str = "") -> Response:
    """Acknowledge an update; Telegram sends `words` to the chat for us if nothing was stored."""
    body: dict[str, Any] = {}
    if sent is not None:
        body = {"method": "sendMessage", **address_of(sent.chat_address), "text": words}
    return Response(msgspec.json.encode(body), media_type="application/json")
