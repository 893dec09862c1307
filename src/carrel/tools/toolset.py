"""Toolsets: sets of tools that are narrowed by wrapping. A tool that a wrapper hides cannot be called either."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Protocol

from carrel.agents import ToolRules
from carrel.kernel import Code, Refusal
from carrel.kernel.settings import ToolNamesSettings
from carrel.modes import NOT_PLANNING, PLANNING, SET_PLAN, is_hidden_while_planning, is_planning
from carrel.storage import Tx
from carrel.tools.model import Caller, Tool
from carrel.tools.tool_rules import is_permitted, matches, needs_approval
from carrel.work import Rights


class UnknownTool(Refusal):
    """There is no tool of that name."""


class Toolset(Hashable, Protocol):
    """The tools that a caller may use."""

    def offered(self) -> tuple[Tool, ...]:
        """Return the tools, in a stable order."""

    def find(self, name: str) -> Tool:
        """Return the tool of that name; Refusal when it is not offered."""


class Catalog:
    """Every tool there is."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self._named = {name: tool for tool in tools for name in tool.names}

    def offered(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    def find(self, name: str) -> Tool:
        tool = self._named.get(name)
        if tool is None:
            close = Refusal.nearest(name, self._named)
            known = f"did you mean {close}?" if close else f"use one of: {', '.join(self._tools)}."
            raise UnknownTool(Code.TOOL_NOT_ALLOWED, f"There is no tool '{name[:80]}'; {known}")
        return tool

    def with_tools(self, more: tuple[Tool, ...]) -> "Catalog":
        """Return a catalog with these tools added; of two with the same name, the catalog's own stays."""
        return Catalog((*self._tools.values(), *(tool for tool in more if tool.name not in self._named)))

    def needs_approval(self, name: str, rules: ToolRules) -> bool:
        """Return whether a person has to approve a call of that name; an unknown name has no aliases."""
        tool = self._named.get(name)
        return matches([name], rules.ask) if tool is None else needs_approval(tool, rules)

    def purpose_of(self, name: str) -> str:
        """Return in words what a call of that name does, whether or not its caller may make it."""
        tool = self._named.get(name)
        return f"use {name.replace('_', ' ')}" if tool is None else tool.does

    def storable_arguments(self, name: str, arguments: str) -> str:
        """Return a call's arguments as they may be stored, whether or not its caller may make it."""
        tool = self._named.get(name)
        return arguments if tool is None or tool.storable is None else tool.storable(arguments)


class _Narrowed:
    """A part of a toolset. It never changes, and every step asks for it, so it is narrowed once."""

    def __init__(self, inner: Toolset) -> None:
        self._inner = inner
        self._offered: tuple[Tool, ...] | None = None

    def offered(self) -> tuple[Tool, ...]:
        """Return the tools of this part, in the order of the whole."""
        if self._offered is None:
            whole = self._inner.offered()
            self._offered = tuple(tool for tool in whole if self._why_not(tool, tool.name) is None)
        return self._offered

    def find(self, name: str) -> Tool:
        """Return the tool of that name; Refusal when it is not in this part."""
        tool = self._inner.find(name)
        if (why := self._why_not(tool, name)) is not None:
            raise Refusal(Code.TOOL_NOT_ALLOWED, why)
        return tool

    def _why_not(self, tool: Tool, name: str) -> str | None:
        raise AssertionError("each part says what it has not")


class Permitted(_Narrowed):
    """Only the tools that an agent's profile allows; deny beats allow."""

    def __init__(self, inner: Toolset, rules: ToolRules) -> None:
        super().__init__(inner)
        self._rules = rules

    def _why_not(self, tool: Tool, name: str) -> str | None:
        return None if is_permitted(tool, self._rules) else f"This agent may not use {name}."


class Without(_Narrowed):
    """All tools but the hidden ones, and the reason why those are missing."""

    def __init__(self, inner: Toolset, hidden: Callable[[Tool], bool], why: str) -> None:
        super().__init__(inner)
        self._hidden = hidden
        self._why = why

    def _why_not(self, tool: Tool, name: str) -> str | None:
        return f"{tool.name} is not offered here: {self._why}" if self._hidden(tool) else None


class Entitled(_Narrowed):
    """Only the tools whose effect on tasks and memory the caller is allowed."""

    def __init__(self, inner: Toolset, rights: Rights) -> None:
        super().__init__(inner)
        self._rights = rights

    def _why_not(self, tool: Tool, name: str) -> str | None:
        try:
            if tool.right is not None:
                self._rights.require(tool.right)
        except Refusal as refusal:
            return f"{tool.name} is not offered here: {refusal.message}"
        return None


_REPLACED = "the sender of the message brought a function of this name, which stands in its place."
# Not offered to sub-agents: they see only their own task.
_NOT_FOR_SUBAGENTS = ("sessions_list", "sessions_history", "sessions_send", "agents_list")


def toolset_for(catalog: Catalog, caller: Caller, functions: frozenset[str] = frozenset()) -> Toolset:
    """Return a caller's tools: those its agent's profile allows, without those that do not apply where it is.

    The sender's `functions` replace tools of the same name.
    """
    of_subagents = caller.services.settings.tools.subagents.tools if caller.key.kind == "subagent" else None
    return _toolset(
        catalog, caller.agent.profile.tools, caller.actor.rights, of_subagents, in_run=caller.run is not None,
        is_planning=caller.is_planning, replaced=names_in(catalog) & functions,
    )  # fmt: skip


# Cached: most callers need the same part of the catalog.
@lru_cache(maxsize=256)
def _toolset(
    catalog: Catalog, rules: ToolRules, rights: Rights, of_subagents: ToolNamesSettings | None, *,
    in_run: bool, is_planning: bool, replaced: frozenset[str],
) -> Toolset:  # fmt: skip
    found: Toolset = Entitled(Permitted(catalog, rules), rights)
    if replaced:
        found = Without(found, lambda tool: not replaced.isdisjoint(tool.names), _REPLACED)
    if not in_run:
        found = Without(found, lambda tool: tool.only_in_run, "it ends or feeds a turn, and this is not one.")
    if of_subagents is not None:
        found = Without(found, lambda tool: _hidden_from_subagent(tool, of_subagents), "this is a sub-agent's session.")
    if is_planning:
        return Without(found, _hidden_in_plan_mode, PLANNING)
    return Without(found, lambda tool: tool.name == SET_PLAN, NOT_PLANNING)


@lru_cache(maxsize=256)
def names_in(toolset: Toolset) -> frozenset[str]:
    """Return every name by which a tool of a toolset may be called."""
    return frozenset(name for tool in toolset.offered() for name in tool.names)


def require_offered_now(tx: Tx, caller: Caller, tool: Tool) -> None:
    """Refuse a tool that plan mode hides: it may have been switched on since the caller's tools were read."""
    if _hidden_in_plan_mode(tool) and is_planning(tx, caller.access, caller.key):
        raise Refusal(Code.TOOL_NOT_ALLOWED, f"{tool.name} is not offered here: {PLANNING}")


def _hidden_in_plan_mode(tool: Tool) -> bool:
    return is_hidden_while_planning(tool.name, tool.effect, tool.server)


def _hidden_from_subagent(tool: Tool, names: ToolNamesSettings) -> bool:
    if tool.name == "sessions_spawn" or matches(tool.names, names.deny):
        return True
    return tool.name in _NOT_FOR_SUBAGENTS and not matches(tool.names, names.allow)
