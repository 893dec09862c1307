"""The SQL of agents and their slugs."""

import msgspec

from carrel.agents.model import Agent, Profile
from carrel.kernel import Access
from carrel.storage import Row, Tx

_AGENT = "id, slug, name, enabled, profile, created_at, updated_at"
_profile = msgspec.json.Decoder(Profile).decode


def every_agent(tx: Tx, access: Access) -> list[Agent]:
    """The account's agents, oldest first."""
    rows = tx.all(
        f"SELECT {_AGENT} FROM agents WHERE account_id = :account ORDER BY created_at, id", account=access.account_id
    )
    aliases = _aliases(tx, access)
    return [_agent(row, aliases) for row in rows]


def agent_by_id(tx: Tx, access: Access, agent_id: str) -> Agent | None:
    """One agent by its id."""
    row = tx.one(
        f"SELECT {_AGENT} FROM agents WHERE account_id = :account AND id = :id", account=access.account_id, id=agent_id
    )
    return None if row is None else _agent(row, _aliases(tx, access, agent_id))


def agent_enabled(tx: Tx, access: Access, agent_id: str) -> bool | None:
    """Whether an agent may hear anything; None when there is no such agent."""
    row = tx.one(
        "SELECT enabled FROM agents WHERE account_id = :account AND id = :id", account=access.account_id, id=agent_id
    )
    return None if row is None else bool(row[0])


def agent_by_slug(tx: Tx, access: Access, slug: str) -> Agent | None:
    """One agent by a slug it bears or has borne; its id counts as one."""
    row = tx.one(
        "SELECT agent_id FROM agent_slugs WHERE account_id = :account AND slug = :slug",
        account=access.account_id,
        slug=slug,
    )
    return None if row is None else agent_by_id(tx, access, row[0])


def insert_agent(tx: Tx, access: Access, agent: Agent) -> None:
    """Write a new agent; its id must be free as id and as slug."""
    _write(
        tx,
        access,
        agent,
        "INSERT INTO agents (account_id, id, slug, name, enabled, profile, created_at, updated_at) "
        "VALUES (:account, :id, :slug, :name, :enabled, :profile, :now, :now)",
    )


def update_agent(tx: Tx, access: Access, agent: Agent) -> None:
    """Write an agent's changed fields."""
    _write(
        tx,
        access,
        agent,
        "UPDATE agents SET slug = :slug, name = :name, enabled = :enabled, profile = :profile, updated_at = :now "
        "WHERE account_id = :account AND id = :id",
    )


def _write(tx: Tx, access: Access, agent: Agent, sql: str) -> None:
    """Write an agent and keep its slug for ever."""
    tx.run(
        sql,
        account=access.account_id,
        id=agent.id,
        slug=agent.slug,
        name=agent.name,
        enabled=int(agent.enabled),
        profile=msgspec.json.encode(agent.profile).decode(),
        now=tx.now,
    )
    keep_slug(tx, access, agent.slug, agent.id)


def keep_slug(tx: Tx, access: Access, slug: str, agent_id: str) -> None:
    """Remember that this slug means this agent."""
    tx.run(
        "INSERT INTO agent_slugs (account_id, slug, agent_id) VALUES (:account, :slug, :agent_id) ON "
        "CONFLICT DO NOTHING",
        account=access.account_id,
        slug=slug,
        agent_id=agent_id,
    )


def _aliases(tx: Tx, access: Access, agent_id: str | None = None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    only = " AND agent_id = :agent_id" if agent_id else ""
    values = {"agent_id": agent_id} if agent_id else {}
    for owner, slug in tx.all(
        f"SELECT agent_id, slug FROM agent_slugs WHERE account_id = :account{only} ORDER BY slug",
        account=access.account_id,
        **values,
    ):
        found.setdefault(owner, []).append(slug)
    return found


def _agent(row: Row, aliases: dict[str, list[str]]) -> Agent:
    agent_id, slug, name, enabled, profile, created_at, updated_at = row
    return Agent(
        id=agent_id,
        slug=slug,
        name=name,
        enabled=bool(enabled),
        profile=_profile(profile),
        created_at=created_at,
        updated_at=updated_at,
        aliases=tuple(alias for alias in aliases.get(agent_id, ()) if alias != slug),
    )
