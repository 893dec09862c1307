"""Hook events of Claude Code as entries of the board. Pure."""

from typing import Any

from msgspec import Struct

from carrel.board.model import PERSON, LogSource, NewLog
from carrel.kernel import clip, redact
from carrel.kernel.limits import HOOK_RAW_CHARS_MAX, MESSAGE_CHARS_MAX, NAME_CHARS_MAX

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
