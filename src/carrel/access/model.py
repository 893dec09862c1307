"""Accounts, people and tokens as values."""

from typing import Any, Literal

from msgspec import Struct

from carrel.kernel import new_secret, secret_digest

TokenKind = Literal["owner", "user", "agent", "run", "client"]
Role = Literal["owner", "member"]
TOKEN_PREFIX = "crl_"  # noqa: S105  (a prefix, no secret)


class Account(Struct, frozen=True, kw_only=True):
    """The tenant: a wall no read crosses."""

    id: str
    slug: str
    name: str
    settings: dict[str, Any]
    created_at: int


class User(Struct, frozen=True, kw_only=True):
    """One person of an account."""

    id: str
    slug: str
    name: str
    email: str | None
    role: Role
    created_at: int


class NewToken(Struct, frozen=True, kw_only=True):
    """What a token is to be."""

    kind: TokenKind
    name: str
    agent_id: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    agent_ids: tuple[str, ...] = ()
    space_ids: tuple[str, ...] = ("*",)
    expires_at: int | None = None


class Token(Struct, frozen=True, kw_only=True):
    """A token as it may be shown: everything but its secret."""

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
    """A new token as its bearer gets it, once."""
    return f"{TOKEN_PREFIX}{kind}_{token_id.removeprefix('tok_')}_{new_secret()}"


def digest(secret: str) -> str:
    """What is stored of it."""
    return secret_digest(secret)
