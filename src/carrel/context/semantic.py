"""Recall: search results that match a question well enough, in passages, with excerpts of long messages."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from carrel.board import BoardFound, Ranked
from carrel.context import budget, store
from carrel.context.budget import CUT, as_line, cut, width
from carrel.context.depth import ResultCounts, is_low_signal
from carrel.context.layers import task_line, topic_line
from carrel.context.model import NOTES, RECALLED_LOGS, RECALLED_TASKS, RECALLED_TOPICS, Line
from carrel.context.session_position import SessionPosition
from carrel.context.store import TopicRow
from carrel.journal import DEFAULT_SPACE, Entry
from carrel.kernel import Access, minute_of, one_line
from carrel.kernel.settings import Recall
from carrel.search import Hit, positions_of, query_words
from carrel.storage import Tx

T = TypeVar("T")

# Results with a lower score merely share some word with the question. Scores can be compared across queries.
SCORE_MIN = 0.25
# The name of an unknown person, which says no more than "user".
_SOMEBODY = "a person"
# Two messages belong to one passage if at most one message between them was not found.
_APART_MAX = 2


class Recalling(Struct, frozen=True, kw_only=True):
    """The parameters of recall: a question in a session, and how many results may be shown."""

    question: str
    session: SessionPosition
    recall: Recall
    shown: ResultCounts
    max_chars: int
    score_min: float = SCORE_MIN

    @property
    def words(self) -> frozenset[str]:
        """The words around which lines are cut."""
        return frozenset(query_words(self.question))

    @property
    def line_chars(self) -> int:
        return max(budget.RECALLED_CHARS_MIN, self.max_chars // budget.RECALLED_PART)

    def matching(self, found: Iterable[Ranked[T]]) -> list[Ranked[T]]:
        return [one for one in found if one.hit.score >= self.score_min]


def recalled_lines(tx: Tx, seen: Access, recalling: Recalling, found: BoardFound) -> list[Line]:
    """Return a line for each match, best first; entries passage by passage, in reading order."""
    session, shown = recalling.session, recalling.shown
    late = _late_runs(tx, seen, session, found)
    # Neither the question itself nor "ok" or "thanks" answers it.
    logs = [
        one
        for one in _without_late(recalling.matching(found.logs), late)
        if not is_said_in(one.item, recalling.question) and not is_low_signal(one.item.content)
    ]
    notes = _without_late(recalling.matching(found.notes), late)
    logs, notes = in_passages(logs, shown.logs), notes[: shown.notes]
    topics = {one.item.id: one.hit for one in recalling.matching(found.topics)}
    tasks = {one.item.id: one.hit for one in recalling.matching(found.tasks)}
    named = {*topics, *(one.item.topic_id for one in logs if one.item.topic_id is not None)}
    rows = {row.id: row for row in store.topics_named(tx, seen, sorted(named), with_inactive=True)}
    digests = recalling.recall == "space"
    return [
        *(
            topic_line(rows[name], RECALLED_TOPICS, _why("topic of the board", hit), hit.score, digests=digests)
            for name, hit in topics.items()
            if name in rows
        ),
        *(
            task_line(row, RECALLED_TASKS, _why("task of the board", tasks[row.id]), tasks[row.id].score)
            for row in store.tasks_named(tx, seen, tasks)
        ),
        *(_entry_line(one, NOTES, recalling, f"note in space {one.item.space_id or DEFAULT_SPACE}") for one in notes),
        *(_entry_line(one, RECALLED_LOGS, recalling, _origin(one.item, session, rows)) for one in logs),
    ]


def _without_late(found: list[Ranked[Entry]], late: set[str | None]) -> list[Ranked[Entry]]:
    return [one for one in found if one.item.run_id not in late]


def is_said_in(entry: Entry, question: str) -> bool:
    """Return whether a question contains everything that an entry says."""
    return one_line(entry.content).casefold() in one_line(question).casefold()


def _origin(entry: Entry, session: SessionPosition, topics: dict[str, TopicRow]) -> str:
    """Why an entry is available in this session."""
    if entry.session_key in session.buckets:
        return "said here"
    if session.task_id is not None and entry.task_id == session.task_id:
        return "said in this task"
    topic = topics.get(entry.topic_id or "")
    return "said on the board" if topic is None else f"topic {one_line(topic.name)} of the board"


def _late_runs(tx: Tx, seen: Access, session: SessionPosition, found: BoardFound) -> set[str | None]:
    """Runs that began before the session's task was reopened: their late replies are not shown there."""
    if session.task is None:
        return set()
    runs = [one.item.run_id for one in (*found.logs, *found.notes) if one.item.run_id is not None]
    return {*store.runs_begun_before(tx, seen, runs, session.task.reopened_seq)}


