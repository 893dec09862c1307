"""A board to sort things into: verbs that make spaces, topics and tasks on it and send entries to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from carrel.access import make_space
from carrel.board import Classifier, LogSource, NewLog, Sorter, backlog, record, settle_accounts
from carrel.board.model_calls import ModelOf
from carrel.journal import Entry, entries_by_id
from carrel.kernel import Access
from carrel.kernel.settings import Recall, Settings
from carrel.search import Similarity
from carrel.search.embedders import NoEmbedder
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task
from tests.harness.engine import Engine, open_engine

INTERVAL_SECONDS = 10


class Board:
    """The board of the engine's account."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.access: Access = engine.access
        self.db = engine.db

    async def space(self, name: str) -> str:
        """Make a space; return its id."""
        return (await self.db.write(lambda tx: make_space(tx, self.access, name=name)))[0].id

    async def topic(self, name: str, **more: Any) -> str:
        """Make a topic; return its id."""
        return (await self.db.write(lambda tx: put_topic(tx, self.access, NewTopic(name=name, **more))))[0].id

    async def task(self, title: str, **more: Any) -> str:
        """Make a task; return its id."""
        new = NewTask(title=title, **more)
        return (await self.db.write(lambda tx: create_task(tx, self.access, new, self.engine.rules))).id

    async def send(self, content: str, session_key: str | None = None, source: Any = None, **more: Any) -> Entry:
        """Send an entry of a person, unless `agent_id` says otherwise."""
        said = LogSource(session_key=session_key, **source or {})
        log = NewLog(**{"type": "conversation", "content": content, "source": said, **more})
        return (await self.db.write(lambda tx: record(tx, self.access, log)))[0]

    def classifier(self, model_of: ModelOf = lambda tx, access: None, **settings: Any) -> Classifier:
        """Return the classifier of a server; without a model unless one is given."""
        sorter = Sorter(
            db=self.db,
            settings=Settings(**settings),
            rules=self.engine.rules,
            similarity=Similarity(NoEmbedder()),
        )
        return Classifier(sorter, model_of)

    async def sort(self, classifier: Classifier | None = None, *, turns: int = 1) -> None:
        """Let so many turns pass."""
        duty = classifier or self.classifier()
        for _ in range(turns):
            await duty.round()
            self.engine.advance(INTERVAL_SECONDS)

    async def pending(self) -> int:
        """Return how many entries are still to be sorted."""
        return (await self.db.read(lambda tx: backlog(tx, self.access))).pending

    async def entry(self, entry: Entry | str) -> Entry:
        """Return an entry as it is now."""
        named = entry if isinstance(entry, str) else entry.id
        (found,) = await self.db.read(lambda tx: entries_by_id(tx, self.access, (named,)))
        return found


@asynccontextmanager
async def open_board(store_url: str, recall: Recall = "space") -> AsyncIterator[Board]:
    """Open a store with an empty board; by default what is said in lanes is on it."""
    async with open_engine(store_url) as engine:
        await settle_accounts(engine.db, recall)
        yield Board(engine)
