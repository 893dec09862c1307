"""A board of documents in one account, with the verbs that tests of search need."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from zlib import crc32

import numpy as np

from carrel.kernel import Access
from carrel.kernel.settings import SearchSettings
from carrel.search import Document, Search, SearchQuery, SearchResult, store
from carrel.search.embedders import Embedder, NoEmbedder, embed_texts
from carrel.search.indexing import put_document
from carrel.search.vectors import Floats
from carrel.visibility import Viewer
from tests.harness.engine import START_MS, Engine, open_engine


class MeaningsOf:
    """An embedder for which texts with words of one group mean the same, and others have little in common."""

    model = "groups/64"

    def __init__(self, *groups: str) -> None:
        self._groups = [set(group.split()) for group in groups]

    async def embed(self, texts: list[str]) -> Floats:
        """Return a vector for each text."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Floats:
        vector: Floats = np.random.default_rng(crc32(text.encode())).standard_normal(64, dtype=np.float32)
        vector /= 8
        for at, words in enumerate(self._groups):
            vector[at] = 4.0 if words & set(text.lower().split()) else 0.0
        return vector


_OF_VIEWER = ("spaces", "user_id", "session_key", "own_tasks", "recalls_board")


def asked(text: str, *, viewer: Any = "lane", lane_task: str | None = None, **more: Any) -> SearchQuery:
    """Return a query: by default of a lane that recalls the board, in the whole account."""
    who = {"recalls_board": True} | {name: more.pop(name) for name in _OF_VIEWER if name in more}
    return SearchQuery(text=text, viewer=Viewer(kind=viewer, task_id=lane_task, **who), **more)


class Board:
    """The documents of one account, and a search over them."""

    def __init__(
        self, engine: Engine, embedder: Embedder | None = None, access: Access | None = None, **settings: Any
    ) -> None:
        self.engine = engine
        self.access = access or engine.access
        self.settings = SearchSettings(**settings)
        self.embedder = embedder or NoEmbedder()
        self.search = Search(engine.db, self.embedder, self.settings)

    async def put(self, name: str, text: str, **more: Any) -> Document:
        """Index a document: by default an entry of a topic."""
        usual: dict[str, Any] = {"kind": "log", "at": START_MS, "spaces": ("s1",), "topic_id": "t1", "on_board": True}
        return await self.put_document(Document(id=name, text=text, **usual | more))

    async def put_document(self, document: Document) -> Document:
        """Index a document, with its meaning if there is an embedder."""
        vectors = await embed_texts(self.embedder, [document.text], 6) if self.embedder.model else []
        await self.engine.db.write(lambda tx: put_document(tx, self.access, document, *vectors))
        return document

    async def remove(self, name: str, kind: Any = "log") -> bool:
        """Remove a document."""
        return await self.engine.db.write(lambda tx: store.delete_documents(tx, self.access, kind, (name,)) > 0)

    async def find(self, text: str, **more: Any) -> SearchResult:
        """Return what a query finds, by default in the whole account."""
        return await self.search.find(self.access, asked(text, **more))

    async def logs(self, text: str, **more: Any) -> list[str]:
        """Return the ids of the entries that a query finds, best first."""
        return [hit.id for hit in (await self.find(text, **more)).logs]


@asynccontextmanager
async def open_board(url: str, embedder: Embedder | None = None, **settings: Any) -> AsyncIterator[Board]:
    """Open a board on an empty store."""
    async with open_engine(url) as engine:
        yield Board(engine, embedder, **settings)
