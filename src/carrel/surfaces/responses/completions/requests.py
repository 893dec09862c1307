"""Requests of Chat Completions, and the same requests in the terms of Open Responses.

Names that are not listed are ignored: clients add options of many servers, most of which mean nothing to an agent.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from carrel.kernel import wrong_value
from carrel.kernel.limits import MESSAGE_CHARS_MAX, RESPONSE_TOOLS_MAX
from carrel.surfaces.responses.completions.message_schema import MESSAGES
from carrel.surfaces.responses.completions.messages import Conversation
from carrel.surfaces.responses.errors import wrong
from carrel.surfaces.responses.requests import (
    CreateResponse,
    Json,
    Metadata,
    Model,
    NamedFunction,
    Reasoning,
    TextOptions,
)

_TOOLS = {"maxItems": RESPONSE_TOOLS_MAX, "items": {"$ref": "#/components/schemas/ChatTool"}}
_NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_CHOICE = {"properties": {"type": {"const": "function"}, "function": _NAMED}, "required": ["type", "function"]}
_FORMAT = {
    "anyOf": [
        {"properties": {"type": {"enum": ["text", "json_object"]}}, "required": ["type"]},
        {
            "properties": {"type": {"const": "json_schema"}, "json_schema": {"type": "object"}},
            "required": ["type", "json_schema"],
        },
    ]
}
# Of the same name and meaning in both APIs.
_SHARED = (
    "model", "user", "parallel_tool_calls", "temperature", "top_p", "presence_penalty", "frequency_penalty", "metadata",
    "stream",
)  # fmt: skip


class ChatTool(Struct, frozen=True, kw_only=True):
    """A tool: always a function."""

    type: Literal["function"]
    function: NamedFunction


class ChatStreamOptions(Struct, frozen=True, kw_only=True):
    """How chunks are streamed."""

    include_usage: bool | None = None


class CreateCompletion(Struct, frozen=True, kw_only=True):
    """A request for a completion."""

    model: Model
    messages: Annotated[list[Any], Meta(extra_json_schema=MESSAGES)]
    user: Annotated[str, Meta(max_length=MESSAGE_CHARS_MAX)] | None = None
    tools: Annotated[list[Any], Meta(extra_json_schema=_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | Annotated[Json, Meta(extra_json_schema=_CHOICE)] | None = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    response_format: Annotated[Json, Meta(extra_json_schema=_FORMAT)] | None = None
    metadata: Metadata | None = None
    n: Annotated[int, Meta(ge=1, le=1)] | None = None
    stream: bool | None = None
    stream_options: ChatStreamOptions | None = None

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


def as_response(request: CreateCompletion, said: Conversation, previous_id: str | None) -> CreateResponse:
    """Return the same request in the terms of Open Responses."""
    text = TextOptions(format=_format(request.response_format), verbosity=request.verbosity)
    return CreateResponse(
        **{name: getattr(request, name) for name in _SHARED},
        input=said.items,
        instructions=said.instructions or None,
        previous_response_id=previous_id,
        tools=[_function(n, tool) for n, tool in enumerate(request.tools or [])] or None,
        tool_choice=_choice(request.tool_choice),
        max_output_tokens=request.max_completion_tokens or request.max_tokens,
        reasoning=Reasoning(effort=request.reasoning_effort) if request.reasoning_effort else None,
        text=text if text != TextOptions() else None,
        # Clients of this API cannot read it again by an id.
        store=False,
    )


def _function(n: int, tool: Any) -> Json:
    try:
        function = msgspec.convert(tool, ChatTool).function
    except msgspec.ValidationError as error:
        refused = wrong_value(error, ChatTool)
        raise wrong(".".join(filter(None, (f"tools.{n}", refused.field))), refused.message) from error
    return {"type": "function", **msgspec.structs.asdict(function)}


def _choice(choice: str | Json | None) -> Any:
    if not isinstance(choice, dict):
        return choice
    match choice:
        case {"type": "function", "function": {"name": name}}:
            return {"type": "function", "name": name}
        case {"type": "allowed_tools", "allowed_tools": {"tools": [*tools], **rest}}:
            named = [_choice(tool) if isinstance(tool, dict) else None for tool in tools]
            return {"type": "allowed_tools", "mode": rest.get("mode", "auto"), "tools": named}
        case _:
            raise wrong("tool_choice", "tool_choice must be none, auto, required, a function or allowed_tools.")


def _format(given: Json | None) -> Json | None:
    match given:
        case None:
            return None
        case {"type": "json_schema", "json_schema": dict() as schema}:
            return {"type": "json_schema"} | schema
        case {"type": "text" | "json_object" as kind}:
            return {"type": kind}
        case _:
            raise wrong("response_format", "type must be text, json_object or json_schema.")
