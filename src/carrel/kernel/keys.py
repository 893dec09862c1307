"""SessionKey: the stable name of a lane, `agent:<agent>:<rest>`.

Only the canonical grammar is defined here; `carrel.sessions` parses every other form of a session reference.
"""

import re
from functools import lru_cache
from typing import Self

from msgspec import Struct

from carrel.kernel.errors import Code, Refusal
from carrel.kernel.ids import text_hash
from carrel.kernel.limits import AGENT_ID_CHARS_MAX

# The grammar of the id in a key.
LANE_ID = r"[A-Za-z0-9_.@-]{1,128}"
# The id that a client may choose for what it creates.
CLIENT_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
# The grammar of an agent's id.
AGENT_ID = rf"[a-z0-9][a-z0-9_-]{{0,{AGENT_ID_CHARS_MAX - 1}}}"
_AGENT = re.compile(AGENT_ID)
_PLAIN = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
# The grammar of a conversation key, and of one under which a new chat may be created.
CONVERSATION_KEY = r"[a-zA-Z0-9_-]{1,64}"
NEW_CONVERSATION_KEY = r"(?!ses_)[a-zA-Z0-9_-]{8,64}"
_CONVERSATION = re.compile(CONVERSATION_KEY)
_NEW_CONVERSATION = re.compile(NEW_CONVERSATION_KEY)

CHAT_CHANNELS = ("web", "telegram", "cli")
_ROOMS = ("group", "channel", "direct")
_RESERVED = ("global", "unknown")

# (kind, grammar of <rest>), first match wins. A kind of one word is also the first segment of <rest>.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("main", re.compile("main")),
    ("task", re.compile(f"task:{LANE_ID}")),
    ("topic", re.compile(f"topic:{LANE_ID}")),
    ("a2a", re.compile(f"a2a:[0-9a-f]{{12}}:{LANE_ID}")),
    ("cron", re.compile(f"cron:{LANE_ID}")),
    ("hook", re.compile(f"hook:{LANE_ID}")),
    ("node", re.compile(f"node-{LANE_ID}")),
    ("subagent", re.compile(f"subagent:{LANE_ID}")),
    ("openresponses", re.compile(f"openresponses:{LANE_ID}")),
    ("openresponses-user", re.compile(f"openresponses-user:[0-9a-f]{{12}}:{LANE_ID}")),
    ("chat", re.compile(f"(?:{'|'.join(CHAT_CHANNELS)}):[a-zA-Z0-9_-]{{1,64}}")),
    *((room, re.compile(f"[a-z][a-z0-9-]{{1,31}}:{room}:{LANE_ID}(?::thread:{LANE_ID})?")) for room in _ROOMS),
)
# The grammar of what follows the agent in a key.
SESSION_RESTS = "|".join(form.pattern for _, form in _FORMS)


class Grammar:
    """The grammars of names as patterns, for those who describe what is accepted."""

    AGENT_ID = AGENT_ID
    CONVERSATION_KEY = CONVERSATION_KEY
    NEW_CONVERSATION_KEY = NEW_CONVERSATION_KEY
    LANE_ID = LANE_ID
    CLIENT_ID = CLIENT_ID
    SESSION_RESTS = SESSION_RESTS
    # Session kinds in which nobody talks on a channel.
    INTERNAL_KINDS = ("cron", "hook", "node")


# The kinds that lists filter by; every other kind is listed as `other`.
_LISTED_KINDS = {"main": "main", "group": "group", "channel": "group", "cron": "cron", "hook": "hook", "node": "node"}


# Longer than any real key. Anybody can send a key of megabytes, which must not be cached.
_CACHED_CHARS_MAX = 256


def _find_kind(rest: str) -> str | None:
    return next((kind for kind, form in _FORMS if form.fullmatch(rest)), None)


# A turn asks dozens of times, always about the same key.
_kind_of = lru_cache(maxsize=4096)(_find_kind)


