"""The parts of accounts that involve agents: creation with a first agent, settings, and agents' tokens."""

import re
from typing import Any

from msgspec import Struct, structs

from carrel.access import (
    Account,
    NewToken,
    Space,
    Token,
    account_by_slug,
    account_of,
    admit_token,
    hold_account,
    insert_account,
    insert_space,
    mint_token,
    readable_space,
    update_account,
    user_by_id,
)
from carrel.agents.administration import make_agent
from carrel.agents.model import MAIN_AGENT, Profile
from carrel.agents.store import agent_by_slug, every_agent
from carrel.journal import DEFAULT_SPACE, About, append_event, json_text
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, Access, Code, Refusal, invalid, system_access
from carrel.kernel.settings import Recall
from carrel.storage import Tx

# The grammar of an account's slug.
ACCOUNT_SLUG = r"[a-z0-9][a-z0-9-]{0,63}"
_EMPTY: dict[str, Any] = {
    "defaultAgentId": None,
    "orchestratorAgentId": None,
    "orchestratorChatTaskId": None,
    "briefing": None,
    "recall": None,
    "agentDefaults": {"behaviorFlags": {}},
    "notificationPreferences": {},
}


class AccountChanged(Struct, frozen=True):
    """The name or the settings of an account changed, and perhaps what its lanes recall."""

    access: Access
    recall_changed: bool = False


def open_account(tx: Tx, name: str, slug: str, recall: Recall = "own") -> tuple[Account, str]:
    """Create an account with its agent `main`; return it with the secret of its first owner token, shown only once."""
    account = _make_account(tx, name, slug, recall)
    _, secret = mint_token(tx, system_access(account.id, slug), NewToken(kind="owner", name="first owner"))
    return account, secret


def admit_owner(tx: Tx, token_id: str, secret: str) -> None:
    """Store the owner token of the account `default`, creating the account if it is missing."""
    account = account_by_slug(tx, DEFAULT_ACCOUNT_SLUG) or _make_account(tx, "Default", DEFAULT_ACCOUNT_SLUG)
    access = system_access(account.id, account.slug)
    admit_token(tx, access, NewToken(kind="owner", name="Owner"), token_id, secret)


def account_settings(account: Account) -> dict[str, Any]:
    """Return an account's settings with every known key."""
    return {key: account.settings.get(key) or empty for key, empty in _EMPTY.items()}


def change_account(tx: Tx, access: Access, name: str | None, changes: dict[str, Any]) -> Account:
    """Rename an account and merge changes into its settings key by key; null clears a key."""
    account = hold_account(tx, access)
    present = account_settings(account)
    checked = dict(changes)
    for key in ("defaultAgentId", "orchestratorAgentId"):
        if checked.get(key) is not None:
            checked[key] = _agent_id(tx, access, f"settings.{key}", checked[key])
    key = "orchestratorChatTaskId"
    if checked.get(key, present[key]) != present[key]:
        raise invalid(f"settings.{key}", f"{key} is read-only: the server sets it.")
    update_account(tx, access, name or account.name, _merged(present, checked))
    recall = account_settings(account_of(tx, access))["recall"]
    tx.publish(AccountChanged(access, recall_changed=recall != present["recall"]))
    append_event(tx, access, "account.updated", About(), json_text({"id": account.id}))
    return account_of(tx, access)


def make_token(tx: Tx, access: Access, new: NewToken) -> tuple[Token, str]:
    """Create a token after checking what its kind needs; return it with its secret, shown only once."""
    if new.kind == "run":
        raise invalid("kind", "Run tokens are created by the server; choose another kind.")
    if new.expires_at is not None and new.expires_at <= tx.now:
        raise invalid("expiresAt", "expiresAt must be in the future.")
    _check_spaces(tx, access, new)
    _only_for(new, "agent", "agentId", new.agent_id)
    _only_for(new, "user", "userId", new.user_id)
    _only_for(new, "client", "agentIds", new.agent_ids)
    if new.user_id is not None and user_by_id(tx, access, new.user_id) is None:
        raise invalid("userId", "There is no such user in this account.")
    agent_id = None if new.agent_id is None else _agent_id(tx, access, "agentId", new.agent_id)
    agent_ids = tuple(_agent_id(tx, access, "agentIds", name) for name in new.agent_ids)
    token, secret = mint_token(tx, access, structs.replace(new, agent_id=agent_id, agent_ids=agent_ids, run_id=None))
    append_event(tx, access, "token.updated", About(), json_text({"id": token.id}))
    return token, secret


def _make_account(tx: Tx, name: str, slug: str, recall: Recall = "own") -> Account:
    if not re.fullmatch(ACCOUNT_SLUG, slug):
        raise invalid("slug", "An account's slug must be 1 to 64 lower-case letters, digits or hyphens.")
    settings = {"defaultAgentId": MAIN_AGENT}
    account = Account(
        id=tx.new_id("acc"), slug=slug, name=name, settings=settings, created_at=tx.now, recall_default=recall
    )
    if not insert_account(tx, account):
        raise Refusal(Code.CONFLICT, f"The account '{slug}' already exists.", field="slug")
    access = system_access(account.id, slug)
    first = Space(
        id=DEFAULT_SPACE, name="Default", color=None, default_visible=True, created_at=tx.now, updated_at=tx.now
    )
    insert_space(tx, access, first)
    make_agent(tx, access, MAIN_AGENT, "Main", Profile())
    return account


def _merged(present: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`changes` merged into `present`, objects key by key; null removes a key."""
    merged = dict(present)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            held = merged.get(key)
            merged[key] = _merged(held if isinstance(held, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def _only_for(new: NewToken, kind: str, field: str, value: object) -> None:
    """Check that a field is set for its kind and for no other."""
    if new.kind == kind and not value:
        raise invalid(field, f"A token of kind {kind} needs {field}.")
    if new.kind != kind and value:
        raise invalid(field, f"Only tokens of kind {kind} take {field}.")


def _check_spaces(tx: Tx, access: Access, new: NewToken) -> None:
    """Check that only a person or an agent is limited to spaces, and that these exist."""
    if "*" in new.space_ids:
        return
    if new.kind not in ("user", "agent"):
        raise invalid("spaceIds", "Only tokens of kind user or agent take spaceIds.")
    for space_id in new.space_ids:
        readable_space(tx, access, space_id, field="spaceIds")


def _agent_id(tx: Tx, access: Access, field: str, name: str) -> str:
    agent = agent_by_slug(tx, access, name)
    if agent is None:
        raise Refusal.of_name(field, "agent", name, [one.slug for one in every_agent(tx, access)])
    return agent.id
