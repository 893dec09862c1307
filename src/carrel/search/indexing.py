"""Keeps the index up to date with the board: a feed follower, an observer of deletions, and rebuilding.

Events only name what to index; the content is read from the store in the transaction that writes the index. So the
index never holds anything older than the event, and deleted things do not come back.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from carrel.journal import EntriesDeleted, Event, Follower
from carrel.kernel import MS_PER_SECOND, Access, system_access
from carrel.kernel.limits import SEARCH_REBUILD_ROWS, SEARCH_REBUILDS_AT_A_TIME
from carrel.kernel.settings import SearchSettings
from carrel.search import store
from carrel.search.embedders import Embedder, EmbeddingUnavailable, embed_texts
from carrel.search.model import KEPT, Document, DocumentKind, place_mark
from carrel.search.store import Rebuild, Stored
from carrel.search.vectors import NO_VECTORS, Vectors
from carrel.search.words import date_words, distinct_words, words_of
from carrel.storage import Database, Duty, Tx
from carrel.visibility import is_mark, session_mark, space_mark

# Rung when a rebuild was requested.
REBUILDS = "search_rebuilds"
SubjectKind = Literal["topic", "task", "entry"]
# What a document is about; an entry is indexed as a log or as a note.
Subject = tuple[SubjectKind, str]
# The kind and the id of a document.
Name = tuple[str, str]
_DOCUMENTS: dict[SubjectKind, tuple[DocumentKind, ...]] = {
    "topic": ("topic",),
    "task": ("task",),
    "entry": ("log", "note"),
}
_SUBJECTS: dict[str, SubjectKind] = {name: of for of, kinds in _DOCUMENTS.items() for name in (of, *kinds)}
# Their changes may change where other documents are visible.
_SPREADING = ("topic", "task")
# Parts of the index that are no document: what is visible in a space, what was said in a session, and everything.
_PARTS: dict[str, Callable[[str, str], str]] = {
    "space": space_mark,
    "session": session_mark,
    "account": lambda account_id, _: space_mark(account_id, None),
}
_read = msgspec.json.Decoder(dict[str, Any]).decode


def put_document(tx: Tx, access: Access, document: Document, vectors: Vectors = NO_VECTORS) -> None:
    """Index a document, replacing the earlier one with its kind and id; without vectors, only words find it."""
    reach, places = document.reach(access.account_id), document.places(access.account_id)
    kept = () if document.kind == "log" else (KEPT,)
    said, speaker = _said(document), words_of(document.speaker)
    stored = Stored(
        number=0,
        version=0,
        kind=document.kind,
        id=document.id,
        at=document.at,
        reach=" ".join(reach),
        places=" ".join(places),
        speaker=" ".join(distinct_words(speaker)),
        session_key=document.session_key,
        sequence=document.sequence,
        length=len(said),
        is_question=int(document.text.rstrip().endswith("?")),
        model=vectors.model,
        codes=vectors.codes,
        label=" ".join(distinct_words(words_of(document.label))),
        terms=" ".join((*reach, *places, *kept, *_own_terms(document, said, speaker))),
        vectors=vectors.quantized,
    )
    store.write_document(tx, access, stored)


def _said(document: Document) -> list[str]:
    return words_of(f"{document.label} {document.text}")


def _own_terms(document: Document, said: list[str], speaker: list[str]) -> tuple[str, ...]:
    return distinct_words((*said, *speaker, *date_words(document.at)))


def has_words_of(stored: Stored, document: Document) -> bool:
    """Return whether a stored document has the same words as this one, so that its vectors can be reused."""
    said = _said(document)
    if stored.length != len(said):
        return False
    own = tuple(term for term in stored.terms.split() if not is_mark(term))
    return own == _own_terms(document, said, words_of(document.speaker))


def marks_text(access: Access, document: Document | None) -> str:
    """Return the marks of a document as they are stored, empty for none."""
    if document is None:
        return ""
    return " ".join((" ".join(document.reach(access.account_id)), " ".join(document.places(access.account_id))))


class Source(Protocol):
    """Where documents come from: the board as it is stored."""

    def documents(self, tx: Tx, access: Access, subjects: Iterable[Subject], *, tool_calls: bool) -> list[Document]:
        """Return the findable ones of these subjects, in their current state."""

    def ids_after(self, tx: Tx, access: Access, kind: SubjectKind, after: str, *, limit: int) -> list[str]:
        """Return the next ids of a kind, in order."""


class Prepared(Struct, frozen=True):
    """What is to be indexed anew, and the vectors of those documents by kind and id."""

    subjects: list[Subject]
    vectors: dict[Name, Vectors]


class Indexing(Follower[Prepared]):
    """Puts topics, tasks and entries into the index as they are written, changed, moved and deleted."""

    name = "search"

    def __init__(self, db: Database, source: Source, embedder: Embedder, settings: SearchSettings) -> None:
        self.db = db
        self.source = source
        self._embedder = embedder
        self._settings = settings

    async def prepare(self, access: Access, events: list[Event]) -> Prepared:
        """Embed what the events are about."""
        return await self.gather(access, list(dict.fromkeys(filter(None, map(_subject, events)))))

    async def gather(self, access: Access, subjects: list[Subject], *, anew: bool = False) -> Prepared:
        """Return the vectors of those subjects; stored ones are reused if the words are the same, unless `anew`."""
        if not subjects:
            return Prepared([], {})

        def look(tx: Tx) -> tuple[list[Document], dict[Name, Vectors]]:
            documents = self.documents(tx, access, subjects)
            return documents, {} if anew else self._kept(tx, access, documents)

        documents, vectors = await self.db.long_read(look, urgent=False, feed=False)
        missing = [one for one in documents if (one.kind, one.id) not in vectors]
        made = await self._embed([f"{one.label} {one.text}".strip() for one in missing])
        vectors |= {(one.kind, one.id): each for one, each in zip(missing, made, strict=True)}
        return Prepared(subjects, vectors)

    def documents(self, tx: Tx, access: Access, subjects: Iterable[Subject]) -> list[Document]:
        """Return the documents of those subjects."""
        return self.source.documents(tx, access, subjects, tool_calls=self._settings.include_tool_call_logs)

    def _kept(self, tx: Tx, access: Access, documents: list[Document]) -> dict[Name, Vectors]:
        stored = store.documents_named(tx, access, [(one.kind, one.id) for one in documents])
        return {
            (one.kind, one.id): Vectors(known.model, known.vectors, known.codes)
            for one in documents
            if (known := stored.get((one.kind, one.id))) is not None
            and known.model == self._embedder.model
            and has_words_of(known, one)
        }

    async def _embed(self, texts: list[str]) -> list[Vectors]:
        """Return the vectors of texts; none while they cannot be embedded, since words need not wait for that."""
        try:
            return await embed_texts(self._embedder, texts, self._settings.rerank_chunks_per_doc)
        except EmbeddingUnavailable:
            return [NO_VECTORS] * len(texts)

    def apply(self, tx: Tx, access: Access, events: list[Event], prepared: Prepared) -> None:
        """Index what the events are about, in its current state; a removed space has its contents rebuilt."""
        self.put(tx, access, prepared)
        for event in events:
            if event.name == "space.deleted" and event.space_id is not None:
                request_rebuild(tx, access, "space", event.space_id)

    def put(self, tx: Tx, access: Access, prepared: Prepared, *, spread: bool = True) -> None:
        """Index those subjects that can be found, and remove the others.

        The visibility of a topic or a task decides that of its contents: `spread` updates those as well.
        """
        found: dict[Name, Document] = {}
        found |= {(one.kind, one.id): one for one in self.documents(tx, access, prepared.subjects)}
        names: list[Name] = [(kind, name) for subject, name in prepared.subjects for kind in _DOCUMENTS[subject]]
        before = store.marks_named(tx, access, names)
        spreads = spread and any(kind in _SPREADING for kind, _ in names)
        is_rebuilding = spreads and store.is_rebuilding(tx, access)
        for name in names:
            if (document := found.get(name)) is not None:
                put_document(tx, access, document, prepared.vectors.get(name, NO_VECTORS))
            elif name in before:
                store.delete_documents(tx, access, name[0], (name[1],))
            if not spreads or name[0] not in _SPREADING:
                continue
            # A document that is not indexed yet has no contents in the index, unless the index is incomplete.
            known = before.get(name, "" if is_rebuilding else None)
            if known is not None and known != marks_text(access, document):
                request_rebuild(tx, access, _SUBJECTS[name[0]], name[1])


def _subject(event: Event) -> Subject | None:
    """What an event is about, if it can be found."""
    room = event.name.partition(".")[0]
    if room not in ("topic", "task", "log"):
        return None
    body = _read(event.body)
    # A deleted thing is named only by its id.
    name = body[room]["id"] if room in body else body.get("id")
    return None if name is None else (_SUBJECTS[room], name)


class Lag(Struct, frozen=True, kw_only=True):
    """How far the index of an account is behind: in time, and in unprocessed events or parts."""

    seconds: float
    pending: int


def index_lag(tx: Tx, access: Access) -> Lag:
    """Return how far the index of an account is behind."""
    events, since = Indexing.lag(tx, access)
    parts, requested = store.oldest_rebuild(tx, access)
    oldest = min((at for at in (since, requested) if at is not None), default=tx.now)
    return Lag(seconds=max(0, tx.now - oldest) / MS_PER_SECOND, pending=events + parts)


def observe_entries(db: Database) -> None:
    """Remove the documents of entries in the transaction that deletes the entries."""
    db.observe(EntriesDeleted, _forget)


def _forget(tx: Tx, change: EntriesDeleted) -> None:
    for kind in _DOCUMENTS["entry"]:
        store.delete_documents(tx, change.access, kind, [entry.id for entry in change.entries])


def request_rebuild(
    tx: Tx, access: Access, kind: SubjectKind | Literal["space", "session"] | None = None, name: str | None = None
) -> None:
    """Request that an account's index is rebuilt: all of it, all of a kind, or one thing with its contents."""
    for each in _DOCUMENTS if kind is None else (kind,):
        store.request_rebuild(tx, access, each if name is None else f"{each}:{name}")
    tx.wake(REBUILDS)


