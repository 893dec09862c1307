"""Agents: made, renamed and disabled by an account's owner; and the accounts they come with."""

import re
from typing import Any

from carrel.access import Account, NewToken, account_by_slug, admit_token, insert_account, mint_token
from carrel.journal import About, append_event, json_text
from carrel.kernel import (
    DEFAULT_ACCOUNT_SLUG,
    Access,
    Code,
    Refusal,
    invalid,
    is_agent_id,
    iso,
    not_found,
    system_access,
)
from carrel.sessions import agent_store
from carrel.sessions.model import MAIN_AGENT, Agent, Profile
from carrel.storage import Tx

_ACCOUNT_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def open_account(tx: Tx, name: str, slug: str) -> tuple[Account, str]:
    """A new account with its agent `main` and the first owner token, which is shown this once."""
    account = _make_account(tx, name, slug)
    _, secret = mint_token(tx, system_access(account.id, slug), NewToken(kind="owner", name="first owner"))
    return account, secret


def _make_account(tx: Tx, name: str, slug: str) -> Account:
    if not _ACCOUNT_SLUG.fullmatch(slug):
        raise invalid("slug", "An account's slug has 1 to 64 lower-case letters, digits and hyphens.")
    settings = {
        "defaultAgentId": MAIN_AGENT,
        "orchestratorAgentId": None,
        "orchestratorChatTaskId": None,
        "briefing": None,
    }
    account = Account(id=tx.new_id("acc"), slug=slug, name=name, settings=settings, created_at=tx.now)
    if not insert_account(tx, account):
        raise Refusal(Code.CONFLICT, f"An account '{slug}' is already there.", field="slug")
    make_agent(tx, system_access(account.id, slug), MAIN_AGENT, "Main", Profile())
    return account


def admit_owner(tx: Tx, token_id: str, secret: str) -> None:
    """Let the keeper of this machine in as owner of `default`, which is made where it is missing."""
    account = account_by_slug(tx, DEFAULT_ACCOUNT_SLUG) or _make_account(tx, "Default", DEFAULT_ACCOUNT_SLUG)
    access = system_access(account.id, account.slug)
    admit_token(tx, access, NewToken(kind="owner", name="Owner"), token_id, secret)


def make_agent(tx: Tx, access: Access, agent_id: str, name: str, profile: Profile) -> Agent:
    """A new agent under an id that nobody bears or has borne."""
    if not is_agent_id(agent_id):
        raise invalid(
            "id", "An agent's id has 1 to 64 lower-case letters, digits, _ and -, beginning with a letter or digit."
        )
    if agent_store.agent_by_slug(tx, access, agent_id) or agent_store.agent_by_id(tx, access, agent_id):
        raise Refusal(Code.CONFLICT, f"'{agent_id}' is the id or a former slug of an agent.", field="id")
    agent = Agent(
        id=agent_id, slug=agent_id, name=name, enabled=True, profile=profile, created_at=tx.now, updated_at=tx.now
    )
    agent_store.insert_agent(tx, access, agent)
    _tell(tx, access, agent)
    return agent


def change_agent(tx: Tx, access: Access, agent: Agent) -> Agent:
    """Write an agent's changed fields; a new slug must be free, the old one stays an alias."""
    if not is_agent_id(agent.slug):
        raise invalid(
            "slug", "A slug has 1 to 64 lower-case letters, digits, _ and -, beginning with a letter or digit."
        )
    holder = agent_store.agent_by_slug(tx, access, agent.slug)
    if holder is not None and holder.id != agent.id:
        raise Refusal(Code.CONFLICT, f"'{agent.slug}' belongs or belonged to agent {holder.id}.", field="slug")
    agent_store.update_agent(tx, access, agent)
    changed = require_agent(tx, access, agent.id)
    _tell(tx, access, changed)
    return changed


def require_agent(tx: Tx, access: Access, agent_id: str) -> Agent:
    """The agent of that id, slug or former slug."""
    agent = agent_store.agent_by_slug(tx, access, agent_id)
    if agent is None or (access.kind in ("agent", "run") and agent.id != access.agent_id):
        raise not_found("agent")
    return agent


def _wire(agent: Agent) -> dict[str, Any]:
    """The agent as events show it."""
    return {
        "id": agent.id,
        "slug": agent.slug,
        "name": agent.name,
        "aliases": agent.aliases,
        "enabled": agent.enabled,
        **{name: getattr(agent.profile, field) for field, name in _profile_names()},
        "sessionKey": str(agent.base_key),
        "status": "idle" if agent.enabled else "disabled",
        "lastContextInjectedAt": None,
        "createdAt": iso(agent.created_at),
        "updatedAt": iso(agent.updated_at),
    }


def _profile_names() -> list[tuple[str, str]]:
    return list(zip(Profile.__struct_fields__, Profile.__struct_encode_fields__, strict=True))


def _tell(tx: Tx, access: Access, agent: Agent) -> None:
    append_event(tx, access, "agent.updated", About(agent_id=agent.id), json_text({"agent": _wire(agent)}))
