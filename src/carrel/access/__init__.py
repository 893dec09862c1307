"""Accounts, users and tokens: who the caller is. No read crosses from one account into another."""

from carrel.access.identity import (
    access_and_touch,
    access_by_login,
    access_by_token,
    admit_token,
    mint_run_token,
    mint_token,
    owner_of_default,
    revoke,
    sign_in,
    sign_out,
)
from carrel.access.model import (
    TOKEN_PREFIX,
    Account,
    AccountShape,
    NewSpace,
    NewToken,
    NewTokenFields,
    NewUser,
    Space,
    SpaceChange,
    SpaceShape,
    Token,
    TokenShape,
    User,
    UserChange,
    UserShape,
    token_text,
)
from carrel.access.space_store import insert_space, spaces_changed
from carrel.access.spaces import (
    SpaceRemoved,
    SpaceScope,
    allowed_spaces,
    change_space,
    connect_spaces,
    effective_spaces,
    ensure_spaces,
    every_space,
    make_space,
    readable_space,
    remove_space,
    space_id_of,
    space_shapes,
)
from carrel.access.store import (
    account_by_slug,
    account_of,
    answer_given,
    every_account,
    every_user,
    hold_account,
    insert_account,
    keep_answer,
    live_tokens,
    prune_answers,
    prune_run_tokens,
    touch_token,
    update_account,
    user_by_id,
)
from carrel.access.user_administration import UserRemoved, change_user, make_user, remove_user, slug_of

__all__ = [
    "TOKEN_PREFIX", "Account", "AccountShape", "NewSpace", "NewToken", "NewTokenFields", "NewUser", "Space",
    "SpaceChange", "SpaceRemoved", "SpaceScope", "SpaceShape", "Token", "TokenShape", "User", "UserChange",
    "UserRemoved", "UserShape", "access_and_touch", "access_by_login", "access_by_token", "account_by_slug",
    "account_of", "admit_token", "allowed_spaces", "answer_given", "change_space", "change_user", "connect_spaces",
    "effective_spaces", "ensure_spaces", "every_account", "every_space", "every_user", "hold_account", "insert_account",
    "insert_space", "keep_answer", "live_tokens", "make_space", "make_user", "mint_run_token", "mint_token",
    "owner_of_default", "prune_answers", "prune_run_tokens", "readable_space", "remove_space", "remove_user", "revoke",
    "sign_in", "sign_out", "slug_of", "space_id_of", "space_shapes", "spaces_changed", "token_text", "touch_token",
    "update_account", "user_by_id",
]  # fmt: skip
