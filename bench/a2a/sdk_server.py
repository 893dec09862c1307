"""The baseline: the official SDK's own server with its database store on SQLite, and an agent that replies at once.

`python -m bench.a2a.sdk_server DIR DURABILITY TASKS` creates a store with that many tasks, serves it on a free port and
prints the address. It is set up as in its documentation, on the same HTTP server as ours, with the same durability,
and with tracing off, which would only slow it down.
"""

import os
import socket
import sys
from pathlib import Path
from typing import Any

from bench.a2a.shape import ANSWER, CONTEXTS, SAID, state_of, status_time

os.environ["OTEL_INSTRUMENTATION_A2A_SDK_ENABLED"] = "false"

import uvicorn
import uvloop
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from sqlalchemy import event, insert
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine
from sqlalchemy.orm import class_mapper
from starlette.applications import Starlette

ROWS_AT_ONCE = 2_000
SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}


class AtOnce(AgentExecutor):
    """Moves every task through submitted, working, one artifact and completed, without doing any work."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Publish all events and return."""
        assert context.task_id is not None
        assert context.context_id is not None
        assert context.message is not None
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        task = Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        await updater.add_artifact([Part(text=ANSWER)], name="result")
        await updater.complete(updater.new_agent_message([Part(text=ANSWER)]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do nothing: no task is ever left to cancel."""


def open_engine(folder: Path, durability: str) -> AsyncEngine:
    """Open SQLite in WAL mode, like ours."""
    engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'sdk.db'}")

    def prepare(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", f"synchronous={SYNCHRONOUS[durability]}", "busy_timeout=30000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    event.listen(engine.sync_engine, "connect", prepare)
    return engine


async def fill(engine: AsyncEngine, store: DatabaseTaskStore, tasks: int) -> None:
    """Insert tasks as rows that the store itself has made, many in one commit."""
    owner = store.owner_resolver(ServerCallContext())
    columns = [column.key for column in class_mapper(store.task_model).column_attrs]
    for start in range(0, tasks, ROWS_AT_ONCE):
        models = [store._to_orm(seeded(number), owner) for number in range(start, min(start + ROWS_AT_ONCE, tasks))]
        rows = [{name: getattr(model, name) for name in columns} for model in models]
        async with async_sessionmaker(engine).begin() as session:
            await session.execute(insert(store.task_model), rows)


def seeded(number: int) -> Task:
    """Return one ended task."""
    task_id, context_id = f"task-{number}", f"context-{number % CONTEXTS}"
    said = Message(message_id=f"said-{number}", role=Role.ROLE_USER, parts=[Part(text=SAID)], context_id=context_id)
    reply = Message(message_id=f"reply-{number}", role=Role.ROLE_AGENT, parts=[Part(text=ANSWER)])
    status = TaskStatus(state=state_of(number), message=reply)
    status.timestamp.FromMilliseconds(status_time(number))
    result = Artifact(artifact_id="result", name="result", parts=[Part(text=ANSWER)])
    return Task(id=task_id, context_id=context_id, status=status, history=[said], artifacts=[result])


async def serve(folder: Path, durability: str, tasks: int) -> None:
    """Create the store, print the address and serve until killed."""
    engine = open_engine(folder, durability)
    store = DatabaseTaskStore(engine)
    await store.initialize()
    await fill(engine, store, tasks)
    sock = socket.socket(proto=socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(1024)
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    card = AgentCard(
        name="Yardstick",
        description="Answers at once.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[AgentInterface(url=f"{address}/", protocol_binding="JSONRPC", protocol_version="1.0")],
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="answer", name="Answer", description="Answers.", tags=["answer"])],
    )
    handler = DefaultRequestHandler(AtOnce(), store, card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    config = uvicorn.Config(app, loop="none", http="httptools", log_config=None, access_log=False, lifespan="off")
    sys.stdout.write(f"ready {address}/\n")
    sys.stdout.flush()
    await uvicorn.Server(config).serve(sockets=[sock])


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
