"""What coding agents do, by our names, and the actions that one reports: its tool calls and its plan. Pure.

A call that only waits, for example for permission, is no action yet.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct, structs

from carrel.gateway.items import json_object
from carrel.gateway.model import AgentAction
from carrel.kernel import clip, one_line, redact
from carrel.kernel.limits import ACP_ACT_CHARS_MAX, ACP_ACTS_PER_STEP_MAX, ACP_NAME_CHARS_MAX

if TYPE_CHECKING:
    from acp.schema import AgentPlanUpdate, ToolCallProgress, ToolCallStart, ToolCallUpdate

PREFIX = "acp__"
PLAN = f"{PREFIX}plan"
READ, EDIT, OTHER = f"{PREFIX}read", f"{PREFIX}edit", f"{PREFIX}other"
CALL, PERMISSION = "acp_t", "acp_p"
NO_RESULT = "The agent did not say what became of it."
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")
_ID_CHARS_MAX = 40
_ENDED = ("completed", "failed")


class ActKind(Struct, frozen=True):
    """A kind of action: what it does, in words for people, and whether it changes something."""

    does: str
    effect: Literal["read", "write"]


# Tool names that agents' rules and plan mode use, such as `acp__edit`.
ACT_KINDS: Mapping[str, ActKind] = MappingProxyType({
    f"{PREFIX}read": ActKind("read a file", "read"),
    f"{PREFIX}search": ActKind("search files", "read"),
    f"{PREFIX}think": ActKind("think", "read"),
    f"{PREFIX}fetch": ActKind("fetch something from elsewhere", "write"),
    f"{PREFIX}edit": ActKind("edit a file", "write"),
    f"{PREFIX}delete": ActKind("delete files", "write"),
    f"{PREFIX}move": ActKind("move files", "write"),
    f"{PREFIX}execute": ActKind("run a command", "write"),
    f"{PREFIX}switch_mode": ActKind("switch its mode", "write"),
    f"{PREFIX}other": ActKind("do something else", "write"),
})  # fmt: skip


def name_of(kind: str | None) -> str:
    name = f"{PREFIX}{kind}"
    return name if name in ACT_KINDS else OTHER


class _Seen:
    """What the agent has reported of one tool call so far."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.said: dict[str, Any] = {}
        self.action: AgentAction | None = None
        self.is_over = False

    def apply(self, update: "ToolCallStart | ToolCallProgress | ToolCallUpdate") -> None:
        """Apply an update; fields that it leaves out stay as they were."""
        self.said |= update.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"field_meta"})

    def as_action(self) -> AgentAction:
        return AgentAction(call_id=self.call_id, name=name_of(self.said.get("kind")), arguments=described(self.said))


class AgentActions:
    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._count = 0
        self._plan = ""

    def apply(self, update: "ToolCallStart | ToolCallProgress") -> Iterator[AgentAction]:
        """Yield the actions that an update of a tool call reports: its start, and its result."""
        seen = self._seen.get(update.tool_call_id)
        if seen is None or (seen.is_over and update.session_update == "tool_call"):
            if not self._may_begin():
                return
            seen = self._seen[update.tool_call_id] = _Seen(_call_id(CALL, self._count, update.tool_call_id))
        if seen.is_over:
            return
        seen.apply(update)
        status = seen.said.get("status", "in_progress")
        if seen.action is None and status != "pending":
            seen.action = seen.as_action()
            yield seen.action
        if status in _ENDED and seen.action is not None:
            seen.is_over = True
            yield _with_result(seen.action, _result(seen.said, is_done=status == "completed"))

    def plan(self, update: "AgentPlanUpdate") -> Iterator[AgentAction]:
        """Yield a plan that differs from the one before."""
        entries = [{"content": one.content, "status": one.status} for one in update.entries]
        arguments = _bounded({"entries": entries}, "entries")
        if arguments == self._plan or not self._may_begin():
            return
        self._plan = arguments
        done = sum(one["status"] == "completed" for one in entries)
        begun = AgentAction(call_id=_call_id(CALL, self._count, "plan"), name=PLAN, arguments=arguments)
        yield begun
        yield _with_result(begun, {"ok": True, "steps": len(entries), "done": done})

    def known(self, update: "ToolCallUpdate") -> dict[str, Any]:
        """Return everything reported of a tool call, including this update."""
        before = self._seen.get(update.tool_call_id)
        said = _Seen("")
        said.said = dict(before.said) if before is not None else {}
        said.apply(update)
        return said.said

    def unfinished(self, why: str = NO_RESULT) -> Iterator[AgentAction]:
        """Yield the actions whose result will never be known, with `why` as their result."""
        for seen in self._seen.values():
            if seen.action is not None and not seen.is_over:
                seen.is_over = True
                yield _with_result(seen.action, {"ok": False, "error": {"code": "fate_unknown", "message": why}})

    def _may_begin(self) -> bool:
        self._count += 1
        return self._count <= ACP_ACTS_PER_STEP_MAX


