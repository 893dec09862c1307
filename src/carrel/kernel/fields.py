"""Types of fields that requests share: what is accepted, and how the OpenAPI document says it.

`extra_json_schema` describes what a room checks itself, with a code or a sentence of its own. The document forbids
NUL in every text.
"""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from carrel.kernel.keys import Grammar
from carrel.kernel.limits import (
    AGENT_ID_CHARS_MAX,
    CLIENT_ID_CHARS_MAX,
    MESSAGE_CHARS_MAX,
    NAME_CHARS_MAX,
    SESSION_REFERENCE_CHARS_MAX,
)

if TYPE_CHECKING:
    Milliseconds = int
else:

    class _AnyInt(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, int)

    class Milliseconds(int, metaclass=_AnyInt):
        """A plain int; the type of its field tells the decoder to expect an ISO 8601 text."""


# A text that is not only white space. Written with one repetition, which generators of test data can invert.
SOME_TEXT = r"^(?=\s*\S)[^\u0000]*$"


def checked(**schema: Any) -> Meta:
    """Describe what the room checks itself."""
    return Meta(extra_json_schema=schema)


def up_to(chars_max: int) -> Meta:
    """Describe the limit of a text that the room checks itself."""
    return checked(maxLength=chars_max)


def at_most(items_max: int) -> Meta:
    """Describe the limit of a list that the room checks itself."""
    return checked(maxItems=items_max)


Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
ShortText = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
Id = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX)]
# The id that a caller chooses for something new.
NewId = Annotated[str, checked(pattern=f"^{Grammar.CLIENT_ID}$")]
AgentName = Annotated[str, Meta(min_length=1, max_length=AGENT_ID_CHARS_MAX)]
# A session of Carrel, or of another program: that one is only a name here.
AnySession = Annotated[str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX)]
# The text of a message: not only white space.
Text = Annotated[str, checked(maxLength=MESSAGE_CHARS_MAX, pattern=SOME_TEXT)]
NewConversationKey = Annotated[
    str, Meta(max_length=NAME_CHARS_MAX, extra_json_schema={"pattern": f"^{Grammar.NEW_CONVERSATION_KEY}$"})
]
# A position in a list, as `nextCursor` gave it.
Cursor = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{4,512}$")]
# Milliseconds, which requests write as ISO 8601.
Moment = Annotated[Milliseconds, checked(type="string", format="date-time")]
# The name of an agent or a user in addresses.
Slug = Annotated[str, checked(pattern=f"^{Grammar.AGENT_ID}$")]
