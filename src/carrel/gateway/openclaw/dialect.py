"""Turns a step into a request that OpenClaw accepts, and a stored one into what it contained. Pure.

OpenClaw refuses unknown fields, and tools that it or one of its plugins has. Which those are depends on its
configuration, so all of ours get a prefix.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, structs

from carrel.gateway.answers import is_call
from carrel.gateway.dialect import Dialect
from carrel.gateway.event_stream import AnswerReader
from carrel.gateway.items import PDF, GivenFile, data_url, input_file, input_image, not_sent, read_file
from carrel.gateway.model import Item, SentStep, Step, StepAnswer
from carrel.gateway.prompt import USER, content_blocks, tools_of

PREFIX = "carrel_"
# Many models reject longer names.
_CHARS_MAX = 64
# Our tools that OpenClaw also has under the same names.
SHARED_TOOLS = frozenset(
    {"agents_list", "session_status", "sessions_history", "sessions_list", "sessions_send", "sessions_spawn"}
)
TOOLS_NOTE = (
    f"The tools named above have the prefix {PREFIX} here: task_get is {PREFIX}task_get. Those that are not listed "
    f"among your tools are called by tool_call, with this name as their id. Their results come as the next message."
)
AGENT_MODEL = "openclaw"
MAIN_AGENT = "main"
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_FILES = ("text/plain", "text/markdown", "text/html", "text/csv", "application/json", PDF)
# OpenClaw's limits unless its configuration says otherwise; a larger file would fail the whole request.
_IMAGE_BYTES_MAX, _FILE_BYTES_MAX = 10 * 1024 * 1024, 5 * 1024 * 1024
_OPTIONS = ("max_output_tokens", "temperature", "top_p", "metadata")
_TOOL_FIELDS = ("type", "name", "description", "parameters", "strict")


def name_at_gateway(name: str) -> str:
    """Return the name under which a tool is sent."""
    return PREFIX + name if len(PREFIX + name) <= _CHARS_MAX else name


def own_name(name: str) -> str:
    return name.removeprefix(PREFIX)


def with_own_names(answer: StepAnswer) -> StepAnswer:
    """Return an answer whose calls use our names."""
    calls = tuple(structs.replace(call, name=own_name(call.name)) for call in answer.calls)
    output = [{**item, "name": own_name(item["name"])} if is_call(item) else item for item in answer.output]
    return structs.replace(answer, calls=calls, output=output)


class _Named(Struct):
    model: str = ""


def model_of(step: Step) -> str:
    return msgspec.json.decode(step.body, type=_Named).model


class OpenClawDialect(Dialect):
    """Steps go to `/v1/responses`; the session and the agent are named in headers."""

    path = "/responses"
    server = "an OpenClaw gateway"
    reader = AnswerReader

    def headers(self, step: Step) -> dict[str, str]:
        """Return the headers that name session and agent, and the model that replaces the agent's own."""
        model = backend_model(model_of(step))
        return super().headers(step) | ({"x-openclaw-model": model} if model else {})

    def write(self, step: Step) -> bytes:
        """Return the step as a request; tools may be left to OpenClaw, which has some of the same names."""
        own_tools = SHARED_TOOLS if self._settings.session_tools == "openclaw" else ()
        request = msgspec.json.decode(step.body)
        tools, choice = tools_of(request)
        if isinstance(choice, dict):
            choice = {"type": "function", "name": name_at_gateway(choice["name"])}
        offered = [_tool(tool) for tool in tools if tool.get("name") not in own_tools]
        instructions = [request.get("instructions") or "", TOOLS_NOTE if offered else ""]
        body: Item = {
            "model": agent_model(request["model"]),
            "instructions": "\n\n".join(filter(None, instructions)),
            "input": _input(request.get("input", "")),
            "tools": offered,
            "tool_choice": choice if offered else "auto",
            "stream": bool(request.get("stream")),
        }
        options = {name: request[name] for name in _OPTIONS if request.get(name) is not None}
        return msgspec.json.encode(body | options)

    @staticmethod
    def read(request: Item) -> SentStep:
        return SentStep(
            model=request["model"],
            instructions=request["instructions"] or None,
            input=[_sent_item(item) for item in request["input"]],
            tools=[tool | {"name": own_name(tool["name"])} for tool in request["tools"]],
        )


