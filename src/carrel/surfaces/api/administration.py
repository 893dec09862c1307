"""Accounts, users and tokens: what an owner administers."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from carrel.access import (
    Account,
    NewToken,
    Token,
    TokenKind,
    User,
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
from carrel.kernel import Access, iso
from carrel.kernel.limits import AGENT_ID_CHARS_MAX, BRIEFING_CHARS_MAX, LIST_ROWS_MAX, NAME_CHARS_MAX, TOKEN_NAMES_MAX
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, cut, read_cursor, read_moment
from carrel.surfaces.api.endpoint import OWNER, Call, In, NoQuery, Out, endpoint
from carrel.surfaces.api.fields import AccountSlug, Cursor, Moment, Slug
from carrel.surfaces.api.health import require_operator

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
AgentName = Annotated[str, Meta(min_length=1, max_length=AGENT_ID_CHARS_MAX)]
Role = Literal["owner", "member"]


class BehaviorDefaults(In, frozen=True, kw_only=True):
    """What agents may do on their own unless their profile says otherwise; null clears."""

    can_create_tasks: bool | UnsetType | None = UNSET
    can_modify_task_status: bool | UnsetType | None = UNSET
    can_mention_agents: bool | UnsetType | None = UNSET
    can_review_tasks: bool | UnsetType | None = UNSET
    can_mark_done: bool | UnsetType | None = UNSET
    can_promote_memory: bool | UnsetType | None = UNSET


class AgentDefaults(In, frozen=True, kw_only=True):
    """Defaults of every agent of the account."""

    behavior_flags: BehaviorDefaults | UnsetType | None = UNSET


class AccountSettings(In, frozen=True, kw_only=True):
    """Settings of an account; merged key by key, null clears."""

    default_agent_id: AgentName | UnsetType | None = UNSET
    orchestrator_agent_id: AgentName | UnsetType | None = UNSET
    orchestrator_chat_task_id: str | UnsetType | None = UNSET
    briefing: Annotated[str, Meta(max_length=BRIEFING_CHARS_MAX)] | UnsetType | None = UNSET
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


class AccountOut(Out, frozen=True, kw_only=True):
    """An account."""

    id: str
    name: str
    slug: str
    settings: dict[str, Any]
    created_at: str | None


class AccountAnswer(Out, frozen=True, kw_only=True):
    """One account."""

    account: AccountOut


class AccountsAnswer(Out, frozen=True, kw_only=True):
    """The accounts of this server."""

    accounts: list[AccountOut]
    next_cursor: str | None


class NewAccountAnswer(Out, frozen=True, kw_only=True):
    """A new account and its first owner token, which is shown only once."""

    account: AccountOut
    owner_token: str


def _account_out(account: Account) -> AccountOut:
    return AccountOut(
        id=account.id,
        name=account.name,
        slug=account.slug,
        settings=account_settings(account),
        created_at=iso(account.created_at),
    )


@endpoint("GET", "/api/accounts", answers={200: AccountsAnswer}, who=OWNER)
async def list_accounts(call: Call[None, NoQuery]) -> AccountsAnswer:
    """List every account of this server."""
    require_operator(call.access)
    found = await call.read(lambda tx, access: every_account(tx))
    return AccountsAnswer(accounts=[_account_out(account) for account in found], next_cursor=None)


@endpoint(
    "POST", "/api/accounts", answers={201: NewAccountAnswer}, who=OWNER, body=NewAccount, creates=True, secret=True
)
async def create_account(call: Call[NewAccount, NoQuery]) -> NewAccountAnswer:
    """Create an account with its agent `main` and its first owner token."""
    require_operator(call.access)
    slug = slug_of(call.body.name) if call.body.slug is None else call.body.slug

    def work(tx: Tx, access: Access) -> NewAccountAnswer:
        account, secret = open_account(tx, call.body.name, slug)
        return call.promise(tx, NewAccountAnswer(account=_account_out(account), owner_token=secret))

    return await call.write(work)


@endpoint("GET", "/api/account", answers={200: AccountAnswer})
async def show_account(call: Call[None, NoQuery]) -> AccountAnswer:
    """Get the caller's account and its settings."""
    return AccountAnswer(account=_account_out(await call.read(account_of)))


@endpoint("PATCH", "/api/account", answers={200: AccountAnswer}, who=OWNER, body=AccountChange)
async def update_account(call: Call[AccountChange, NoQuery]) -> AccountAnswer:
    """Rename the account or merge changes into its settings."""
    name = None if call.body.name is UNSET else call.body.name
    changes = {} if call.body.settings is UNSET else msgspec.to_builtins(call.body.settings)
    account = await call.write(lambda tx, access: change_account(tx, access, name, changes))
    return AccountAnswer(account=_account_out(account))


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


class UserOut(Out, frozen=True, kw_only=True):
    """A user of the account."""

    id: str
    name: str
    slug: str
    email: str | None
    role: Role
    created_at: str | None


class UserAnswer(Out, frozen=True, kw_only=True):
    """One user."""

    user: UserOut


class UsersAnswer(Out, frozen=True, kw_only=True):
    """The users of the account."""

    users: list[UserOut]
    next_cursor: str | None


def _user_out(user: User) -> UserOut:
    return UserOut(
        id=user.id, name=user.name, slug=user.slug, email=user.email, role=user.role, created_at=iso(user.created_at)
    )


