"""What a block holds: how much of the evidence for a question, what it shows twice, and what it shows for nothing.

The data are those of the benchmark `retrieval`. Every conversation is a space with a topic; its people have open tasks
beside it, and the questions are asked in a lane of the board that has spoken of something else.
"""

import re
import statistics
import tempfile
from collections import Counter
from pathlib import Path

import uvloop
from msgspec import Struct, structs

from bench import retrieval
from bench.figures import Figure, at_least, at_most, plain, tell
from bench.retrieval import Conversation, Question
from carrel.access import make_space
from carrel.board import LogSource, NewLog, record
from carrel.context import Context, ContextLimits, ContextRequest
from carrel.context.model import NOTES, RECALLED_LOGS, RECALLED_TASKS, RECALLED_TOPICS
from carrel.kernel import SessionKey, one_line
from carrel.kernel.settings import ClassifierSettings, ContextSettings, Settings
from carrel.storage import Tx
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task
from tests.harness.server import Server, open_server

NAME = "context"
# How long the blocks are, and how much of the evidence they must hold.
SHARES = {2_200: 0.75, 4_000: 0.80}
# What scores less has a stray word in common with the question, and no more.
FLOOR = 0.25
_CUT, _PIECES, _PIECE_CHARS_MIN = "…", re.compile(r"…|: "), 20
RECALLED = (RECALLED_TOPICS, RECALLED_TASKS, NOTES, RECALLED_LOGS)
SETTINGS = Settings(context=ContextSettings(recall="space"), classifier=ClassifierSettings(mode="off"))
# What the people of every conversation have to do besides, and what was said in the lane before it asks.
TASKS = (
    "Renew the certificate of the mail server", "Book the yearly inspection of the lift", "Order paper and toner",
    "Send the invoice of the second quarter", "Replace the lamp in the stairwell", "Check the backups of the archive",
)  # fmt: skip
SAID = ("Is the printer on the second floor repaired?", "It prints again since this morning.")


class Asked(Struct, frozen=True):
    """A question, and the block that was shown for it."""

    question: Question
    shown: Context
    # The texts of the entries that answer it.
    evidence: tuple[str, ...]

    @property
    def share(self) -> float:
        """How much of the evidence the block holds; of a text that is cut, as much as is shown."""
        return statistics.fmean(_held(self.shown.block, text) for text in self.evidence)

    @property
    def listed(self) -> float:
        """How many of the entries that answer it the block names as its lines."""
        return len(self.question.evidence.intersection(line.id for line in self.shown.lines)) / len(self.evidence)


def measure(data: Path) -> list[Figure]:
    """The evidence in blocks of each length, what they show twice, and how much of what they recall is no match."""
    conversations = list(retrieval.read(data))
    with tempfile.TemporaryDirectory(prefix="carrel-bench-evidence-") as name:
        return uvloop.run(_measure(f"sqlite:///{name}/evidence.db", conversations))


async def _measure(url: str, conversations: list[Conversation]) -> list[Figure]:
    figures: list[Figure] = []
    async with open_server(url, settings=SETTINGS) as server:
        for each in conversations:
            await _write(server, each)
        await server.indexed()
        for max_chars, share in SHARES.items():
            tell(f"context: blocks of {max_chars:,} characters")
            asked = [one for each in conversations for one in await _ask(server, each, max_chars)]
            figures += _figures(asked, max_chars, share)
    return figures


async def _write(server: Server, conversation: Conversation) -> None:
    """Record a conversation, and what its people have to do besides."""
    name, access = conversation.name, server.access
    space, _ = await server.db.write(lambda tx: make_space(tx, access, name, default_visible=False))

    def work(tx: Tx) -> None:
        topic, _ = put_topic(tx, access, NewTopic(name=" and ".join(conversation.speakers), id=name, space_id=space.id))
        for title in TASKS:
            task = NewTask(title=title, topic_id=topic.id, space_id=space.id, priority=1, assigned_agent_ids=())
            create_task(tx, access, task, server.rules)
        for entry in conversation.entries:
            source = LogSource(channel="bench", session_key=entry.session_key)
            said = NewLog(
                type="conversation", content=entry.text, id=entry.id, agent_id="user", agent_label=entry.speaker,
                source=source, topic_id=topic.id, created_at=entry.at,
            )  # fmt: skip
            record(tx, access, said)
        for text in SAID:
            source = LogSource(channel="bench", session_key=str(_lane(conversation)))
            record(tx, access, NewLog(type="conversation", content=text, source=source, topic_id=topic.id))

    await server.db.write(work)


def _lane(conversation: Conversation) -> SessionKey:
    return SessionKey("main", f"hook:{conversation.name}")


async def _ask(server: Server, conversation: Conversation, max_chars: int) -> list[Asked]:
    texts = {entry.id: entry.text for entry in conversation.entries}
    key = _lane(conversation)
    request = ContextRequest(
        reference=str(key),
        key=key,
        limits=ContextLimits(max_chars=max_chars),
        space_id=f"space-{conversation.name}",
        form="run",
    )
    return [
        Asked(
            question,
            await server.services.contexts.build(server.access, structs.replace(request, question=question.text)),
            tuple(texts[name] for name in sorted(question.evidence)),
        )
        for question in conversation.questions
    ]


def _held(block: str, text: str) -> float:
    """How much of a text is in a block: all of it, or what a cut has left."""
    whole = one_line(text)
    if whole in block:
        return 1.0
    pieces = {piece.strip() for line in block.splitlines() if _CUT in line for piece in _PIECES.split(line)}
    return sum(len(piece) for piece in pieces if len(piece) >= _PIECE_CHARS_MIN and piece in whole) / len(whole)


def _figures(asked: list[Asked], max_chars: int, share: float) -> list[Figure]:
    in_text, in_lines = (
        statistics.fmean(each) for each in zip(*((one.share, one.listed) for one in asked), strict=True)
    )
    recalled = [line.score or 0 for one in asked for line in one.shown.of(*RECALLED)]
    weak = sum(score < FLOOR for score in recalled) / max(1, len(recalled))
    where = f"blocks of {max_chars:,} characters"
    note = f"of its entries {in_lines:.3f}; {len(recalled) / len(asked):.1f} recalled lines in a block"
    return [
        plain(NAME, f"evidence in {where}", "", round(in_text, 4), bar=at_least(share), note=note),
        plain(NAME, f"shown twice in {where}", "lines", sum(map(_repeated, asked)), bar=at_most(0)),
        plain(NAME, f"recalled under the floor in {where}", "", round(weak, 4), bar=at_most(0.05)),
    ]


def _repeated(one: Asked) -> int:
    """How many lines of a block show what another line of it shows, or what the question says."""
    lines = one.shown.lines
    things, texts = Counter((line.kind, line.id) for line in lines), Counter(line.line for line in lines)
    asks = sum(one_line(one.question.text) in line for line in one.shown.block.splitlines())
    return len(lines) - len(things) + len(lines) - len(texts) + asks
