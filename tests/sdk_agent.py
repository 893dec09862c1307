"""A remote A2A agent that is not ours: the official SDK's server, with turns that the test writes.

    async def greet(turn: Turn) -> None:
        await turn.updater.add_artifact([Part(text=f"Hello, {turn.text}.")])
        await turn.updater.complete()

    with SdkAgent(greet) as agent:
        ... point a client at agent.url ...
        agent.calls                       # the requests received: method, headers and body

It runs in a thread of its own, so that synchronous and asynchronous tests can use it.
"""

import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import pytest
import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part, Role, Task, TaskStatus
from a2a.types.a2a_pb2 import TaskState
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

WAIT_SECONDS = 20.0
BOTH = (("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"))


@dataclass(frozen=True)
class Turn:
    """One message that is being answered."""

    context: RequestContext
    queue: EventQueue
    updater: TaskUpdater

    @property
    def text(self) -> str:
        """The text of the message."""
        return self.context.get_user_input()

    @property
    def parts(self) -> list[Part]:
        """The parts of the message."""
        assert self.context.message is not None
        return list(self.context.message.parts)

    async def say(self, *parts: Part) -> None:
        """Answer with a message instead of a task."""
        await self.queue.enqueue_event(Message(message_id="m1", role=Role.ROLE_AGENT, parts=parts))

    def words(self, text: str) -> Message:
        """Return a message that goes with a state."""
        return self.updater.new_agent_message([Part(text=text)])


Play = Callable[[Turn], Awaitable[None]]


async def echo(turn: Turn) -> None:
    """Reply with the message itself."""
    await turn.updater.add_artifact([Part(text=f"You said: {turn.text}")], name="answer")
    await turn.updater.complete()


@dataclass(frozen=True)
class Call:
    """A received request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes


class SdkAgent:
    """The server, a context manager."""

    def __init__(
        self,
        play: Play = echo,
        *,
        interfaces: Sequence[tuple[str, str]] = BOTH,
        streaming: bool = True,
        token: str = "",
        makes_tasks: bool = True,
        old_card: bool = False,
    ) -> None:
        self.play = play
        self.calls: list[Call] = []
        self._makes_tasks = makes_tasks
        self._token = token
        self._changed = threading.Condition()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.card = self._card(interfaces, streaming)
        handler = DefaultRequestHandler(
            agent_executor=_Player(self), task_store=InMemoryTaskStore(), agent_card=self.card
        )
        is_old = any(version == "0.3" for _, version in interfaces)
        # The REST routes take any path for a tenant's, so they come last.
        routes: list[BaseRoute] = list(create_agent_card_routes(self.card))
        if old_card:
            routes = [Route("/.well-known/agent.json", self._old_card)]
        routes += create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=is_old)
        routes += create_rest_routes(handler, path_prefix="/rest")
        self._server = uvicorn.Server(
            uvicorn.Config(
                _Recorder(Starlette(routes=routes), self),
                log_level="error",
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="sdk-agent", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.should_exit = True
        self._thread.join(WAIT_SECONDS)
        self._socket.close()

    def methods(self) -> list[str]:
        """Return the operations that were called, in order: JSON-RPC methods, or paths below the REST base."""
        return [call.method for call in self.calls if call.method != "card"]

    def wait_for(self, method: str) -> Call:
        """Return the first request of a method, once it was received."""

        def first() -> Call | None:
            return next((call for call in self.calls if call.method == method), None)

        with self._changed:
            found = self._changed.wait_for(first, WAIT_SECONDS)
        assert found is not None, f"no {method} came; there were {self.methods()}"
        return found

    def note(self, call: Call) -> None:
        """Record a request."""
        with self._changed:
            self.calls.append(call)
            self._changed.notify_all()

    def refuses(self, headers: dict[str, str]) -> bool:
        """Return whether a request lacks the token."""
        return bool(self._token) and headers.get("authorization") != f"Bearer {self._token}"

    async def work(self, context: RequestContext, queue: EventQueue) -> None:
        """Take one turn."""
        assert context.task_id is not None
        assert context.context_id is not None
        turn = Turn(context, queue, TaskUpdater(queue, context.task_id, context.context_id))
        if self._makes_tasks and context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            history = [context.message] if context.message else []
            await queue.enqueue_event(
                Task(id=context.task_id, context_id=context.context_id, status=status, history=history)
            )
        await self.play(turn)

    def _card(self, interfaces: Sequence[tuple[str, str]], streaming: bool) -> AgentCard:
        paths = {"JSONRPC": "/rpc", "HTTP+JSON": "/rest"}
        return AgentCard(
            name="Echo",
            description="Says back what was said.",
            version="1.0.0",
            supported_interfaces=[
                AgentInterface(
                    url=self.url + paths.get(binding, "/"), protocol_binding=binding, protocol_version=version
                )
                for binding, version in interfaces
            ],
            capabilities=AgentCapabilities(streaming=streaming),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="echo", name="Echo", description="Repeats.", tags=["test"])],
        )

    async def _old_card(self, request: Request) -> Response:
        return JSONResponse(
            {
                "name": "Echo",
                "description": "Says back what was said.",
                "url": f"{self.url}/rpc",
                "version": "1.0.0",
                "capabilities": {"streaming": self.card.capabilities.streaming},
                "skills": [{"id": "echo", "name": "Echo", "description": "Repeats.", "tags": ["test"]}],
            }
        )


class _Player(AgentExecutor):
    def __init__(self, agent: SdkAgent) -> None:
        self._agent = agent

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await self._agent.work(context, event_queue)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class _Recorder:
    """Records every request before the server sees it, and refuses those without the token."""

    def __init__(self, app: ASGIApp, agent: SdkAgent) -> None:
        self._app = app
        self._agent = agent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            piece = await receive()
            body += piece.get("body", b"")
            if not piece.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self._agent.note(_call(scope["path"], headers, body))
        if self._agent.refuses(headers):
            await Response(status_code=401)(scope, receive, send)
            return
        whole = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Any:
            return next(whole, None) or await receive()

        await self._app(scope, replay, send)


def _call(path: str, headers: dict[str, str], raw: bytes) -> Call:
    body: Any = json.loads(raw) if raw else None
    if path.startswith("/.well-known/"):
        return Call("card", path, headers, body, raw)
    return Call(body["method"] if path == "/rpc" else path.removeprefix("/rest"), path, headers, body, raw)


# Starts a remote agent.
Remote = Callable[..., SdkAgent]


@pytest.fixture
def remote() -> Iterator[Remote]:
    """Start remote agents; those that still run at the end of the test are stopped."""
    with ExitStack() as stack:
        yield lambda *play, **how: stack.enter_context(SdkAgent(*play, **how))
