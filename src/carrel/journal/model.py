"""Entries, events and notifications as values. Never merge them.

Entries are read by agents, events are for programs to react to, notifications are for people.
"""

from textwrap import indent
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct, structs

from carrel.journal.text_cleanup import clean
from carrel.kernel import Access, Provenance, SessionKey, iso, one_line

encode = msgspec.json.Encoder().encode


def json_text(value: object) -> str:
    """Return `value` as JSON text."""
    return encode(value).decode()


# The space of everything that was given none; every account has it.
DEFAULT_SPACE = "space-default"

AuthorKind = Literal["user", "agent", "system"]
TaskView = Literal["thread", "activities"]
Classification = Literal["pending", "classified", "failed"]
# Who caused a message -> who said it. What lanes say to one another is said by agents.
_AUTHORS: dict[str, AuthorKind] = {
    "external_user": "user",
    "a2a": "user",
    "cron": "system",
    "heartbeat": "system",
    "internal_system": "system",
}


# The fields that only entries sent to the log have.
LOG_FIELDS = ("bucket", "agent_label", "summary", "related_id", "source", "dedupe", "classification_error", "raw")


class _EntryFields(Struct, frozen=True):
    """The fields that an entry has before and after it is written."""

    type: str
    # user, assistant, toolCall, toolResult or system
    role: str
    content: str
    author: str
    provenance: Provenance
    details: dict[str, Any] | None = None
    key: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    message_id: str | None = None
    channel: str | None = None
    attachment_ids: tuple[str, ...] = ()
    # The task, topic and space it belongs to; a task lane's entries belong to its task in any case.
    task_id: str | None = None
    topic_id: str | None = None
    space_id: str | None = None
    # Which view of its task shows it, if any.
    task_view: TaskView | None = None
    # The auto run that it was said in.
    auto_run_id: str | None = None
    # The session key that it was sent with, if that is no lane of ours.
    bucket: str | None = None
    agent_label: str | None = None
    summary: str | None = None
    related_id: str | None = None
    source: dict[str, Any] | None = None
    dedupe: str | None = None
    classification: Classification = "pending"
    classification_error: str | None = None


class Entry(_EntryFields, frozen=True):
    """One line of the journal: a message, a reply, or a tool call or its result."""

    # The detail that names who sent it to the log.
    REPORTER: ClassVar[str] = "reporter"

    # Every stored entry has these three; the defaults only allow them to follow the optional fields.
    seq: int = 0
    id: str = ""
    created_at: int = 0
    author_kind: AuthorKind = "user"
    classification_attempts: int = 0
    updated_at: int | None = None
    # What it was made from; ordinary reads leave it out, so it is the last.
    raw: str | None = None

    def wire(self) -> dict[str, Any]:
        """Return the entry as lists, histories and events show it."""
        own = {"channel": self.channel, "sessionKey": self.session_key, "messageId": self.message_id}
        return {
            "id": self.id,
            "seq": self.seq,
            "type": self.type,
            "role": self.role,
            "content": self.content,
            "summary": self.summary,
            "spaceId": self.space_id or DEFAULT_SPACE,
            "topicId": self.topic_id,
            "taskId": self.task_id,
            "sessionKey": self.session_key,
            "sessionId": self.session_id,
            "runId": self.run_id,
            "relatedLogId": self.related_id,
            "agentId": self.author,
            "agentLabel": self.agent_label,
            "provenance": self.provenance,
            "source": own | (self.source or {}),
            "classificationStatus": self.classification,
            "classificationAttempts": self.classification_attempts,
            "classificationError": self.classification_error,
            "createdAt": iso(self.created_at),
            "updatedAt": iso(self.updated_at or self.created_at),
        }

    @property
    def session_key(self) -> str | None:
        """The key of its lane, or the session key that it was sent with."""
        return self.key or self.bucket


def as_report(entry: Entry) -> Entry:
    """Return an entry as a model reads it: an entry sent to the log is a report, not a turn of the session.

    Its lines are indented so that none looks like the beginning of something else.
    """
    if entry.source is None:
        return entry
    actor = entry.provenance.by or entry.provenance.actor or "somebody"
    reporter = one_line((entry.details or {}).get(Entry.REPORTER) or actor)
    speaker = one_line(entry.agent_label or entry.author)
    is_own = entry.provenance.kind == "external_user"
    told = f"Written to the log by {reporter}:" if is_own else f"Reported by {reporter}: {speaker} said:"
    return structs.replace(entry, role="user", content=f"{told}\n{indent(entry.content, '  ')}")


