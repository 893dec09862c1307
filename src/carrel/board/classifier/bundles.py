"""Bundles: entries of one conversation that are about the same thing and get the same location. Pure.

A bundle begins with the oldest entry that has no location yet. Answers go where the message went; a new message begins
the next bundle, unless it says as little as "yes", or comes before any answer and adds nothing of its own.
"""

from collections.abc import Sequence

from msgspec import Struct

from carrel.board.classifier.phrases import is_terse
from carrel.board.profiles import distinctive_words
from carrel.journal import Entry
from carrel.kernel.limits import TERSE_CHARS_MAX


class Bundle(Struct, frozen=True):
    """Pending entries that belong together.

    `opening` is the message that they begin with or answer, if any. `follows` says that it already has a location,
    which is then theirs too.
    """

    entries: tuple[Entry, ...]
    opening: Entry | None
    follows: bool

    @property
    def asked(self) -> tuple[str, ...]:
        """The texts of its messages and notes, in order; answers say nothing about where it belongs."""
        said = (entry for entry in self.entries if is_question(entry) or entry.type == "note")
        return tuple(entry.content for entry in said if entry.content.strip())


def is_question(entry: Entry) -> bool:
    """Return whether an entry is a message to an agent, whoever wrote it; not an answer, a tool call or its result."""
    return entry.role == "user"


def is_request(entry: Entry) -> bool:
    """Return whether an entry is a person's message: only these get a topic by their content."""
    return is_question(entry) and entry.author_kind == "user"


def bundle_at(conversation: Sequence[Entry], at: int) -> Bundle:
    """Return the bundle of the pending entry at a position; all entries before it have their location."""
    first = conversation[at]
    opening = _opening(conversation, at)
    follows = opening is not None and opening.id != first.id
    entries, answered = [first], False
    for before, entry in zip(conversation[at:], conversation[at + 1 :], strict=False):
        answered = answered or not is_question(before)
        if entry.space_id != first.space_id or (is_question(entry) and not _joins(opening, entry, follows, answered)):
            break
        if entry.classification == "pending" and entry.topic_id is None and entry.task_id is None:
            entries.append(entry)
    return Bundle(tuple(entries), opening, follows)


def _joins(opening: Entry | None, question: Entry, follows: bool, answered: bool) -> bool:
    """Whether a further message is about the same thing as the first."""
    if follows or opening is None or not (is_request(opening) and is_request(question)):
        return False
    return is_terse(question.content) or (not answered and not _is_own(opening, question))


def _is_own(opening: Entry, question: Entry) -> bool:
    """Whether a message before any answer adds something to the first, so that it may have another topic."""
    words = distinctive_words(question.content).keys()
    is_short = len(question.content.strip()) <= TERSE_CHARS_MAX
    return bool(words) and not is_short and words.isdisjoint(distinctive_words(opening.content))


def _opening(conversation: Sequence[Entry], at: int) -> Entry | None:
    """The message that an entry answers: the one of its run or, without a run, the last one before it."""
    run_id = conversation[at].run_id
    asked = (entry for entry in reversed(conversation[: at + 1]) if is_question(entry))
    return next((entry for entry in asked if run_id is None or entry.run_id == run_id), None)
