"""Accounts, users and tokens: what an owner administers."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from carrel.access import (
    Account,
    NewToken,
    TokenKind,
    UserChange,
    account_of,
    change_user,
    every_account,
    every_user,
    live_tokens,
    make_user,
    remove_user,
    revoke,
    slug_of,
)
from carrel.agents import account_settings, change_account, make_token, open_account
from carrel.kernel import Access
from carrel.kernel.limits import AGENT_ID_CHARS_MAX, BRIEFING_CHARS_MAX, LIST_ROWS_MAX, TOKEN_NAMES_MAX
from carrel.kernel.settings import Recall
from carrel.storage import Tx
from carrel.surfaces.api.agents import BehaviorPatch
from carrel.surfaces.api.cursors import clamp, cut, read_cursor
from carrel.surfaces.api.endpoint import OWNER, Call, In, NoQuery, Out, Page, endpoint, one, page_of
from carrel.surfaces.api.fields import AccountSlug, Moment, Name, PageQuery, Slug, values_of
from carrel.surfaces.api.health import require_operator

AgentName = Annotated[str, Meta(min_length=1, max_length=AGENT_ID_CHARS_MAX)]
Role = Literal["owner", "member"]


class AgentDefaults(In, frozen=True, kw_only=True):
    """Defaults of every agent of the account."""

    behavior_flags: BehaviorPatch | UnsetType | None = UNSET


class AccountSettings(In, frozen=True, kw_only=True):
    """Settings of an account; merged key by key, null clears."""

    default_agent_id: AgentName | UnsetType | None = UNSET
    orchestrator_agent_id: AgentName | UnsetType | None = UNSET
    orchestrator_chat_task_id: str | UnsetType | None = UNSET
    briefing: Annotated[str, Meta(max_length=BRIEFING_CHARS_MAX)] | UnsetType | None = UNSET
    recall: Recall | UnsetType | None = UNSET
    agent_defaults: AgentDefaults | UnsetType | None = UNSET
    notification_preferences: Annotated[dict[str, bool | None], Meta(max_length=100)] | UnsetType | None = UNSET


class AccountChange(In, frozen=True, kw_only=True):
    """Changes of the account."""

    name: Name | UnsetType = UNSET
    settings: AccountSettings | UnsetType = UNSET


class NewAccount(In, frozen=True, kw_only=True):
    """A new account; without a slug, one is made from its name."""

    name: Name
    slug: AccountSlug | None = None


class AccountShape(Out, frozen=True, kw_only=True):
    """An account."""

    id: str
    name: str
    slug: str
    settings: dict[str, Any]
    created_at: str | None


class NewAccountAnswer(Out, frozen=True, kw_only=True):
    """A new account and its first owner token, which is shown only once."""

    account: AccountShape
    owner_token: str


def _account_shape(account: Account) -> AccountShape:
    return AccountShape.of(account, settings=account_settings(account))


@endpoint("GET", "/api/accounts", answers={200: page_of("accounts", AccountShape)}, who=OWNER)
def list_accounts(call: Call[None, NoQuery], tx: Tx, access: Access) -> Page[AccountShape]:
    """List every account of this server."""
    require_operator(access)
    return Page([_account_shape(account) for account in every_account(tx)])


@endpoint(
    "POST", "/api/accounts", answers={201: NewAccountAnswer}, who=OWNER, body=NewAccount, creates=True, secret=True
)
def create_account(call: Call[NewAccount, NoQuery], tx: Tx, access: Access) -> NewAccountAnswer:
    """Create an account with its agent `main` and its first owner token."""
    require_operator(access)
    slug = slug_of(call.body.name) if call.body.slug is None else call.body.slug
    account, secret = open_account(tx, call.body.name, slug, call.house.settings.context.recall)
    return NewAccountAnswer(account=_account_shape(account), owner_token=secret)


@endpoint("GET", "/api/account", answers={200: one("account", AccountShape)})
def show_account(call: Call[None, NoQuery], tx: Tx, access: Access) -> AccountShape:
    """Get the caller's account and its settings."""
    return _account_shape(account_of(tx, access))


@endpoint("PATCH", "/api/account", answers={200: one("account", AccountShape)}, who=OWNER, body=AccountChange)
def update_account(call: Call[AccountChange, NoQuery], tx: Tx, access: Access) -> AccountShape:
    """Rename the account or merge changes into its settings."""
    name = None if call.body.name is UNSET else call.body.name
    changes = {} if call.body.settings is UNSET else msgspec.to_builtins(call.body.settings)
    return _account_shape(change_account(tx, access, name, changes))


