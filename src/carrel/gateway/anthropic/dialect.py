"""The Messages API: a step as a request, and a stored request as what it contained."""

import base64
import re
from hashlib import sha256
from typing import Any

import msgspec

from carrel.gateway.anthropic.answers import MessagesReader
from carrel.gateway.dialect import Dialect
from carrel.gateway.items import (
    IMAGES,
    PDF,
    call_item,
    data_url,
    input_file,
    input_image,
    input_text,
    message_item,
    not_sent,
    read_file,
    text_part,
    thought_item,
)
from carrel.gateway.model import Item, SentStep, Step
from carrel.gateway.prompt import ASSISTANT, Prompt, Turn, content_blocks, read_prompt, text_block
from carrel.kernel.limits import OUTPUT_TOKENS_DEFAULT

# Arguments that are not a JSON object, which the API rejects, are sent in an object under this name.
UNREADABLE_ARGUMENTS = "arguments_as_written"
_CACHED = {"cache_control": {"type": "ephemeral"}}
_THOUGHTS = ("thinking", "redacted_thinking")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
# Tokens for thinking at each level, in addition to those of the answer.
_BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768}
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
# Claude models that need a token budget to think; later ones decide for themselves and reject a budget.
_BUDGETED = re.compile(r"claude-(?:[23]|(?:opus|sonnet|haiku)-4(?:[-.][015])?(?:[-@:](?:latest|\d{8}|v\d).*)?$)")
_NO_PARAMETERS: Item = {"type": "object", "properties": {}}
VERSION = "2023-06-01"


class AnthropicDialect(Dialect):
    """Steps go to `/v1/messages`."""

    path = "/messages"
    models_path = "/models?limit=1000"
    server = "a server of the Anthropic Messages API"
    reader = MessagesReader

    @property
    def authorization(self) -> dict[str, str]:
        key = self._settings.api_key
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    def headers(self, step: Step) -> dict[str, str]:
        """Return no headers: the API has no sessions."""
        return {}

    def write(self, step: Step) -> bytes:
        """Return the step as a request, with cache marks behind the part that the next request will begin with."""
        prompt = read_prompt(step, has_context=False)
        limit = prompt.request.get("max_output_tokens") or self._settings.max_output_tokens or OUTPUT_TOKENS_DEFAULT
        thinking = _thinking(prompt)
        body: Item = {"model": prompt.model, "max_tokens": limit + (_BUDGETS[prompt.effort] if thinking else 0)}
        if prompt.instructions:
            body["system"] = [text_block(prompt.instructions) | _CACHED]
        body["messages"] = _messages(prompt)
        body |= _tools(prompt) if prompt.tools else {}
        body |= thinking
        if prompt.format.get("type") == "json_schema":
            output = {"type": "json_schema", "schema": prompt.format.get("schema")}
            body["output_config"] = body.get("output_config", {}) | {"format": output}
        if not thinking:
            # A model that thinks accepts neither of them.
            body |= {name: min(value, 1) for name, value in prompt.given("temperature", "top_p").items()}
        return msgspec.json.encode(body | ({"stream": True} if prompt.request.get("stream") else {}))

    @staticmethod
    def read(request: Item) -> SentStep:
        system = [block["text"] for block in request.get("system", ())]
        return SentStep(
            model=request["model"],
            instructions=system[0] if system else None,
            input=[item for message in request["messages"] for item in _sent_items(message)],
            tools=[_function(tool) for tool in request.get("tools", ())],
        )


def _thinking(prompt: Prompt) -> Item:
    """Return the `thinking` option; there is none if the model is forced to make a call."""
    if prompt.effort not in _BUDGETS or (prompt.tools and prompt.choice not in ("auto", "none")):
        return {}
    if "claude" in prompt.model and not _BUDGETED.search(prompt.model):
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": _EFFORTS[prompt.effort]}}
    if _calls_without_thought(prompt.turns[-2:]):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS[prompt.effort]}}


def _calls_without_thought(turns: list[Turn]) -> bool:
    """Return whether the model is in the middle of calls it made without thinking; it may not start thinking then."""
    *before, last = turns
    is_loop = last.blocks[0].get("type") == "function_call_output"
    return is_loop and not any(_thought(block) for turn in before for block in turn.blocks[:1])


def _messages(prompt: Prompt) -> list[Item]:
    contents = [_content(turn) for turn in prompt.turns]
    # Everything older than the run is the same in the next run; all of it is the same in the run's next step.
    for content in (*contents[: prompt.stable][-1:], *contents[-1:]):
        _mark(content)
    turns = zip(prompt.turns, contents, strict=True)
    return [{"role": turn.role, "content": content} for turn, content in turns if content]


def _mark(content: list[Item]) -> None:
    last = next((at for at in reversed(range(len(content))) if content[at]["type"] not in _THOUGHTS), None)
    if last is not None:
        content[last] = content[last] | _CACHED


def _content(turn: Turn) -> list[Item]:
    blocks = _said if turn.role == ASSISTANT else _heard
    return [block for one in turn.blocks for block in blocks(one)]


