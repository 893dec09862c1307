"""Lanes and sessions as values, and the rules that need no database."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from carrel.agents import Thinking
from carrel.kernel import INTERNAL_CHANNEL, Access, Grammar, Input, SessionKey
from carrel.kernel.fields import ShortText
from carrel.kernel.limits import LABEL_CHARS_MAX
from carrel.kernel.settings import Recall

ClosedReason = Literal["task_done", "task_archived", "reset", "deleted", "archived", "agent_disabled", "rotated"]
SendPolicy = Literal["allow", "deny"]
# The kinds whose key names the channel itself.
CHANNEL_KINDS = ("chat", "group", "channel", "direct")
# The kinds behind each word of a list's filter.
_KINDS_BY_FILTER = {
    "main": ("main",),
    "group": ("group", "channel"),
    "cron": ("cron",),
    "hook": ("hook",),
    "node": ("node",),
    "other": ("chat", "direct", "task", "topic", "a2a", "subagent", "openresponses", "openresponses-user"),
}
_SHOWN_CHANNELS = {"web": "webchat"}


class Lane(Struct, frozen=True):
    """The queue of runs under one session key, with its settings."""

    key: str
    agent_id: str
    kind: str
    conversation: str
    depth: int
    generation: int
    made_by: str
    label: str | None
    display_name: str | None
    send_policy: str | None
    model: str | None
    thinking_level: str | None
    verbose_level: str | None
    last_channel: str | None
    last_to: str | None
    spawned_by: str | None
    sandboxed: int
    total_tokens: int
    last_tokens: int
    created_at: int
    updated_at: int
    archived_at: int | None
    files: str | None = None
    # The choice for this lane; None inherits from its agent, then from the account.
    recall: Recall | None = None
    pinned_at: int | None = None

    @property
    def session_key(self) -> SessionKey:
        return SessionKey.stored(self.key)

    @property
    def channel(self) -> str | None:
        """The channel of its key, else the one its last message came from."""
        return self.session_key.channel or self.last_channel

    @property
    def chat_address(self) -> tuple[str, str] | None:
        """(channel, chat address) where people talk to it, if it has one."""
        return (self.channel, self.last_to) if self.channel and self.last_to else None


class LaneDeleted(Struct, frozen=True):
    """A lane was deleted, with its transcript; published in the transaction that deletes it."""

    access: Access
    key: SessionKey


class RecallChanged(Struct, frozen=True):
    """Whether a lane is on the board has changed."""

    access: Access
    key: SessionKey


class Session(Struct, frozen=True):
    """One generation of a key; a closed one is reopened only if archiving closed it."""

    id: str
    key: str
    generation: int
    agent_id: str
    agent_slug: str
    task_id: str | None
    resolution: str
    opened_at: int
    closed_at: int | None
    closed_reason: str | None

    @property
    def address(self) -> str:
        """`<key>:v<n>`, the name of this generation."""
        return f"{self.key}:v{self.generation}"


class LaneRow(Struct, frozen=True):
    """A lane as lists show it, with its open generation, else its newest, if any."""

    lane: Lane
    session: Session | None
    agent_slug: str
    busy: bool
    # The final state of its newest ended run.
    last_end: str | None

    @property
    def state(self) -> str:
        """idle, busy or closed."""
        if self.busy:
            return "busy"
        return "closed" if self.session is not None and self.session.closed_at is not None else "idle"


class LaneFilter(Struct, frozen=True, kw_only=True):
    """Which lanes to list, of those the caller may see; None and empty values match everything."""

    q: str | None = None
    archived: bool = False
    pinned: bool = False
    kinds: tuple[str, ...] = ()
    agent_id: str | None = None
    made_by: str | None = None
    task_id: str | None = None
    spawned_by: str | None = None
    channel: str | None = None
    # The chat address of the last message.
    last_to: str | None = None
    state: str | None = None
    updated_since: int | None = None


class LaneOptions(Input, frozen=True, kw_only=True):
    """Changes to what a lane is called and how it works; None inherits the default, unset fields stay as they are."""

    label: Annotated[str, Meta(max_length=LABEL_CHARS_MAX)] | UnsetType | None = UNSET
    display_name: ShortText | UnsetType | None = UNSET
    recall: Recall | UnsetType | None = UNSET
    send_policy: SendPolicy | UnsetType | None = UNSET
    model: ShortText | UnsetType | None = UNSET
    thinking_level: Thinking | UnsetType | None = UNSET
    verbose_level: ShortText | UnsetType | None = UNSET


class LaneChange(LaneOptions, frozen=True, kw_only=True):
    """Changes to a lane."""

    pinned_at: int | UnsetType | None = UNSET


def kinds_listed_as(words: list[str]) -> tuple[str, ...]:
    """Return the kinds for a list's filter words; unknown words are ignored, no words mean no filter."""
    return tuple(kind for word in dict.fromkeys(words) for kind in _KINDS_BY_FILTER.get(word, ()))


def shown_channel(key: SessionKey, last_channel: str | None) -> str:
    """Return the channel of a lane as people know it: from its key, else from its last message."""
    if key.kind in Grammar.INTERNAL_KINDS:
        return INTERNAL_CHANNEL
    channel = key.channel or last_channel or "unknown"
    return _SHOWN_CHANNELS.get(channel, channel)


def stored_channel(shown: str) -> str:
    """Return the stored name of a channel from the name that is shown."""
    return next((stored for stored, name in _SHOWN_CHANNELS.items() if name == shown), shown)
