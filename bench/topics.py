"""Topics: how well messages are sorted into what they are about, without a model.

Chats with known subjects are sorted as they come in. Measured are pairs of messages: those about the same subject
belong in one topic, and all others do not. `--data` adds conversations in the form of LoCoMo, which have no subjects.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import uvloop

from bench.engine import BenchEngine, open_bench
from bench.figures import Figure, at_least, at_most, plain, skipped, tell
from bench.mixed_chats import mixed_lines
from bench.short_chats import short_lines
from bench.sparse_chats import sparse_lines
from bench.topic_lines import Line, made_lines
from bench.work_chats import written_lines
from carrel.board import LogSource, NewLog, Sorter, record
from carrel.board.classifier.sorter import Sorting
from carrel.board.common_words import FIRST_NAMES, SOCIAL_WORDS
from carrel.kernel import MS_PER_SECOND, elapsed_seconds
from carrel.kernel.settings import SearchSettings, Settings
from carrel.search import Similarity, embedder_for
from carrel.storage import Tx
from carrel.wire import Wire

NAME = "topics"
# So many messages come in between two turns of the classifier.
ARRIVING = 20


class Sorted:
    """Where the lines of some chats went: the topic of each, and the names of all topics."""

    def __init__(self, lines: Sequence[Line], topics: Sequence[str], names: dict[str, str], seconds: float) -> None:
        self.lines, self.topics, self.names, self.seconds = lines, topics, names, seconds

    @property
    def about(self) -> list[tuple[str, str]]:
        """Subject and topic of every line that is about something."""
        return [(line.subject, at) for line, at in zip(self.lines, self.topics, strict=True) if line.subject]

    def figures(self) -> tuple[float, float, float]:
        """Precision, recall and F1 of pairs."""
        both = _pairs(Counter(self.about))
        precision = both / max(1, _pairs(Counter(topic for _, topic in self.about)))
        recall = both / max(1, _pairs(Counter(subject for subject, _ in self.about)))
        return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)

    @property
    def badly_named(self) -> list[str]:
        """The names that are nothing but greetings, thanks and first names."""
        return [name for name in self.names.values() if name != "Small Talk" and _says_nothing(name)]


def measure(durability: str, data: Path | None = None) -> list[Figure]:
    """Sort the chats that are made and those written by hand; and conversations from a file."""
    figures: list[Figure] = []
    sets = (
        ("made chats", made_lines(), 0.65, 1.5),
        ("short chats", short_lines(), 0.65, 1.5),
        ("chats in three languages", mixed_lines(), 0.65, 1.5),
        ("sparse chats", sparse_lines(), 0.65, 1.5),
        # Few lines on each subject, and few words that two of them share.
        ("chats at work", written_lines(), 0.5, 1.5),
    )
    for name, lines, f1_min, topics_max in sets:
        tell(f"topics: {len(lines):,} messages, {name}")
        found = sort_lines(lines, durability)
        precision, recall, f1 = found.figures()
        topics, subjects = ({each[at] for each in found.about} for at in (1, 0))
        note = f"precision {precision:.2f}, recall {recall:.2f}; {len(lines) / found.seconds:,.0f} messages a second"
        figures += [
            plain(NAME, f"{name}, F1 of pairs", "", round(f1, 3), bar=at_least(f1_min), note=note),
            plain(NAME, f"{name}, topics per subject", "", len(topics) / len(subjects), bar=at_most(topics_max)),
            plain(NAME, f"{name}, topics named by no subject", "", len(found.badly_named), bar=at_most(0)),
        ]
    if data is None:
        return [*figures, skipped(NAME, "conversations", "give the path of the data: ./dev bench topics --data PATH")]
    found = sort_lines(conversations(data), durability)
    note = f"{len(found.lines):,} messages, {len(found.lines) / found.seconds:,.0f} a second"
    return [*figures, plain(NAME, "topics of conversations", "", len(set(found.topics)), note=note)]


def conversations(data: Path) -> list[Line]:
    """Read the turns of conversations; each is a chat."""
    lines, moment = list[Line](), 1_700_000_000
    for sample in json.loads(data.read_text("utf-8")):
        said = sample["conversation"]
        for n in range(1, 100):
            moment += 86_400
            for turn in said.get(f"session_{n}", ()):
                moment += 60
                lines.append(Line(sample["sample_id"], moment, turn["text"], None))
    return lines


def sort_lines(lines: Sequence[Line], durability: str = "normal", arriving: int = ARRIVING) -> Sorted:
    """Sort lines into topics on a store of their own."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-topics-") as name:
        return uvloop.run(_sort(Path(name), lines, durability, arriving))


async def _sort(folder: Path, lines: Sequence[Line], durability: str, arriving: int) -> Sorted:
    wire, ids, seconds = Wire(), list[str](), 0.0
    try:
        async with open_bench(folder, durability) as made:
            settings = Settings()
            similarity = Similarity(embedder_for(SearchSettings(), wire))
            sorter = Sorter(db=made.db, settings=settings, rules=made.rules, similarity=similarity)
            for number in range(0, len(lines), arriving):
                ids += await _record(made, lines[number : number + arriving])
                begun = elapsed_seconds()
                while await Sorting(sorter, made.access, f"cyc{number}", None, 0).sort(None):
                    pass
                seconds += elapsed_seconds() - begun
            rows = await made.db.read(lambda tx: tx.all("SELECT id, topic_id FROM entries"))
            names: dict[str, str] = dict(await made.db.read(lambda tx: tx.all("SELECT id, name FROM topics")))
    finally:
        await wire.close()
    where: dict[str, str | None] = dict(rows)
    return Sorted(lines, [where[entry_id] or "" for entry_id in ids], names, seconds)


async def _record(made: BenchEngine, lines: Sequence[Line]) -> list[str]:
    def work(tx: Tx) -> list[str]:
        logs = [
            NewLog(
                type="conversation",
                content=line.text,
                created_at=line.at * MS_PER_SECOND,
                source=LogSource(session_key=line.chat, message_id=f"{line.chat}:{line.at}"),
            )
            for line in lines
        ]
        return [record(tx, made.access, log)[0].id for log in logs]

    return await made.db.write(work)


def _pairs(counts: Counter[str] | Counter[tuple[str, str]]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.values())


def _says_nothing(name: str) -> bool:
    words = [word.strip(",.!?…").lower() for word in name.split()]
    return all(word in SOCIAL_WORDS or word in FIRST_NAMES for word in words if word)
