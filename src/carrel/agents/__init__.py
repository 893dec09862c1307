"""Agents and their profiles, and the account settings that depend on agents."""

from carrel.agents.accounts import (
    ACCOUNT_SLUG,
    AccountChanged,
    account_settings,
    admit_owner,
    change_account,
    make_token,
    open_account,
)
from carrel.agents.administration import AgentChanged, change_agent, make_agent
from carrel.agents.lookup import callable_agents, default_agent, may_address, named_agent, require_agent
from carrel.agents.model import Agent, BehaviorFlags, Profile, SubagentRules, Thinking, ToolRules
from carrel.agents.store import agent_by_id, agent_by_slug, agent_enabled, every_agent

__all__ = [
    "ACCOUNT_SLUG", "AccountChanged", "Agent", "AgentChanged", "BehaviorFlags", "Profile", "SubagentRules",
    "Thinking", "ToolRules", "account_settings", "admit_owner", "agent_by_id", "agent_by_slug", "agent_enabled",
    "callable_agents", "change_account", "change_agent", "default_agent", "every_agent", "make_agent", "make_token",
    "may_address", "named_agent", "open_account", "require_agent",
]  # fmt: skip
