"""Requests of Chat Completions and their messages, in the terms of Open Responses.

Names that are not listed are ignored: clients add options of many servers, most of which mean nothing to an agent.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from carrel.kernel.limits import MESSAGE_CHARS_MAX, RESPONSE_ITEMS_MAX, RESPONSE_TOOLS_MAX
from carrel.surfaces.responses.errors import ResponsesError, wrong
from carrel.surfaces.responses.input_schema import MESSAGES
from carrel.surfaces.responses.requests import (
    CreateResponse,
    Json,
    Metadata,
    Model,
    NamedFunction,
    Reasoning,
    TextOptions,
    read_part,
)

_INSTRUCTING = ("system", "developer")
_ROLES = (*_INSTRUCTING, "user", "assistant", "tool")
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


class Conversation(Struct, frozen=True, kw_only=True):
    """Messages, read: what instructs the agent, and everything else as items with the messages they come from."""

    instructions: str
    items: list[Json]
    origins: list[int]

    @property
    def is_answering(self) -> bool:
        """Whether it ends with outputs of the caller's functions."""
        return bool(self.items) and self.items[-1]["type"] == "function_call_output"

    def newest(self) -> "Conversation":
        """Return what is new to a session that has the rest: the user's last message, and what follows it."""
        told = [n for n, item in enumerate(self.items) if item.get("role") == "user"]
        first = told[-1] if told else 0
        return structs.replace(self, items=self.items[first:], origins=self.origins[first:])

    def in_its_words(self, error: ResponsesError) -> ResponsesError:
        """Return an error that names the field of this API's request."""
        match (error.param or "").split("."):
            case ["input", number, *rest] if number.isdecimal() and int(number) < len(self.origins):
                named = ["tool_call_id" if name == "call_id" else name for name in rest]
                error.param = ".".join(["messages", str(self.origins[int(number)]), *named])
            case ["input", *_]:
                error.param = "messages"
            case ["tools", number, *rest] if rest and rest[0] not in ("function", "type"):
                error.param = ".".join(["tools", number, "function", *rest])
            case ["max_output_tokens"]:
                error.param = "max_completion_tokens"
        return error


def read_messages(messages: list[Any]) -> Conversation:
    """Read messages; ResponsesError for one that cannot be read."""
    if len(messages) > RESPONSE_ITEMS_MAX:
        raise wrong("messages", f"messages may have at most {RESPONSE_ITEMS_MAX} items.")
    instructions: list[str] = []
    items: list[Json] = []
    origins: list[int] = []
    for n, message in enumerate(messages):
        param = f"messages.{n}"
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise wrong(f"{param}.role", f"A message must be an object with a role: {', '.join(_ROLES)}.")
        if message["role"] in _INSTRUCTING:
            instructions.append(_words(f"{param}.content", message.get("content")))
            continue
        found = _items(param, message)
        items += found
        origins += [n] * len(found)
    return Conversation(instructions="\n\n".join(filter(None, instructions)), items=items, origins=origins)


def _items(param: str, message: Json) -> list[Json]:
    content = message.get("content")
    match message["role"]:
        case "user":
            return [{"type": "message", "role": "user", "content": _parts(f"{param}.content", content)}]
        case "tool":
            output = _words(f"{param}.content", content)
            return [{"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output}]
        case _:
            calls = message.get("tool_calls") or []
            if not isinstance(calls, list):
                raise wrong(f"{param}.tool_calls", "tool_calls must be a list.")
            # A message that only calls functions has no content.
            words = _words(f"{param}.content", content) if content is not None else ""
            said = [{"type": "message", "role": "assistant", "content": words}] if words or not calls else []
            return [*said, *(_call(f"{param}.tool_calls.{n}", call) for n, call in enumerate(calls))]


def _call(param: str, call: Any) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise wrong(f"{param}.function", "A call must be an object with a function.")
    named = {name: function.get(name) for name in ("name", "arguments")}
    return {"type": "function_call", "call_id": call.get("id"), **named}


def _words(param: str, content: Any) -> str:
    """Return the text of a message that may contain only text."""
    parts = _parts(param, content)
    for n, part in enumerate(parts):
        if part["type"] != "input_text":
            raise wrong(f"{param}.{n}.type", "Only text is possible here.")
    return "".join(part["text"] for part in parts)


def _parts(param: str, content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    if not isinstance(content, list):
        raise wrong(param, "content must be a string or a list of parts.")
    return [_part(f"{param}.{n}", part) for n, part in enumerate(content)]


def _part(param: str, part: Any) -> Json:
    kind = part.get("type") if isinstance(part, dict) else None
    held = part.get(kind) if isinstance(part, dict) and isinstance(kind, str) else None
    match kind:
        case "text" | "refusal" if isinstance(held, str):
            return {"type": "input_text", "text": held}
        case "image_url" if isinstance(held, dict):
            return {"type": "input_image", "image_url": held.get("url"), "detail": held.get("detail")}
        case "file" if isinstance(held, dict):
            return {"type": "input_file", "file_data": held.get("file_data"), "filename": held.get("filename")}
        case "text" | "refusal" | "image_url" | "file":
            raise wrong(f"{param}.{kind}", f"{kind} is missing.")
        case _:
            raise wrong(f"{param}.type", f"Parts of type {str(kind)[:80]} are not supported here.")


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
        return self.stream_options is not None and bool(self.stream_options.include_usage)


def as_response(request: CreateCompletion, said: Conversation, previous_id: str | None) -> CreateResponse:
    """Return the same request in the terms of Open Responses."""
    text = TextOptions(format=_format(request.response_format), verbosity=request.verbosity)
    return CreateResponse(
        **{name: getattr(request, name) for name in _SHARED},
        input=said.items,
        instructions=said.instructions or None,
        previous_response_id=previous_id,
        tools=[
            {"type": "function", **structs.asdict(read_part(tool, ChatTool, f"tools.{n}").function)}
            for n, tool in enumerate(request.tools or [])
        ]
        or None,
        tool_choice=_choice(request.tool_choice),
        max_output_tokens=request.max_completion_tokens or request.max_tokens,
        reasoning=Reasoning(effort=request.reasoning_effort) if request.reasoning_effort else None,
        text=text if text != TextOptions() else None,
        # Clients of this API cannot read it again by an id.
        store=False,
    )


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
