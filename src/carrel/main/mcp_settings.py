"""What is inconsistent in the settings of an MCP server."""

import re
from collections.abc import Collection, Iterator, Mapping

from carrel.kernel.limits import MCP_SERVER_NAME_CHARS_MAX

# Names of tools begin with it, and some model servers accept no digit there.
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
# The name of an environment variable, and of a header.
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HEADER = re.compile(r"[A-Za-z0-9-]+")


def server_name_problem(name: str) -> str | None:
    """Return what is wrong with the name of a server; None for a good one."""
    if _NAME.fullmatch(name) and len(name) <= MCP_SERVER_NAME_CHARS_MAX:
        return None
    return (
        f"an MCP server's name must have 1 to {MCP_SERVER_NAME_CHARS_MAX} lower-case letters and digits, begin with a "
        "letter, and have single - or _ between them."
    )


def ambiguous_names(names: Collection[str]) -> Iterator[str]:
    """Yield which servers clash: the tool `b_c` of one would have the same name as `c` of another."""
    for name in sorted(names):
        for other in sorted(names):
            if name.startswith(f"{other}_"):
                better = name.replace("_", "-")
                yield (
                    f"mcp.{name}: names of tools begin with the name of their server and _, so those of mcp.{other} "
                    f"could be meant; use another name, such as {better}."
                )


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
    env, headers = given.get("env"), given.get("headers")
    for one in env if isinstance(env, list | tuple) else ():
        if not VARIABLE.fullmatch(str(one)):
            yield f"mcp.{name}.env: must have names of environment variables, and no values."
    for header, variable in headers.items() if isinstance(headers, dict) else ():
        if not HEADER.fullmatch(header) or not VARIABLE.fullmatch(variable):
            yield (
                f"mcp.{name}.headers: must be headers with the names of the variables that have their values, as "
                '{"X-Key" = "MY_KEY"}.'
            )
