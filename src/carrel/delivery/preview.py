"""The standing instructions and tools that an agent would be sent, for each kind of run, without one."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from carrel.agents import Agent
from carrel.delivery.heading import TaskHeading
from carrel.delivery.prompt import Scope, standing_instructions
from carrel.delivery.snapshot import as_agent
from carrel.kernel import Access, SessionKey, system_access
from carrel.runs import Run
from carrel.storage import Tx
from carrel.tools import ToolServices, caller_at, known_catalog, shown_tools, toolset_for

PreviewKind = Literal["chat", "task", "subagent", "heartbeat"]
_NAMELESS = "00000000-0000-4000-8000-000000000000"
# Where a run of each kind works, and what causes it. What differs in every run is in brackets.
_LANES: dict[PreviewKind, tuple[str, str]] = {
    "chat": ("web:preview-chat", "external_user"),
    "task": ("task:preview", "notification"),
    "subagent": (f"subagent:{_NAMELESS}", "spawn"),
    "heartbeat": ("main", "heartbeat"),
}
_TASK = "[id of the task]"
_TOLD = TaskHeading(
    heading="", title="[title of the task]", notice="assignment", by_people=True, by_a_person=True, status="assigned",
    is_assigned=True, is_posted=True,
)  # fmt: skip


class PreviewedTool(Struct, frozen=True, kw_only=True):
    """A tool as the model is shown it."""

    name: str
    description: str
    parameters: dict[str, Any]


class PromptPreview(Struct, frozen=True, kw_only=True, rename="camel"):
    """What every request of an agent begins with in one kind of run."""

    agent_id: str
    profile: PreviewKind
    version: str
    sha256: str
    instructions: str
    tools: list[PreviewedTool]


def preview_prompt(tx: Tx, services: ToolServices, access: Access, agent: Agent, kind: PreviewKind) -> PromptPreview:
    """Return an agent's instructions and tools for one kind of run."""
    rest, provenance = _LANES[kind]
    key = SessionKey.of(agent.id, rest)
    seen = as_agent(system_access(access.account_id, access.account_slug), agent, spaces=("*",), behalf=None)
    run = _run(access, key, provenance, _TASK if kind == "task" else None)
    caller = caller_at(tx, services, seen, agent, key, run=run)
    tools = shown_tools(toolset_for(known_catalog(services, access.account_slug, agent), caller), caller)
    told = _TOLD if kind == "task" else None
    scope = Scope(key=key, task_id=run.task_id, told=told, is_heartbeat=kind == "heartbeat")
    standing = standing_instructions(agent, scope, tools)
    return PromptPreview(
        agent_id=agent.id,
        profile=kind,
        version=standing.version,
        sha256=standing.sha256,
        instructions=standing.text,
        tools=[msgspec.json.decode(tool.function(caller.actor), type=PreviewedTool) for tool in tools],
    )


def _run(access: Access, key: SessionKey, provenance: str, task_id: str | None) -> Run:
    return Run(
        account_id=access.account_id, id="", key=str(key), agent_id=key.agent, seq=0, state="running", attempts_max=1,
        timeout_ms=0, provenance=f'{{"kind":"{provenance}"}}', provenance_kind=provenance, created_at=0, updated_at=0,
        attempt=1, claim_no=1, deadline_at=None, generation=1, started_at=0, task_id=task_id, auto_run_id=None,
        patience_ms=0, unreachable_since=None, actor_id=access.actor_id, message_id="", text="", channel="internal",
    )  # fmt: skip
