"""Reads a server's list of tools, within limits: what exceeds them is left out. Pure.

Descriptions come from somebody else and are read by a model. They are shortened, invisible characters are removed, and
the model is told who wrote them.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

import msgspec
from mcp_types import Tool
from msgspec import Struct

from carrel.connectors.model import RemoteTool
from carrel.kernel import clip, limits
from carrel.kernel.settings import McpServerSettings

_LEFT_OUT_SHOWN_MAX = 20
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_HASH_CHARS = 8
# Characters that a person does not see but a model does: format, private-use and control characters.
_INVISIBLE = frozenset({"Cf", "Co", "Cc", "Cs"})


class Listed(Struct, frozen=True):
    """The tools that are offered, and which are left out, and why."""

    tools: tuple[RemoteTool, ...]
    left_out: tuple[str, ...]


def read_tools(
    server: str, listed: Iterable[Tool], settings: McpServerSettings, written: Collection[str] = (),
    taken: Collection[str] = (),
) -> Listed:  # fmt: skip
    """Return the tools that the settings allow, under names that are not `taken`.

    Tools in `written` once were listed as writing; they count as writing, whatever the server says now.
    """
    present = {tool.name: tool for tool in listed}
    allowed = [name for name in present if _matches(name, settings.allow) and not _matches(name, settings.deny)]
    names = {name: offered for offered, name in offered_names(server, allowed).items()}
    tools: list[RemoteTool] = []
    left_out: list[str] = []
    for name in allowed:
        problem = _schema_problem(present[name].input_schema)
        if name not in names:
            problem = "has the name of another"
        elif names[name] in taken:
            problem = f"{names[name]} is a tool of Carrel; give the server another name"
        elif len(tools) >= limits.MCP_TOOLS_PER_SERVER_MAX:
            problem = f"is one too many: a server may offer {limits.MCP_TOOLS_PER_SERVER_MAX}"
        if problem is None:
            tools.append(_tool(server, names[name], present[name], is_written=name in written))
        else:
            left_out.append(f"{clip(visible(name), 100)}: {problem}")
    return Listed(tuple(tools), tuple(left_out[:_LEFT_OUT_SHOWN_MAX]))


def _tool(server: str, offered_as: str, tool: Tool, *, is_written: bool) -> RemoteTool:
    reads = tool.annotations is not None and tool.annotations.read_only_hint is True and not is_written
    said = clip(visible(tool.description or tool.title or ""), limits.MCP_DESCRIPTION_CHARS_MAX).strip()
    schema = _visible_schema(tool.input_schema)
    return RemoteTool(
        server=server,
        name=tool.name,
        offered_as=offered_as,
        description=f"[MCP server {server}] {said}".strip(),
        schema=schema,
        effect="read" if reads else "write",
        digest=sha256(msgspec.json.encode((said, schema, reads))).hexdigest(),
    )


def offered_names(server: str, names: Iterable[str]) -> dict[str, str]:
    """Return the tools of a server by the names under which they are offered, `<server>_<tool>`; names are unique.

    A name that is too long or has other characters ends with a hash of the whole. The settings reject servers whose
    tools could get the same name.
    """
    start = f"{server}_"
    room = limits.MCP_TOOL_NAME_CHARS_MAX - len(start)
    offered: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = _NOT_IN_NAMES.sub("_", name)
        if plain != name or len(plain) > room or not plain:
            digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
            plain = f"{plain[: room - _HASH_CHARS - 1]}_{digest}"
        offered.setdefault(start + plain, name)
    return offered


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _schema_problem(schema: dict[str, Any]) -> str | None:
    if schema.get("type") != "object":
        return "its parameters are not an object"
    if not _is_within(schema, limits.MCP_SCHEMA_DEPTH_MAX):
        return f"its parameters are nested more than {limits.MCP_SCHEMA_DEPTH_MAX} deep"
    if len(msgspec.json.encode(schema)) > limits.MCP_SCHEMA_BYTES_MAX:
        return f"its parameters take more than {limits.MCP_SCHEMA_BYTES_MAX} bytes"
    return None


def _is_within(value: Any, left: int) -> bool:
    """Return whether a value is nested less than so many levels deep."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left > 0 and all(_is_within(one, left - 1) for one in inner)


def visible(text: str) -> str:
    """Return a text without invisible characters; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one for one in text if one in "\n\t" or unicodedata.category(one) not in _INVISIBLE)


def _visible_schema(value: Any) -> Any:
    """Return a schema with readable, shortened descriptions and titles; the rest decides validity and stays."""
    if isinstance(value, list):
        return [_visible_schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: clip(visible(one), limits.MCP_DESCRIPTION_CHARS_MAX)
        if name in ("description", "title") and isinstance(one, str)
        else _visible_schema(one)
        for name, one in value.items()
    }
