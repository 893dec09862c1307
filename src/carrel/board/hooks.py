"""Hooks: how other programs send messages to an agent, and events of Claude Code as entries of the board."""

from typing import Any

from msgspec import Struct

from carrel.agents import Agent, default_agent, named_agent
from carrel.board.model import PERSON, LogSource, NewLog
from carrel.kernel import (
    Access,
    Code,
    Envelope,
    Message,
    Provenance,
    Refusal,
    SessionKey,
    clip,
    invalid,
    redact,
    uuid_for,
)
from carrel.kernel.limits import HOOK_RAW_CHARS_MAX, MESSAGE_CHARS_MAX, NAME_CHARS_MAX
from carrel.kernel.settings import HooksSettings
from carrel.runs import Rules, Run, deliver
from carrel.sessions import find_session
from carrel.storage import Tx

CHANNEL = "claude"
# Events that are recorded as one line.
_NOTED = {
    "SessionStart": "Session started: {source}.",
    "SessionEnd": "Session ended: {reason}.",
    "SubagentStart": "Sub-agent {agent_type} started.",
    "SubagentStop": "Sub-agent {agent_type} ended: {last_assistant_message}",
    "TaskCreated": "Task created: {task_subject}",
    "TaskCompleted": "Task completed: {task_subject}",
}


def require_hooks(settings: HooksSettings) -> None:
    """Refuse while hooks are turned off."""
    if not settings.enabled:
        raise Refusal(Code.FORBIDDEN, "Hooks are turned off on this server; set hooks.enabled to true to use them.")


def run_hook(
    tx: Tx, access: Access, settings: HooksSettings, rules: Rules, message: str, *,
    agent: str | None = None, reference: str | None = None, name: str | None = None,
) -> Run:  # fmt: skip
    """Queue a message of another program; without a session reference, in a lane of its own."""
    if reference is not None:
        key = _named_lane(tx, access, settings, agent, reference)
    else:
        key = SessionKey.of(_addressed(tx, access, agent).id, f"hook:{uuid_for(tx.new_id('hook'), access.account_id)}")
    return deliver(tx, access, Envelope(key=key, message=_message(access, message), label=name), rules)


def wake(tx: Tx, access: Access, rules: Rules, text: str, agent: str | None = None) -> Run:
    """Queue a text of another program in an agent's main lane."""
    key = _addressed(tx, access, agent).base_key
    # The caller may address the agent, but need not be able to read its shared main lane.
    return deliver(tx, access.as_system(), Envelope(key=key, message=_message(access, text)), rules)


def _message(access: Access, text: str) -> Message:
    return Message(text=text, provenance=Provenance(kind="hook", actor=access.actor_id))


def _addressed(tx: Tx, access: Access, agent: str | None) -> Agent:
    return named_agent(tx, access, agent) if agent else default_agent(tx, access)


def _named_lane(tx: Tx, access: Access, settings: HooksSettings, agent: str | None, reference: str) -> SessionKey:
    if not settings.allow_request_session_key:
        text = "The server chooses the session of a hook: leave sessionKey out, or set hooks.allow_request_session_key."
        raise invalid("sessionKey", text)
    if agent is not None and not reference.lower().startswith("agent:"):
        reference = f"agent:{named_agent(tx, access, agent).slug}:{reference}"
    key = find_session(tx, access, reference).key
    if agent is not None and key.agent != named_agent(tx, access, agent).id:
        raise invalid("agentId", f"{key} belongs to agent {key.agent}; send agentId or sessionKey.")
    if not any(name.startswith(settings.allowed_session_key_prefixes) for name in (str(key), key.rest)):
        allowed = ", ".join(settings.allowed_session_key_prefixes) or "none"
        raise invalid("sessionKey", f"A hook may not name {key}; allowed prefixes: {allowed}.")
    return key


class ClaudeEvent(Struct, frozen=True, kw_only=True):
    """An event as Claude Code sends it to a hook; unknown fields are ignored."""

    session_id: str
    hook_event_name: str
    prompt: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Any = None
    tool_response: Any = None
    error: Any = None
    source: str = ""
    reason: str = ""
    agent_type: str = ""
    task_subject: str = ""
    last_assistant_message: str = ""

    @property
    def session(self) -> str:
        """The session key under which the board knows the session; it names no lane."""
        return clip(f"{CHANNEL}:{self.session_id}", NAME_CHARS_MAX)

    @property
    def wants_context(self) -> bool:
        """Whether the answer to this event reaches the model."""
        return self.hook_event_name in ("SessionStart", "UserPromptSubmit")

    def log(self) -> NewLog | None:
        """Return the event as an entry; None if there is nothing to record."""
        match self.hook_event_name:
            case "UserPromptSubmit":
                return self._said(PERSON, self.prompt)
            case "Stop":
                return self._said(CHANNEL, self.last_assistant_message)
            case "PreToolUse":
                return self._tool("call", f"Tool call: {self.tool_name}", self.tool_input)
            case "PostToolUse":
                return self._tool("result", f"Tool result: {self.tool_name}", self.tool_response)
            case "PostToolUseFailure":
                why = redact(self.error, HOOK_RAW_CHARS_MAX)
                return self._tool("result", f"Tool error: {self.tool_name}: {why}", None)
        noted = _NOTED.get(self.hook_event_name)
        values = {name: getattr(self, name) or "unknown" for name in self.__struct_fields__}
        return None if noted is None else self._new("system", noted.format(**values))

    def _said(self, author: str, text: str) -> NewLog | None:
        return self._new("conversation", text, agent_id=author) if text.strip() else None

    def _tool(self, part: str, content: str, value: Any) -> NewLog:
        message_id = clip(f"{self.tool_use_id}:{part}", NAME_CHARS_MAX) if self.tool_use_id else None
        raw = None if value is None else redact(value, HOOK_RAW_CHARS_MAX)
        return self._new("action", content, raw=raw, message_id=message_id)

    def _new(
        self, kind: Any, content: str, *, agent_id: str = CHANNEL, message_id: str | None = None, raw: str | None = None
    ) -> NewLog:
        source = LogSource(channel=CHANNEL, session_key=self.session, message_id=message_id)
        return NewLog(type=kind, content=clip(content, MESSAGE_CHARS_MAX), agent_id=agent_id, source=source, raw=raw)
