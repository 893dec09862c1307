"""Toolsets: a set of tools that can be narrowed by wrapping. Whatever a wrapper hides it also refuses."""

from fnmatch import fnmatchcase
from typing import Any, Protocol

import msgspec

from carrel.kernel import METRICS, Code, Refusal
from carrel.kernel.limits import TOOL_RESULT_BYTES_MAX
from carrel.runs import call_result, record_call
from carrel.sessions import Profile
from carrel.storage import Tx
from carrel.tools.model import Desk, Result, Tool


class Toolset(Protocol):
    """What an agent may do at its desk."""

    def offered(self) -> tuple[Tool, ...]:
        """The tools, in a stable order."""
        ...

    def find(self, name: str) -> Tool:
        """The tool of that name; Refusal when it is not offered."""
        ...


class Catalog:
    """Every tool there is."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}

    def offered(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    def find(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise Refusal(
                Code.TOOL_NOT_ALLOWED, f"There is no tool '{name[:80]}' here; use one of: {', '.join(self._tools)}."
            )
        return tool


class Permitted:
    """Only what an agent's profile allows; what it denies wins."""

    def __init__(self, inner: Toolset, profile: Profile) -> None:
        self._inner = inner
        self._rules = profile.tools

    def offered(self) -> tuple[Tool, ...]:
        return tuple(tool for tool in self._inner.offered() if self._allows(tool.name))

    def find(self, name: str) -> Tool:
        tool = self._inner.find(name)
        if not self._allows(tool.name):
            raise Refusal(Code.TOOL_NOT_ALLOWED, f"This agent may not use {name}.")
        return tool

    def _allows(self, name: str) -> bool:
        rules = self._rules
        allowed = any(fnmatchcase(name, pattern) for pattern in rules.allow)
        return allowed and not any(fnmatchcase(name, pattern) for pattern in rules.deny)


def call_tool(tx: Tx, toolset: Toolset, desk: Desk, call_id: str, name: str, arguments: str) -> tuple[str, Result]:
    """Make a call once: effect and record are one transaction, and a repetition is answered from the record.

    Gives the answer as JSON text, exactly as the model gets it. A refusal is an answer too: the model may adapt.
    """
    known = call_result(tx, desk.access, desk.run.id, call_id)
    if known is not None:
        return known, Result(value=msgspec.json.decode(known))
    effect = "read"
    try:
        tool = toolset.find(name)
        params = tool.read_params(arguments)
        effect = tool.effect
        result = tool.act(tx, desk, params)
        status = "ok"
    except Refusal as refusal:
        result = Result(value=_refused(refusal))
        status = "refused"
        effect = "read"
    text = _bounded(result.value)
    record_call(tx, desk.access, desk.run.id, call_id, tool=name[:80], effect=effect, result=text)
    METRICS.count("tools.called.count", tool=name[:80] if status == "ok" else "other", status=status)
    return text, result


def _refused(refusal: Refusal) -> dict[str, Any]:
    return {"ok": False, "error": {"code": str(refusal.code), "message": refusal.message}}


def _bounded(value: dict[str, Any]) -> str:
    text = msgspec.json.encode(value)
    if len(text) <= TOOL_RESULT_BYTES_MAX:
        return text.decode()
    short = {"truncated": True, "bytes": len(text), "text": text[: TOOL_RESULT_BYTES_MAX // 2].decode(errors="ignore")}
    return msgspec.json.encode(short).decode()
