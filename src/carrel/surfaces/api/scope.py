"""The parameters by which reads of the board say which spaces they cover."""

from typing import Annotated

from msgspec import Meta

from carrel.access import effective_spaces
from carrel.kernel import Access
from carrel.kernel.limits import NAME_CHARS_MAX, SESSION_REFERENCE_CHARS_MAX
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import In
from carrel.surfaces.http.described import NO_NUL

SpaceName = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX, extra_json_schema={"pattern": NO_NUL})]
# Names with commas between them.
SpaceNames = Annotated[str, Meta(max_length=100_000, extra_json_schema={"pattern": NO_NUL})]
# A session of ours or of another program; the latter is only a name here.
AnySession = Annotated[
    str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema={"pattern": NO_NUL})
]


class Scoped(In, frozen=True, kw_only=True):
    """A read of the board: from which space or session it looks, and which spaces it covers at most."""

    session_key: AnySession | None = None
    space_id: SpaceName | None = None
    allowed_space_ids: SpaceNames | None = None


def spaces_wanted(tx: Tx, access: Access, query: Scoped) -> tuple[str, ...] | None:
    """Return the spaces that a read covers; None for all that the caller may see."""
    allowed = names_in(query.allowed_space_ids)
    if query.space_id is None and allowed is None:
        return None
    return effective_spaces(tx, access, space_id=query.space_id, allowed_ids=allowed).allowed


def names_in(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list with commas; None when it has none."""
    return tuple(name for part in (text or "").split(",") if (name := part.strip())) or None
