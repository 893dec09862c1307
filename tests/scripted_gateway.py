"""A model gateway that plays a script.

It is a real HTTP server in a thread of its own, so that synchronous tests, asynchronous tests and servers in other
processes can use it:

    with ScriptedGateway() as gateway:
        gateway.script(calls(("task_list", {})), text("Two tasks are open."))     # one answer per request, in order
        gateway.rule = lambda request: text(f"heard {request.json['input']}")     # or a rule, when the script is empty
        ... point a Carrel at gateway.base_url ...
        gateway.requests[0].body                                                  # exactly the bytes received

A `Gate` in an answer holds it until the test opens the gate; `gate.wait_reached()` returns when the server waits there.
Nothing sleeps and every wait is bounded. Only POST …/v1/responses is scripted and recorded; GET …/v1/models lists one
model. A request beyond the script is refused with 400, which is not retried.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

WAIT_SECONDS = 20.0
MODEL = "scripted-model"


class Gate:
    """A point in an answer where the server waits until the test opens it."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened: Future[None] = Future()

    def open(self) -> None:
        """Let everything go on that waits here, now or later."""
        if not self._opened.done():
            self._opened.set_result(None)

    def wait_reached(self, timeout_seconds: float = WAIT_SECONDS) -> None:
        """Return when the server waits at the gate."""
        if not self._reached.wait(timeout_seconds):
            raise AssertionError("the scripted gateway did not reach the gate in time")

    async def reached(self, timeout_seconds: float = WAIT_SECONDS) -> None:
        """Return when the server waits at the gate, without blocking the test's own loop."""
        await asyncio.to_thread(self.wait_reached, timeout_seconds)

    async def passed(self) -> None:
        """Note that the gate is reached and wait for it to open; the server calls this."""
        self._reached.set()
        await asyncio.shield(asyncio.wrap_future(self._opened))


class Drop:
    """Instead of a piece: the connection is cut here."""


DROP = Drop()
Piece = bytes | Gate | Drop


@dataclass(frozen=True)
class Request:
    """A received request: the exact bytes of the body, and the headers by lower-case name."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def talk(self) -> list[Any]:
        """The items of the input without the context block."""
        return [item for item in self.json["input"] if item.get("role") != "developer"]

    @property
    def block(self) -> str:
        """The context block between its markers; empty where none was sent."""
        given = self.json["input"]
        items = [item for item in given if item.get("role") == "developer"] if isinstance(given, list) else []
        return "\n".join(items[0]["content"][0]["text"].split("\n")[2:-1]) if items else ""


@dataclass(frozen=True)
class Answer:
    """The answer to one request; build it with `text`, `calls`, `http_error`, `stream_of`, `raw` or `dropped`."""

    output: Sequence[dict[str, Any]] = ()
    chunks: Sequence[str | Gate | Drop] = ()
    usage: dict[str, int] = field(default_factory=lambda: {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18})
    before: Gate | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Sequence[Piece] | None = None
    as_json: bool = False


def text(*chunks: str | Gate | Drop, before: Gate | None = None, as_json: bool = False) -> Answer:
    """Return a message whose chunks are streamed one by one, with gates and DROP between them.

    `before` holds even the first byte. `as_json` answers with plain JSON although a stream was requested.
    """
    whole = "".join(chunk for chunk in chunks if isinstance(chunk, str))
    return Answer(output=[message_item(whole)], chunks=chunks, before=before, as_json=as_json)


def calls(*wanted: tuple[str, Any], said: str = "", before: Gate | None = None) -> Answer:
    """Return function calls, each (name, arguments); arguments that are not a string are written as JSON."""
    items = [call_item(name, arguments, number) for number, (name, arguments) in enumerate(wanted, 1)]
    head = [message_item(said)] if said else []
    return Answer(output=[*head, *items], chunks=[said] if said else [], before=before)


def http_error(status: int, message: str = "scripted error", code: str = "scripted", **headers: str) -> Answer:
    """Return an HTTP error with an error body; header names are written with underscores (`retry_after="3"`)."""
    body = json.dumps({"error": {"message": message, "type": "scripted_error", "code": code, "param": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, headers={"content-type": "application/json", **named}, pieces=[body])


def stream_of(*events: dict[str, Any] | str | Gate | Drop, before: Gate | None = None) -> Answer:
    """Return a hand-written event stream: dicts become events, strings become bare `data:` lines."""
    pieces: list[Piece] = [
        event if isinstance(event, Gate | Drop) else event_of(event) if isinstance(event, dict) else line_of(event)
        for event in events
    ]
    return Answer(headers={"content-type": "text/event-stream"}, pieces=pieces, before=before)


def raw(*pieces: Piece, content_type: str = "application/json", status: int = 200) -> Answer:
    """Return any bytes at all: garbage, broken JSON, an error page."""
    return Answer(status=status, headers={"content-type": content_type}, pieces=pieces)


def dropped() -> Answer:
    """Return an answer that closes the connection before its first byte."""
    return Answer(status=0)


def message_item(said: str) -> dict[str, Any]:
    """Return a message as an output item."""
    content = [{"type": "output_text", "text": said, "annotations": []}]
    return {"type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed", "content": content}


def call_item(name: str, arguments: Any, number: int = 1) -> dict[str, Any]:
    """Return a function call as an output item; its call_id gets its final number when it is played."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
    return {**item, "name": name, "arguments": written, "status": "completed"}


