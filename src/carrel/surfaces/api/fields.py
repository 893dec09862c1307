"""Types of fields that several endpoints share: what is accepted, and how the OpenAPI document says it.

`extra_json_schema` describes what a room below checks, with a code or a sentence of its own. The document forbids
NUL in every text.
"""

from functools import cache
from typing import Annotated, Any, get_args

from msgspec import Meta, Struct, structs

from carrel.agents import ACCOUNT_SLUG
from carrel.kernel import Grammar
from carrel.kernel.limits import (
    CLIENT_ID_CHARS_MAX,
    MESSAGE_CHARS_MAX,
    NAME_CHARS_MAX,
    SCHEDULE_EXECUTIONS_MAX,
    SESSION_REFERENCE_CHARS_MAX,
)
from carrel.surfaces.api.cursors import read_moment
from carrel.surfaces.api.endpoint import In
from carrel.surfaces.http.described import REFERENCE_SCHEMA, SOME_TEXT

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
ShortText = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
Id = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX)]
# The id that a caller chooses for something new.
NewId = Annotated[str, Meta(extra_json_schema={"pattern": f"^{Grammar.CLIENT_ID}$"})]
# A session of Carrel, or of another program: that one is only a name here.
AnySession = Annotated[str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX)]
# A session reference in any of its forms.
Reference = Annotated[
    str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema=REFERENCE_SCHEMA)
]
# The text of a message: not only white space.
Text = Annotated[str, Meta(extra_json_schema={"maxLength": MESSAGE_CHARS_MAX, "pattern": SOME_TEXT})]
NewConversationKey = Annotated[
    str, Meta(max_length=NAME_CHARS_MAX, extra_json_schema={"pattern": f"^{Grammar.NEW_CONVERSATION_KEY}$"})
]
# A position in a list, as `nextCursor` gave it.
Cursor = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{4,512}$")]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
# The name of an agent or a user in addresses.
Slug = Annotated[str, Meta(extra_json_schema={"pattern": f"^{Grammar.AGENT_ID}$"})]
AccountSlug = Annotated[str, Meta(extra_json_schema={"pattern": f"^{ACCOUNT_SLUG}$"})]
Executions = Annotated[
    int, Meta(extra_json_schema={"minimum": -1, "maximum": SCHEDULE_EXECUTIONS_MAX, "not": {"const": 0}})
]


class PageQuery(In, frozen=True, kw_only=True):
    """Which page of a list."""

    limit: int | None = None
    cursor: Cursor | None = None


def values_of(body: In) -> dict[str, Any]:
    """Return the fields of a body as the rooms below take them: times in milliseconds."""
    fields = structs.asdict(body)
    for name, wire in _moments(type(body)).items():
        if isinstance(fields[name], str):
            fields[name] = read_moment(wire, fields[name])
    return fields


@cache
def _moments(kind: type[Struct]) -> dict[str, str]:
    """Return the names of a body's times, each with its name in JSON."""
    return {field.name: field.encode_name for field in structs.fields(kind) if Moment in get_args(field.type)}
