"""`mcp servers`: the MCP servers in the settings file. Only people who may write that file can name a command."""

import os
import shlex
from argparse import Namespace
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from carrel.bridge import Client, owner_token, running_url
from carrel.main.cli.command import JSON, LOCAL_OPTIONS, Exit, Failure, option
from carrel.main.cli.discovery import local_settings, local_settings_file, on_this_machine
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Item, Table, request
from carrel.main.replace_file import replace_file, text_of

if TYPE_CHECKING:
    from carrel.connectors import ConnectorState, RemoteTool
    from carrel.kernel.settings import McpServerSettings, Settings

_NAME = option("name", "NAME", "name of the server")
_SERVERS = Table(
    "servers",
    {"NAME": "name", "STARTS": "starts", "ACCOUNTS": "accounts", "VARIABLES": "variables"},
    "No MCP servers in the settings.",
)
_TOOLS = Table("tools", {"TOOL": "name", "EFFECT": "effect", "DESCRIPTION": "description"}, "It offers no tools.")


def _listed(settings: "Settings", _: Namespace) -> Any:
    from carrel.connectors import address_of

    rows = [
        {"name": name, "starts": address_of(server), "accounts": ",".join(server.accounts),
         "variables": ",".join((*server.env, *server.headers.values()))}
        for name, server in sorted(settings.mcp.items())
    ]  # fmt: skip
    return {"servers": rows}


def _add(_: Namespace, args: Namespace) -> Any:
    from carrel.main.setting_rules import name_problem, problems_of
    from carrel.main.settings_edit import with_mcp_server

    command = shlex.split(args.command) if args.command else []
    given = {
        "command": command[0] if command else "",
        "args": command[1:],
        "env": args.env,
        "cwd": args.cwd or "",
        "url": args.server_url or "",
        "headers": dict(words.partition("=")[::2] for words in args.header),
        "accounts": args.account,
        "allow": args.allow,
        "deny": args.deny,
    }
    fields = {name: value for name, value in given.items() if value}
    if problems := [*filter(None, [name_problem("mcp", args.name)]), *problems_of("mcp", args.name, fields)]:
        raise Failure(Exit.USAGE, "\n".join(problems))
    return _changed(args, lambda text: with_mcp_server(text, args.name, fields))


def _remove(_: Namespace, args: Namespace) -> Any:
    from carrel.main.settings_edit import without_mcp_server

    return _changed(args, lambda text: without_mcp_server(text, args.name))


def _changed(args: Namespace, changed: Callable[[str], str]) -> Item:
    """Change the settings file, and let the running Carrel take it up; return what was done."""
    path = local_settings_file(args).path.expanduser()
    try:
        replace_file(path, changed(text_of(path)))
    except OSError as error:
        raise Failure(Exit.FAILED, f"{path} cannot be written: {error.strerror}.") from error
    return {"path": path, "applied": _applied(args)}


def _applied(args: Namespace) -> str:
    """Let the running server read its settings again; return in words that it did."""
    data_dir = local_settings(args).settings.storage.data_dir
    url = running_url(data_dir)
    if not url:
        elsewhere = os.environ.get("CARREL_URL")
        return f" The server at {elsewhere} reads other settings; name them with --data-dir." if elsewhere else ""
    with Client(url, owner_token(data_dir)) as client:
        client.post("/api/settings/reload")
    return " The running server has applied it."


def _test(settings: "Settings", args: Namespace) -> Any:
    import asyncio

    if args.name not in settings.mcp:
        known = ", ".join(sorted(settings.mcp)) or "none"
        raise Failure(Exit.FAILED, f"The settings have no MCP server '{args.name}'; they have: {known}.")
    state, tools = asyncio.run(_tried(args.name, settings.mcp[args.name]))
    if state.status != "ok":
        raise Failure(Exit.FAILED, f"{args.name} does not work: {state.last_error}")
    rows = [{"name": one.offered_as, "effect": one.effect, "description": one.description} for one in tools]
    return {"tools": rows, "leftOut": list(state.left_out)}


def _show_tools(answer: Item, args: Namespace, screen: Screen) -> None:
    _TOOLS.show(answer, args, screen)
    for one in answer["leftOut"]:
        screen.note(f"Left out: {one}")


async def _tried(name: str, server: "McpServerSettings") -> tuple["ConnectorState", tuple["RemoteTool", ...]]:
    import asyncio

    from carrel.tools import connectors_of

    account = server.accounts[0]
    connectors = connectors_of({name: server})
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(connectors.serve())
        # It accepts servers only while it runs.
        await asyncio.sleep(0)
        lists = await connectors.tools(account, [name])
        state = connectors.states(account)[0]
        serving.cancel()
    return state, tuple(tool for one in lists for tool in one.tools)


def _many(flag: str, metavar: str, text: str) -> Any:
    return option(flag, metavar, text, action="append", default=[])


COMMANDS = (
    request("mcp servers list", "list the MCP servers of the settings", _listed, _SERVERS.show, JSON,
            common=LOCAL_OPTIONS, connected=on_this_machine),
    request(
        "mcp servers add", "add an MCP server to the settings", _add,
        "Wrote mcp.{name} to {path}.{applied}\nTo see what it offers: `carrel mcp servers test {name}`\n"
        "To let an agent use it: `carrel agents mcp AGENT {name}`", _NAME,
        option("--command", "WORDS", 'the program and its arguments, e.g. "uvx mcp-server-fetch"'),
        option("--cwd", "DIR", "the directory that the program starts in"),
        _many("--env", "VARIABLE", "an environment variable that the program is passed; may be repeated"),
        option("--url", "URL", "the address of a server over HTTP, instead of a program", dest="server_url"),
        _many("--header", "NAME=VARIABLE", "a header and the environment variable with its value; may be repeated"),
        _many("--account", "SLUG", "an account whose agents may use it, or * (default: default); may be repeated"),
        _many("--allow", "TOOL", "offer only tools of this name or pattern; may be repeated"),
        _many("--deny", "TOOL", "offer no tool of this name or pattern; may be repeated"),
        common=LOCAL_OPTIONS, connected=nullcontext, examples=('fetch --command "uvx mcp-server-fetch"',),
    ),
    request("mcp servers test", "start an MCP server for a moment and list its tools", _test, _show_tools, _NAME, JSON,
            common=LOCAL_OPTIONS, connected=on_this_machine),
    request("mcp servers remove", "remove an MCP server from the settings", _remove,
            "Removed mcp.{name} from {path}.{applied}", _NAME, common=LOCAL_OPTIONS, connected=nullcontext),
)  # fmt: skip
