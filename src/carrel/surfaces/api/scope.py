"""The parameters by which reads of the board say which spaces they cover."""

from typing import Annotated

from msgspec import Meta

from carrel.access import SpaceScope, effective_spaces
from carrel.board import board_key, infer_space
from carrel.kernel import Access, Input, Refusal, invalid
from carrel.kernel.fields import AnySession, Name
from carrel.kernel.limits import SPACES_PER_ACCOUNT_MAX
from carrel.sessions import find_session
from carrel.storage import Tx

# Comma-separated names.
SpaceNames = Annotated[str, Meta(max_length=100_000)]


class Scoped(Input, frozen=True, kw_only=True):
    """A read of the board: from which space or session it looks, and which spaces it covers at most."""

    session_key: AnySession | None = None
    space_id: Name | None = None
    allowed_space_ids: SpaceNames | None = None


def scope_of(tx: Tx, access: Access, query: Scoped, *, infers: bool = False) -> SpaceScope:
    """Return the spaces that a read covers: those it names, else all that the caller may see.

    If it `infers`, it looks from the space of the session that it names.
    """
    allowed = names_in("allowedSpaceIds", query.allowed_space_ids)
    inferred = None
    if infers and query.session_key is not None and query.space_id is None:
        inferred = infer_space(tx, access, _known_key(tx, access, query.session_key))
    if query.space_id is None and inferred is None and not allowed:
        return SpaceScope()
    return effective_spaces(tx, access, space_id=query.space_id, allowed_ids=allowed or None, inferred=inferred)


def names_in(field: str, text: str | None, most: int = SPACES_PER_ACCOUNT_MAX) -> tuple[str, ...]:
    """Return the distinct names in a comma-separated parameter."""
    names = tuple(dict.fromkeys(name for part in (text or "").split(",") if (name := part.strip())))
    if len(names) > most:
        raise invalid(field, f"{field} may name at most {most}; it names {len(names)}.")
    return names


def _known_key(tx: Tx, access: Access, session_key: str) -> str:
    """Return the key of the lane that a session reference means, or any other name as it is."""
    if board_key(session_key) is not None:
        return session_key
    try:
        return str(find_session(tx, access, session_key).key)
    except Refusal:
        return session_key
