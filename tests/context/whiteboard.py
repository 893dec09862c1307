"""A board with topics, tasks, entries and notes, and the contexts that are built from it."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from msgspec import structs

from carrel.access import make_space
from carrel.board import LogSource, NewLog, record
from carrel.board.locations import remember_route
from carrel.context import Context, ContextRequest, Contexts, key_named
from carrel.journal import Entry
from carrel.kernel import Access
from carrel.kernel.settings import SearchSettings, Settings
from carrel.search import Search
from carrel.search.embedders import NoEmbedder
from carrel.storage import Database, LongTx, Tx
from carrel.topics import NewTopic, Topic, put_topic, set_topic_digest
from carrel.work import NewTask, Task, create_task
from tests.harness.server import Server, gateways_to, open_server
from tests.harness.wrapped_database import WrappedDatabase
from tests.scripted_gateway import ScriptedGateway

T = TypeVar("T")
_DATED = re.compile(r"- \d{4}-\d\d-\d\d ")


class Whiteboard:
    """The board of a server's account, written and looked at by its owner unless another access is given."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.access = server.access

    @property
    def db(self) -> Database:
        return self.server.db

    async def space(self, name: str, *, visible: bool = False) -> str:
        """Make a space; by default no other space sees it."""
        made, _ = await self.db.write(lambda tx: make_space(tx, self.access, name, default_visible=visible))
        return made.id

    async def topic(self, name: str, digest: str = "", **more: Any) -> Topic:
        """Make a topic; its id is made of its name."""
        new = NewTopic(name=name, id=name.lower().replace(" ", "-"), **more)

        def work(tx: Tx) -> Topic:
            made, _ = put_topic(tx, self.access, new)
            return set_topic_digest(tx, self.access, made.id, digest) if digest else made

        return await self.db.write(work)

    async def task(self, title: str, created_by: Any = None, **more: Any) -> Task:
        """Make a task that the main agent works on; its id is made of its title."""
        given = {"id": title.lower().replace(" ", "-"), "assigned_agent_ids": (), **more}
        new = NewTask(title=title, **given)
        rules = self.server.rules
        return await self.db.write(lambda tx: create_task(tx, self.access, new, rules, created_by=created_by))

    async def log(self, content: str, session: str | None = None, **more: Any) -> Entry:
        """Record what a person said; with `agent_id`, what an agent did."""
        source = LogSource(session_key=session, channel="test")
        new = NewLog(**{"type": "conversation", "content": content, "source": source, **more})
        return (await self.db.write(lambda tx: record(tx, self.access, new)))[0]

    async def note(self, content: str, **more: Any) -> Entry:
        """Record a note."""
        return await self.log(content, type="note", **more)

    async def route(self, session: str, topic: str, task: str | None = None, anchor: str = "") -> None:
        """Remember where messages of a session went."""
        await self.db.write(lambda tx: remember_route(tx, self.access, session, topic, task, anchor))

    async def build(self, session: str | None = None, question: str = "", access: Access | None = None,
                    contexts: Contexts | None = None, **more: Any) -> Context:  # fmt: skip
        """Build a context, once search has caught up."""
        await self.server.indexed()
        asking = access or self.access
        key = await self.db.read(lambda tx: key_named(tx, asking, session)) if session else None
        request = ContextRequest(reference=session, key=key, question=question, **more)
        return await (contexts or self.server.services.contexts).build(asking, request)


@asynccontextmanager
async def open_whiteboard(
    url: str, gateway: ScriptedGateway | None = None, settings: Settings | None = None
) -> AsyncIterator[Whiteboard]:
    """Open a server with an empty board."""
    async with open_server(url, None if gateway is None else gateways_to(gateway), settings) as server:
        yield Whiteboard(server)


def section(context: Context, heading: str) -> list[str]:
    """Return the lines below a heading."""
    return [line.line for line in context.lines if line.section == heading]


class Hindered(WrappedDatabase):
    """A store on which something happens before each long read."""

    def __init__(self, db: Database, before: Callable[[], Awaitable[None]]) -> None:
        super().__init__(db)
        self._before = before

    async def long_read(
        self, work: Callable[[LongTx], T], *, seconds_max: float = 30, urgent: bool = True, feed: bool = True
    ) -> T:
        await self._before()
        return await super().long_read(work, seconds_max=seconds_max, urgent=urgent, feed=feed)


def hindered_search(server: Server, before: Callable[[], Awaitable[None]]) -> Search:
    """Return a search for one at a time, on a store on which something happens before each search."""
    settings = SearchSettings(embedding="none", concurrency=1, concurrency_wait_ms=0)
    return Search(Hindered(server.db, before), NoEmbedder(), settings)


def contexts_with(server: Server, search: Search, **changes: Any) -> Contexts:
    """Return a builder with a search of its own and with other settings of contexts."""
    settings = structs.replace(
        server.services.settings, context=structs.replace(server.services.settings.context, **changes)
    )
    return Contexts(server.db, settings, search)


def undated(lines: list[str]) -> list[str]:
    """Return lines of a block that begin with a day, without it."""
    assert all(_DATED.match(line) for line in lines), lines
    return [_DATED.sub("- ", line) for line in lines]