class ScriptedGateway:
    """The server, a context manager. `requests` holds what was received so far.

    What differs in another dialect is in `path` and `render`; see `tests/scripted_dialects.py`.
    """

    path = "/v1/responses"

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.rule: Callable[[Request], Answer] | None = None
        self.models = raw(json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}).encode())
        self.base_url = ""
        self.disconnects = 0
        self.connections = 0
        self._script: deque[Answer] = deque()
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-gateway", daemon=True)
        self._server: asyncio.Server | None = None

    def script(self, *answers: Answer) -> None:
        """Append answers; each is used for one request, in order."""
        with self._changed:
            self._script.extend(answers)

    def wait_for_requests(self, count: int, timeout_seconds: float = WAIT_SECONDS) -> list[Request]:
        """Return the requests once there are at least `count`."""
        self._wait(lambda: len(self.requests) >= count, f"{count} requests", timeout_seconds)
        return self.requests

    def wait_for_disconnects(self, count: int, timeout_seconds: float = WAIT_SECONDS) -> None:
        """Return once `count` clients have hung up while an answer was being held."""
        self._wait(lambda: self.disconnects >= count, f"{count} disconnects", timeout_seconds)

    def go_away(self) -> None:
        """Stop listening and hang up, as a server that is killed; requests are no longer received."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(WAIT_SECONDS)

    def come_back(self) -> None:
        """Listen again, at the same address."""
        self._listen(int(self.base_url.rpartition(":")[2]))

    def _listen(self, port: int) -> None:
        starting = asyncio.start_server(self._serve, "127.0.0.1", port)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(WAIT_SECONDS)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listen(0)
        assert self._server is not None
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(WAIT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_SECONDS)
        self._loop.close()

    def _wait(self, is_met: Callable[[], bool], what: str, timeout_seconds: float) -> None:
        with self._changed:
            if not self._changed.wait_for(is_met, timeout_seconds):
                raise AssertionError(f"the scripted gateway did not see {what} in time")

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        others = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        for one in others:
            one.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                method, received = request
                answer = self._choose(method, received)
                wants_stream = method == "POST" and b'"stream":true' in received.body.replace(b" ", b"")
                if not await self._play(answer, wants_stream, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _choose(self, method: str, request: Request) -> Answer:
        if method == "GET" and request.path.partition("?")[0].endswith("/v1/models"):
            return self.models
        if method != "POST" or not request.path.endswith(self.path):
            return http_error(404, f"no route {method} {request.path}")
        with self._changed:
            self.requests.append(request)
            number = len(self.requests)
            scripted = self._script.popleft() if self._script else None
            self._changed.notify_all()
        if scripted is None and self.rule is not None:
            scripted = self.rule(request)
        return _numbered(scripted, number) if scripted else http_error(400, "The script has no answer left.")

    @staticmethod
    def render(answer: Answer, wants_stream: bool) -> tuple[dict[str, str], Sequence[Piece]]:
        """Return the headers and the pieces of an answer's body."""
        return _render(answer, wants_stream)

    async def _play(
        self, answer: Answer, wants_stream: bool, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Write the answer; return whether the connection can serve another request."""
        if answer.before is not None and not await self._pass(answer.before, reader):
            return False
        if answer.status == 0:
            return False
        headers, pieces = answer.headers, answer.pieces
        if pieces is None:
            headers, pieces = self.render(answer, wants_stream)
        head = [f"HTTP/1.1 {answer.status} Scripted", "Transfer-Encoding: chunked", *map(": ".join, headers.items())]
        writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
        for piece in pieces:
            if isinstance(piece, Drop) or (isinstance(piece, Gate) and not await self._pass(piece, reader)):
                await writer.drain()
                return False
            if isinstance(piece, bytes) and piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _pass(self, gate: Gate, reader: asyncio.StreamReader) -> bool:
        """Wait at the gate; return False when the client hung up meanwhile."""
        opened = asyncio.ensure_future(gate.passed())
        hung_up = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({opened, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        if not hung_up.done():
            hung_up.cancel()
            # Until it has really ended, the reader counts as taken and the next request could not be read.
            await asyncio.wait({hung_up})
            return True
        opened.cancel()
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()
        return False


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, Request] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    method, path, _ = first.split(" ", 2)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return method, Request(path=path, headers=headers, body=body)


def _numbered(answer: Answer, number: int) -> Answer:
    """Return the answer with call ids that no other answer uses."""
    output = [
        {**item, "call_id": f"{item['call_id']}_{number}"} if "call_id" in item else item for item in answer.output
    ]
    return Answer(**{**answer.__dict__, "output": output})


def _render(answer: Answer, wants_stream: bool) -> tuple[dict[str, str], Sequence[Piece]]:
    whole = {"id": "resp_scripted", "object": "response", "created_at": 0, "model": MODEL, "error": None}
    whole |= {"status": "completed", "output": list(answer.output), "usage": answer.usage}
    if not wants_stream or answer.as_json:
        gates = [chunk for chunk in answer.chunks if not isinstance(chunk, str)]
        return {"content-type": "application/json"}, [*gates, json.dumps(whole).encode()]
    pieces: list[Piece] = [event_of({"type": "response.created", "response": {**whole, "output": []}})]
    for index, item in enumerate(answer.output):
        at = {"output_index": index, "item_id": item["id"]}
        pieces.append(event_of({"type": "response.output_item.added", "item": {**item, "content": []}, **at}))
        for chunk in answer.chunks if item["type"] == "message" else ():
            delta = {"type": "response.output_text.delta", "content_index": 0, **at}
            pieces.append(event_of({**delta, "delta": chunk}) if isinstance(chunk, str) else chunk)
        pieces.append(event_of({"type": "response.output_item.done", "item": item, **at}))
    pieces += [event_of({"type": "response.completed", "response": whole}), line_of("[DONE]")]
    return {"content-type": "text/event-stream"}, pieces


def event_of(body: dict[str, Any]) -> bytes:
    """Return an event of a stream, named by its type."""
    return f"event: {body['type']}\n".encode() + line_of(json.dumps(body))


def line_of(content: str) -> bytes:
    """Return an event of a stream without a name."""
    return f"data: {content}\n\n".encode()
