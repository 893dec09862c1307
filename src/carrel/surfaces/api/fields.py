"""Types of fields that several endpoints share: what is accepted, and how the OpenAPI document says it.

`extra_json_schema` describes what a room below checks, with a code or a sentence of its own.
"""

from typing import Annotated

from msgspec import Meta

from carrel.agents import ACCOUNT_SLUG
from carrel.kernel import Grammar
from carrel.kernel.limits import MESSAGE_CHARS_MAX, NAME_CHARS_MAX, SCHEDULE_EXECUTIONS_MAX, SESSION_REFERENCE_CHARS_MAX
from carrel.surfaces.http.described import REFERENCE_SCHEMA, SOME_TEXT

# A session reference in any of its forms.
Reference = Annotated[
    str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema=REFERENCE_SCHEMA)
]
# The text of a message: not only white space.
Text = Annotated[
    str,
    Meta(
        extra_json_schema={
            "maxLength": MESSAGE_CHARS_MAX,
            "pattern": SOME_TEXT,
        }
    ),
]
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