def agent_model(model: str) -> str:
    """Return the `model` of a request if it names an agent of OpenClaw, else the default agent."""
    return model if model.startswith(f"{AGENT_MODEL}/") else AGENT_MODEL


def agents_listed(models: Iterable[str]) -> list[str]:
    """Return OpenClaw's agents: it lists each as a model, and its default one a second time as `default`."""
    named = [model.removeprefix(f"{AGENT_MODEL}/") for model in models if model.startswith(f"{AGENT_MODEL}/")]
    return [name for name in named if name != "default"]


def backend_model(model: str) -> str:
    """Return the model that OpenClaw's agent should use; empty for the agent's own."""
    is_agent = model in ("", "default", AGENT_MODEL) or model.startswith(f"{AGENT_MODEL}/")
    return "" if is_agent else model


def _tool(tool: Item) -> Item:
    known = {name: tool[name] for name in _TOOL_FIELDS if tool.get(name) is not None}
    return known | {"name": name_at_gateway(tool["name"])}


def _input(given: Any) -> list[Item]:
    items = given if isinstance(given, list) else [{"type": "message", "role": USER, "content": given}]
    written = [_item(item) for item in items if isinstance(item, dict)]
    return [item for item in written if item is not None]


def _item(item: Item) -> Item | None:
    """Return an item with the fields that OpenClaw knows; None for one it has no use for."""
    match item.get("type", "message"):
        case "message":
            parts = [_part(item["role"], block) for block in content_blocks(item.get("content"))]
            return {"type": "message", "role": item["role"], "content": parts} if parts else None
        case "function_call":
            named = {"call_id": item["call_id"], "name": name_at_gateway(item["name"])}
            return {"type": "function_call", **named, "arguments": item["arguments"]}
        case "function_call_output":
            return {"type": "function_call_output", "call_id": item["call_id"], "output": _output(item.get("output"))}
        case _:
            return None


def _output(output: Any) -> str:
    if isinstance(output, str):
        return output
    blocks = content_blocks(output or [])
    return "\n\n".join(block["text"] if block["type"] == "text" else not_sent(read_file(block)) for block in blocks)


def _part(role: str, block: Item) -> Item:
    text_type = "output_text" if role == "assistant" else "input_text"
    if block["type"] == "text":
        return {"type": text_type, "text": block["text"]}
    if block["type"] not in ("input_image", "input_file"):
        return {"type": text_type, "text": str(block.get("refusal") or not_sent(read_file(block)))}
    file = read_file(block)
    source = _source(file)
    return {"type": text_type, "text": not_sent(file)} if source is None else {"type": block["type"], "source": source}


def _source(file: GivenFile) -> Item | None:
    """Return a file in a form that OpenClaw accepts; None if it would refuse the whole request because of it."""
    if file.url:
        return {"type": "url", "url": file.url}
    kinds, bytes_max = (_IMAGES, _IMAGE_BYTES_MAX) if file.is_image else (_FILES, _FILE_BYTES_MAX)
    if not file.data or file.media_type not in kinds or len(file.data) * 3 // 4 > bytes_max:
        return None
    named = {"filename": file.name} if file.name and not file.is_image else {}
    return {"type": "base64", "media_type": file.media_type, "data": file.data} | named


def _sent_item(item: Item) -> Item:
    if is_call(item):
        return item | {"name": own_name(item["name"])}
    if item["type"] != "message":
        return item
    return item | {"content": [_sent_part(part) for part in item["content"]]}


def _sent_part(part: Item) -> Item:
    source = part.get("source")
    if source is None:
        return part
    address = source.get("url") or data_url(source["media_type"], source["data"])
    return input_image(address) if part["type"] == "input_image" else input_file(address, source.get("filename"))
