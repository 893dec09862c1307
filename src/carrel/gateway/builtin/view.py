"""What the built-in agent can see: a request's body split into message, lines, tools and results."""

import json
import re
from typing import Any

from msgspec import Struct

from carrel.gateway.builtin.about import About, quotable, read_heading, without_mentions
from carrel.gateway.builtin.phrases import is_own
from carrel.gateway.model import Item, Step

LINES_MAX = 5_000
_ID = re.compile(r"\b(?:agent|art|ent|goal|log|mem|msg|note|plan|run|ses|space|task|topic)_[A-Za-z0-9]+\b")
_NO_CONTENT = re.compile(r"\W*|\[/?[A-Z_]+\]|#+ .*|[^:]{1,40}:")
# In a context block: the sentence on what it is, the message itself, and what the transcript has as well.
_FRAME = re.compile(
    r"^(?:\[CLAWBOARD_CONTEXT_BEGIN\]\n.*|Current user intent: .*|Mode: .*|- (?:user|assistant): .*)$", re.MULTILINE
)


class Line(Struct, frozen=True):
    """One line that may be quoted, with its source."""

    source: str
    text: str


class Result(Struct, frozen=True):
    """What a tool returned since the newest message."""

    tool: str
    output: str


class View(Struct, frozen=True, kw_only=True):
    """Everything an answer may use: `message` is the run's newest one, `answers` are the agent's own earlier ones.

    `about` is the task that the message is about; it `is_request` if people wrote all of it.
    """

    message: str
    about: About | None
    is_request: bool
    lines: tuple[Line, ...]
    answers: tuple[str, ...]
    tools: frozenset[str]
    results: tuple[Result, ...]


def read_view(step: Step) -> View:
    """Read a step; raise ValueError if its body is not a request."""
    request = json.loads(step.body)
    if not isinstance(request, dict):
        raise ValueError("a request must be a JSON object")
    given = request.get("input", "")
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    items = [item if isinstance(item, dict) else {} for item in items]
    newest = max((index for index, item in enumerate(items) if item.get("role") == "user"), default=-1)
    newest = newest if step.message_at is None else step.message_at
    *around, message = _texts(items[newest]) if newest >= 0 else [""]
    about = read_heading(around[-1]) if around else None
    beside = "\n".join(quotable(text) for text in around)
    return View(
        message=without_mentions(message.strip()),
        about=about,
        is_request=step.is_request and (about is None or about.is_said),
        lines=(*_lines(items, newest), *_split("this notification", beside))[-LINES_MAX:],
        answers=tuple("\n".join(_texts(item)) for item in items[: max(newest, 0)] if item.get("role") == "assistant"),
        tools=_tools(request),
        results=_results(items, newest),
    )


def _lines(items: list[Item], newest: int) -> list[Line]:
    lines: list[Line] = []
    position = 0
    for index, item in enumerate(items):
        role = item.get("role")
        if role in ("user", "assistant"):
            position += 1
            source = f"{role}, message {position}"
        else:
            source = "context block"
        text = "\n".join(_texts(item))
        text = text if role in ("user", "assistant") else _FRAME.sub("", text)
        if index != newest and isinstance(role, str) and not (role == "assistant" and is_own(text)):
            lines.extend(_split(source, text))
    return lines


def _split(source: str, text: str) -> list[Line]:
    """Return the lines worth quoting, without headings, labels and rulers; an id in a line is added to its source."""
    lines = []
    for line in (line.strip() for line in text.splitlines()):
        if not _NO_CONTENT.fullmatch(line):
            found = _ID.search(line)
            lines.append(Line(f"{source}, {found[0]}" if found else source, line))
    return lines


def _texts(item: Item) -> list[str]:
    content = item.get("content")
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)] or [""]


def _tools(request: Item) -> frozenset[str]:
    offered: Any = request.get("tools")
    if not isinstance(offered, list) or request.get("tool_choice") == "none":
        return frozenset()
    names = (tool.get("name") for tool in offered if isinstance(tool, dict) and tool.get("type") == "function")
    return frozenset(name for name in names if isinstance(name, str))


def _results(items: list[Item], newest: int) -> tuple[Result, ...]:
    names = {item.get("call_id"): str(item.get("name", "")) for item in items if item.get("type") == "function_call"}
    return tuple(
        Result(names.get(item.get("call_id"), "The tool"), _output(item.get("output")))
        for item in items[newest + 1 :]
        if item.get("type") == "function_call_output"
    )


def _output(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output)
