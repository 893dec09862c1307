"""Session references in requests, and the parameter `sessionId`, required where a session must be named."""

from typing import Annotated

from msgspec import Meta

from carrel.kernel import Access, Code, Input, Refusal, SessionKey
from carrel.kernel.fields import Cursor
from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.surfaces.http.errors import field_named
from carrel.surfaces.http.openapi import REFERENCE_SCHEMA

# A session reference in any of its forms.
Reference = Annotated[
    str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema=REFERENCE_SCHEMA)
]
# An empty one is refused as missing.
SessionId = Annotated[
    str, Meta(max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema={**REFERENCE_SCHEMA, "minLength": 1})
]


class OfSession(Input, frozen=True, kw_only=True):
    """Which session; where something of a session is named, the one that it must belong to, if any."""

    session_id: SessionId | None = None

    def required_key(self, tx: Tx, access: Access) -> SessionKey:
        """Return the key of the session; Refusal when none is named."""
        return session_named(tx, access, required(self.session_id))

    def key_if_named(self, tx: Tx, access: Access) -> SessionKey | None:
        """Return the key of the session, if one is named."""
        return session_if_named(tx, access, self.session_id)


class PageOfSession(OfSession, frozen=True, kw_only=True):
    """Which page of a session's list."""

    limit: int | None = None
    cursor: Cursor | None = None


def required(reference: str | None) -> str:
    """Return the reference; Refusal when there is none."""
    if not reference:
        raise Refusal(Code.SESSION_REQUIRED, "Name a session: send sessionId.", field="sessionId")
    return reference


def session_named(tx: Tx, access: Access, reference: str) -> SessionKey:
    """Return the key of the session that is meant; `current` means the session of the token's agent or run."""
    with field_named("sessionId", below="sessionKey"):
        return find_session(tx, access, reference).key


def session_if_named(tx: Tx, access: Access, reference: str | None) -> SessionKey | None:
    """Return the key of the session that is meant, if any."""
    return None if reference is None else session_named(tx, access, reference)
