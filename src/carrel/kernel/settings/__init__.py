"""The settings as values: every name, its type, its limits and its default.

Each room is given its own section. `carrel.main` reads the file and the environment. The names are those of the
settings reference: a section is a struct, a setting a field.
"""

# ruff: noqa: F403, F405  (all sections, in five files)

from typing import Any, Literal

from msgspec import Struct, field

from carrel.kernel.settings.agents import *
from carrel.kernel.settings.board import *
from carrel.kernel.settings.server import *
from carrel.kernel.settings.surfaces import *
from carrel.kernel.settings.types import *
from carrel.kernel.settings.work import *


class Settings(Section, frozen=True, kw_only=True):
    """All settings of one server."""

    server: ServerSettings = ServerSettings()
    storage: StorageSettings = StorageSettings()
    auth: AuthSettings = AuthSettings()
    gateway: dict[str, GatewaySettings] = field(default_factory=dict)
    prices: dict[str, PriceSettings] = field(default_factory=dict)
    budgets: dict[str, BudgetSettings] = field(default_factory=dict)
    delivery: DeliverySettings = DeliverySettings()
    sessions: SessionsSettings = SessionsSettings()
    runs: RunsSettings = RunsSettings()
    responses: ResponsesSettings = ResponsesSettings()
    a2a: A2aSettings = A2aSettings()
    tools: ToolsSettings = ToolsSettings()
    agents: AgentsSettings = AgentsSettings()
    mcp: dict[str, McpServerSettings] = field(default_factory=dict)
    memory: MemorySettings = MemorySettings()
    auto: AutoSettings = AutoSettings()
    search: SearchSettings = SearchSettings()
    context: ContextSettings = ContextSettings()
    classifier: ClassifierSettings = ClassifierSettings()
    digests: DigestsSettings = DigestsSettings()
    intake: IntakeSettings = IntakeSettings()
    followups: FollowupsSettings = FollowupsSettings()
    hooks: HooksSettings = HooksSettings()
    webhooks: dict[str, WebhookSettings] = field(default_factory=dict)
    agent_http: AgentHttpSettings = AgentHttpSettings()
    channels: ChannelsSettings = ChannelsSettings()
    events: EventsSettings = EventsSettings()
    audit: AuditSettings = AuditSettings()
    log: LogSettings = LogSettings()


class SettingRow(Struct, frozen=True, kw_only=True):
    """One setting; a secret is shown as `set` or empty."""

    name: str
    value: Any
    default: Any
    source: Literal["default", "file", "env"]
