"""What the built-in agent can see: a request's body taken apart into lines, tools and results. It judges nothing."""

import json
import re
from typing import Any

from msgspec import Struct

from carrel.gateway.builtin.phrases import is_own
from carrel.gateway.model import Item

LINES_MAX = 5_000
_ID = re.compile(r"\b(?:agent|art|ent|goal|log|mem|msg|note|plan|run|ses|space|task|topic)_[A-Za-z0-9]+\b")
_NO_CONTENT = re.compile(r"\W*|\[/?[A-Z_]+\]|#+ .*|[^:]{1,40}:")


class Line(Struct, frozen=True):
    """One line that may be quoted, with where it stands."""

    source: str
    text: str


class Result(Struct, frozen=True):
    """What a tool gave back since the last thing said."""

    tool: str
    output: str


class Seen(Struct, frozen=True, kw_only=True):
    """All an answer may be made from: `said` is the newest message, `answers` are the agent's own earlier ones."""

    said: str
    lines: tuple[Line, ...]
    answers: tuple[str, ...]
    tools: frozenset[str]
    results: tuple[Result, ...]


def see(body: bytes) -> Seen:
    """What a request's body shows; raises ValueError when it is no request."""
    request = json.loads(body)
    if not isinstance(request, dict):
        raise ValueError("a request is an object")
    given = request.get("input", "")
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    items = [item for item in items if isinstance(item, dict)]
    newest = max((index for index, item in enumerate(items) if item.get("role") == "user"), default=-1)
    *around, said = _texts(items[newest]) if newest >= 0 else [""]
    return Seen(
        said=said.strip(),
        lines=(*_lines(items, newest), *_split("this notification", "\n".join(around)))[-LINES_MAX:],
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
        if index != newest and isinstance(role, str) and not (role == "assistant" and is_own(text)):
            lines.extend(_split(source, text))
    return lines


def _split(source: str, text: str) -> list[Line]:
    """The lines worth quoting: headings, labels and rulers are none. A line that shows an id is quoted by it."""
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
