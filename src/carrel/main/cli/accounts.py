"""`agents`, `users`, `token`, `whoami` and `env`: who acts in an account, and as whom we do."""

import json
import shlex
import sys
from argparse import Namespace
from typing import Any

from carrel.bridge import Client, segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import LOCAL_OPTIONS, connect, local_settings
from carrel.main.cli.names import TOKENS, YES, of_agent, of_user, user_named
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Request, Table, ago, facts
from carrel.main.cli.wording import age, distance

_AGENT = option("agent_id", "AGENT", "id of the agent", of=of_agent)
_LIVE = ("queued", "running", "waiting")
_COUNTED_MAX = 200
_AGENT_OPTIONS = (
    option("--name"),
    option("--description"),
    option("--gateway", "NAME", "a gateway from the settings"),
    option("--model"),
    option("--thinking", choices=("off", "minimal", "low", "medium", "high")),
    option("--concurrency", "N", "runs of it that may work at once; 0 for any number", type=int),
    option("--instructions", "TEXT", "added to the standing instructions", field="instructionsExtra"),
)
_SET = option("--set", "FIELD=JSON", "set any other field, e.g. sandbox=on", action="append", default=[])


def _create_agent(client: Client, args: Namespace) -> Any:
    return client.post("/api/agents", {"id": args.agent_id, **_agent_fields(args)})


def _update_agent(client: Client, args: Namespace) -> Any:
    fields = _agent_fields(args)
    if not fields:
        raise Failure(Exit.USAGE, "Nothing to change; name a field, e.g. --model NAME.")
    return of_agent(client, args.agent_id, lambda one: client.patch(_agent_path(one), fields))


def _agent_servers(client: Client, args: Namespace) -> Any:
    wanted = args.servers or ([] if args.none else None)

    def found(one: str) -> Any:
        path = _agent_path(one)
        return (client.get(path) if wanted is None else client.patch(path, {"mcp": wanted}))["agent"]

    agent = of_agent(client, args.agent_id, found)
    return {"agent": agent, "servers": client.get("/api/mcp/servers")["servers"]}


def _show_servers(answer: dict[str, Any], args: Namespace, screen: Screen) -> None:
    used = answer["agent"]["mcp"]
    present = {server["name"]: server for server in answer["servers"]}
    gone = {name: {"name": name, "status": "not in the settings"} for name in used if name not in present}
    rows = [{**server, "used": "yes" if name in used else "no"} for name, server in (present | gone).items()]
    _SERVERS.show({"servers": rows}, args, screen)


_SERVERS = Table(
    "servers",
    {"SERVER": "name", "USED": "used", "STATUS": "status", "TOOLS": "tools", "TROUBLE": "lastError"},
    "The settings name no MCP server for this account. To name one: `carrel mcp servers add`",
)


def disable_agent(args: Namespace, screen: Screen) -> int:
    """Disable an agent: close its sessions and cancel its runs."""
    with connect(args) as client:
        return _disable(client, args, _work_of(client, args), screen)


def delete_agent(args: Namespace, screen: Screen) -> int:
    """Disable an agent, once a person has agreed to what that ends."""
    if not args.yes and not sys.stdin.isatty():
        raise Failure(Exit.USAGE, "This closes the agent's sessions and cancels its runs; pass --yes to do it.")
    with connect(args) as client:
        work = _work_of(client, args)
        if not args.yes and not screen.agrees(f"Disable {args.agent_id}, close {work[0]} and cancel {work[1]}?"):
            raise Failure(Exit.FAILED, "Nothing was changed.")
        return _disable(client, args, work, screen)


def _disable(client: Client, args: Namespace, work: tuple[str, str], screen: Screen) -> int:
    answer = of_agent(client, args.agent_id, lambda one: client.delete(_agent_path(one)))
    if screen.as_json:
        return screen.json(answer)
    screen.line(f"Disabled; closed {work[0]} and cancelled {work[1]}; what it did stays.")
    screen.line(f"To enable it again: `carrel agents enable {args.agent_id}`")
    return Exit.OK


def _work_of(client: Client, args: Namespace) -> tuple[str, str]:
    """Return in words how many sessions of an agent are open, and how many of its runs have not ended."""
    of_agent(client, args.agent_id, lambda one: client.get(_agent_path(one)))
    sessions = client.sessions.list(agent_id=args.agent_id, limit=_COUNTED_MAX)
    opened = sum(session.state != "closed" and session.generation > 0 for session in sessions)
    runs = [client.runs.list(agent_id=args.agent_id, state=state, limit=_COUNTED_MAX) for state in _LIVE]
    return _counted(opened, "session"), _counted(sum(len(page) for page in runs), "run")