def permission_id(count: int, tool_call_id: str) -> str:
    """Return the id of the call that asks for permission to act; `count` numbers those of a run."""
    return _call_id(PERMISSION, count, tool_call_id)


def described(said: dict[str, Any]) -> str:
    """Return as JSON text what a tool call is about: its title, files and input."""
    told: dict[str, Any] = {"title": clip(one_line(str(said.get("title") or "untitled")), ACP_NAME_CHARS_MAX)}
    paths = [str(one.get("path")) for one in said.get("locations") or ()]
    paths += [str(one.get("path")) for one in said.get("content") or () if one.get("type") == "diff"]
    if paths:
        told["files"] = list(dict.fromkeys(paths))[:20]
    if said.get("rawInput") not in (None, {}, ""):
        told["input"] = said["rawInput"]
    return _bounded(told, "input")


def _result(said: dict[str, Any], *, is_done: bool) -> dict[str, Any]:
    texts = [one.get("content", {}).get("text") for one in said.get("content") or () if one.get("type") == "content"]
    text = "\n".join(text for text in texts if isinstance(text, str))
    result: dict[str, Any] = {"ok": is_done}
    if text:
        result["text"] = text
    elif said.get("rawOutput") not in (None, {}, ""):
        result["output"] = said["rawOutput"]
    return result


def _with_result(action: AgentAction, result: dict[str, Any]) -> AgentAction:
    return structs.replace(action, result=_bounded(result, "text" if "text" in result else "output"))


def _bounded(value: dict[str, Any], large: str) -> str:
    """Return a value as JSON text without secrets, cutting `large` in it if the whole is too long."""
    text = _json(value)
    if len(text) > ACP_ACT_CHARS_MAX and large in value:
        whole = value[large] if isinstance(value[large], str) else _json(value[large])
        # Escaping may double its length.
        text = _json(value | {large: clip(whole, ACP_ACT_CHARS_MAX // 2)})
    if len(text) > ACP_ACT_CHARS_MAX * 2:
        text = _json({"title": clip(str(value.get("title", "")), ACP_NAME_CHARS_MAX), "cut": True})
    return text


def _json(value: Any) -> str:
    return msgspec.json.encode(_clean(value)).decode()


def _clean(value: Any) -> Any:
    """Return a value without secrets and without characters that cannot be stored."""
    if isinstance(value, str):
        return redact(value.replace("\x00", "").encode("utf-8", "replace").decode())
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(str(name)): _clean(one) for name, one in value.items()}
    return value


def _call_id(kind: str, count: int, given: str) -> str:
    return f"{kind}{count}_{_NOT_IN_IDS.sub('_', given)[:_ID_CHARS_MAX]}"


def title_of(arguments: str) -> str:
    return str(json_object(arguments).get("title", ""))
