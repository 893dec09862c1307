"""What is inconsistent in the settings of an MCP server."""

import re
from collections.abc import Iterator, Mapping

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(rf"[A-Za-z0-9-]+={_VARIABLE.pattern}")


def mcp_problems(name: str, given: Mapping[str, object]) -> Iterator[str]:
    """Yield what is inconsistent, one sentence for each."""
    command, url = given.get("command"), given.get("url")
    if bool(command) == bool(url):
        yield f"mcp.{name}: set either mcp.{name}.command or mcp.{name}.url."
    for word in ("args", "env", "cwd"):
        if given.get(word) and not command:
            yield f"mcp.{name}.{word}: only a server with a command uses it."
    if given.get("headers") and not url:
        yield f"mcp.{name}.headers: only a server with a url uses them."
    for one in _strings(given.get("env")):
        if not _VARIABLE.fullmatch(one):
            yield f"mcp.{name}.env: must have names of environment variables, and no values."
    for one in _strings(given.get("headers")):
        if not _HEADER.fullmatch(one):
            yield f'mcp.{name}.headers: must be headers with the variables that have their values, as "X-Key=MY_KEY".'


def _strings(value: object) -> Iterator[str]:
    yield from (str(one) for one in (value if isinstance(value, list | tuple) else ()))