def _counted(count: int, noun: str) -> str:
    number = f"{count} or more" if count >= _COUNTED_MAX else str(count)
    return f"{number} {noun}{'' if count == 1 else 's'}"


def _agent_path(agent_id: str) -> str:
    return f"/api/agents/{segment(agent_id)}"


def _agent_fields(args: Namespace) -> dict[str, Any]:
    fields = {one.field: value for one in _AGENT_OPTIONS if (value := getattr(args, one.dest)) is not None}
    for given in args.set:
        name, equals, text = given.partition("=")
        if not name or not equals:
            raise Failure(Exit.USAGE, f"--set takes FIELD=VALUE, not {given}.")
        fields[name] = _value(text)
    return fields


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


_AGENTS = Table(
    "agents",
    {
        "AGENT": "id",
        "STATUS": "status",
        "GATEWAY": lambda agent: agent.get("gateway") or "default",
        "MODEL": "model",
        "NAME": "name",
    },
    "No agents yet.",
)
_ENABLED = "Enabled. Its closed sessions stay closed; the next message opens a new one."


_USER = option("user", "USER", "id or slug of the user")
_ROLE = option("--role", choices=("owner", "member"), help="default: member")
_EMAIL = option("--email", "ADDRESS")
_USER_FIELDS = ("name", "slug", "email", "role")


def _update_user(client: Client, args: Namespace) -> Any:
    fields = {name: value for name in _USER_FIELDS if (value := getattr(args, name)) is not None}
    if not fields:
        raise Failure(Exit.USAGE, "Nothing to change; name a field, e.g. --email ADDRESS.")
    return of_user(client, args.user, lambda user_id: client.patch(f"/api/users/{segment(user_id)}", fields))


