"""A step's body as turns of user and model: shared by all dialects except Open Responses. Pure."""

from typing import Any

import msgspec
from msgspec import Struct

from carrel.gateway.answers import is_call
from carrel.gateway.model import Item, Step

USER = "user"
ASSISTANT = "assistant"
CONTEXT = "developer"
# Many servers require the first turn to be the user's; after older ones were dropped it may be the model's.
NOT_SHOWN = "[Earlier messages are not shown.]"
_TEXTS = ("input_text", "output_text", "text")


class Turn(Struct, frozen=True):
    """What one side said, in order: texts as `{"type": "text"}`, else parts and items of Open Responses.

    Outputs of calls belong to the user's side and come first there.
    """

    role: str
    blocks: list[Item]


class Prompt(Struct, frozen=True, kw_only=True):
    """A step, ready for translation.

    User and model alternate in `turns`; the first `stable` of them are older than the run. Context precedes the message
    that it belongs to. `tools` are those that may be called, and `choice` is "auto", "none", "required", or the name of
    the tool to call, as `{"name": …}`. `request` is the whole body; dialects take their options from it.
    """

    model: str
    instructions: str
    turns: list[Turn]
    stable: int
    tools: list[Item]
    choice: str | Item
    request: Item

    @property
    def effort(self) -> str:
        """How much the model is asked to think; empty if it is not asked to."""
        reasoning = self.request.get("reasoning")
        effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
        return effort if isinstance(effort, str) and effort != "none" else ""

    @property
    def format(self) -> Item:
        """The format that the answer must have; empty for plain text."""
        text = self.request.get("text")
        wanted = text.get("format") if isinstance(text, dict) else None
        return wanted if isinstance(wanted, dict) and wanted.get("type") != "text" else {}

    def given(self, *names: str) -> Item:
        return {name: self.request[name] for name in names if self.request.get(name) is not None}


class Offered(Struct, frozen=True):
    """A tool without its schema; schemas are most of a request and are skipped."""

    type: str = ""
    name: str = ""


class Outline(Struct, frozen=True):
    """The fields of a request that code needs without calling a model."""

    input: Any = ""
    tools: list[Offered] | None = None
    tool_choice: Any = "auto"
    metadata: Any = None


_outline = msgspec.json.Decoder(Outline).decode


def listed_items(given: Any) -> list[Any]:
    """Return the items of an input; a plain text is a message of the user."""
    return given if isinstance(given, list) else [{"role": USER, "content": given}]


def read_items(step: Step) -> tuple[Outline, list[Item], int]:
    """Return a step's request, its items, and the index of the newest message or -1; ValueError if it is no request."""
    request = _outline(step.body)
    items = [item if isinstance(item, dict) else {} for item in listed_items(request.input)]
    newest = max((index for index, item in enumerate(items) if item.get("role") == USER), default=-1)
    newest = newest if step.message_at is None else step.message_at
    return request, items, newest


def read_prompt(step: Step, *, has_context: bool) -> Prompt:
    """Read a step; raise ValueError if its body is not a request.

    Unless the dialect `has_context`, context becomes part of the user's turn; so it does in requests without
    instructions, for servers that accept only messages of user and model.
    """
    request = msgspec.json.decode(step.body)
    if not isinstance(request, dict):
        raise ValueError("a request must be a JSON object")
    context = CONTEXT if has_context and request.get("instructions") else USER
    turns, stable = _turns(request.get("input", ""), step.message_at, context)
    tools, choice = tools_of(request)
    return Prompt(
        model=request.get("model", ""),
        instructions=request.get("instructions") or "",
        turns=turns,
        stable=stable,
        tools=tools,
        choice=choice,
        request=request,
    )


def _turns(given: Any, message_at: int | None, context: str) -> tuple[list[Turn], int]:
    turns: list[Turn] = []
    stable = 0
    for position, item in enumerate(listed_items(given)):
        role, blocks = _blocks(item, context)
        if not blocks:
            continue
        if role == ASSISTANT and all(turn.role == CONTEXT for turn in turns):
            turns.append(Turn(USER, [text_block(NOT_SHOWN)]))
        # Merge messages of the same side: some servers refuse two in a row.
        if turns and turns[-1].role == role:
            turns[-1].blocks.extend(blocks)
        else:
            turns.append(Turn(role, blocks))
        if position == message_at:
            stable = len(turns) - 1
    for turn in turns:
        turn.blocks.sort(key=lambda block: turn.role == USER and block.get("type") != "function_call_output")
    return turns, stable


def _blocks(item: Any, context: str) -> tuple[str, list[Item]]:
    """Return the side that an item belongs to and what it contributes."""
    if not isinstance(item, dict):
        return USER, []
    kind = item.get("type")
    if is_call(item) or kind == "reasoning":
        return ASSISTANT, [item]
    if kind == "function_call_output":
        return USER, [item]
    role = item.get("role")
    return role if role in (USER, ASSISTANT) else context, content_blocks(item.get("content"))


def content_blocks(content: Any) -> list[Item]:
    """Return the parts of a content, without empty texts: many servers refuse those."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    blocks = [_block(part) for part in parts if isinstance(part, dict)]
    return [block for block in blocks if block.get("type") != "text" or block["text"].strip()]


def _block(part: Item) -> Item:
    if part.get("type") in _TEXTS:
        return text_block(part["text"] if isinstance(part.get("text"), str) else "")
    return part


def text_block(text: str) -> Item:
    return {"type": "text", "text": text}


def tools_of(request: Item) -> tuple[list[Item], str | Item]:
    """Return the tools that may be called, and how freely; a list of allowed tools is applied here."""
    offered = request.get("tools")
    tools = [tool for tool in offered if isinstance(tool, dict)] if isinstance(offered, list) else []
    choice = request.get("tool_choice", "auto")
    if not isinstance(choice, dict):
        return tools, choice
    if choice.get("type") == "allowed_tools":
        allowed = {tool.get("name") for tool in choice.get("tools") or () if isinstance(tool, dict)}
        return [tool for tool in tools if tool.get("name") in allowed], choice.get("mode", "auto")
    return tools, {"name": choice.get("name", "")}