def _said(block: Item) -> list[Item]:
    match block.get("type"):
        case "text":
            return [block]
        case "function_call":
            call = {"type": "tool_use", "id": _call_id(block), "name": block.get("name", "")}
            return [call | {"input": _input(block.get("arguments", ""))}]
        case "reasoning":
            return _thought(block)
        case "refusal":
            return content_blocks([text_block(str(block.get("refusal", "")))])
        case _:
            return []


def _thought(item: Item) -> list[Item]:
    """Return the model's thought, which it wants back unchanged; without a signature it came from elsewhere."""
    signature, content = item.get("encrypted_content"), item.get("content")
    if item.get("type") != "reasoning" or not isinstance(signature, str):
        return []
    if not content:
        return [{"type": "redacted_thinking", "data": signature}]
    return [{"type": "thinking", "thinking": content[0]["text"], "signature": signature}]


def _heard(block: Item) -> list[Item]:
    if block.get("type") != "function_call_output":
        return [_part(block)]
    output = block.get("output", "")
    content = output if isinstance(output, str) else [_part(part) for part in content_blocks(output)]
    return [{"type": "tool_result", "tool_use_id": _call_id(block)} | ({"content": content} if content else {})]


def _part(block: Item) -> Item:
    if block.get("type") == "text":
        return block
    file = read_file(block)
    named = {"title": file.name} if file.name else {}
    if file.is_image and file.media_type in IMAGES:
        return {"type": "image", "source": {"type": "base64", "media_type": file.media_type, "data": file.data}}
    if file.is_image and file.url:
        return {"type": "image", "source": {"type": "url", "url": file.url}}
    if file.url:
        return {"type": "document", "source": {"type": "url", "url": file.url}} | named
    if file.media_type == PDF:
        return {"type": "document", "source": {"type": "base64", "media_type": PDF, "data": file.data}} | named
    if file.text:
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": file.text}} | named
    return text_block(not_sent(file))


def _call_id(item: Item) -> str:
    """Return the id of a call; an id of another server may have characters that are rejected here."""
    call_id = str(item.get("call_id", ""))
    return call_id if _CALL_ID.fullmatch(call_id) else "call_" + sha256(call_id.encode()).hexdigest()[:24]


def _input(arguments: str) -> Item:
    try:
        found = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {UNREADABLE_ARGUMENTS: arguments}


def _tools(prompt: Prompt) -> Item:
    if isinstance(prompt.choice, dict):
        choice: Item = {"type": "tool"} | prompt.choice
    else:
        choice = {"type": _CHOICES.get(prompt.choice, "auto")}
    if prompt.request.get("parallel_tool_calls") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    tools = [_tool(tool) for tool in prompt.tools]
    return {"tools": tools} | ({} if choice == {"type": "auto"} else {"tool_choice": choice})


def _tool(tool: Item) -> Item:
    described = {"description": tool["description"]} if tool.get("description") else {}
    return {"name": tool.get("name")} | described | {"input_schema": tool.get("parameters") or _NO_PARAMETERS}


def _function(tool: Item) -> Item:
    """Return a sent tool in the form of Open Responses."""
    named = {name: tool[name] for name in ("name", "description") if name in tool}
    return {"type": "function"} | named | {"parameters": tool["input_schema"]}


def _sent_items(message: Item) -> list[Item]:
    """Return the items of a message; everything except calls, results and thoughts becomes parts of one item."""
    is_said, items = message["role"] == "assistant", list[Item]()
    parts: list[Item] = []
    for block in message["content"]:
        if (item := _sent_item(block)) is not None:
            items.append(item)
            continue
        if not parts or items[-1].get("content") is not parts:
            items.append(message_item() if is_said else {"type": "message", "role": message["role"], "content": []})
            parts = items[-1]["content"]
        parts.append(text_part(block["text"]) if is_said else _sent_part(block))
    return items


def _sent_item(block: Item) -> Item | None:
    match block["type"]:
        case "tool_use":
            return call_item(block["id"], block["name"], _arguments(block["input"]))
        case "tool_result":
            return {"type": "function_call_output", "call_id": block["tool_use_id"], "output": _output(block)}
        case "thinking":
            return thought_item(block["thinking"], encrypted_content=block["signature"])
        case "redacted_thinking":
            return {"type": "reasoning", "summary": [], "encrypted_content": block["data"]}
        case _:
            return None


def _arguments(given: Item) -> str:
    if given.keys() == {UNREADABLE_ARGUMENTS}:
        return str(given[UNREADABLE_ARGUMENTS])
    return msgspec.json.encode(given).decode()


def _output(block: Item) -> Any:
    content = block.get("content", "")
    return content if isinstance(content, str) else [_sent_part(part) for part in content]


def _sent_part(block: Item) -> Item:
    if block["type"] == "text":
        return input_text(block["text"])
    source = block["source"]
    match source["type"]:
        case "url":
            address = source["url"]
        case "text":
            address = data_url(source["media_type"], base64.b64encode(source["data"].encode()).decode())
        case _:
            address = data_url(source["media_type"], source["data"])
    return input_image(address) if block["type"] == "image" else input_file(address, block.get("title"))