def _show_new_user(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    screen.line(answer["user"]["id"])
    screen.note(f"To let them in: `carrel token create --user {answer['user']['slug']}`")


def delete_user(args: Namespace, screen: Screen) -> int:
    """Delete a user with their tokens, once a person has agreed."""
    if not args.yes and not sys.stdin.isatty():
        raise Failure(Exit.USAGE, "Deleting cannot be undone; pass --yes to do it without being asked.")
    with connect(args) as client:
        user = user_named(client, args.user)
        if not args.yes and not screen.agrees(f"Delete {user['name']} ({user['slug']}) and all their tokens?"):
            raise Failure(Exit.FAILED, "Nothing was deleted.")
        client.delete(f"/api/users/{segment(user['id'])}")
    if screen.as_json:
        return screen.json({"deleted": user["id"]})
    screen.line("Deleted; their tokens are revoked.")
    return Exit.OK


_USERS = Table(
    "users",
    {"USER": "id", "SLUG": "slug", "ROLE": "role", "EMAIL": "email", "AGE": ago("createdAt"), "NAME": "name"},
    "No users yet; the owner token is not one. To create one: `carrel users create NAME`",
)


# Kinds of tokens that are clear from an option.
_KINDS = {"user": "user", "agent": "agent", "client": "agents"}


def _create_token(client: Client, args: Namespace) -> Any:
    """Create a token; its secret is shown only once."""
    kind = args.kind or next((kind for kind, flag in _KINDS.items() if getattr(args, flag)), None)
    if kind is None:
        raise Failure(Exit.USAGE, "Name the kind of the token: owner, or --user, --agent or --agents.")
    if kind in ("agent", "user") and getattr(args, kind) is None:
        raise Failure(Exit.USAGE, f"A token of kind {kind} needs --{kind}: whom it acts for.")
    body = {
        "kind": kind,
        "name": args.name or f"{kind} token",
        "userId": user_named(client, args.user)["id"] if args.user is not None else None,
        "agentId": args.agent,
        "agentIds": args.agents.split(",") if args.agents else None,
        "spaceIds": args.spaces.split(",") if args.spaces else None,
        "expiresAt": args.expires,
    }
    return client.post("/api/tokens", {name: value for name, value in body.items() if value is not None})


def _show_new_token(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    screen.line(answer["secret"])
    screen.note(f"Save it now; it is not shown again. Token id: {answer['token']['id']}")


def renew_owner_token(args: Namespace, screen: Screen) -> int:
    """Write a new owner token into the data directory and the store; no server may be running on a SQLite store."""
    storage = local_settings(args).settings.storage
    # The store and its rooms are imported only here.
    import asyncio

    from carrel.main.owner_token import renew_local_owner

    file = asyncio.run(renew_local_owner(storage.url, storage.data_dir))
    screen.line(f"Wrote a new owner token to {file}. Start the server with `carrel up`.")
    return Exit.OK


_TOKENS = Table(
    "tokens",
    {
        "TOKEN": "id",
        "KIND": "kind",
        "WHO": lambda token: token.get("agentId") or token.get("userId"),
        "USED": lambda token: age(token.get("lastUsedAt")) or "never",
        "EXPIRES": lambda token: distance(token.get("expiresAt")) or "never",
        "NAME": "name",
    },
    "No tokens.",
)


def _me(client: Client, _: Namespace) -> dict[str, Any]:
    return {"url": client.url, **client.get("/api/auth/me")}


def _show_me(me: dict[str, Any], _: Namespace, screen: Screen) -> None:
    screen.facts(
        [
            ("server", me["url"]),
            ("account", f"{me['account']['name']} ({me['account']['slug']})"),
            *((name, me["actor"][name]) for name in ("kind", "name", "id")),
            ("spaces", "all" if me["spaceIds"] == ["*"] else me["spaceIds"]),
        ]
    )


def _environment(client: Client, _: Namespace) -> dict[str, str]:
    """Return the server and the token; only a token that the server takes."""
    client.get("/api/auth/me")
    return {"CARREL_URL": client.url, "CARREL_TOKEN": client.token}


def _export(found: dict[str, str], _: Namespace, screen: Screen) -> None:
    """Print lines that a shell evaluates."""
    for name, value in found.items():
        screen.line(f"export {name}={shlex.quote(value)}")


COMMANDS = (
    Request("agents list", "list agents", "GET /api/agents", _AGENTS),
    Request("agents show", "show one agent", "GET /api/agents/{}", facts("agent")).takes(_AGENT),
    Request("agents create", "create an agent", _create_agent, facts("agent")).takes(_AGENT, *_AGENT_OPTIONS, _SET),
    Request("agents update", "change an agent", _update_agent, facts("agent")).takes(_AGENT, *_AGENT_OPTIONS, _SET),
    Request(
        "agents mcp", "show or choose the MCP servers whose tools an agent gets", _agent_servers, _show_servers
    ).takes(
        _AGENT,
        option("servers", "SERVER", "use these and no others", nargs="*"),
        option("--none", action="store_true", help="use none"),
    ),
    Command("agents disable", "disable an agent: close its sessions and cancel its runs", disable_agent).takes(_AGENT),
    Request(
        "agents enable", "enable a disabled agent", "PATCH /api/agents/{}", _ENABLED, sends={"enabled": True}
    ).takes(_AGENT),
    Command("agents delete", "disable an agent after asking; what it did stays", delete_agent).takes(_AGENT, YES),
    Request("users list", "list users", "GET /api/users", _USERS),
    Request("users create", "create a user", "POST /api/users", _show_new_user).takes(
        option("name", "NAME"),
        option("--slug", help="a short name for mentions and commands (default: made from the name)"),
        _EMAIL,
        _ROLE,
    ),
    Request("users update", "change a user", _update_user, facts("user")).takes(
        _USER, option("--name"), option("--slug"), _EMAIL, _ROLE
    ),
    Command("users delete", "delete a user with their tokens", delete_user).takes(_USER, YES),
    Request("token create", "create a token", _create_token, _show_new_token).takes(
        option(
            "kind",
            nargs="?",
            choices=("owner", "user", "agent", "client"),
            help="owner, user, agent or client; clear from --user, --agent and --agents",
        ),
        option("--name", help="what it is for"),
        option("--agent", "AGENT", "the agent that an agent token acts for"),
        option("--user", "USER", "the person that a user token acts for, by id or slug"),
        option("--agents", "IDS", "agents that a client may use, comma-separated"),
        option("--spaces", "IDS", "spaces that a person or agent is limited to, comma-separated"),
        option("--expires", "TIME", "expiry time, e.g. 2030-01-31T12:00:00Z"),
    ),
    Request("token list", "list tokens", "GET /api/tokens", _TOKENS),
    Request("token revoke", "revoke a token", "DELETE /api/tokens/{}", "Revoked.").takes(
        option("token_id", "TOKEN", "id of the token, or a unique beginning of it", of=TOKENS.of)
    ),
    Command(
        "token renew",
        "write a new owner token into the data directory, e.g. after the old one was revoked",
        renew_owner_token,
        needs_server=False,
    ).takes(*LOCAL_OPTIONS),
    Request("whoami", "show the server, the account and whom the token acts for", _me, _show_me),
    Request("env", "print CARREL_URL and CARREL_TOKEN for a shell", _environment, _export),
)