class Rebuilds(Duty[Rebuild]):
    """Rebuilds parts of the index, page by page; at the end, orphaned documents are removed."""

    name = "search_rebuilds"
    bell = REBUILDS
    items_max = SEARCH_REBUILDS_AT_A_TIME
    take = staticmethod(store.rebuilds_due)

    def __init__(self, indexing: Indexing) -> None:
        super().__init__(indexing.db)
        self._indexing = indexing

    def next_due(self, tx: Tx) -> int | None:
        """At once if anything is to be rebuilt."""
        return tx.now if store.rebuilds_due(tx, 1) else None

    async def do(self, item: Rebuild) -> None:
        """Write one page; if another server works on the same page, nothing changes."""
        access = system_access(item.account_id)
        subjects, cursor = await self.db.long_read(lambda tx: self._page(tx, access, item), urgent=False)
        prepared = await self._indexing.gather(access, subjects, anew=":" not in item.part)
        await self.db.write(lambda tx: self._write(tx, access, item, prepared, cursor))

    def _page(self, tx: Tx, access: Access, item: Rebuild) -> tuple[list[Subject], str]:
        """Return the next subjects and the cursor after them; nothing at the end."""
        kind, _, name = item.part.partition(":")
        if not name:
            subject = _SUBJECTS[kind]
            ids = self._indexing.source.ids_after(tx, access, subject, item.cursor, limit=SEARCH_REBUILD_ROWS)
            return [(subject, each) for each in ids], ids[-1] if ids else ""
        itself: list[Subject] = [] if item.cursor or kind in _PARTS else [(_SUBJECTS[kind], name)]
        after, account_id = int(item.cursor or 0), access.account_id
        place = _PARTS[kind](account_id, name) if kind in _PARTS else place_mark(account_id, kind, name)
        page = store.documents_at(tx, access, place, after, limit=SEARCH_REBUILD_ROWS)
        subjects = dict.fromkeys([*itself, *((_SUBJECTS[each], found) for _, each, found in page)])
        return list(subjects), str(page[-1][0] if page else after)

    def _write(self, tx: Tx, access: Access, item: Rebuild, prepared: Prepared, cursor: str) -> None:
        is_whole = ":" not in item.part
        if prepared.subjects:
            if store.advance_rebuild(tx, access, item, cursor):
                self._indexing.put(tx, access, prepared, spread=is_whole)
            return
        kinds = _DOCUMENTS[_SUBJECTS[item.part]] if is_whole else ()
        most = SEARCH_REBUILD_ROWS
        left = [store.delete_older_documents(tx, access, kind, item.version, limit=most) for kind in kinds]
        if most not in left:
            store.finish_rebuild(tx, access, item)
