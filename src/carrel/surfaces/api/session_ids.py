"""The parameter `sessionId`: any session reference, required where a session must be named."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from msgspec import Meta

from carrel.kernel import Code, Refusal
from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX
from carrel.surfaces.http.described import REFERENCE_SCHEMA

# An empty one is refused as missing.
SessionId = Annotated[
    str, Meta(max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema={**REFERENCE_SCHEMA, "minLength": 1})
]


def required(reference: str | None) -> str:
    """Return the reference; Refusal when there is none."""
    if not reference:
        raise Refusal(Code.SESSION_REQUIRED, "Name a session: send sessionId.", field="sessionId")
    return reference


@contextmanager
def refused_by_name() -> Iterator[None]:
    """Let refusals name the field `sessionId`, which the rooms below call a session key."""
    try:
        yield
    except Refusal as refusal:
        if refusal.field == "sessionKey":
            refusal.field = "sessionId"
        raise