class NewEntry(_EntryFields, frozen=True, kw_only=True):
    """An entry to be written."""

    id: str | None = None
    # Who wrote it; derived from the provenance if not given.
    author_kind: AuthorKind | None = None
    # When it was said, if not now.
    created_at: int | None = None
    raw: str | None = None

    @property
    def is_of_lane(self) -> bool:
        """Whether it sets only what a lane sets for its entries."""
        return self.classification == "pending" and all(getattr(self, name) is None for name in LOG_FIELDS)

    @property
    def task(self) -> str | None:
        return self.task_id or (SessionKey.stored(self.key).task_id if self.key else None)

    def written(self, seq: int, entry_id: str, now: int) -> Entry:
        """The entry as stored: the text without injected context and channel marks."""
        known = {"seq": seq, "id": entry_id, "created_at": self.created_at or now, "task_id": self.task}
        known["author_kind"] = self.written_by
        if self.type == "conversation":
            known["content"] = clean(self.content)
        return Entry(**structs.asdict(self) | known)

    @property
    def written_by(self) -> AuthorKind:
        """Whether a user, an agent or the system wrote it."""
        return self.author_kind or _AUTHORS.get(self.provenance.kind, "agent")


class DeletedEntry(Struct, frozen=True):
    """What is reported about a deleted entry: its number, and where it was."""

    id: str
    seq: int
    key: str | None
    bucket: str | None
    topic_id: str | None
    task_id: str | None

    @property
    def session_key(self) -> str | None:
        return self.key or self.bucket


class EntriesDeleted(Struct, frozen=True):
    """Published in the transaction that deletes entries."""

    access: Access
    entries: tuple[DeletedEntry, ...]


class About(Struct, frozen=True, kw_only=True):
    """What an event is about; every field is optional."""

    key: str | None = None
    conversation: str | None = None
    generation: int | None = None
    run_id: str | None = None
    task_id: str | None = None
    topic_id: str | None = None
    space_id: str | None = None
    agent_id: str | None = None


def about_lane(key: SessionKey, *, generation: int | None = None) -> About:
    """Return the About of an event that concerns a lane."""
    return About(
        key=str(key), conversation=key.conversation, generation=generation, task_id=key.task_id, agent_id=key.agent
    )


class Event(Struct, frozen=True):
    """One line of the feed; `body` is already JSON text."""

    seq: int
    name: str
    at: int
    key: str | None
    conversation: str | None
    generation: int | None
    run_id: str | None
    task_id: str | None
    topic_id: str | None
    space_id: str | None
    agent_id: str | None
    body: str
    # The mailbox it is about; None if every follower may see it.
    recipient: str | None = None

    def wire(self) -> bytes:
        """Return the event as the streams send it."""
        return encode(
            {
                "seq": self.seq,
                "name": self.name,
                "at": iso(self.at),
                "sessionId": self.conversation,
                "sessionKey": self.key,
                "generation": self.generation,
                "runId": self.run_id,
                "taskId": self.task_id,
                "topicId": self.topic_id,
                "spaceId": self.space_id,
                "agentId": self.agent_id,
                "data": msgspec.Raw(self.body.encode()),
            }
        )


class RunsOfEvents(Struct, frozen=True, kw_only=True):
    """The runs that a page of events is about, and the number at which the next page begins."""

    run_ids: list[str]
    cursor: int
    has_more: bool
    # Whether there are events above that number.
    is_held_back: bool


class EventFilter(Struct, frozen=True, kw_only=True):
    """Which events a follower wants, among those it may see; None matches everything."""

    key: str | None = None
    conversation: str | None = None
    task_id: str | None = None
    topic_id: str | None = None
    names: tuple[str, ...] = ()

    def matches(self, event: Event) -> bool:
        """Return whether the follower wants this event."""
        return (
            (self.key is None or event.key == self.key)
            and (self.conversation is None or event.conversation == self.conversation)
            and (self.task_id is None or event.task_id == self.task_id)
            and (self.topic_id is None or event.topic_id == self.topic_id)
            and (not self.names or any(_matches_name(event.name, pattern) for pattern in self.names))
        )


def _matches_name(name: str, pattern: str) -> bool:
    prefix = pattern.removesuffix("*").removesuffix(".")
    return name == prefix or name.startswith(prefix + ".")
