"""Accounts, users and tokens as values."""

from typing import Any, Literal

from msgspec import Struct

from carrel.kernel import new_secret
from carrel.kernel.settings import Recall

TokenKind = Literal["owner", "user", "agent", "run", "client"]
Role = Literal["owner", "member"]
TOKEN_PREFIX = "crl_"  # noqa: S105  (a prefix, not a secret)


class Account(Struct, frozen=True, kw_only=True):
    """A tenant; no read crosses from one into another."""

    id: str
    slug: str
    name: str
    settings: dict[str, Any]
    created_at: int
    # The server's setting for lanes for which nobody has chosen.
    recall_default: Recall = "own"


class User(Struct, frozen=True, kw_only=True):
    """A person with access to an account."""

    id: str
    slug: str
    name: str
    email: str | None
    role: Role
    created_at: int


class Space(Struct, frozen=True, kw_only=True):
    """A part of an account's board; which spaces are visible from it is in its edges."""

    id: str
    name: str
    created_at: int
    updated_at: int
    color: str | None = None
    # Whether new spaces see it.
    default_visible: bool = True
    # The number of its newest change.
    seq: int = 0


class NewToken(Struct, frozen=True, kw_only=True):
    """A token to be created."""

    kind: TokenKind
    name: str
    agent_id: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    agent_ids: tuple[str, ...] = ()
    space_ids: tuple[str, ...] = ("*",)
    expires_at: int | None = None


class Token(Struct, frozen=True, kw_only=True):
    """A token without its secret, as it may be shown."""

    id: str
    kind: TokenKind
    name: str
    agent_id: str | None
    user_id: str | None
    agent_ids: tuple[str, ...]
    space_ids: tuple[str, ...]
    created_at: int
    last_used_at: int | None
    expires_at: int | None


def token_text(kind: str, token_id: str) -> str:
    """Return the text of a new token, which its bearer sees only once."""
    return f"{TOKEN_PREFIX}{kind}_{token_id.removeprefix('tok_')}_{new_secret()}"
