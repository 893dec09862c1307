"""Accounts, users and tokens as values."""

from typing import Annotated, Any, Generic, Literal

from msgspec import UNSET, Meta, UnsetType

from carrel.kernel import Input, Shape, When, new_secret
from carrel.kernel.fields import SOME_TEXT, AgentName, Moment, Name, ShortText, Slug, checked
from carrel.kernel.limits import NAME_CHARS_MAX, SPACE_ID_CHARS_MAX, TOKEN_NAMES_MAX
from carrel.kernel.settings import Recall

TokenKind = Literal["owner", "user", "agent", "run", "client"]
Role = Literal["owner", "member"]
TOKEN_PREFIX = "crl_"  # noqa: S105  (a prefix, not a secret)

# This room checks these and words the refusals; here they are only described. Ids may have letters of every script as
# well, which a pattern cannot say in all languages alike.
SpaceName = Annotated[str, checked(pattern=SOME_TEXT, maxLength=NAME_CHARS_MAX)]
SpaceId = Annotated[str, checked(pattern="^space-[a-z0-9]+(-[a-z0-9]+)*$", maxLength=SPACE_ID_CHARS_MAX)]
Email = Annotated[str, Meta(max_length=320)]


class _AccountFields(Shape, Generic[When], frozen=True, kw_only=True):
    id: str
    name: str
    slug: str
    settings: dict[str, Any]
    created_at: When


class Account(_AccountFields[int], frozen=True, kw_only=True):
    """A tenant; no read crosses from one into another."""

    # The server's setting for lanes for which nobody has chosen.
    recall_default: Recall = "own"


class AccountShape(_AccountFields[str | None], frozen=True, kw_only=True):
    """An account."""


class _UserFields(Shape, Generic[When], frozen=True, kw_only=True):
    id: str
    name: str
    slug: str
    email: str | None
    role: Role
    created_at: When


class User(_UserFields[int], frozen=True, kw_only=True):
    """A person with access to an account."""


class UserShape(_UserFields[str | None], frozen=True, kw_only=True):
    """A user of the account."""


class NewUser(Input, frozen=True, kw_only=True):
    """A new user; without a slug, one is made from the name."""

    name: Name
    slug: Slug | None = None
    email: Email | None = None
    role: Role = "member"


class UserChange(Input, frozen=True, kw_only=True):
    """Changes of a user."""

    name: Name | UnsetType = UNSET
    slug: Slug | UnsetType = UNSET
    email: Email | UnsetType | None = UNSET
    role: Role | UnsetType = UNSET


class _SpaceFields(Shape, Generic[When], frozen=True, kw_only=True):
    id: str
    name: str
    color: str | None
    default_visible: bool
    created_at: When
    updated_at: When


class Space(_SpaceFields[int], frozen=True, kw_only=True):
    """A part of an account's board; which spaces are visible from it is in its edges.

    `default_visible` says whether new spaces see it.
    """

    # The number of its newest change.
    seq: int = 0


class SpaceShape(_SpaceFields[str], frozen=True, kw_only=True):
    """A space as surfaces show it; `connectivity` says which others are visible from it."""

    connectivity: dict[str, bool]


class NewSpace(Input, frozen=True, kw_only=True):
    """A new space; without an id it follows from the name."""

    name: SpaceName
    id: SpaceId | None = None
    color: ShortText | None = None
    default_visible: bool = True


class SpaceChange(Input, frozen=True, kw_only=True):
    """Changes of a space; fields left out stay as they are."""

    name: SpaceName | UnsetType = UNSET
    color: ShortText | UnsetType | None = UNSET
    default_visible: bool | UnsetType = UNSET


class NewTokenFields(Input, frozen=True, kw_only=True):
    """What is said of a new token."""

    kind: TokenKind
    name: Name
    agent_id: AgentName | None = None
    user_id: str | None = None
    agent_ids: Annotated[tuple[AgentName, ...], Meta(max_length=TOKEN_NAMES_MAX)] = ()
    expires_at: Moment | None = None


class NewToken(NewTokenFields, frozen=True, kw_only=True):
    """A token to be created."""

    space_ids: tuple[str, ...] = ("*",)
    run_id: str | None = None


class _TokenFields(Shape, Generic[When], frozen=True, kw_only=True):
    id: str
    kind: TokenKind
    name: str
    agent_id: str | None
    user_id: str | None
    agent_ids: tuple[str, ...]
    space_ids: tuple[str, ...]
    created_at: When
    last_used_at: When | None
    expires_at: When | None


class Token(_TokenFields[int], frozen=True, kw_only=True):
    """A token without its secret, as it may be shown."""


class TokenShape(_TokenFields[str | None], frozen=True, kw_only=True):
    """A token without its secret."""


def token_text(kind: str, token_id: str) -> str:
    """Return the text of a new token, which its bearer sees only once."""
    return f"{TOKEN_PREFIX}{kind}_{token_id.removeprefix('tok_')}_{new_secret()}"
