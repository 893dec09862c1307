"""The SQL of agents and their slugs."""

from msgspec import structs

from carrel.agents.model import Agent, Profile
from carrel.kernel import Access
from carrel.storage import FLAG, Table, Tx, json_column

_TABLE = Table("agents", Agent, without=("aliases",), codecs={"enabled": FLAG, "profile": json_column(Profile)})
_SELECT = f"SELECT {_TABLE.columns} FROM agents WHERE account_id = :account"


def every_agent(tx: Tx, access: Access) -> list[Agent]:
    """Return the account's agents, oldest first."""
    aliases = _aliases(tx, access)
    agents = _TABLE.rows(tx.all(f"{_SELECT} ORDER BY created_at, id", access))
    return [_with_aliases(agent, aliases.get(agent.id, [])) for agent in agents]


def agent_by_id(tx: Tx, access: Access, agent_id: str) -> Agent | None:
    """Return one agent by its id."""
    agent = _TABLE.row(tx.one(f"{_SELECT} AND id = :id", access, id=agent_id))
    return None if agent is None else _with_aliases(agent, _aliases(tx, access, agent_id).get(agent_id, []))


def agent_enabled(tx: Tx, access: Access, agent_id: str) -> bool | None:
    """Return whether an agent may be sent anything; None when there is no such agent."""
    row = tx.one("SELECT enabled FROM agents WHERE account_id = :account AND id = :id", access, id=agent_id)
    return None if row is None else bool(row[0])


def agent_by_slug(tx: Tx, access: Access, slug: str) -> Agent | None:
    """Return one agent by a slug it has or had; its id counts as one."""
    row = tx.one("SELECT agent_id FROM agent_slugs WHERE account_id = :account AND slug = :slug", access, slug=slug)
    return None if row is None else agent_by_id(tx, access, row[0])


def insert_agent(tx: Tx, access: Access, agent: Agent) -> None:
    """Write a new agent; no other may have its id as id or slug."""
    tx.run(_TABLE.insert, access, **_TABLE.values(agent))
    keep_slug(tx, access, agent.slug, agent.id)


def update_agent(tx: Tx, access: Access, agent: Agent) -> None:
    """Write an agent's changed fields; a former slug stays an alias."""
    tx.run(_TABLE.update, access, **_TABLE.values(agent) | {"updated_at": tx.now})
    keep_slug(tx, access, agent.slug, agent.id)


def keep_slug(tx: Tx, access: Access, slug: str, agent_id: str) -> None:
    """Record for good that this slug means this agent."""
    sql = (
        "INSERT INTO agent_slugs (account_id, slug, agent_id) VALUES (:account, :slug, :agent_id) "
        "ON CONFLICT DO NOTHING"
    )
    tx.run(sql, access, slug=slug, agent_id=agent_id)


def _aliases(tx: Tx, access: Access, agent_id: str | None = None) -> dict[str, list[str]]:
    only, values = ("AND agent_id = :agent_id ", {"agent_id": agent_id}) if agent_id else ("", {})
    sql = f"SELECT agent_id, slug FROM agent_slugs WHERE account_id = :account {only}ORDER BY slug"
    found: dict[str, list[str]] = {}
    for owner, slug in tx.all(sql, access, **values):
        found.setdefault(owner, []).append(slug)
    return found


def _with_aliases(agent: Agent, slugs: list[str]) -> Agent:
    return structs.replace(agent, aliases=tuple(slug for slug in slugs if slug != agent.slug))
