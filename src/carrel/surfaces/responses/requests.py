"""Requests of Open Responses: their fields with types and bounds, and what a response repeats of them."""

import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from carrel.kernel import limits, wrong_value
from carrel.surfaces.http.openapi import NO_NUL
from carrel.surfaces.responses.errors import wrong
from carrel.surfaces.responses.input_schema import INPUT_ITEMS, INPUT_TEXT, TRANSCRIPT_ITEMS, TRANSCRIPT_TEXT
from carrel.tools import CATALOG

Json = dict[str, Any]
T = TypeVar("T")
# The name of a model: an agent's, or none for the default one.
MODEL = r"(?:carrel|openclaw)(?:/([^\n\u0000]+))?|(?:openclaw|agent):([^\n\u0000]+)"
Short = Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]
FUNCTION_NAME = r"[a-zA-Z0-9_-]{1,64}"
_FUNCTION_NAME = re.compile(FUNCTION_NAME)
_BUILT_IN = [name for tool in CATALOG.offered() for name in tool.names]
Input = Annotated[str, Meta(extra_json_schema=INPUT_TEXT)] | Annotated[list[Any], Meta(extra_json_schema=INPUT_ITEMS)]
# A transcript to compact may be longer than a message, and empty if there is a previous response.
Transcript = (
    Annotated[str, Meta(extra_json_schema=TRANSCRIPT_TEXT)]
    | Annotated[list[Any], Meta(extra_json_schema=TRANSCRIPT_ITEMS)]
)
Model = Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX, extra_json_schema={"pattern": f"^(?:{MODEL})$"})]
_PAIRS = {
    "maxProperties": limits.RESPONSE_METADATA_PAIRS_MAX,
    "propertyNames": {"maxLength": limits.RESPONSE_METADATA_NAME_CHARS_MAX, "pattern": NO_NUL},
    "additionalProperties": {"type": "string", "maxLength": limits.RESPONSE_METADATA_CHARS_MAX, "pattern": NO_NUL},
}
Metadata = Annotated[dict[str, str], Meta(extra_json_schema=_PAIRS)]


