"""A Bot API on a real port that records its calls and answers as it is told: the only fake of these tests."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

WAIT_SECONDS_MAX = 20.0
TOKEN = "4242:bot-token-that-nobody-may-see"
BOT_NAME = "CarrelTestBot"
Json = dict[str, Any]


class Answer(Struct, frozen=True, kw_only=True):
    """How one call is answered: with a status, a description and parameters, or by a connection that is cut."""

    status: int = 200
    description: str = ""
    parameters: Json = {}
    cut: bool = False
    # Held here until the event is set.
    gate: asyncio.Event | None = None


class Call(Struct, frozen=True):
    """A call that came."""

    method: str
    body: Json


class BotApi:
    """The server's side: what was called, and what is answered next."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.files: dict[str, bytes] = {}
        self.url = ""
        self._script: deque[Answer] = deque()
        self._changed = asyncio.Condition()
        self._refusals: dict[str, tuple[int, str]] = {}
        self._topics = 100

    def script(self, *answers: Answer) -> None:
        """Answer the next calls of sendMessage so; all others are taken."""
        self._script.extend(answers)

    def refuse(self, method: str, status: int, description: str) -> None:
        """Refuse every call of a method from now on."""
        self._refusals[method] = (status, description)

    def texts(self, chat_id: int | None = None) -> list[str]:
        """What was said, in one chat or in all."""
        found = [call.body for call in self.calls if call.method == "sendMessage"]
        return [body["text"] for body in found if chat_id in (None, body["chat_id"])]

    async def said(self, count: int) -> list[str]:
        """What was said once there are so many messages."""
        await self.called(count, "sendMessage")
        return self.texts()

    async def called(self, count: int, method: str) -> list[Json]:
        """The bodies of a method's calls once there are so many."""

        def found() -> list[Json]:
            return [call.body for call in self.calls if call.method == method]

        async with asyncio.timeout(WAIT_SECONDS_MAX), self._changed:
            await self._changed.wait_for(lambda: len(found()) >= count)
        return found()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["BotApi"]:
        """Answer on a free port."""
        server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ", 2)[1]
            length = next((line for line in head.lower().split("\r\n") if line.startswith("content-length:")), ":0")
            body = await reader.readexactly(int(length.partition(":")[2]))
            status, content = await self._answer(path, body)
            if status:
                writer.write(b"HTTP/1.1 %d Fake\r\nContent-Length: %d\r\n\r\n%b" % (status, len(content), content))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            # A server that was stopped in the middle of a call has hung up.
            return
        finally:
            writer.close()

    async def _answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        if path.startswith(f"/file/bot{TOKEN}/"):
            content = self.files.get(path.removeprefix(f"/file/bot{TOKEN}/"))
            return (404, b"") if content is None else (200, content)
        if not path.startswith(f"/bot{TOKEN}/"):
            return 401, _refused(401, "Unauthorized")
        call = Call(path.rpartition("/")[2], json.loads(body or b"{}"))
        async with self._changed:
            self.calls.append(call)
            self._changed.notify_all()
        if call.method in self._refusals:
            status, description = self._refusals[call.method]
            return status, _refused(status, description)
        answer = self._script.popleft() if self._script and call.method == "sendMessage" else Answer()
        if answer.gate is not None:
            await answer.gate.wait()
        if answer.cut:
            return 0, b""
        if answer.status != 200:
            return answer.status, _refused(answer.status, answer.description, answer.parameters)
        return 200, json.dumps({"ok": True, "result": self._result(call)}).encode()

    def _result(self, call: Call) -> Json:
        if call.method == "getMe":
            return {"id": 4242, "is_bot": True, "first_name": "Carrel", "username": BOT_NAME}
        if call.method == "getFile":
            return {"file_id": call.body["file_id"], "file_path": f"documents/{call.body['file_id']}"}
        if call.method == "createForumTopic":
            self._topics += 1
            return {"message_thread_id": self._topics, "name": call.body["name"], "icon_color": 7322096}
        return {"message_id": len(self.calls), "chat": {"id": call.body.get("chat_id")}}


def _refused(status: int, description: str, parameters: Json | None = None) -> bytes:
    more = {"parameters": parameters} if parameters else {}
    return json.dumps({"ok": False, "error_code": status, "description": description, **more}).encode()
