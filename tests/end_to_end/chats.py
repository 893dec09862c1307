"""People who chat with a running server, in a browser and with a Telegram bot, and the model that answers them."""

import json
import re
from typing import Any, Protocol

import httpx

from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, text
from tests.surfaces.api.chat_line import Line
from tests.surfaces.telegram.bot_api import TOKEN, BotApi
from tests.surfaces.telegram.chats import OWNER, SECRET, message, post

Json = dict[str, Any]
TICK = "[tick]"
_TASK = re.compile(r"Go on with task (\S+):")


def with_a_bot(api: BotApi) -> dict[str, str]:
    """Return the environment of a server with a Telegram bot."""
    bot = {"BOT_TOKEN": TOKEN, "WEBHOOK_SECRET": SECRET, "API_BASE_URL": api.url, "OWNER_IDS": f"[{OWNER}]"}
    return {f"CARREL_CHANNELS__TELEGRAM__{name}": value for name, value in bot.items()}


class Chat(Protocol):
    """A person in a chat. Commands and messages are for the session that is active there."""

    channel: str

    async def send(self, line: str) -> None:
        """Send a line and wait for nothing."""

    async def hear(self) -> str:
        """Return the next reply to a line; what the agent says by itself is kept in `everything` alone."""

    def everything(self) -> str:
        """Return all that has reached this chat so far."""


class WebChat:
    """A browser's connection."""

    channel = "web"

    def __init__(self, line: Line, tab: str) -> None:
        self.frames: list[Json] = []
        self._line = line
        self._tab = tab

    async def send(self, line: str) -> None:
        await self._line.send("message", text=line, clientInstanceId=self._tab)

    async def hear(self) -> str:
        while True:
            self.frames.append(await self._line.hear())
            frame = self.frames[-1]
            # A reply that no person asked for says whose it is.
            if frame["type"] == "assistant_done" and "payload" not in frame:
                return str(frame["text"])

    def everything(self) -> str:
        return json.dumps(self.frames)


class TelegramChat:
    """A chat with the bot, private unless another is given."""

    channel = "telegram"

    def __init__(self, client: httpx.AsyncClient, api: BotApi, chat: Json | None = None) -> None:
        self._client = client
        self._api = api
        self._chat = chat
        self._id = chat["id"] if chat else OWNER
        self._looked_at = 0

    async def send(self, line: str) -> None:
        await post(self._client, message(line, chat=self._chat))

    async def hear(self) -> str:
        while True:
            body = (await self._api.called(self._looked_at + 1, "sendMessage"))[self._looked_at]
            self._looked_at += 1
            if body["chat_id"] == self._id and not body["text"].startswith(TICK):
                return str(body["text"])

    def everything(self) -> str:
        return "\n".join(self._api.texts(self._id))


async def say(chat: Chat, line: str) -> str:
    """Send a line and return the reply."""
    await chat.send(line)
    return await chat.hear()


async def new_session(chat: Chat) -> str:
    """Begin a session in a chat and return its id."""
    return (await say(chat, "/new")).split()[2]


class Model:
    """Calls the tools that a phrase in the newest message stands for, then says what they gave; it echoes all else."""

    def __init__(self, gateway: ScriptedGateway) -> None:
        gateway.rule = self._answer
        self._gateway = gateway
        self._errands: dict[str, tuple[tuple[str, Json], ...]] = {}
        self._gates: dict[str, Gate] = {}

    def on(self, phrase: str, *errand: tuple[str, Json]) -> None:
        """Say what a phrase stands for; `{task}` in an argument is the task of the tick."""
        self._errands[phrase] = errand

    def hold(self, phrase: str) -> Gate:
        """Stop in the middle of the reply to a phrase until the gate is opened."""
        return self._gates.setdefault(phrase, Gate())

    def asked(self, phrase: str) -> list[Request]:
        """Return the requests whose newest message contains a phrase."""
        return [request for request in self._gateway.requests if phrase in _newest(request)[1]]

    def results(self, phrase: str) -> list[Json]:
        """Return what the tools gave on a phrase."""
        return [json.loads(one) for one in _results(self.asked(phrase)[-1])]

    def _answer(self, request: Request) -> Answer:
        said, results = _newest(request)[1], _results(request)
        errand = next((wanted for phrase, wanted in self._errands.items() if phrase in said), ())
        if len(results) < len(errand):
            name, arguments = errand[len(results)]
            task = _TASK.search(said)
            return calls((name, json.dumps(arguments).replace("{task}", task[1] if task else "")))
        reply = " ".join(results) if results else f"echo: {said.rpartition(chr(10))[2]}"
        whole = f"{TICK} {reply}" if "[AUTO]" in said else reply
        gate = next((gate for phrase, gate in self._gates.items() if phrase in said), None)
        return text(whole) if gate is None else text(whole[:6], gate, whole[6:])


def _newest(request: Request) -> tuple[int, str]:
    """Return the place of the newest message, and its text."""
    given = request.json["input"]
    at = max(at for at, item in enumerate(given) if item.get("role") == "user")
    content = given[at]["content"]
    return at, content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _results(request: Request) -> list[str]:
    """Return what the tools of this turn gave so far."""
    since = request.json["input"][_newest(request)[0] :]
    return [item["output"] for item in since if item.get("type") == "function_call_output"]
