"""Searching: a limited number at a time, outside the loop, within a deadline, with cached answers."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from logging import getLogger
from threading import Lock

import numpy as np
from msgspec import structs

from carrel.kernel import METRICS, Access, Code, Refusal, elapsed_seconds, limits
from carrel.kernel.settings import SearchSettings
from carrel.search import ranking, store
from carrel.search.account_index import AccountIndexes, View
from carrel.search.columns import Positions
from carrel.search.embedders import Embedder, EmbeddingUnavailable
from carrel.search.gate import Gate, Pace
from carrel.search.model import KINDS, SearchMode, SearchQuery, SearchResult
from carrel.search.store import Stored
from carrel.search.vectors import Floats, similarities, unit_query
from carrel.search.words import query_words, without_names, words_of
from carrel.storage import FEED, Database, LongTx

_log = getLogger("carrel.search")


class Search:
    """Searches the documents of all accounts; one for each process."""

    def __init__(self, db: Database, embedder: Embedder, settings: SearchSettings) -> None:
        self._db = db
        self._embedder = embedder
        self._settings = settings
        self._gate = Gate(settings.concurrency)
        self._pace = Pace()
        self._indexes = AccountIndexes()
        self._cache: OrderedDict[tuple[str, str, SearchQuery], tuple[int, SearchResult]] = OrderedDict()
        self._cache_lock = Lock()
        # Whether embeddings were available the last time; assumed until the first search.
        self._has_meanings = settings.embedding != "none"

    @property
    def mode(self) -> SearchMode:
        """How searches work now: by words and meanings, or by words alone."""
        return "hybrid" if self._has_meanings else "lexical"

    @property
    def finds_tool_calls(self) -> bool:
        """Whether tool calls are indexed."""
        return self._settings.include_tool_call_logs

    @property
    def is_degraded(self) -> bool:
        """Whether meanings should be compared but cannot be."""
        return self._settings.embedding != "none" and not self._has_meanings

    async def find(self, access: Access, query: SearchQuery) -> SearchResult:
        """Return what a query finds; raise Refusal `search_busy` if too many searches are running."""
        query.check()
        asked = elapsed_seconds()
        async with self._admitted(access), self._paced(query):
            begun = elapsed_seconds()
            vector = await self._vector(query)
            self._has_meanings = vector is not None
            model = "" if vector is None else self._embedder.model
            is_loaded = self._indexes.of(access, model).is_complete
            found = await self._db.long_read(
                lambda tx: self.search(tx, access, query, model, vector),
                seconds_max=limits.SEARCH_SECONDS_MAX if is_loaded else limits.LONG_READ_SECONDS_MAX,
                # A context is part of a turn.
                urgent=query.quick,
            )
            METRICS.observe("search.duration.seconds", access.account_id, elapsed_seconds() - begun)
            waited = round((begun - asked) * 1000)
            return structs.replace(found, gate_wait_ms=waited) if waited else found

    @asynccontextmanager
    async def _admitted(self, access: Access) -> AsyncIterator[None]:
        async with AsyncExitStack() as slot:
            try:
                await slot.enter_async_context(self._gate.slot(access, self._settings.concurrency_wait_ms / 1000))
            except TimeoutError:
                METRICS.count("search.busy.count", access.account_id)
                why = "Too many searches are running; try again in a moment."
                raise Refusal(Code.SEARCH_BUSY, why, retry_after_seconds=limits.SEARCH_RETRY_SECONDS) from None
            yield

    @asynccontextmanager
    async def _paced(self, query: SearchQuery) -> AsyncIterator[None]:
        """Wait until it may start; a search for a context, which a run waits for, starts at once."""
        if query.quick:
            yield
            return
        await asyncio.sleep(self._pace.wait_seconds(elapsed_seconds()))
        begun, written = elapsed_seconds(), self._db.bell(FEED).version
        yield
        self._pace.ended(elapsed_seconds() - begun, self._db.bell(FEED).version - written)

    async def _vector(self, query: SearchQuery) -> Floats | None:
        """The vector of a query; None if there is no model for it now, so that only words count."""
        text = without_names(query.text, query.names).encode("utf-8", "replace").decode()
        try:
            # Only an endpoint may hang; a local model may just have to be loaded.
            is_remote = self._settings.embedding == "endpoint"
            async with asyncio.timeout(limits.SEARCH_QUERY_EMBED_SECONDS_MAX if is_remote else None):
                vectors = await self._embedder.embed([text])
        except (EmbeddingUnavailable, TimeoutError) as error:
            if self._settings.embedding != "none":
                why = str(error) or "the embeddings endpoint did not answer in time"
                _log.warning("search_without_meaning", extra={"error": why})
            return None
        return unit_query(vectors[0])

    def search(self, tx: LongTx, access: Access, query: SearchQuery, model: str, vector: Floats | None) -> SearchResult:
        """Return what a query finds at one moment of the store."""
        version, key = store.newest_version(tx, access), (access.account_id, model, query)
        with self._cache_lock:
            cached = self._cache.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        found = self._search(tx, access, query, model, vector)
        # Above the horizon a change with a smaller number may still appear, which a cached answer would miss.
        if version > tx.horizon():
            return found
        with self._cache_lock:
            self._cache[key] = (version, found)
            self._cache.move_to_end(key)
            while len(self._cache) > self._settings.query_cache_size:
                self._cache.popitem(last=False)
        return found

    def _search(
        self, tx: LongTx, access: Access, query: SearchQuery, model: str, vector: Floats | None
    ) -> SearchResult:
        scope = query.scope(access.account_id)
        index = self._indexes.of(access, model)
        with index.lock:
            index.refresh(tx, access)
            view = index.view(scope, tuple(words_of(query.text)))
        if not view.count:
            return SearchResult(dense=vector is not None)
        words = query_words(query.text)
        matches = ranking.match_words(tx, access, view, scope, words, quick=query.quick)
        most = ranking.candidate_limits(query, len(words), self._settings)
        at = ranking.best_by_words(view, matches, most)
        if vector is not None:
            at = np.union1d(at, ranking.best_by_meaning(view, vector, most, quick=query.quick))
        read = _read(tx, access, view, at, before=vector is not None)
        numbered = zip(at.tolist(), map(read.get, view.numbers[at].tolist()), strict=True)
        # Checked again against the store: whatever went wrong before, nobody finds what they may not see.
        seen = [
            ranking.Candidate(position, one)
            for position, one in numbered
            if one is not None and scope.has(one.reach.split(), one.places.split())
        ]
        similar = {} if vector is None else _similar(vector, model, read.values())
        wanted = {KINDS.index(kind): limit for kind, limit in query.limits().items()}
        hits = ranking.hits(view, matches, seen, similar, wanted)
        topics, tasks, logs, notes = (tuple(hit for hit in hits if hit.kind == kind) for kind in KINDS)
        return SearchResult(topics=topics, tasks=tasks, logs=logs, notes=notes, dense=vector is not None)


def _read(tx: LongTx, access: Access, view: View, at: Positions, *, before: bool) -> dict[int, Stored]:
    """Return the documents at those positions by number and, if meanings count, the messages before each."""
    if before:
        previous = view.previous[at]
        previous = previous[previous >= 0]
        at = np.union1d(at, previous[view.in_scope[previous]])
    return {row.number: row for row in store.documents_numbered(tx, access, view.numbers[at].tolist())}


def _similar(vector: Floats, model: str, read: Iterable[Stored]) -> dict[int, float]:
    ours = [one for one in read if one.model == model and one.vectors]
    near = similarities(vector, [one.vectors for one in ours])
    return {one.number: similarity for one, similarity in zip(ours, near, strict=True)}
