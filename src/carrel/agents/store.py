"""The SQL of agents and their slugs."""

from msgspec import structs

from carrel.agents.model import Agent, Profile
from carrel.kernel import Access
from carrel.storage import FLAG, Row, Table, Tx, json_column

_TABLE = Table(
    "agents", Agent, without=("aliases",), also=("gateway", "concurrency"),
    codecs={"enabled": FLAG, "profile": json_column(Profile)},
)  # fmt: skip
# The last column has all slugs that an agent has or had; none contains a space.
_SLUGS = (
    "SELECT string_agg(s.slug, ' ' ORDER BY s.slug) FROM agent_slugs s "
    "WHERE s.account_id = agents.account_id AND s.agent_id = agents.id"
)
_SELECT = f"SELECT {_TABLE.columns}, ({_SLUGS}) FROM agents WHERE account_id = :account"


def every_agent(tx: Tx, access: Access) -> list[Agent]:
    """Return the account's agents, oldest first."""
    sql = f"{_SELECT} ORDER BY created_at, id"
    return list(tx.cached(("agents", access.account_id), lambda: list(map(_agent, tx.all(sql, access)))))


def agent_by_id(tx: Tx, access: Access, agent_id: str) -> Agent | None:
    """Return one agent by its id."""
    return tx.cached(("agent", access.account_id, agent_id), lambda: _found(tx, access, ":id", id=agent_id))


def agent_enabled(tx: Tx, access: Access, agent_id: str) -> bool | None:
    """Return whether an agent may be sent anything; None if it does not exist."""
    row = tx.one("SELECT enabled FROM agents WHERE account_id = :account AND id = :id", access, id=agent_id)
    return None if row is None else bool(row[0])


def agent_by_slug(tx: Tx, access: Access, slug: str) -> Agent | None:
    """Return one agent by a slug it has or had; its id counts as one."""
    named = "(SELECT s.agent_id FROM agent_slugs s WHERE s.account_id = :account AND s.slug = :slug)"
    return _found(tx, access, named, slug=slug)


def _found(tx: Tx, access: Access, named: str, **values: str) -> Agent | None:
    row = tx.one(f"{_SELECT} AND id = {named}", access, **values)
    return None if row is None else _agent(row)


def insert_agent(tx: Tx, access: Access, agent: Agent) -> None:
    """Write a new agent; its id must not be the id or a slug of another."""
    tx.run(_TABLE.insert, access, **_values(agent))
    _keep_slug(tx, access, agent.slug, agent.id)


def update_agent(tx: Tx, access: Access, agent: Agent) -> None:
    """Write an agent's changed fields; a former slug stays an alias."""
    tx.run(_TABLE.update, access, **_values(agent) | {"updated_at": tx.now})
    _keep_slug(tx, access, agent.slug, agent.id)


def _keep_slug(tx: Tx, access: Access, slug: str, agent_id: str) -> None:
    """Record permanently that this slug means this agent."""
    sql = (
        "INSERT INTO agent_slugs (account_id, slug, agent_id) VALUES (:account, :slug, :agent_id) "
        "ON CONFLICT DO NOTHING"
    )
    tx.run(sql, access, slug=slug, agent_id=agent_id)
    tx.invalidate()


def _agent(row: Row) -> Agent:
    agent, slugs = _TABLE.row(row[:-1]), (row[-1] or "").split()
    return structs.replace(agent, aliases=tuple(slug for slug in slugs if slug != agent.slug))


def _values(agent: Agent) -> dict[str, object]:
    """The columns of an agent; fields that claims search by have columns beside the profile."""
    return _TABLE.values(agent) | {"gateway": agent.profile.gateway, "concurrency": agent.profile.concurrency}