class NewUser(In, frozen=True, kw_only=True):
    """A new user; without a slug, one is made from the name."""

    name: Name
    slug: Slug | None = None
    email: Annotated[str, Meta(max_length=320)] | None = None
    role: Role = "member"


class UserPatch(In, frozen=True, kw_only=True):
    """Changes of a user."""

    name: Name | UnsetType = UNSET
    slug: Slug | UnsetType = UNSET
    email: Annotated[str, Meta(max_length=320)] | UnsetType | None = UNSET
    role: Role | UnsetType = UNSET


class UserShape(Out, frozen=True, kw_only=True):
    """A user of the account."""

    id: str
    name: str
    slug: str
    email: str | None
    role: Role
    created_at: str | None


@endpoint("GET", "/api/users", answers={200: page_of("users", UserShape)}, who=OWNER)
def list_users(call: Call[None, NoQuery], tx: Tx, access: Access) -> Page[UserShape]:
    """List the users of the account."""
    return Page([UserShape.of(user) for user in every_user(tx, access)])


@endpoint("POST", "/api/users", answers={201: one("user", UserShape)}, who=OWNER, body=NewUser, creates=True)
def create_user(call: Call[NewUser, NoQuery], tx: Tx, access: Access) -> UserShape:
    """Create a user; their token is created separately."""
    new = call.body
    slug = slug_of(new.name) if new.slug is None else new.slug
    return UserShape.of(make_user(tx, access, name=new.name, slug=slug, email=new.email, role=new.role))


@endpoint("PATCH", "/api/users/{id}", answers={200: one("user", UserShape)}, who=OWNER, body=UserPatch)
def update_user(call: Call[UserPatch, NoQuery], tx: Tx, access: Access) -> UserShape:
    """Change a user."""
    change = UserChange(**structs.asdict(call.body))
    return UserShape.of(change_user(tx, access, call.path("id"), change))


@endpoint("DELETE", "/api/users/{id}", answers={204: None}, who=OWNER)
def delete_user(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Delete a user and all their tokens."""
    remove_user(tx, access, call.path("id"))


class NewTokenBody(In, frozen=True, kw_only=True):
    """A new token. Kind agent needs agentId, kind user userId, kind client agentIds."""

    kind: Literal["owner", "user", "agent", "client"]
    name: Name
    agent_id: AgentName | None = None
    user_id: str | None = None
    agent_ids: Annotated[tuple[AgentName, ...], Meta(max_length=TOKEN_NAMES_MAX)] = ()
    space_ids: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=TOKEN_NAMES_MAX)] | None = None
    expires_at: Moment | None = None


class TokenShape(Out, frozen=True, kw_only=True):
    """A token without its secret."""

    id: str
    kind: TokenKind
    name: str
    agent_id: str | None
    user_id: str | None
    agent_ids: tuple[str, ...]
    space_ids: tuple[str, ...]
    created_at: str | None
    last_used_at: str | None
    expires_at: str | None


class NewTokenAnswer(Out, frozen=True, kw_only=True):
    """A new token and its secret, which is shown only once."""

    token: TokenShape
    secret: str


@endpoint("GET", "/api/tokens", answers={200: page_of("tokens", TokenShape)}, who=OWNER, query=PageQuery)
def list_tokens(call: Call[None, PageQuery], tx: Tx, access: Access) -> Page[TokenShape]:
    """List the valid tokens of the account, oldest first."""
    limit = clamp(call.query.limit, LIST_ROWS_MAX, LIST_ROWS_MAX)
    position = read_cursor(call.query.cursor, tuple[str])
    found = live_tokens(tx, access, after=position[0] if position else "", limit=limit + 1)
    page, following = cut(found, limit, lambda token: (token.id,))
    return Page([TokenShape.of(token) for token in page], following)


@endpoint("POST", "/api/tokens", answers={201: NewTokenAnswer}, who=OWNER, body=NewTokenBody, creates=True, secret=True)
def create_token(call: Call[NewTokenBody, NoQuery], tx: Tx, access: Access) -> NewTokenAnswer:
    """Create a token; its secret is shown only once."""
    new = values_of(call.body)
    new["space_ids"] = new["space_ids"] or ("*",)
    token, secret = make_token(tx, access, NewToken(**new))
    return NewTokenAnswer(token=TokenShape.of(token), secret=secret)


@endpoint("DELETE", "/api/tokens/{id}", answers={204: None}, who=OWNER)
def delete_token(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Revoke a token."""
    revoke(tx, access, call.path("id"))
