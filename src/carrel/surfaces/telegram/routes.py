"""The address that Telegram posts updates to. What is answered with 200 is taken; all else Telegram sends again."""

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
from carrel.surfaces.http.house import House
from carrel.surfaces.http.responder import answered
from carrel.surfaces.telegram.bot import Bot, BotFault
from carrel.surfaces.telegram.messages import Heard, hear, is_owner, typed_in
from carrel.surfaces.telegram.updates import Said, Update, address_of, said_in

_log = getLogger("carrel.telegram")
_ROUTE = "/channels/telegram/{secret}"
_UNREADABLE = "I can read text, pictures and files here, and nothing else."
# Worth another attempt by Telegram, as is all that the server itself cannot do now; the rest would only fail again.
_PASSING = (Code.QUEUE_FULL, Code.CONFLICT)


def routes(house: House, bot: Bot) -> list[BaseRoute]:
    """The route of the webhook; without a bot in the settings it answers as if it were not there."""
    return [Route(_ROUTE, _Webhook(house, bot).serve, methods=["POST"])]


class _Webhook:
    """Answers Telegram for one house."""

    def __init__(self, house: House, bot: Bot) -> None:
        self._house = house
        self._settings = house.settings.channels.telegram
        self._bot = bot

    async def serve(self, request: Request) -> Response:
        """Take one update."""
        return await answered(request, _ROUTE, lambda: self._take(request))

    async def _take(self, request: Request) -> Response:
        given = request.path_params["secret"].encode()
        if not self._settings.enabled or not compare_digest(given, self._settings.webhook_secret.encode()):
            raise nothing_here()
        try:
            update = decode_body(await read_body(request), Update)
        except Refusal as refusal:
            if refusal.code is not Code.INVALID_PARAMS:
                raise
            # Valid JSON that is no update we know: sent again it would be the same.
            _log.warning("update_unread", extra={"error": refusal.message})
            return _taken()
        said = said_in(update)
        return _taken() if said is None else await self._hear(said)

    async def _hear(self, said: Said) -> Response:
        if not is_owner(self._settings, said) and not self._settings.open:
            _log.info("stranger_refused")
            words = f"This bot talks to its owner only. Your Telegram id is {said.sender_id}."
            return _taken(said, words) if said.is_private else _taken()
        if said.is_unreadable and not said.text:
            return _taken(said, _UNREADABLE)
        try:
            if await self._is_for_another(said):
                return _taken()
            files = () if said.file is None else (await self._bot.fetch(said.file),)
        except BotFault as fault:
            if fault.final:
                return _taken(said, fault.message)
            _log.warning("telegram_unreachable", extra={"error": fault.message})
            raise Refusal(Code.DRAINING, "Telegram itself cannot be asked now; send it again.") from None
        heard = Heard(said=said, typed=typed_in(said), files=files)
        try:
            if heard.typed is None:
                self._house.refuse_when_draining()
            await self._house.db.write(lambda tx: hear(tx, self._house, self._bot.id, heard))
        except Refusal as refusal:
            return self._refused(said, refusal)
        return _taken()

    async def _is_for_another(self, said: Said) -> bool:
        """True for a command that names another bot, as it may in a group."""
        first, _, named = said.first_word.partition("@")
        return first.startswith("/") and bool(named) and named.lower() != await self._bot.name()

    def _refused(self, said: Said, refusal: Refusal) -> Response:
        if refusal.code in _PASSING or STATUS[refusal.code] >= 500:
            raise refusal
        _log.info("line_refused", extra={"error_code": str(refusal.code), "error": refusal.message})
        # Where nothing may be said, not even that is.
        return _taken() if refusal.code is Code.SEND_DENIED else _taken(said, refusal.message)


def _taken(said: Said | None = None, words: str = "") -> Response:
    """The answer that an update is taken; with words, which Telegram says for us, where nothing is kept of it."""
    body: dict[str, Any] = {}
    if said is not None:
        body = {"method": "sendMessage", **address_of(said.chat_address), "text": words}
    return Response(msgspec.json.encode(body), media_type="application/json")
