"""Creating, renaming and disabling agents."""

from typing import Any

from msgspec import Struct

from carrel.agents import store
from carrel.agents.lookup import require_agent
from carrel.agents.model import Agent, Profile
from carrel.journal import About, append_event, json_text
from carrel.kernel import Access, Code, Refusal, invalid, is_agent_id, iso
from carrel.storage import Tx
from carrel.workspaces import require_inside


class AgentChanged(Struct, frozen=True):
    """An agent was created or changed; `before` is None for a new one."""

    access: Access
    agent: Agent
    before: Agent | None = None


def make_agent(tx: Tx, access: Access, agent_id: str, name: str, profile: Profile) -> Agent:
    """Create an agent; its id must never have been the id or a slug of another."""
    _check_name("id", agent_id)
    require_inside(profile.workspace)
    if store.agent_by_slug(tx, access, agent_id) or store.agent_by_id(tx, access, agent_id):
        raise Refusal(Code.CONFLICT, f"'{agent_id}' is the id or a former slug of an agent.", field="id")
    agent = Agent(
        id=agent_id, slug=agent_id, name=name, enabled=True, profile=profile, created_at=tx.now, updated_at=tx.now
    )
    store.insert_agent(tx, access, agent)
    _append_updated(tx, access, agent)
    tx.publish(AgentChanged(access, agent))
    return agent


def change_agent(tx: Tx, access: Access, agent: Agent) -> Agent:
    """Store an agent's changed fields; a new slug must be free, and the old one stays an alias."""
    _check_name("slug", agent.slug)
    holder = store.agent_by_slug(tx, access, agent.slug)
    if holder is not None and holder.id != agent.id:
        message = f"'{agent.slug}' is or was a slug of agent {holder.id}; choose another."
        raise Refusal(Code.CONFLICT, message, field="slug")
    before = require_agent(tx, access, agent.id)
    if agent.profile.workspace != before.profile.workspace:
        require_inside(agent.profile.workspace)
    store.update_agent(tx, access, agent)
    changed = require_agent(tx, access, agent.id)
    _append_updated(tx, access, changed)
    tx.publish(AgentChanged(access, changed, before))
    tx.wake(access.revocation_bell)
    return changed


def _check_name(field: str, name: str) -> None:
    if not is_agent_id(name):
        form = "1 to 64 lower-case letters, digits, _ or -, and start with a letter or digit"
        raise invalid(field, f"An agent's {field} must be {form}.")


def _append_updated(tx: Tx, access: Access, agent: Agent) -> None:
    append_event(tx, access, "agent.updated", About(agent_id=agent.id), json_text({"agent": _wire(agent)}))


def _wire(agent: Agent) -> dict[str, Any]:
    names = zip(Profile.__struct_fields__, Profile.__struct_encode_fields__, strict=True)
    return {
        "id": agent.id,
        "slug": agent.slug,
        "name": agent.name,
        "aliases": agent.aliases,
        "enabled": agent.enabled,
        **{shown: getattr(agent.profile, name) for name, shown in names},
        "sessionKey": str(agent.base_key),
        "status": "idle" if agent.enabled else "disabled",
        "lastContextInjectedAt": None,
        "createdAt": iso(agent.created_at),
        "updatedAt": iso(agent.updated_at),
    }