class In(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a request: strict types, unknown names are refused."""


class Reasoning(In, frozen=True, kw_only=True):
    """How much the model should think."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Literal["concise", "detailed", "auto"] | None = None


class TextOptions(In, frozen=True, kw_only=True):
    """The format of the text."""

    format: Json | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class StreamOptions(In, frozen=True, kw_only=True):
    """How events are streamed."""

    include_obfuscation: bool | None = None


class NamedFunction(In, frozen=True, kw_only=True):
    """A function that the caller executes, without the tool's type."""

    name: Annotated[str, Meta(extra_json_schema={"pattern": f"^{FUNCTION_NAME}$", "not": {"enum": _BUILT_IN}})]
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class Function(NamedFunction, frozen=True, kw_only=True):
    """A function that the caller executes."""

    type: Literal["function"]


# Passed to the model as they are.
_OPTIONS = (
    "tool_choice", "parallel_tool_calls", "max_output_tokens", "temperature", "top_p", "presence_penalty",
    "frequency_penalty",
)  # fmt: skip
_TOOLS = {"maxItems": limits.RESPONSE_TOOLS_MAX, "items": {"$ref": "#/components/schemas/Function"}}
_CHOICE = {
    "properties": {"type": {"enum": ["function", "allowed_tools"]}, "mode": {"enum": ["none", "auto", "required"]}},
    "required": ["type"],
}


class CreateResponse(In, frozen=True, kw_only=True):
    """A request for a response."""

    model: Model | None = None
    input: Input
    instructions: Annotated[str, Meta(max_length=limits.MESSAGE_CHARS_MAX)] | None = None
    previous_response_id: Short | None = None
    user: Annotated[str, Meta(max_length=limits.MESSAGE_CHARS_MAX)] | None = None
    tools: Annotated[list[Any], Meta(extra_json_schema=_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | Annotated[Json, Meta(extra_json_schema=_CHOICE)] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Annotated[int, Meta(ge=1)] | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    reasoning: Reasoning | None = None
    text: TextOptions | None = None
    truncation: Literal["auto", "disabled"] | None = None
    include: Annotated[list[Short], Meta(max_length=100)] | None = None
    metadata: Metadata | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    background: bool | None = None
    tier: Literal["auto", "default", "flex", "priority"] | None = msgspec.field(name="service_tier", default=None)
    safety_identifier: Annotated[str, Meta(max_length=64)] | None = None
    prompt_cache_key: Annotated[str, Meta(max_length=64)] | None = None


class SocketCreate(CreateResponse, frozen=True, kw_only=True):
    """The same request as a message on a WebSocket."""

    type: Literal["response.create"]


class Compact(In, frozen=True, kw_only=True):
    """A request to compact a transcript."""

    model: Model
    input: Transcript | None = None
    previous_response_id: Short | None = None
    instructions: Annotated[str, Meta(max_length=limits.INSTRUCTIONS_EXTRA_CHARS_MAX)] | None = None
    prompt_cache_key: Annotated[str, Meta(max_length=64)] | None = None


def functions_of(request: CreateResponse) -> list[Json]:
    """Return the caller's functions, as responses repeat them and models are offered them."""
    given = request.tools or []
    if len(given) > limits.RESPONSE_TOOLS_MAX:
        raise wrong("tools", f"tools may have at most {limits.RESPONSE_TOOLS_MAX} items.")
    found: dict[str, Json] = {}
    for n, one in enumerate(given):
        function = _function(f"tools.{n}", one)
        if function.name in _BUILT_IN:
            raise wrong(f"tools.{n}.name", f"{function.name} is the name of a built-in tool; choose another name.")
        if function.name in found:
            raise wrong(f"tools.{n}.name", f"There are two tools named {function.name}.")
        found[function.name] = msgspec.to_builtins(function)
    return list(found.values())


def _function(param: str, one: Any) -> Function:
    if not isinstance(one, dict) or one.get("type") != "function":
        raise wrong(f"{param}.type", "Only functions are supported: type must be 'function'.")
    function = read_part(one, Function, param)
    if not _FUNCTION_NAME.fullmatch(function.name):
        raise wrong(f"{param}.name", "A function's name must be 1 to 64 letters, digits, _ and -.")
    return function


def read_part(given: Any, kind: type[T], param: str) -> T:
    """Return a part of a request as its type; ResponsesError for a wrong one."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        refused = wrong_value(error, kind)
        raise wrong(f"{param}.{refused.field}" if refused.field else param, refused.message) from error


def check(request: CreateResponse) -> None:
    """Refuse what the types alone do not rule out."""
    if request.background and request.store is False and not request.stream:
        raise wrong("store", "A background response that is neither stored nor streamed could never be read.")
    metadata = request.metadata or {}
    if len(metadata) > limits.RESPONSE_METADATA_PAIRS_MAX:
        raise wrong("metadata", f"metadata may have at most {limits.RESPONSE_METADATA_PAIRS_MAX} pairs.")
    for name, value in metadata.items():
        if len(name) > limits.RESPONSE_METADATA_NAME_CHARS_MAX or len(value) > limits.RESPONSE_METADATA_CHARS_MAX:
            bounds = f"{limits.RESPONSE_METADATA_NAME_CHARS_MAX} and {limits.RESPONSE_METADATA_CHARS_MAX} characters"
            raise wrong("metadata", f"A name and a value in metadata may have at most {bounds}.")
    choice = request.tool_choice
    if isinstance(choice, dict):
        _check_choice(choice, {function["name"] for function in functions_of(request)})


def _check_choice(choice: Json, names: set[str]) -> None:
    match choice.get("type"):
        case "function":
            chosen = [choice.get("name")]
        case "allowed_tools":
            tools = choice.get("tools")
            listed = tools if isinstance(tools, list) else []
            chosen = [tool.get("name") if isinstance(tool, dict) else None for tool in listed]
            if choice.get("mode", "auto") not in ("none", "auto", "required"):
                raise wrong("tool_choice.mode", "mode must be none, auto or required.")
        case _:
            raise wrong("tool_choice.type", "type must be function or allowed_tools.")
    if not chosen or any(name not in names for name in chosen):
        raise wrong("tool_choice", "tool_choice must name tools of the request.")


def options_of(request: CreateResponse) -> Json:
    """Return the options that are passed to the model as they are."""
    given = {name: getattr(request, name) for name in _OPTIONS}
    given |= {"reasoning": _given(request.reasoning), "text": _given(request.text)}
    return {name: value for name, value in given.items() if value is not None}


def repeated(request: CreateResponse, agent_id: str) -> Json:
    """Return the fields that a response repeats from its request, with defaults for those left out."""
    choice = request.tool_choice or "auto"
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        choice = {"mode": "auto"} | choice
    return {
        "model": request.model or f"carrel/{agent_id}",
        "instructions": request.instructions,
        "tools": functions_of(request),
        "tool_choice": choice,
        "truncation": request.truncation or "disabled",
        "parallel_tool_calls": _or(request.parallel_tool_calls, True),
        "text": {"format": {"type": "text"}} | (_given(request.text) or {}),
        "top_p": _or(request.top_p, 1.0),
        "presence_penalty": _or(request.presence_penalty, 0.0),
        "frequency_penalty": _or(request.frequency_penalty, 0.0),
        "top_logprobs": request.top_logprobs or 0,
        "temperature": _or(request.temperature, 1.0),
        "reasoning": None if request.reasoning is None else msgspec.to_builtins(request.reasoning),
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "store": request.store is not False,
        "background": bool(request.background),
        "service_tier": request.tier or "default",
        "safety_identifier": request.safety_identifier,
        "prompt_cache_key": request.prompt_cache_key,
        "metadata": request.metadata or {},
        **({"user": request.user} if request.user is not None else {}),
    }


def _or(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _given(value: Struct | None) -> Json | None:
    """Return the options that are set; None when none is."""
    given = {} if value is None else {name: inner for name, inner in msgspec.structs.asdict(value).items() if inner}
    return given or None
