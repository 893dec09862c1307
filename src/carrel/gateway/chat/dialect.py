"""Chat Completions: a step as a request, and a stored request as what it contained."""

from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from carrel.gateway.chat.answers import THOUGHT_FIELDS, ChatReader
from carrel.gateway.dialect import Dialect
from carrel.gateway.items import (
    IMAGES,
    PDF,
    GivenFile,
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
from carrel.gateway.prompt import ASSISTANT, CONTEXT, Prompt, Turn, content_blocks, read_prompt, text_block

GAP = "\n\n"
_OPTIONS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_NO_PARAMETERS: Item = {"type": "object", "properties": {}}


class Names(Struct, frozen=True, kw_only=True):
    """Names that differ within this dialect: the field that limits an answer, and the role of context."""

    tokens: str = "max_tokens"
    context: str = "system"


# Hosts that use other names than everyone else.
_NAMES = {
    "openai.com": Names(tokens="max_completion_tokens", context="developer"),
    "azure.com": Names(tokens="max_completion_tokens"),
}


class ChatDialect(Dialect):
    """Steps go to `/v1/chat/completions`."""

    path = "/chat/completions"
    server = "a Chat Completions server"
    reader = ChatReader

    def write(self, step: Step) -> bytes:
        prompt = read_prompt(step, has_context=True)
        host = urlsplit(self._settings.base_url.strip()).hostname or ""
        names = next((names for domain, names in _NAMES.items() if host.endswith(domain)), Names())
        system = [{"role": "system", "content": prompt.instructions}] if prompt.instructions else []
        messages = [message for turn in prompt.turns for message in _messages(turn, names)]
        limit = prompt.request.get("max_output_tokens") or self._settings.max_output_tokens
        body: Item = {"model": prompt.model, "messages": [*system, *messages]}
        body |= _tools(prompt) if prompt.tools else {}
        body |= prompt.given(*_OPTIONS)
        body |= {names.tokens: limit} if limit else {}
        body |= {"reasoning_effort": prompt.effort} if prompt.effort else {}
        body |= _text_options(prompt)
        body |= prompt.given("user")
        if prompt.request.get("stream"):
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return msgspec.json.encode(body)

    @staticmethod
    def read(request: Item) -> SentStep:
        messages = request["messages"]
        # Context messages have this role as well, but are never first.
        system = [message["content"] for message in messages[:1] if message["role"] == "system"]
        return SentStep(
            model=request["model"],
            instructions=system[0] if system else None,
            input=[item for message in messages[len(system) :] for item in _sent_items(message)],
            tools=[{"type": "function", **tool["function"]} for tool in request.get("tools", ())],
        )


def _messages(turn: Turn, names: Names) -> list[Item]:
    if turn.role == ASSISTANT:
        return [_assistant(turn.blocks)]
    if turn.role == CONTEXT:
        return [{"role": names.context, "content": _content(turn.blocks)}]
    outputs = [block for block in turn.blocks if block.get("type") == "function_call_output"]
    content = _content(turn.blocks[len(outputs) :])
    tools = [{"role": "tool", "tool_call_id": block["call_id"], "content": _output(block)} for block in outputs]
    return [*tools, *([{"role": "user", "content": content}] if content else [])]


def _assistant(blocks: list[Item]) -> Item:
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    message: Item = {"role": "assistant", "content": GAP.join(texts) or None}
    if refusals := [block["refusal"] for block in blocks if isinstance(block.get("refusal"), str)]:
        message["refusal"] = GAP.join(refusals)
    for block in blocks:
        # Thoughts of another dialect mean nothing to this server.
        if block.get("type") == "reasoning" and (field := block.get("field")) in THOUGHT_FIELDS:
            message[field] = GAP.join(filter(None, (message.get(field), block["content"][0]["text"])))
    calls = [_call(block) for block in blocks if block.get("type") == "function_call"]
    return message | ({"tool_calls": calls} if calls else {})


def _call(item: Item) -> Item:
    function = {"name": item.get("name", ""), "arguments": item.get("arguments", "{}")}
    return {"id": item["call_id"], "type": "function", "function": function}


def _output(item: Item) -> str:
    """Return the output of a call as text, the only form that every server accepts."""
    output = item.get("output", "")
    return output if isinstance(output, str) else GAP.join(map(_without_files, content_blocks(output)))


def _without_files(block: Item) -> str:
    if block.get("type") == "text":
        return str(block["text"])
    file = read_file(block)
    return _file_text(file) or not_sent(file)


def _content(blocks: list[Item]) -> str | list[Item]:
    """Return a message's content: a single string if it is only text, since some servers accept nothing else."""
    if all(block.get("type") == "text" for block in blocks):
        return GAP.join(block["text"] for block in blocks)
    return [_part(block) for block in blocks]


def _part(block: Item) -> Item:
    if block.get("type") == "text":
        return block
    file = read_file(block)
    if (text := _file_text(file)) is not None:
        return text_block(text)
    if file.is_image and (file.url or file.media_type in IMAGES):
        detail = {} if block.get("detail") in (None, "auto") else {"detail": block["detail"]}
        return {"type": "image_url", "image_url": {"url": block["image_url"]} | detail}
    if file.media_type == PDF:
        return {"type": "file", "file": {"filename": file.name or "file.pdf", "file_data": data_url(PDF, file.data)}}
    return text_block(not_sent(file))


def _file_text(file: GivenFile) -> str | None:
    return None if file.text is None else f"{file.name or 'A file'}:\n{file.text}"


def _tools(prompt: Prompt) -> Item:
    choice: Any = prompt.choice
    if isinstance(choice, dict):
        choice = {"type": "function", "function": choice}
    # "auto" is the default, and some servers reject it when it is sent.
    named = {} if choice == "auto" else {"tool_choice": choice}
    return {"tools": [_tool(tool) for tool in prompt.tools]} | named | prompt.given("parallel_tool_calls")


def _tool(tool: Item) -> Item:
    function = {"name": tool.get("name"), "description": tool.get("description") or ""}
    function["parameters"] = tool.get("parameters") or _NO_PARAMETERS
    return {"type": "function", "function": function | ({"strict": True} if tool.get("strict") else {})}


def _text_options(prompt: Prompt) -> Item:
    wanted, text = prompt.format, prompt.request.get("text")
    verbosity = text.get("verbosity") if isinstance(text, dict) else None
    options: Item = {"verbosity": verbosity} if verbosity else {}
    if wanted.get("type") == "json_schema":
        schema = {name: value for name, value in wanted.items() if name != "type" and value is not None}
        return options | {"response_format": {"type": "json_schema", "json_schema": schema}}
    return options | ({"response_format": wanted} if wanted else {})


def _sent_items(message: Item) -> list[Item]:
    match message["role"]:
        case "tool":
            output = message["content"]
            return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}]
        case "assistant":
            thoughts = [thought_item(message[field], field=field) for field in THOUGHT_FIELDS if field in message]
            functions = [(call["id"], call["function"]) for call in message.get("tool_calls", ())]
            calls = [call_item(call_id, one["name"], one["arguments"]) for call_id, one in functions]
            return [*thoughts, *_said(message), *calls]
        case role:
            shown = "user" if role == "user" else CONTEXT
            return [{"type": "message", "role": shown, "content": _sent_parts(message["content"])}]


def _said(message: Item) -> list[Item]:
    parts = [text_part(message["content"])] if message["content"] else []
    parts += [{"type": "refusal", "refusal": message["refusal"]}] if "refusal" in message else []
    return [message_item(*parts)] if parts else []


def _sent_parts(content: Any) -> list[Item]:
    return [input_text(content)] if isinstance(content, str) else [_sent_part(part) for part in content]


def _sent_part(part: Item) -> Item:
    match part["type"]:
        case "image_url":
            return input_image(part["image_url"]["url"], part["image_url"].get("detail", "auto"))
        case "file":
            return input_file(part["file"]["file_data"], part["file"]["filename"])
        case _:
            return input_text(part["text"])
