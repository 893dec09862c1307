"""Mentions in a person's message: `@slug`, `@"Full Name"` and `@all`, outside code and quotations. Pure.

One pass over the text, in linear time.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Shape
from carrel.work.model import PartyKind

# Spans to skip, then mentions; an @ inside a word, as in an e-mail address, is none. A quotation ends on its line, so
# that a lone quotation mark hides nothing.
_TOKENS = re.compile(
    r"""(?P<fence>^[ ]{0,3}(?P<mark>`{3,}|~{3,})[^\n]*(?:\n(?:(?![ ]{0,3}(?P=mark))[^\n]*\n?)*(?:[ ]{0,3}(?P=mark))?)?)
      | (?P<quote>^[ \t]*>[^\n]*)
      | (?P<code>`[^`\n]+`)
      | (?<![\w@])@(?:"(?P<name>[^"\n]{1,200})"|(?P<slug>\w[\w-]{0,63}))
      | (?P<said>"[^"\n]*"|“[^“”\n]*”|«[^«»\n]*»)""",
    re.MULTILINE | re.VERBOSE,
)
EVERYONE = "all"


class Mentionable(Struct, frozen=True):
    """Somebody who can be mentioned, by a slug or by the full name."""

    kind: PartyKind
    id: str
    slugs: tuple[str, ...]
    name: str


class MentionShape(Shape, frozen=True, kw_only=True):
    """Somebody who is mentioned in a message."""

    kind: PartyKind
    id: str


def read_mentions(text: str, known: Iterable[Mentionable]) -> list[MentionShape]:
    """Return who is mentioned in a text, each once, in the order of their first mention."""
    slugs, names = set[str](), set[str]()
    for found in _TOKENS.finditer(text):
        if found["slug"] is not None:
            # A hyphen at the end belongs to the sentence.
            slugs.add(found["slug"].rstrip("-").casefold())
        elif found["name"] is not None:
            names.add(" ".join(found["name"].split()).casefold())
    if not slugs and not names:
        return []
    return [
        MentionShape(kind=party.kind, id=party.id)
        for party in known
        if EVERYONE in slugs or party.name.casefold() in names or any(slug.casefold() in slugs for slug in party.slugs)
    ]
