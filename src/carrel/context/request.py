"""What a context is requested for."""

from collections.abc import Iterable, Mapping
from typing import Self

from msgspec import Struct

from carrel.context.model import ContextLimits, Depth, Form
from carrel.journal import Entry
from carrel.kernel import SessionKey
from carrel.kernel.limits import CONTEXT_QUERY_CHARS_MAX
from carrel.kernel.settings import Recall
from carrel.memory import Reader


class SeenEntries(Struct, frozen=True, kw_only=True):
    """The entries that the reader already sees, to check which thread messages are among them."""

    ids: frozenset[str] = frozenset()
    # The lines of notifications that join several messages, with their indentation.
    lines: frozenset[str] = frozenset()
    # What was said, by entry id.
    texts: Mapping[str, str] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Self:
        """Return the entries of a session, with the messages that they contain."""
        known = list(entries)
        notifications = (entry.content for entry in known if entry.provenance.kind == "notification")
        return cls(
            ids=frozenset(name for entry in known for name in (entry.id, entry.message_id) if name is not None),
            lines=frozenset(line for text in notifications for line in text.splitlines() if line.startswith("  ")),
            texts={entry.id: entry.content for entry in known if entry.role in ("user", "assistant")},
        )

    def has(self, message: Entry) -> bool:
        """Return whether a thread message is among them, alone or with others in a notification."""
        first = next((line for line in message.content.splitlines() if line.strip()), "")
        return message.id in self.ids or f"  {first}" in self.lines


class ContextRequest(Struct, frozen=True, kw_only=True):
    """A question in a session. `reference` is the session as named, and `key` its lane if it has one."""

    reference: str | None = None
    key: SessionKey | None = None
    question: str = ""
    mode: Depth = "auto"
    form: Form = "clawboard"
    limits: ContextLimits = ContextLimits()
    space_id: str | None = None
    allowed_space_ids: tuple[str, ...] | None = None
    with_pending: bool = True
    # What the session should recall, instead of the choice made for it.
    recall: Recall | None = None
    # Whose memory is read; None for a session that has none.
    reader: Reader | None = None
    # The generation of the run; by default the open one.
    session_id: str | None = None
    # The task that is shown before the message; it needs no line of its own.
    shown_task_id: str | None = None
    # The auto run whose tick asks.
    auto_run_id: str | None = None
    # Entries that are shown anyway; they are neither recalled nor in the timeline.
    shown: SeenEntries = SeenEntries()
    # The idempotency keys of entries that contain the question itself; these are neither recalled nor in the timeline.
    without_keys: tuple[str, ...] = ()

    @property
    def asked(self) -> str:
        """The part of the question that is used."""
        return self.question[:CONTEXT_QUERY_CHARS_MAX]
