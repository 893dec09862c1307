"""Changing one gateway or MCP server in a settings file as its owner would; the rest stays as it is, to the byte."""

import json
import re
import tomllib
from collections.abc import Mapping

from carrel.kernel import Code, Refusal
from carrel.main.setting_rules import ambiguous_names

# Fields that are always rewritten: an old key left in place would be sent to another server.
_WRITTEN = ("kind", "base_url", "model", "api_key", "api_key_env", "api_key_file")
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
# What a field of an MCP server may be.
Written = str | list[str] | dict[str, str]
_WRITTEN_LINE = re.compile(rf"^[ \t]*[\"']?(?:{'|'.join(_WRITTEN)})[\"']?[ \t]*=.*\n?", re.MULTILINE)


def with_gateway(text: str, name: str, fields: Mapping[str, str]) -> str:
    """Return the text of a settings file in which one gateway has these fields; Refusal if it must be done by hand."""
    table = table_text(f"gateway.{name}", fields)
    if (place := _table_in(text, f"gateway.{name}")) is None:
        changed = with_table(text, table)
    else:
        start, inside, end = place
        changed = text[:start] + table + _WRITTEN_LINE.sub("", text[inside:end]) + text[end:]
    if not _says(changed, name, fields):
        raise Refusal(Code.CONFLICT, f"gateway.{name} is written here in another form; change it by hand to:\n{table}")
    return changed


def _table_in(text: str, name: str) -> tuple[int, int, int] | None:
    """Return where a table begins, where the line after its name does, and where it ends."""
    header = re.search(rf"^[ \t]*\[{re.escape(name)}\][^\n]*(?:\n|\Z)", text, re.MULTILINE)
    if header is None:
        return None
    following = _TABLE.search(text, header.end())
    return header.start(), header.end(), len(text) if following is None else following.start()


def table_text(name: str, fields: Mapping[str, Written]) -> str:
    """Return a table in TOML."""
    return f"[{name}]\n" + "".join(f"{field} = {_value(value)}\n" for field, value in fields.items())


def with_table(text: str, table: str) -> str:
    """Return the text of a TOML file with one more table at its end; whether it may be there is up to the caller."""
    return table if not text else f"{text}\n{table}" if text.endswith("\n") else f"{text}\n\n{table}"


def _says(text: str, name: str, fields: Mapping[str, str]) -> bool:
    try:
        found = tomllib.loads(text)["gateway"][name]
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        return False
    return {field: found.get(field) for field in _WRITTEN if field in found} == dict(fields)


def _quoted(value: str) -> str:
    """Return a TOML string: its escapes are JSON's, and one more for a character that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def with_mcp_server(text: str, name: str, fields: Mapping[str, Written]) -> str:
    """Return the text of a settings file with one more MCP server; Refusal if it cannot be there."""
    if name in _mcp_servers(text):
        raise Refusal(Code.CONFLICT, f"mcp.{name} exists already; remove it first, or choose another name.")
    for problem in ambiguous_names({*_mcp_servers(text), name}):
        raise Refusal(Code.CONFLICT, problem)
    table = table_text(f"mcp.{name}", fields)
    changed = with_table(text, table)
    if _mcp_servers(changed).get(name) != dict(fields):
        raise Refusal(Code.CONFLICT, f"mcp is written here in another form; add by hand:\n{table}")
    return changed


def without_mcp_server(text: str, name: str) -> str:
    """Return the text of a settings file without one MCP server; Refusal if it must be removed by hand."""
    present = _mcp_servers(text)
    if name not in present:
        raise Refusal.of_name(None, "MCP server in this file", name, present)
    if (place := _table_in(text, f"mcp.{name}")) is not None:
        start, _, end = place
        before, after = text[:start].rstrip("\n"), text[end:]
        changed = before + ("\n" if before else "") + (f"\n{after}" if after else "")
        if _mcp_servers(changed) == {other: one for other, one in present.items() if other != name}:
            return changed.lstrip("\n")
    raise Refusal(Code.CONFLICT, f"mcp.{name} is written in another form here; remove it by hand.")


def _mcp_servers(text: str) -> dict[str, object]:
    try:
        found = tomllib.loads(text).get("mcp", {})
    except tomllib.TOMLDecodeError as error:
        raise Refusal(Code.CONFLICT, f"The settings file is not TOML: {error}.") from error
    return dict(found) if isinstance(found, dict) else {}


def _value(value: Written) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_quoted(name)} = {_quoted(one)}' for name, one in value.items())}}}"
    return _quoted(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"
