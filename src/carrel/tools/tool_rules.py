"""The rules of an agent's profile for tools: what it may use, and what only with a person's approval.

Every surface asks here, with the tool itself and never with the name that a caller happened to use.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

from carrel.agents import ToolRules, agent_by_id
from carrel.kernel import Access, Code, Refusal
from carrel.storage import Tx
from carrel.tools.model import Tool

# Names of one and the same tool: a rule against one of them holds for all.
_SAME = (
    ("task_history", "task_load", "task_get", "task_thread", "clawboard_get_task", "board_get_task"),
    ("task_update", "clawboard_update_task", "board_update_task"),
)


def matches(names: Iterable[str], patterns: tuple[str, ...]) -> bool:
    return _matches(tuple(names), patterns)


@lru_cache(maxsize=4096)
def _matches(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def is_permitted(tool: Tool, rules: ToolRules) -> bool:
    """Return whether an agent may use a tool; deny beats allow."""
    return _is_permitted(tool.names, rules.allow, rules.deny)


# Every step asks this of every tool, and there are few rules.
@lru_cache(maxsize=4096)
def _is_permitted(names: tuple[str, ...], allow: tuple[str, ...], deny: tuple[str, ...]) -> bool:
    return _matches(names, allow) and not _matches(_same(names[0]) or names, deny)


def needs_approval(tool: Tool, rules: ToolRules) -> bool:
    """Return whether a person has to approve each call of a tool."""
    return matches(_same(tool.name) or tool.names, rules.ask)


def require_part(tx: Tx, access: Access, part: str, whole: str) -> None:
    """Refuse an agent's call of `whole` that also does what the tool `part` does, if a rule for `part` forbids it.

    A person who approved the whole call has approved its part too.
    """
    agent = None if access.agent_id is None else agent_by_id(tx, access, access.agent_id)
    if agent is None:
        return
    rules = agent.profile.tools
    if matches([part], rules.deny):
        raise Refusal(Code.TOOL_NOT_ALLOWED, f"This agent may not use {part}, and {whole} would do the same here.")
    if matches([part], rules.ask) and not matches(_same(whole) or [whole], rules.ask):
        message = f"This needs a person's approval: leave it out of {whole} and call {part} in a turn instead."
        raise Refusal(Code.TOOL_NOT_ALLOWED, message)


def _same(name: str) -> tuple[str, ...]:
    return next((group for group in _SAME if name in group), ())