class SessionKey(Struct, frozen=True, order=True):
    """The canonical name of a lane; create it with `parse` or `of`, which check its parts."""

    agent: str
    rest: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a canonical key; raise Refusal for anything else."""
        head, _, tail = text.partition(":")
        agent, _, rest = tail.partition(":")
        if head != "agent" or not rest:
            raise Refusal(
                Code.INVALID_PARAMS,
                f"'{text[:80]}' is not a session key; write agent:<agent>:<rest>.",
                field="sessionKey",
            )
        return cls.of(agent, rest)

    @classmethod
    def of(cls, agent: str, rest: str) -> Self:
        """Return the key of `agent` and `rest`; raise Refusal if either is invalid."""
        if rest in _RESERVED:
            raise Refusal(
                Code.RESERVED_SESSION_KEY, f"'{rest}' is reserved and cannot name a session.", field="sessionKey"
            )
        if not is_agent_id(agent):
            raise Refusal(
                Code.INVALID_PARAMS,
                f"'{agent[:80]}' is not an agent id; use lower-case letters, digits, _ and -.",
                field="sessionKey",
            )
        if cls.kind_of(rest) is None:
            raise Refusal(Code.INVALID_PARAMS, f"'{rest[:80]}' does not name a kind of session.", field="sessionKey")
        return cls(agent, rest)

    @classmethod
    def stored(cls, text: str) -> Self:
        """Return a key read from the database; it was checked before it was stored."""
        _, agent, rest = text.split(":", 2)
        return cls(agent, rest)

    @staticmethod
    def kind_of(rest: str) -> str | None:
        """Return the kind of session that `rest` names, or None."""
        return _kind_of(rest) if len(rest) <= _CACHED_CHARS_MAX else _find_kind(rest)

    def __str__(self) -> str:
        return f"agent:{self.agent}:{self.rest}"

    @property
    def kind(self) -> str:
        """main, task, topic, a2a, chat, group, channel, direct, cron, hook, node, subagent, openresponses(-user)."""
        # A key is never so long that it must not be kept.
        kind = _kind_of(self.rest)
        assert kind is not None
        return kind

    @property
    def listed_kind(self) -> str:
        """The kind as lists show it: main, group, cron, hook, node or other."""
        return _LISTED_KINDS.get(self.kind, "other")

    @property
    def identity(self) -> tuple[str, str]:
        """(channelType, conversationKey); for lanes that are not chats, the kind and the rest of the key."""
        kind = self.kind
        if kind == "main":
            return ("main", "main")
        if kind == "node":
            return ("node", self.rest.removeprefix("node-"))
        channel, _, behind = self.rest.partition(":")
        return (channel, behind)

    @property
    def conversation(self) -> str:
        """The `sessionId` of plans, chats and events: the conversation key of a chat, else `<kind>:<id>`."""
        return self.rest.partition(":")[2] if self.kind == "chat" else self.rest

    @property
    def channel(self) -> str | None:
        """The channel named by the key itself, if any."""
        if self.kind == "chat" or self.kind in _ROOMS:
            return self.rest.partition(":")[0]
        return None

    @property
    def chat_type(self) -> str:
        """The type that send policies match: direct, group or channel."""
        kind = self.kind
        return kind if kind in ("group", "channel") else "direct"

    @property
    def task_id(self) -> str | None:
        """The Task id of a task lane."""
        return self.rest.removeprefix("task:") if self.kind == "task" else None

    @property
    def topic_id(self) -> str | None:
        """The Topic id of a topic lane."""
        return self.rest.removeprefix("topic:") if self.kind == "topic" else None


@lru_cache(maxsize=16_384)
def is_agent_id(text: str) -> bool:
    """Return whether an agent id is well formed; malformed ones are refused, never corrected."""
    return _AGENT.fullmatch(text) is not None


def is_conversation_key(text: str, *, is_new: bool = False) -> bool:
    """Return whether a conversation key may exist; short keys of older versions may, but new ones are refused."""
    return (_NEW_CONVERSATION if is_new else _CONVERSATION).fullmatch(text) is not None


def key_text(text: str) -> str:
    """Return external text as part of a key: unchanged if it fits, else its hash."""
    return text if _PLAIN.fullmatch(text) else text_hash(text)
