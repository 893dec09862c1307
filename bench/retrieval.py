"""Retrieval: how much of the evidence for a question is among the first ten entries that search finds.

The data are conversations in the form of LoCoMo, from a path on the command line; every conversation is a space.
"""

import json
import re
import statistics
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import uvloop
from msgspec import Struct

from bench.engine import BenchEngine, open_bench
from bench.figures import Bar, Figure, at_least, plain, skipped, tell
from carrel.kernel.settings import SearchSettings
from carrel.search import Document, Search, SearchQuery, embedder_for
from carrel.search.embedders import Embedder, embed_texts
from carrel.search.indexing import put_document
from carrel.search.vectors import Floats
from carrel.storage import Tx
from carrel.visibility import Viewer
from carrel.wire import Wire

NAME = "retrieval"
CUTS = (5, 10, 20)
# Questions of this category ask for what was never said.
UNANSWERABLE = 5
RANK_CONSTANT, RANKED = 60, 100


class Question(Struct, frozen=True):
    """A question, and the ids of the entries that answer it."""

    text: str
    evidence: frozenset[str]


class Conversation(Struct, frozen=True):
    """One conversation: a space with its entries and questions."""

    name: str
    entries: list[Document]
    questions: list[Question]
    speakers: tuple[str, ...]


def measure(durability: str, data: Path | None) -> list[Figure]:
    """Recall with the packaged embeddings and with the extra; and plain BM25 and the fusion of ranks beside it."""
    if data is None:
        return [skipped(NAME, "recall", "give the path of the data: ./dev bench retrieval --data PATH")]
    conversations = list(read(data))
    figures: list[Figure] = []
    for embedding, bar in (("none", None), ("static", at_least(0.76)), ("minilm", at_least(0.79))):
        if embedding == "minilm" and find_spec("onnxruntime") is None:
            figures.append(skipped(NAME, "recall with MiniLM", "install carrel[semantic]"))
            continue
        tell(f"retrieval: {sum(len(each.questions) for each in conversations)} questions, embedding {embedding}")
        with tempfile.TemporaryDirectory(prefix="carrel-bench-retrieval-") as name:
            figures += uvloop.run(_measure(Path(name), durability, conversations, embedding, bar))
    return figures + uvloop.run(_yardsticks(conversations))


def read(data: Path) -> Iterator[Conversation]:
    """Read the conversations of a file."""
    for at, sample in enumerate(json.loads(data.read_text("utf-8"))):
        said = sample["conversation"]
        entries = [entry for n in range(1, 100) if f"session_{n}" in said for entry in _session(f"c{at}", said, n)]
        known = {entry.id for entry in entries}
        questions = [
            Question(asked["question"], frozenset(evidence))
            for asked in sample["qa"]
            if asked.get("category") != UNANSWERABLE
            and (evidence := _evidence(f"c{at}", asked.get("evidence") or []) & known)
        ]
        yield Conversation(f"c{at}", entries, questions, (said["speaker_a"], said["speaker_b"]))


