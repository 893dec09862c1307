"""Accounts, users and tokens: what an owner administers."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from carrel.access import (
    Account,
    AccountShape,
    NewToken,
    NewTokenFields,
    NewUser,
    TokenShape,
    UserChange,
    UserShape,
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
from carrel.agents import ACCOUNT_SLUG, account_settings, change_account, make_token, open_account
from carrel.kernel import Access, Input, Shape
from carrel.kernel.fields import AgentName, Name, checked
from carrel.kernel.limits import BRIEFING_CHARS_MAX, LIST_ROWS_MAX, TOKEN_NAMES_MAX
from carrel.kernel.settings import Recall
from carrel.storage import Tx
from carrel.surfaces.api.agents import BehaviorPatch
from carrel.surfaces.api.cursors import PageQuery, paged_by_id
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, Page, endpoint

AccountSlug = Annotated[str, checked(pattern=f"^{ACCOUNT_SLUG}$")]


class AgentDefaults(Input, frozen=True, kw_only=True):
    """Defaults of every agent of the account."""

    behavior_flags: BehaviorPatch | UnsetType | None = UNSET


class AccountSettings(Input, frozen=True, kw_only=True):
    """Settings of an account; merged key by key, null clears."""

    default_agent_id: AgentName | UnsetType | None = UNSET
    orchestrator_agent_id: AgentName | UnsetType | None = UNSET
    orchestrator_chat_task_id: str | UnsetType | None = UNSET
    briefing: Annotated[str, Meta(max_length=BRIEFING_CHARS_MAX)] | UnsetType | None = UNSET
    recall: Recall | UnsetType | None = UNSET
    agent_defaults: AgentDefaults | UnsetType | None = UNSET
    notification_preferences: Annotated[dict[str, bool | None], Meta(max_length=100)] | UnsetType | None = UNSET


class AccountChange(Input, frozen=True, kw_only=True):
    """Changes of the account."""

    name: Name | UnsetType = UNSET
    settings: AccountSettings | UnsetType = UNSET


class NewAccount(Input, frozen=True, kw_only=True):
    """A new account; without a slug, one is made from its name."""

    name: Name
    slug: AccountSlug | None = None


class NewAccountAnswer(Shape, frozen=True, kw_only=True):
    """A new account and its first owner token, which is shown only once."""

    account: AccountShape
    owner_token: str


def _account_shape(account: Account) -> AccountShape:
    return AccountShape.of(account, settings=account_settings(account))


@endpoint("GET", "/api/accounts", "accounts", who=OWNER, by_operator=True)
def list_accounts(call: Call[None, NoQuery], tx: Tx, access: Access) -> Page[AccountShape]:
    """List every account of this server."""
    return Page([_account_shape(account) for account in every_account(tx)])


@endpoint("POST", "/api/accounts", who=OWNER, by_operator=True, creates=True, secret=True)
def create_account(call: Call[NewAccount, NoQuery], tx: Tx, access: Access) -> NewAccountAnswer:
    """Create an account with its agent `main` and its first owner token."""
    slug = slug_of(call.body.name) if call.body.slug is None else call.body.slug
    account, secret = open_account(tx, call.body.name, slug, call.services.settings.context.recall)
    return NewAccountAnswer(account=_account_shape(account), owner_token=secret)


@endpoint("GET", "/api/account", "account")
def show_account(call: Call[None, NoQuery], tx: Tx, access: Access) -> AccountShape:
    """Get the caller's account and its settings."""
    return _account_shape(account_of(tx, access))


@endpoint("PATCH", "/api/account", "account", who=OWNER)
def update_account(call: Call[AccountChange, NoQuery], tx: Tx, access: Access) -> AccountShape:
    """Rename the account or merge changes into its settings."""
    name = None if call.body.name is UNSET else call.body.name
    changes = {} if call.body.settings is UNSET else msgspec.to_builtins(call.body.settings)
    return _account_shape(change_account(tx, access, name, changes))


@endpoint("GET", "/api/users", "users", who=OWNER)
def list_users(call: Call[None, NoQuery], tx: Tx, access: Access) -> Page[UserShape]:
    """List the users of the account."""
    return Page([UserShape.of(user) for user in every_user(tx, access)])


@endpoint("POST", "/api/users", "user", who=OWNER, creates=True)
def create_user(call: Call[NewUser, NoQuery], tx: Tx, access: Access) -> UserShape:
    """Create a user; their token is created separately."""
    new = call.body
    slug = slug_of(new.name) if new.slug is None else new.slug
    return UserShape.of(make_user(tx, access, name=new.name, slug=slug, email=new.email, role=new.role))


@endpoint("PATCH", "/api/users/{id}", "user", who=OWNER)
def update_user(call: Call[UserChange, NoQuery], tx: Tx, access: Access) -> UserShape:
    """Change a user."""
    return UserShape.of(change_user(tx, access, call.path("id"), call.body))


@endpoint("DELETE", "/api/users/{id}", who=OWNER)
def delete_user(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Delete a user and all their tokens."""
    remove_user(tx, access, call.path("id"))


class NewTokenBody(NewTokenFields, frozen=True, kw_only=True):
    """A new token. Kind agent needs agentId, kind user userId, kind client agentIds."""

    kind: Literal["owner", "user", "agent", "client"]
    space_ids: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=TOKEN_NAMES_MAX)] | None = None


class NewTokenAnswer(Shape, frozen=True, kw_only=True):
    """A new token and its secret, which is shown only once."""

    token: TokenShape
    secret: str


@endpoint("GET", "/api/tokens", "tokens", who=OWNER)
def list_tokens(call: Call[None, PageQuery], tx: Tx, access: Access) -> Page[TokenShape]:
    """List the valid tokens of the account, oldest first."""
    page = paged_by_id(
        call.query, lambda after, most: live_tokens(tx, access, after=after or "", limit=most), default=LIST_ROWS_MAX
    )
    return page.shown(lambda tokens: map(TokenShape.of, tokens))


@endpoint("POST", "/api/tokens", who=OWNER, creates=True, secret=True)
def create_token(call: Call[NewTokenBody, NoQuery], tx: Tx, access: Access) -> NewTokenAnswer:
    """Create a token; its secret is shown only once."""
    new = structs.asdict(call.body) | {"space_ids": call.body.space_ids or ("*",)}
    token, secret = make_token(tx, access, NewToken(**new))
    return NewTokenAnswer(token=TokenShape.of(token), secret=secret)


@endpoint("DELETE", "/api/tokens/{id}", who=OWNER)
def delete_token(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Revoke a token."""
    revoke(tx, access, call.path("id"))
