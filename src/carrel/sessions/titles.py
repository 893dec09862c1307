"""What a person would call a session: its given name, the title of its task, the first words of a chat.

A title contains no id, is one line without control characters, and shows nothing that its reader may not see.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access, SessionKey, clip, one_line, redact
from carrel.kernel.limits import SESSION_TITLE_CHARS_MAX
from carrel.sessions.title_store import TitleSource, title_sources
from carrel.storage import Tx

# A bidirectional control could show the characters of a title in another order.
_CONTROLS = re.compile(r"[\x80-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PROGRAMS = {"a2a": "A2A", "openresponses": "API", "openresponses-user": "API"}
_OWN_CHANNELS = ("web", "cli")


class LaneTitle(Struct, frozen=True):
    """The title of a lane, and the name of its agent."""

    title: str
    agent: str


def titles_of(tx: Tx, access: Access, keys: Iterable[str]) -> dict[str, LaneTitle]:
    """Return the titles of the visible lanes among these, by key; two statements for any number."""
    sources = title_sources(tx, access, keys)
    parents = title_sources(tx, access, [one.spawned_by for one in sources.values() if one.spawned_by is not None])
    return {
        key: LaneTitle(lane_title(one, parents.get(one.spawned_by or "")), clean_title(one.agent))
        for key, one in sources.items()
    }


def clean_title(text: str) -> str:
    """Return a text as part of a title: one line, bounded, without control characters and secrets."""
    # Cut first, so that the text that is not shown is not cleaned either.
    return clip(one_line(_CONTROLS.sub(" ", redact(text[: 4 * SESSION_TITLE_CHARS_MAX]))), SESSION_TITLE_CHARS_MAX)


def lane_title(source: TitleSource, parent: TitleSource | None) -> str:
    """Return the title of a lane; `parent` is the lane that spawned it, if the reader may see it."""
    return clean_title(_title(source, parent))


def _title(source: TitleSource, parent: TitleSource | None) -> str:
    key, name = SessionKey.stored(source.key), clean_title(source.name or "")
    if key.kind in ("chat", "direct", "group", "channel") and key.channel not in _OWN_CHANNELS:
        named = f"{'group ' if key.kind == 'group' else ''}· {name or clean_title(source.words or '') or source.agent}"
        return f"{(key.channel or '').capitalize()} {named}"
    return name or _unnamed(source, key.kind, parent)


def _unnamed(source: TitleSource, kind: str, parent: TitleSource | None) -> str:
    words = clean_title(source.words or "")
    if kind in ("task", "topic"):
        return clean_title(source.item or "") or f"A {kind} of {source.agent}"
    if kind == "subagent":
        # One level is enough to recognize it; a parent without a name gets its agent's name.
        above = None if parent is None else lane_title(parent, None)
        return f"Sub-agent of {above or source.agent}"
    if kind == "main":
        return "Main" if source.agent.casefold() == "main" else f"{source.agent} main"
    if kind in _PROGRAMS:
        return " · ".join(part for part in (_PROGRAMS[kind], source.maker or "a program", words) if part)
    if kind in ("cron", "hook", "node"):
        what = {"cron": "Schedule", "hook": "Hook", "node": "Node"}[kind]
        return f"{what} · {words}" if words else f"{what} of {source.agent}"
    return words or f"New chat with {source.agent}"
