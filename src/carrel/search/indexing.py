"""Keeping the index up with the journal: a follower of the feed, an observer of deletions, and rebuilding."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from carrel.journal import EntriesDeleted, Entry, Event, Follower, entries_by_id, entries_since
from carrel.kernel import Access, parse_iso, system_access
from carrel.kernel.limits import SEARCH_REBUILD_ROWS, SEARCH_REBUILDS_AT_A_TIME
from carrel.kernel.settings import SearchSettings
from carrel.search import rebuild_store, store
from carrel.search.embedders import Embedder, EmbeddingUnavailable, embed_texts
from carrel.search.index import put_document
from carrel.search.model import Document
from carrel.search.rebuild_store import Rebuild
from carrel.search.vectors import NO_VECTORS, Vectors
from carrel.storage import Database, Duty, Tx

# Rung when a rebuild was asked for.
REBUILDS = "search_rebuilds"
# Whose chat a lane is; None for one that people share.
PrivateTo = Callable[[Tx, Access, str], str | None]
_TOOL_ROLES = ("toolCall", "toolResult")
_ENTRY_KINDS = ("log", "note")
_read = msgspec.json.Decoder(dict[str, Any]).decode


class Prepared(Struct, frozen=True):
    """What a page of events changes: the meanings of new entries by id, and tasks with theirs."""

    entries: dict[str, Vectors]
    tasks: list[tuple[Document, Vectors]]


class Indexing(Follower[Prepared]):
    """Puts entries and tasks into the index as they are written and changed."""

    name = "search"

    def __init__(self, embedder: Embedder, settings: SearchSettings, private_to: PrivateTo) -> None:
        self._embedder = embedder
        self._settings = settings
        self._private_to = private_to

    async def prepare(self, access: Access, events: list[Event]) -> Prepared:
        """Embed what is new."""
        entries = {log["id"]: log["content"] for log in _bodies(events, "log", "log.appended")}
        tasks = {task["id"]: task for task in _bodies(events, "task", "task.created", "task.updated")}
        documents = [document_of_task(task) for task in tasks.values()]
        texts = [*entries.values(), *(f"{one.label} {one.text}" for one in documents)]
        vectors = await self.embed(texts)
        named = dict(zip(entries, vectors, strict=False))
        return Prepared(named, list(zip(documents, vectors[len(entries) :], strict=True)))

    async def embed(self, texts: list[str]) -> list[Vectors]:
        """Return the vectors of texts; none while they cannot be embedded, since words need not wait for that."""
        try:
            return await embed_texts(self._embedder, texts, self._settings.rerank_chunks_per_doc)
        except EmbeddingUnavailable:
            return [NO_VECTORS] * len(texts)

    def apply(self, tx: Tx, access: Access, events: list[Event], prepared: Prepared) -> None:
        """Index what is new and still there."""
        self.put_entries(tx, access, entries_by_id(tx, access, prepared.entries), prepared.entries)
        for document, vectors in prepared.tasks:
            put_document(tx, access, document, vectors)

    def put_entries(self, tx: Tx, access: Access, entries: Iterable[Entry], vectors: dict[str, Vectors]) -> None:
        """Index those entries that can be found."""
        for entry in entries:
            if self._is_found(entry):
                private_to = self._private_to(tx, access, entry.key) if entry.key is not None else None
                put_document(tx, access, document_of_entry(entry, private_to), vectors.get(entry.id, NO_VECTORS))

    def _is_found(self, entry: Entry) -> bool:
        # What was done to a task is told by the task itself.
        if not entry.content.strip() or entry.task_view == "activities":
            return False
        return entry.role not in _TOOL_ROLES or self._settings.include_tool_call_logs


def _bodies(events: Sequence[Event], field: str, *names: str) -> list[dict[str, Any]]:
    return [_read(event.body)[field] for event in events if event.name in names]


def document_of_entry(entry: Entry, private_to: str | None) -> Document:
    """Return an entry as it is indexed."""
    return Document(
        kind="note" if entry.type == "note" else "log",
        id=entry.id,
        text=entry.content,
        at=entry.created_at,
        speaker="" if entry.author in ("user", "system") else entry.author,
        spaces=() if entry.space_id is None else (entry.space_id,),
        topic_id=entry.topic_id,
        task_id=entry.task_id,
        session_key=entry.key,
        sequence=entry.seq,
        private_to=private_to,
    )


def document_of_task(task: dict[str, Any]) -> Document:
    """Return a task, in the shape of its events, as it is indexed: its tags are no part of its text."""
    return Document(
        kind="task",
        id=task["id"],
        label=task["title"],
        text=task["description"] or "",
        at=parse_iso(task["createdAt"]),
        spaces=() if task["spaceId"] is None else (task["spaceId"],),
        topic_id=task["topicId"],
    )


def observe_entries(db: Database) -> None:
    """Remove the documents of entries in the transaction that deletes these."""
    db.observe(EntriesDeleted, _forget)


def _forget(tx: Tx, change: EntriesDeleted) -> None:
    for kind in _ENTRY_KINDS:
        store.delete_documents(tx, change.access, kind, change.entry_ids)


def request_rebuild(tx: Tx, access: Access) -> None:
    """Have the index of an account's entries rebuilt from the journal; searches go on meanwhile."""
    rebuild_store.request(tx, access)
    tx.wake(REBUILDS)


class Rebuilds(Duty[Rebuild]):
    """Rebuilds indexes, page by page: each entry is written anew where it is, and what belongs to none is removed."""

    name = "search_rebuilds"
    bell = REBUILDS
    items_max = SEARCH_REBUILDS_AT_A_TIME

    def __init__(self, db: Database, indexing: Indexing) -> None:
        super().__init__(db)
        self._indexing = indexing

    def next_due(self, tx: Tx) -> int | None:
        """At once when any account is to be rebuilt."""
        return tx.now if rebuild_store.rebuilds_due(tx, 1) else None

    def take(self, tx: Tx, limit: int) -> list[Rebuild]:
        """Return the rebuilds that are not finished."""
        return rebuild_store.rebuilds_due(tx, limit)

    async def do(self, item: Rebuild) -> None:
        """Write one page; another server that works on the same one changes nothing."""
        access = system_access(item.account_id)
        page = await self.db.long_read(lambda tx: entries_since(tx, access, item.cursor, limit=SEARCH_REBUILD_ROWS))
        vectors = await self._indexing.embed([entry.content for entry in page])
        named = {entry.id: vector for entry, vector in zip(page, vectors, strict=True)}
        await self.db.write(lambda tx: self._write(tx, access, item, page, named))

    def _write(self, tx: Tx, access: Access, item: Rebuild, page: list[Entry], vectors: dict[str, Vectors]) -> None:
        if not page:
            left = store.delete_older_documents(tx, access, _ENTRY_KINDS, item.version, limit=SEARCH_REBUILD_ROWS)
            if left < SEARCH_REBUILD_ROWS:
                rebuild_store.finish(tx, access, item)
        elif rebuild_store.advance(tx, access, item, page[-1].seq):
            self._indexing.put_entries(tx, access, entries_by_id(tx, access, vectors), vectors)
