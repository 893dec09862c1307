"""What OpenClaw 2026.9.6 refuses at `/v1/responses`, as seen on the real one; the recorded exchanges hold it to that.

Its body is strict: a field that it does not know fails the request.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

AGENTS = ("main",)
# Those of its own tools that share a name with one of ours, and of the plugin.
OWN_TOOLS = frozenset(
    {"agents_list", "session_status", "sessions_history", "sessions_list", "sessions_send", "sessions_spawn"}
)
FILE_TYPES = ("text/plain", "text/markdown", "text/html", "text/csv", "application/json", "application/pdf")
_MODEL = re.compile(r"openclaw(?:[:/](?P<agent>[a-z0-9][a-z0-9_-]*))?")
_RESERVED_KEY = re.compile(r"(?:agent:[^:]+:)?(?:subagent|cron|acp):", re.IGNORECASE)
Status = Literal["in_progress", "completed", "incomplete"]


class _Strict(Struct, forbid_unknown_fields=True):
    """An object without other fields."""


class _InputText(_Strict, tag="input_text"):
    text: str


class _OutputText(_Strict, tag="output_text"):
    text: str


class _Source(_Strict):
    type: Literal["url", "base64"]
    url: str = ""
    media_type: str = ""
    data: str = ""
    filename: str = ""


class _Image(_Strict, tag="input_image"):
    source: _Source


class _File(_Strict, tag="input_file"):
    source: _Source


class _Message(_Strict, tag="message"):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_InputText | _OutputText | _Image | _File]
    id: str = ""
    phase: Literal["commentary", "final_answer"] | None = None
    status: Status | None = None


class _Call(_Strict, tag="function_call"):
    name: str
    arguments: str
    id: str = ""
    call_id: str = ""
    status: Status | None = None


class _Output(_Strict, tag="function_call_output"):
    call_id: str
    output: str


class _Tool(_Strict):
    type: Literal["function"]
    name: Annotated[str, Meta(min_length=1)]
    description: str = ""
    parameters: dict[str, Any] = {}
    strict: bool = False


class _Reasoning(Struct):
    effort: Literal["low", "medium", "high"] | None = None


class _Body(_Strict):
    model: str
    input: str | list[_Message | _Call | _Output]
    instructions: str = ""
    tools: list[_Tool] = []
    tool_choice: Any = "auto"
    stream: bool = False
    max_output_tokens: Annotated[int, Meta(gt=0)] | None = None
    user: str = ""
    temperature: float | None = None
    top_p: float | None = None
    metadata: dict[str, str] = {}
    reasoning: _Reasoning | None = None


def refusal_of(headers: Mapping[str, str], body: bytes, agents: tuple[str, ...] = AGENTS) -> str | None:
    """Return why OpenClaw refuses a request; None if it takes it."""
    try:
        request = msgspec.json.decode(body, type=_Body)
    except msgspec.ValidationError as error:
        return str(error)
    named = _MODEL.fullmatch(request.model)
    if named is None:
        return "Invalid `model`. Use `openclaw` or `openclaw/<agentId>`."
    agent = headers.get("x-openclaw-agent-id") or named["agent"] or agents[0]
    if agent not in agents and agent != "default":
        return f"Unknown agent '{agent}'."
    if len(agents) > 1 and not headers.get("x-openclaw-session-key", "").startswith("agent:"):
        # It answers no more than that; its log says that several agents are configured and none is named.
        return "internal error"
    if _RESERVED_KEY.match(headers.get("x-openclaw-session-key", "")):
        return "`x-openclaw-session-key` cannot use reserved internal session namespaces."
    return _unusable(request)


def _unusable(request: _Body) -> str | None:
    items = request.input if isinstance(request.input, list) else [_Message(role="user", content=request.input)]
    said = [item for item in items if isinstance(item, _Output) or (isinstance(item, _Message) and item.role == "user")]
    if not said:
        return "Missing user message in `input`."
    parts = [
        part for item in items if isinstance(item, _Message) and isinstance(item.content, list) for part in item.content
    ]
    if any(isinstance(part, _File) and part.source.media_type not in FILE_TYPES for part in parts):
        return "invalid request"
    names = [tool.name for tool in request.tools]
    return "invalid tool configuration" if OWN_TOOLS & set(names) or len(set(names)) < len(names) else None
