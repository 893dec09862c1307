"""How a surface describes its operations; the API makes the OpenAPI document of all of them."""

from typing import Any, Literal

from msgspec import Struct

from carrel.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX, SESSION_REFERENCE_CHARS_MAX
from carrel.sessions import SESSION_REFERENCE
from carrel.surfaces.http.errors import ErrorBody
from carrel.surfaces.http.tool_callers import SESSION_HEADER

Json = dict[str, Any]
JSON = ("application/json",)
# The database cannot store a NUL, so a text that contains one is refused.
NO_NUL = r"^[^\u0000]*$"
# Base64 in the form that strict decoders accept.
BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?"
NAME_SCHEMA: Json = {"type": "string", "minLength": 1, "pattern": NO_NUL}
REFERENCE_SCHEMA: Json = {"pattern": f"^{SESSION_REFERENCE}$"}
IDEMPOTENCY_KEY: Json = {
    "name": "X-Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARS_MAX},
}


class Operation(Struct, frozen=True, kw_only=True):
    """One operation. Bodies, queries and answers are types that msgspec can describe, or plain JSON schemas."""

    method: str
    path: str
    name: str
    summary: str
    tag: str
    answers: dict[int, Any]
    # The statuses of its errors, and their body.
    errors: tuple[int, ...]
    error: Any = ErrorBody
    error_media: tuple[str, ...] = JSON
    media: tuple[str, ...] = JSON
    query: Any = None
    body: Any = None
    # Types that a plain schema refers to by name.
    uses: tuple[type, ...] = ()
    body_media: tuple[str, ...] = JSON
    headers: tuple[Json, ...] = ()
    # Schemas of path parameters that are more than a name.
    path_schemas: dict[str, Json] = {}
    access: Literal["by token", "open on loopback", "open"] = "by token"


def session_header(description: str, *, or_empty: bool = False) -> Json:
    """Return the header that names a session; with `or_empty`, one without a value counts as left out."""
    pattern = f"^(?:{SESSION_REFERENCE}){'?' if or_empty else ''}$"
    schema = {"type": "string", "maxLength": SESSION_REFERENCE_CHARS_MAX, "pattern": pattern}
    return {"name": SESSION_HEADER, "in": "header", "required": False, "description": description, "schema": schema}
