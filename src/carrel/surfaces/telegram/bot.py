"""The parts of the Bot API in use. Each call is tried once; the bot's token appears in no error and no log."""

from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from carrel.kernel import NewAttachment, limits
from carrel.kernel.settings import TelegramSettings
from carrel.surfaces.telegram.updates import WireFile, address_of, chat_address_text
from carrel.wire import Wire, WireFault

# A wrong token may be corrected, and a rate limit passes.
_TEMPORARY = (401, 404, 408, 409, 429)
_PHOTO = ("photo.jpg", "image/jpeg")


class BotFault(Exception):
    """A call that failed; `final` when repeating it cannot help."""

    def __init__(self, message: str, *, final: bool = False, after_seconds: float = 0) -> None:
        super().__init__(message)
        self.message = message
        self.final = final
        self.after_seconds = after_seconds


class _Parameters(Struct, frozen=True, kw_only=True):
    retry_after: float = 0


class _Answer(Struct, frozen=True, kw_only=True):
    ok: bool
    result: Any = None
    description: str = ""
    parameters: _Parameters = _Parameters()


class Bot:
    """One bot, identified by its token."""

    def __init__(self, wire: Wire, settings: TelegramSettings) -> None:
        self._wire = wire
        self._base = settings.api_base_url.rstrip("/")
        self._token = settings.bot_token
        self._name: str | None = None

    @property
    def id(self) -> str:
        """The bot's own id, which its token begins with."""
        return self._token.partition(":")[0]

    async def send(self, chat_address: str, text: str) -> None:
        """Send one message to a chat address."""
        await self.call("sendMessage", {**address_of(chat_address), "text": text})

    async def open_topic(self, chat_address: str, name: str) -> str:
        """Create a topic in the forum of a chat address; return its chat address."""
        chat = address_of(chat_address)["chat_id"]
        topic = await self.call("createForumTopic", {"chat_id": chat, "name": name})
        if not isinstance(topic, dict) or not isinstance(topic.get("message_thread_id"), int):
            raise BotFault("createForumTopic returned no topic.", final=True)
        return chat_address_text(chat, topic["message_thread_id"])

    async def name(self) -> str:
        """Return the bot's user name in lower case; it is looked up once."""
        if self._name is None:
            found = await self.call("getMe", {})
            if not isinstance(found, dict):
                raise BotFault("getMe returned no bot.")
            self._name = str(found.get("username", "")).lower()
        return self._name

    async def fetch(self, file: WireFile) -> NewAttachment:
        """Return a file that was sent to the bot; a final BotFault for one that is too large."""
        too_large = BotFault(f"A file may be at most {limits.ATTACHMENT_BYTES_MAX // (1024 * 1024)} MiB.", final=True)
        if file.file_size is not None and file.file_size > limits.ATTACHMENT_BYTES_MAX:
            raise too_large
        found = await self.call("getFile", {"file_id": file.file_id})
        path = found.get("file_path") if isinstance(found, dict) else None
        if not isinstance(path, str):
            raise BotFault("getFile returned no path.", final=True)
        content = await self._read(f"{self._base}/file/bot{self._token}/{quote(path)}")
        if len(content) > limits.ATTACHMENT_BYTES_MAX:
            raise too_large
        name, kind = (file.file_name or "file", file.mime_type) if file.mime_type else _PHOTO
        return NewAttachment(
            name=name[: limits.NAME_CHARS_MAX], mime_type=kind[: limits.NAME_CHARS_MAX], content=content
        )

    async def call(self, method: str, body: dict[str, Any]) -> Any:
        """Return the result of one call; BotFault when it fails."""
        try:
            reply = await self._wire.request(
                "POST",
                f"{self._base}/bot{self._token}/{method}",
                headers={"Content-Type": "application/json"},
                body=msgspec.json.encode(body),
                timeout_seconds=limits.TELEGRAM_CALL_SECONDS_MAX,
            )
        except WireFault as fault:
            raise BotFault(f"{method}: {fault.message}") from None
        try:
            answer = msgspec.json.decode(reply.body, type=_Answer)
        except msgspec.DecodeError:
            raise BotFault(f"{method} returned status {reply.status} and not the JSON of the Bot API.") from None
        if answer.ok:
            return answer.result
        raise BotFault(
            f"{method} failed with status {reply.status}: {answer.description}",
            final=400 <= reply.status < 500 and reply.status not in _TEMPORARY,
            after_seconds=answer.parameters.retry_after,
        )

    async def _read(self, url: str) -> bytes:
        try:
            reply = await self._wire.request("GET", url, timeout_seconds=limits.TELEGRAM_FILE_SECONDS_MAX)
        except WireFault as fault:
            raise BotFault(f"Fetching the file failed: {fault.message}") from None
        if reply.status != 200:
            raise BotFault(f"Fetching the file failed with status {reply.status}.", final=reply.status == 404)
        return reply.body
