"""What tools may see and where they may send: one rule, compared with an independent implementation."""

from typing import Any

import pytest

from carrel.agents import Agent, Profile
from carrel.kernel import SessionKey
from carrel.kernel.settings import SandboxDefaultsSettings, ToolsSessionsSettings, ToolsSettings
from carrel.visibility import visibility_of
from tests.requirements.mark import requirement
from tests.tools.visibility_cases import compare


@requirement(
    "S2.visibility.default", "S2.visibility.self", "S2.visibility.tree", "S2.visibility.agent", "S2.visibility.all",
    "S2.visibility.clamp", "S2.visibility.everywhere", "S2.x.clamp.narrow", "S2.x.list.told", "S2.list.sandboxed",
    "S2.send.nowait", "S2.send.forbidden", "S2.policy.rules", "S2.policy.kind", "S2.policy.override",
)  # fmt: skip
@pytest.mark.parametrize("seed", range(8))
async def test_every_tool_shows_and_sends_exactly_what_the_rule_says(store_url: str, seed: int) -> None:
    assert await compare(store_url, seed, cases=30) == []


@requirement("S2.send.forbidden")
@pytest.mark.parametrize(
    ("own", "services", "sandboxed", "rule"),
    [
        (None, "agent", False, "tools.sessions.visibility is agent"),
        ("tree", "agent", False, "agent main's visibility is tree"),
        (None, "all", True, "agents.defaults.sandbox.session_tools_visibility is spawned for a sandboxed agent"),
        ("agent", "all", True, "agents.defaults.sandbox.session_tools_visibility is spawned for a sandboxed agent"),
        ("self", "all", True, "agent main's visibility is self"),
        (None, "tree", True, "tools.sessions.visibility is tree"),
    ],
)
def test_a_tool_visibility_names_the_setting_that_decides_it(
    own: Any, services: Any, sandboxed: bool, rule: str
) -> None:
    profile = Profile(visibility=own)
    agent = Agent(id="main", slug="main", name="Main", enabled=True, profile=profile, created_at=0, updated_at=0)
    tools = ToolsSettings(sessions=ToolsSessionsSettings(visibility=services))
    key, sandbox = SessionKey.of("main", "main"), SandboxDefaultsSettings()
    assert visibility_of(agent, key, sandboxed=sandboxed, tools=tools, sandbox=sandbox).rule == rule
