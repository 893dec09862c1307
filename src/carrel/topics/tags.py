"""Tags of topics, and the spaces that they name."""

from collections.abc import Iterable

from carrel.access import ensure_spaces, space_id_of
from carrel.kernel import Access
from carrel.storage import Tx
from carrel.topics import store
from carrel.topics.model import Topic

_PREFIX = "space:"


def clean_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags without surrounding white space, each once and none of them empty."""
    return tuple(dict.fromkeys(stripped for tag in tags if (stripped := tag.strip())))


def space_of_tag(tag: str) -> str | None:
    """Return the id of the space that a tag names; a `system:` tag names none."""
    return None if tag.strip().lower().startswith("system:") else space_id_of(_label(tag))


def ensure_spaces_of_tags(tx: Tx, access: Access, tags: Iterable[str]) -> tuple[str, ...]:
    """Create the missing spaces that tags name, if the caller may; return all that exist, in the order of the tags."""
    names: dict[str, str] = {}
    for tag in tags:
        if (space_id := space_of_tag(tag)) is not None:
            names.setdefault(space_id, _label(tag))
    return ensure_spaces(tx, access, names)


def spaces_of_tags(tx: Tx, access: Access, tags: tuple[str, ...], topic: Topic | None = None) -> tuple[str, ...]:
    """Return the spaces that tags put a topic into; new tags count only for spaces that the caller may name.

    A tag that the topic already has keeps its meaning, whoever sends it again.
    """
    had, known = ((), ()) if topic is None else (topic.tags, store.spaces_of_topic(tx, access, topic.id))
    added = ensure_spaces_of_tags(tx, access, (tag for tag in tags if tag not in had))
    kept = {space_of_tag(tag) for tag in tags if tag in had}.intersection(known)
    spaces = (space_of_tag(tag) for tag in tags)
    return tuple(dict.fromkeys(space for space in spaces if space is not None and (space in added or space in kept)))


def _label(tag: str) -> str:
    text = tag.strip()
    return text[len(_PREFIX) :].strip() if text.lower().startswith(_PREFIX) else text