def _entry_line(one: Ranked[Entry], section: str, recalling: Recalling, origin: str) -> Line:
    entry = one.item
    head = f"- {minute_of(entry.created_at)[:10]} {_speaker(entry)}: "
    said = head + excerpt(entry.content, recalling.words, recalling.line_chars - width(head))
    return Line(
        id=entry.id,
        kind=one.hit.kind,
        section=section,
        scope=entry.task_id or entry.topic_id or entry.session_key or entry.space_id or DEFAULT_SPACE,
        source=entry.agent_label or entry.author,
        reason=_why(origin, one.hit),
        line=said,
        score=one.hit.score,
    )


def _speaker(entry: Entry) -> str:
    """The name of the author, if known."""
    details = entry.details or {}
    # Given in threads, and where several people can write.
    person = str(details.get("authorName") or details.get("sender") or "")
    of_person = person if person not in ("", _SOMEBODY) else "user"
    named = entry.agent_label or (of_person if entry.author_kind == "user" else entry.author)
    return entry.provenance.marked(as_line(named, budget.SPEAKER_CHARS))


def _why(origin: str, hit: Hit) -> str:
    """Why a line is shown: its origin, and the parts of its score, the most important first."""
    parts = {name: getattr(hit.reason, name) for name in ("words", "meaning", "label", "session", "note")}
    ranked = sorted(parts.items(), key=lambda part: -part[1])
    reasons = ", ".join(f"{name} {value:.2f}" for name, value in ranked if value >= 0.005)
    return f"{origin}: {reasons or 'a weak match'}"


def in_passages(found: Iterable[Ranked[Entry]], limit: int) -> list[Ranked[Entry]]:
    """Return results, given best first, in reading order: at most `limit` passages, the best line's first."""
    passages: list[list[Ranked[Entry]]] = []
    for one in found:
        near = next((passage for passage in passages if any(_is_near(one, other) for other in passage)), None)
        if near is not None:
            near.append(one)
        elif len(passages) < limit:
            passages.append([one])
    return [one for passage in passages for one in sorted(passage, key=lambda one: one.item.seq)]


def _is_near(one: Ranked[Entry], other: Ranked[Entry]) -> bool:
    return (
        one.item.session_key is not None
        and one.item.session_key == other.item.session_key
        and (one.item.topic_id, one.item.task_id) == (other.item.topic_id, other.item.task_id)
        and abs(one.hit.position - other.hit.position) <= _APART_MAX
    )


def excerpt(text: str, words: frozenset[str], width_max: int) -> str:
    """Return a text as one line within a length: its beginning, or the part with most of the words."""
    whole = one_line(text)
    if width(whole) <= width_max:
        return whole
    first = _densest(whole, words, width_max - width_max // budget.LEAD_PART)
    start = first - width_max // budget.LEAD_PART
    if start <= 0:
        return cut(whole, width_max)
    # If the text ends earlier, start earlier, so that the line is filled.
    start = min(start, len(whole) - width_max + 1)
    # At the beginning of a word, if one begins before the first match.
    space = whole.find(" ", start, first)
    return cut(CUT + whole[start if space < 0 else space + 1 :], width_max)


def _densest(text: str, words: frozenset[str], span: int) -> int:
    """The start of the part of a text that contains the most different words."""
    positions = list(positions_of(text, words))
    best, best_at, last = 0, 0, 0
    counts: dict[str, int] = {}
    for at, word in positions:
        # The window moves: new words enter at its end, and those before its start leave.
        while last < len(positions) and positions[last][0] < at + span:
            counts[positions[last][1]] = counts.get(positions[last][1], 0) + 1
            last += 1
        if len(counts) > best:
            best, best_at = len(counts), at
        counts[word] -= 1
        if not counts[word]:
            del counts[word]
    return best_at
