"""The people and agents of an account, as tasks refer to them: by name, slug and permissions."""

from functools import cached_property

from carrel.access import User, account_of, every_user
from carrel.agents import Agent, account_settings, every_agent
from carrel.kernel import Access, Refusal
from carrel.notifications import OWNERS
from carrel.storage import Tx
from carrel.work.mentions import Mentionable
from carrel.work.model import Party
from carrel.work.permissions import resolve_flags


class Directory:
    """Everyone in an account."""

    def __init__(self, tx: Tx, access: Access) -> None:
        self._settings = account_settings(account_of(tx, access))
        self.agents: dict[str, Agent] = {agent.id: agent for agent in every_agent(tx, access)}
        self.users: dict[str, User] = {user.id: user for user in every_user(tx, access)}

    @property
    def orchestrator(self) -> str | None:
        """The id of the account's orchestrator, if it has an enabled one."""
        agent = self.agents.get(self._settings["orchestratorAgentId"] or "")
        return agent.id if agent is not None and agent.enabled else None

    @cached_property
    def reviewers(self) -> frozenset[str]:
        """The ids of the agents that may review tasks."""
        defaults = self._settings["agentDefaults"].get("behaviorFlags") or {}
        return frozenset(agent.id for agent in self.agents.values() if resolve_flags(agent, defaults).can_review_tasks)

    def mentionable(self) -> list[Mentionable]:
        """Return everyone who can be mentioned; a disabled agent cannot."""
        enabled = (one for one in self.agents.values() if one.enabled)
        agents = [Mentionable("agent", one.id, (one.id, one.slug, *one.aliases), one.name) for one in enabled]
        return [*agents, *(Mentionable("user", user.id, (user.slug,), user.name) for user in self.users.values())]

    def name_of(self, kind: str, party_id: str) -> str | None:
        """Return the name of somebody, if they are still known."""
        if kind == "agent":
            agent = self.agents.get(party_id)
            return None if agent is None else agent.name
        if party_id == OWNERS:
            return "the owner"
        user = self.users.get(party_id)
        return None if user is None else user.name

    def named(self, party: Party) -> str:
        """Return the name of one of a task's parties, or else its id."""
        return self.name_of(party.kind, party.party_id) or party.party_id

    def agent_id(self, name: str, field: str) -> str:
        """Return the id of the agent with an id, slug or former slug."""
        if name in self._agent_ids:
            return self._agent_ids[name]
        raise Refusal.of_name(field, "agent", name, self._agent_slugs)

    def user_id(self, name: str, field: str) -> str:
        """Return the id of the user with an id or slug; `owners` stands for the owners of the account."""
        if name in self._user_ids:
            return self._user_ids[name]
        raise Refusal.of_name(field, "user", name, self._user_slugs)

    def party_id(self, name: str) -> str:
        """Return the id of the agent, else the user, with an id or slug; an unknown name stays as it is."""
        return self._agent_ids.get(name) or self._user_ids.get(name, name)

    def parties(self, slugs: tuple[str, ...], field: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the ids of the agents and of the users that slugs name; an agent wins over a user."""
        for slug in slugs:
            if slug not in self._agent_ids and slug not in self._user_ids:
                raise Refusal.of_name(field, "agent or user", slug, [*self._agent_slugs, *self._user_slugs])
        agents = tuple(self._agent_ids[slug] for slug in slugs if slug in self._agent_ids)
        return agents, tuple(self._user_ids[slug] for slug in slugs if slug not in self._agent_ids)

    @cached_property
    def _agent_ids(self) -> dict[str, str]:
        """The ids by every name; the first agent with a name has it."""
        agents = reversed(self.agents.values())
        return {name: agent.id for agent in agents for name in (agent.id, agent.slug, *agent.aliases)}

    @cached_property
    def _user_ids(self) -> dict[str, str]:
        users = reversed(self.users.values())
        return {OWNERS: OWNERS} | {name: user.id for user in users for name in (user.id, user.slug)}

    @property
    def _agent_slugs(self) -> list[str]:
        return [agent.slug for agent in self.agents.values() if agent.enabled]

    @property
    def _user_slugs(self) -> list[str]:
        return [user.slug for user in self.users.values()]


def directory_of(tx: Tx, access: Access) -> Directory:
    """Return everyone in the account, read once in a transaction; one that changes users does so before."""
    return tx.cached(("directory", access.account_id), lambda: Directory(tx, access))