def _session(space: str, said: dict[str, Any], n: int) -> Iterator[Document]:
    moment = datetime.strptime(said[f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    for at, turn in enumerate(said[f"session_{n}"]):
        yield Document(
            kind="log",
            id=f"{space}/{turn['dia_id']}",
            text=turn["text"],
            at=int(moment.timestamp() * 1000) + at,
            speaker=turn["speaker"],
            spaces=(space,),
            topic_id="talk",
            on_board=True,
            session_key=f"agent:main:{space}:{n}",
            sequence=at,
        )


def _evidence(space: str, listed: list[str]) -> set[str]:
    return {f"{space}/{name}" for item in listed for name in re.split(r"[;\s]+", item) if name}


async def _measure(
    folder: Path, durability: str, conversations: list[Conversation], embedding: Any, bar: Bar | None
) -> list[Figure]:
    settings = SearchSettings(embedding=embedding)
    wire = Wire()
    try:
        async with open_bench(folder, durability) as made:
            embedder = embedder_for(settings, wire)
            for each in conversations:
                await _index(made, each.entries, embedder, settings)
            search = Search(made.db, embedder, settings)
            asked = [(each, question) for each in conversations for question in each.questions]
            found = [(question, await _ask(made, search, each, question)) for each, question in asked]
    finally:
        await wire.close()
    return _figures(embedding, found, bar)


async def _index(made: BenchEngine, entries: list[Document], embedder: Embedder, settings: SearchSettings) -> None:
    def put(tx: Tx) -> None:
        for at, entry in enumerate(entries):
            put_document(tx, made.access, entry, *([vectors[at]] if vectors else []))

    vectors = []
    if settings.embedding != "none":
        vectors = await embed_texts(embedder, [entry.text for entry in entries], settings.rerank_chunks_per_doc)
    await made.db.write(put)


async def _ask(made: BenchEngine, search: Search, among: Conversation, question: Question) -> list[str]:
    query = SearchQuery(
        text=question.text,
        viewer=Viewer(spaces=(among.name,), recalls_board=True),
        names=among.speakers,
        logs_max=max(CUTS),
    )
    return [hit.id for hit in (await search.find(made.access, query)).logs]


def _figures(name: str, found: list[tuple[Question, list[str]]], bar: Bar | None) -> list[Figure]:
    at = {cut: statistics.fmean(_recall(question, ids[:cut]) for question, ids in found) for cut in CUTS}
    ranks = [next((n for n, one in enumerate(ids, 1) if one in question.evidence), 0) for question, ids in found]
    mrr = statistics.fmean(1 / rank if rank else 0 for rank in ranks)
    note = f"R@5 {at[5]:.3f}, R@20 {at[20]:.3f}, MRR {mrr:.3f}"
    return [plain(NAME, f"recall at 10, {name}", "", round(at[10], 4), bar=bar, note=note)]


def _recall(question: Question, ids: list[str]) -> float:
    return len(question.evidence.intersection(ids)) / len(question.evidence)


async def _yardsticks(conversations: list[Conversation]) -> list[Figure]:
    """What FTS5 finds by itself, and that merged by rank with the nearest vectors."""
    wire = Wire()
    embedder = embedder_for(SearchSettings(), wire)
    by_words, merged = list[tuple[Question, list[str]]](), list[tuple[Question, list[str]]]()
    for each in conversations:
        entries = _unit(await embedder.embed([one.text for one in each.entries]))
        asked = _unit(await embedder.embed([question.text for question in each.questions]))
        nearest = np.argsort(-(asked @ entries.T), axis=1)[:, :RANKED]
        for at, (question, ids) in enumerate(_bm25(each)):
            by_words.append((question, ids))
            near = [each.entries[n].id for n in nearest[at]]
            merged.append((question, _merged(ids, near)))
    await wire.close()
    return _figures("plain FTS5 BM25", by_words, None) + _figures("RRF of it and static embeddings", merged, None)


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


def _merged(*rankings: list[str]) -> list[str]:
    """Merge rankings by their ranks alone."""
    scores: dict[str, float] = {}
    for ids in rankings:
        for rank, name in enumerate(ids, 1):
            scores[name] = scores.get(name, 0) + 1 / (RANK_CONSTANT + rank)
    return sorted(scores, key=lambda name: -scores[name])


def _bm25(among: Conversation) -> Iterator[tuple[Question, list[str]]]:
    file = apsw.Connection(":memory:")
    file.execute("CREATE VIRTUAL TABLE said USING fts5 (text, tokenize='porter unicode61')")
    rows = ((n, one.text) for n, one in enumerate(among.entries))
    file.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", rows)
    sql = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?"
    for question in among.questions:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
        yield question, [among.entries[row[0]].id for row in file.execute(sql, (words, RANKED))]
