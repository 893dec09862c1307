"""What is sent to the board, as values."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from carrel.journal import DEFAULT_SPACE
from carrel.kernel import Input
from carrel.kernel.fields import AnySession, Name, Text, up_to
from carrel.kernel.limits import LOG_SUMMARY_CHARS_MAX

Classification = Literal["pending", "classified", "failed"]
LogType = Literal["conversation", "action", "note", "system", "import"]
# The author of a person's messages.
PERSON = "user"

# The room checks it and words the refusal; here it is only described.
Summary = Annotated[str, up_to(LOG_SUMMARY_CHARS_MAX)]


class LogSource(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Where something was said, in the words of the program that sends it."""

    channel: Name | None = None
    session_key: AnySession | None = None
    message_id: AnySession | None = None
    request_id: AnySession | None = None
    conversation_id: AnySession | None = None
    thread_id: Name | None = None
    channel_id: Name | None = None
    board_scope_topic_id: Name | None = None
    board_scope_task_id: Name | None = None
    board_scope_space_id: Name | None = None
    board_scope_kind: Name | None = None
    board_scope_lock: bool | None = None


class NewLog(Struct, frozen=True, kw_only=True):
    """An entry that somebody sends. `agent_id` is its author: an agent, or `user` for a person."""

    type: LogType
    content: str
    id: str | None = None
    summary: str | None = None
    raw: str | None = None
    topic_id: str | None = None
    task_id: str | None = None
    space_id: str | None = None
    related_id: str | None = None
    agent_id: str | None = None
    agent_label: str | None = None
    source: LogSource = LogSource()
    idempotency_key: str | None = None
    created_at: int | None = None
    attachment_ids: tuple[str, ...] = ()

    @staticmethod
    def marked(idempotency_key: str) -> str:
        """Return the mark of an entry that was sent under an idempotency key."""
        return f"key:{idempotency_key}"


class LogChange(Input, frozen=True, kw_only=True):
    """Changes of an entry; fields left out stay as they are."""

    topic_id: Name | UnsetType | None = UNSET
    task_id: Name | UnsetType | None = UNSET
    space_id: Name | UnsetType = UNSET
    content: Text | UnsetType = UNSET
    summary: Summary | UnsetType | None = UNSET
    classification: Classification | UnsetType = field(default=UNSET, name="classificationStatus")


class LogFilter(Struct, frozen=True, kw_only=True):
    """Which entries to list; None matches everything. `key` is the lane that `bucket` names, if any."""

    topic_id: str | None = None
    task_id: str | None = None
    bucket: str | None = None
    key: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    related_ids: tuple[str, ...] = ()
    type: str | None = None
    classification: str | None = None
    spaces: tuple[str, ...] | None = None


class Location(Struct, frozen=True):
    """Where an entry belongs; `space_id` is None if nobody gave one."""

    topic_id: str | None = None
    task_id: str | None = None
    space_id: str | None = None

    @property
    def stored_space_id(self) -> str | None:
        """The space that an entry there is stored with: the default one only if somebody chose it."""
        return None if self.space_id == DEFAULT_SPACE else self.space_id

    def scope(self) -> dict[str, Any]:
        """Return the location that an entry's source gives."""
        named = (("Topic", self.topic_id), ("Task", self.task_id), ("Space", self.space_id))
        return {f"boardScope{kind}Id": value for kind, value in named if value is not None}
