"""Types of fields that several endpoints share, besides those that rooms share."""

from typing import Annotated

from msgspec import Meta

from carrel.agents import ACCOUNT_SLUG
from carrel.kernel import Input
from carrel.kernel.fields import Cursor, checked
from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX
from carrel.surfaces.http.openapi import REFERENCE_SCHEMA

# A session reference in any of its forms.
Reference = Annotated[
    str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema=REFERENCE_SCHEMA)
]
AccountSlug = Annotated[str, checked(pattern=f"^{ACCOUNT_SLUG}$")]


class PageQuery(Input, frozen=True, kw_only=True):
    """Which page of a list."""

    limit: int | None = None
    cursor: Cursor | None = None
