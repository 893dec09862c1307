"""Types of fields that several endpoints share: what is accepted, and how the OpenAPI document says it.

`extra_json_schema` describes what a room below checks, with a code or a sentence of its own.
"""

from typing import Annotated

from msgspec import Meta

from carrel.kernel import AGENT_ID, SESSION_RESTS
from carrel.kernel.limits import MESSAGE_CHARS_MAX, NAME_CHARS_MAX, SCHEDULE_EXECUTIONS_MAX, SESSION_REFERENCE_CHARS_MAX

# The database cannot store a NUL, so every text is refused that contains one.
NO_NUL = r"^[^\u0000]*$"
_REFERENCE = (
    r"^(?!(global|unknown)$)(current|[a-zA-Z0-9_-]{1,64}"
    rf"|([Aa]gent:[^:\u0000]+:)?({SESSION_RESTS})(:v[1-9][0-9]{{0,8}}(@[a-z0-9-]{{1,64}})?)?"
    r"|agent:[^:\u0000]+:acc_[0-9a-z]{26}|clawboard:topic:[A-Za-z0-9_.@-]{1,128}"
    r"|clawboard:task:[^:\u0000]+:[A-Za-z0-9_.@-]{1,128}"
    r"|task:[A-Za-z0-9_.@-]{1,128}:agent:[^:\u0000]+:[^:\u0000]+:v[1-9][0-9]{0,8})$"
)
REFERENCE_SCHEMA = {"pattern": _REFERENCE}

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
            "pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
        }
    ),
]
NewConversationKey = Annotated[
    str, Meta(max_length=NAME_CHARS_MAX, extra_json_schema={"pattern": "^(?!ses_)[a-zA-Z0-9_-]{8,64}$"})
]
# A position in a list, as `nextCursor` gave it.
Cursor = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{4,512}$")]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
# The name of an agent or a user in addresses.
Slug = Annotated[str, Meta(extra_json_schema={"pattern": f"^{AGENT_ID}$"})]
AccountSlug = Annotated[str, Meta(extra_json_schema={"pattern": "^[a-z0-9][a-z0-9-]{0,63}$"})]
Executions = Annotated[
    int, Meta(extra_json_schema={"minimum": -1, "maximum": SCHEDULE_EXECUTIONS_MAX, "not": {"const": 0}})
]