@endpoint("GET", "/api/users", answers={200: UsersAnswer}, who=OWNER)
async def list_users(call: Call[None, NoQuery]) -> UsersAnswer:
    """List the users of the account."""
    found = await call.read(every_user)
    return UsersAnswer(users=[_user_out(user) for user in found], next_cursor=None)


@endpoint("POST", "/api/users", answers={201: UserAnswer}, who=OWNER, body=NewUser, creates=True)
async def create_user(call: Call[NewUser, NoQuery]) -> UserAnswer:
    """Create a user; their token is created separately."""
    new = call.body
    slug = slug_of(new.name) if new.slug is None else new.slug

    def work(tx: Tx, access: Access) -> UserAnswer:
        user = make_user(tx, access, name=new.name, slug=slug, email=new.email, role=new.role)
        return call.promise(tx, UserAnswer(user=_user_out(user)))

    return await call.write(work)


@endpoint("PATCH", "/api/users/{id}", answers={200: UserAnswer}, who=OWNER, body=UserPatch)
async def update_user(call: Call[UserPatch, NoQuery]) -> UserAnswer:
    """Change a user."""
    patch = call.body
    change = UserChange(name=patch.name, slug=patch.slug, email=patch.email, role=patch.role)
    user = await call.write(lambda tx, access: change_user(tx, access, call.path("id"), change))
    return UserAnswer(user=_user_out(user))


@endpoint("DELETE", "/api/users/{id}", answers={204: None}, who=OWNER)
async def delete_user(call: Call[None, NoQuery]) -> None:
    """Delete a user and all their tokens."""
    await call.write(lambda tx, access: remove_user(tx, access, call.path("id")))


class NewTokenBody(In, frozen=True, kw_only=True):
    """A new token. Kind agent needs agentId, kind user userId, kind client agentIds."""

    kind: Literal["owner", "user", "agent", "client"]
    name: Name
    agent_id: AgentName | None = None
    user_id: str | None = None
    agent_ids: Annotated[list[AgentName], Meta(max_length=TOKEN_NAMES_MAX)] = field(default_factory=list)
    space_ids: Annotated[list[Name], Meta(min_length=1, max_length=TOKEN_NAMES_MAX)] | None = None
    expires_at: Moment | None = None


class TokenOut(Out, frozen=True, kw_only=True):
    """A token without its secret."""

    id: str
    kind: TokenKind
    name: str
    agent_id: str | None
    user_id: str | None
    agent_ids: list[str]
    space_ids: list[str]
    created_at: str | None
    last_used_at: str | None
    expires_at: str | None


class TokensAnswer(Out, frozen=True, kw_only=True):
    """The valid tokens of the account."""

    tokens: list[TokenOut]
    next_cursor: str | None


class NewTokenAnswer(Out, frozen=True, kw_only=True):
    """A new token and its secret, which is shown only once."""

    token: TokenOut
    secret: str


class TokensQuery(In, frozen=True, kw_only=True):
    """Which page of the list of tokens."""

    limit: int | None = None
    cursor: Cursor | None = None


def _token_out(token: Token) -> TokenOut:
    return TokenOut(
        id=token.id,
        kind=token.kind,
        name=token.name,
        agent_id=token.agent_id,
        user_id=token.user_id,
        agent_ids=list(token.agent_ids),
        space_ids=list(token.space_ids),
        created_at=iso(token.created_at),
        last_used_at=iso(token.last_used_at),
        expires_at=iso(token.expires_at),
    )


@endpoint("GET", "/api/tokens", answers={200: TokensAnswer}, who=OWNER, query=TokensQuery)
async def list_tokens(call: Call[None, TokensQuery]) -> TokensAnswer:
    """List the valid tokens of the account, oldest first."""
    limit = clamp(call.query.limit, LIST_ROWS_MAX, LIST_ROWS_MAX)
    position = read_cursor(call.query.cursor, tuple[str])
    after = position[0] if position else ""
    found = await call.read(lambda tx, access: live_tokens(tx, access, after=after, limit=limit + 1))
    page, following = cut(found, limit, lambda token: (token.id,))
    return TokensAnswer(tokens=[_token_out(token) for token in page], next_cursor=following)


@endpoint("POST", "/api/tokens", answers={201: NewTokenAnswer}, who=OWNER, body=NewTokenBody, creates=True, secret=True)
async def create_token(call: Call[NewTokenBody, NoQuery]) -> NewTokenAnswer:
    """Create a token; its secret is shown only once."""
    body = call.body
    new = NewToken(
        kind=body.kind,
        name=body.name,
        agent_id=body.agent_id,
        user_id=body.user_id,
        agent_ids=tuple(body.agent_ids),
        space_ids=("*",) if body.space_ids is None else tuple(body.space_ids),
        expires_at=None if body.expires_at is None else read_moment("expiresAt", body.expires_at),
    )

    def work(tx: Tx, access: Access) -> NewTokenAnswer:
        token, secret = make_token(tx, access, new)
        return call.promise(tx, NewTokenAnswer(token=_token_out(token), secret=secret))

    return await call.write(work)


@endpoint("DELETE", "/api/tokens/{id}", answers={204: None}, who=OWNER)
async def delete_token(call: Call[None, NoQuery]) -> None:
    """Revoke a token."""
    await call.write(lambda tx, access: revoke(tx, access, call.path("id")))
