"""What an owner decides about an account that concerns its agents: its settings, and tokens that stand for agents."""

from typing import Any

from carrel.access import Account, NewToken, Token, account_of, hold_account, mint_token, update_account, user_by_id
from carrel.kernel import Access, invalid
from carrel.sessions.agent_store import agent_by_slug
from carrel.storage import Tx

_AGENTS = ("defaultAgentId", "orchestratorAgentId")
_OURS = ("orchestratorChatTaskId",)
_EMPTY: dict[str, Any] = {
    "defaultAgentId": None,
    "orchestratorAgentId": None,
    "orchestratorChatTaskId": None,
    "briefing": None,
    "agentDefaults": {"behaviorFlags": {}},
    "notificationPreferences": {},
}


def account_settings(account: Account) -> dict[str, Any]:
    """An account's settings with every key that there is."""
    return {key: account.settings.get(key) or empty for key, empty in _EMPTY.items()}


def change_account(tx: Tx, access: Access, name: str | None, changes: dict[str, Any]) -> Account:
    """Rename an account and merge changes into its settings key by key; null clears."""
    account = hold_account(tx, access)
    present = account_settings(account)
    checked = dict(changes)
    for key in _AGENTS:
        if checked.get(key) is not None:
            agent = agent_by_slug(tx, access, checked[key])
            if agent is None:
                raise invalid(f"settings.{key}", "There is no such agent in this account.")
            checked[key] = agent.id
    for key in _OURS:
        if key in checked and checked[key] != present[key]:
            raise invalid(f"settings.{key}", f"{key} is set by the server.")
    update_account(tx, access, name or account.name, _merged(present, checked))
    return account_of(tx, access)


def _merged(present: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`changes` over `present`, objects key by key, null taking a key away."""
    merged = dict(present)
    for key, value in changes.items():
        held = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merged(held if isinstance(held, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def make_token(tx: Tx, access: Access, new: NewToken) -> tuple[Token, str]:
    """A new token, after a look at what its kind needs; and its secret, which is shown this once."""
    if new.kind == "run":
        raise invalid("kind", "A run's token is made by the server for the run alone.")
    if new.expires_at is not None and new.expires_at <= tx.now:
        raise invalid("expiresAt", "This moment has passed.")
    _only_for(new, "agent", "agentId", new.agent_id)
    _only_for(new, "user", "userId", new.user_id)
    _only_for(new, "client", "agentIds", new.agent_ids)
    if new.user_id is not None and user_by_id(tx, access, new.user_id) is None:
        raise invalid("userId", "There is no such person in this account.")
    agent_id = None if new.agent_id is None else _agent(tx, access, "agentId", new.agent_id)
    agent_ids = tuple(_agent(tx, access, "agentIds", name) for name in new.agent_ids)
    named = NewToken(
        kind=new.kind,
        name=new.name,
        agent_id=agent_id,
        user_id=new.user_id,
        agent_ids=agent_ids,
        space_ids=new.space_ids,
        expires_at=new.expires_at,
    )
    return mint_token(tx, access, named)


def _only_for(new: NewToken, kind: str, field: str, value: object) -> None:
    """Each kind needs its own field and takes no other's."""
    if new.kind == kind and not value:
        raise invalid(field, f"A token of kind {kind} needs {field}.")
    if new.kind != kind and value:
        raise invalid(field, f"{field} belongs to tokens of kind {kind}.")


def _agent(tx: Tx, access: Access, field: str, name: str) -> str:
    agent = agent_by_slug(tx, access, name)
    if agent is None:
        raise invalid(field, f"There is no agent '{name[:80]}' in this account.")
    return agent.id
