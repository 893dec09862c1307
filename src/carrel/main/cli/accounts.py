"""`accounts`, `agents`, `users`, `token`, `whoami` and `env`: who acts in an account, and as whom we do."""

import shlex
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from carrel.bridge import Client
from carrel.main.cli.command import LOCAL_OPTIONS, Exit, Failure, option
from carrel.main.cli.discovery import on_this_machine
from carrel.main.cli.humanize import age, distance
from carrel.main.cli.output import Screen
from carrel.main.cli.request import SET, Item, Table, given_fields, request
from carrel.main.cli.resource import Resource

if TYPE_CHECKING:
    from carrel.kernel.settings import Settings

THINKING = ("off", "minimal", "low", "medium", "high")
_LIVE = ("queued", "running", "waiting")
_COUNTED_MAX = 200
ACCOUNTS = Resource(
    "accounts", "list and create the accounts of this server", "/api/accounts", "account",
    {"ACCOUNT": "id", "SLUG": "slug", "AGE": "createdAt", "NAME": "name"},
)  # fmt: skip
AGENTS = Resource(
    "agents", "list and manage agents", "/api/agents", "agent",
    {"AGENT": "id", "STATUS": "status", "GATEWAY": lambda agent: agent.get("gateway") or "default", "MODEL": "model",
     "NAME": "name"},
    empty="No agents yet.",
)  # fmt: skip
USERS = Resource(
    "users", "list and manage the people of the account", "/api/users", "user",
    {"USER": "id", "SLUG": "slug", "ROLE": "role", "EMAIL": "email", "AGE": "createdAt", "NAME": "name"},
    alias="slug", listed_only=True,
    empty="No users yet; the owner token is not one. To create one: `carrel users create NAME`",
)  # fmt: skip
TOKENS = Resource(
    "token", "create, list and revoke tokens", "/api/tokens", "token",
    {"TOKEN": "id", "KIND": "kind", "WHO": lambda token: token.get("agentId") or token.get("userId"),
     "USED": lambda token: age(token.get("lastUsedAt")) or "never",
     "EXPIRES": lambda token: distance(token.get("expiresAt")) or "never", "NAME": "name"},
    many="tokens", prefix="tok_", query={"limit": 200}, order="oldest first", listed_only=True, empty="No tokens.",
)  # fmt: skip


def _agent_servers(client: Client, args: Namespace) -> Any:
    wanted = args.servers or ([] if args.none else None)

    def found(one: str) -> Any:
        path = AGENTS.at(one)
        return (client.get(path) if wanted is None else client.patch(path, {"mcp": wanted}))["agent"]

    agent = AGENTS.of(client, args.agent_id, found)
    return {"agent": agent, "servers": client.get("/api/mcp/servers")["servers"]}


def _show_servers(answer: Item, args: Namespace, screen: Screen) -> None:
    used = answer["agent"]["mcp"]
    present = {server["name"]: server for server in answer["servers"]}
    gone = {name: {"name": name, "status": "not in the settings"} for name in used if name not in present}
    rows = [server | {"used": name in used} for name, server in (present | gone).items()]
    _SERVERS.show({"servers": rows}, args, screen)


_SERVERS = Table(
    "servers",
    {"SERVER": "name", "USED": "used", "STATUS": "status", "TOOLS": "tools", "TROUBLE": "lastError"},
    "The settings name no MCP server for this account. To name one: `carrel mcp servers add`",
)


def _disable(client: Client, args: Namespace) -> Any:
    """Disable an agent; what that ends is counted before, and told with the answer."""
    args.sessions, args.runs = _work_of(client, args)
    return AGENTS.of(client, args.agent_id, lambda one: client.delete(AGENTS.at(one)))


def _work_of(client: Client, args: Namespace) -> tuple[str, str]:
    """Return in words how many sessions of an agent are open, and how many of its runs have not ended."""
    AGENTS.read(client, args.agent_id)
    sessions = client.sessions.list(agent_id=args.agent_id, limit=_COUNTED_MAX)
    opened = sum(session.state != "closed" and session.generation > 0 for session in sessions)
    runs = [client.runs.list(agent_id=args.agent_id, state=state, limit=_COUNTED_MAX) for state in _LIVE]
    return _counted(opened, "session"), _counted(sum(len(page) for page in runs), "run")


def _counted(count: int, noun: str) -> str:
    number = f"{count} or more" if count >= _COUNTED_MAX else str(count)
    return f"{number} {noun}{'' if count == 1 else 's'}"


def _show_prompt(answer: Item, _: Namespace, screen: Screen) -> None:
    screen.line(answer["instructions"])
    screen.note(f"Tools: {', '.join(tool['name'] for tool in answer['tools']) or 'none'}.")


_NEW_USER = "{user[id]}\nTo let them in: `carrel token create --user {user[slug]}`"
_SHOWN_ONCE = "{secret}\nSave it now; it is not shown again. Token id: {token[id]}"
_NEW_ACCOUNT = "{ownerToken}\nSave this owner token now; it is not shown again. Account: {account[slug]}"
_DISABLED = (
    "Disabled; closed {sessions} and cancelled {runs}; what it did stays.\n"
    "To enable it again: `carrel agents enable {agent_id}`"
)
# Kinds of tokens that are clear from an option.
_KINDS = {"user": "user", "agent": "agent", "client": "agents"}


def _create_token(client: Client, args: Namespace) -> Any:
    kind = args.kind or next((kind for kind, flag in _KINDS.items() if getattr(args, flag)), None)
    if kind is None:
        raise Failure(Exit.USAGE, "Name the kind of the token: owner, or --user, --agent or --agents.")
    if kind in ("agent", "user") and getattr(args, kind) is None:
        raise Failure(Exit.USAGE, f"A token of kind {kind} needs --{kind}: whom it acts for.")
    user = {"userId": USERS.row(client, args.user)["id"]} if args.user else {}
    return client.post("/api/tokens", {"kind": kind, "name": f"{kind} token", **given_fields(_NEW_TOKEN, args), **user})


def _comma_separated(text: str) -> list[str]:
    return text.split(",")


def _renew(settings: "Settings", _: Namespace) -> Any:
    # The store and its rooms are imported only here.
    import asyncio

    from carrel.main.owner_token import renew_local_owner

    return {"file": asyncio.run(renew_local_owner(settings.storage.url, settings.storage.data_dir))}


def _show_me(me: Item, _: Namespace, screen: Screen) -> None:
    screen.facts([
        ("server", me["url"]),
        ("account", f"{me['account']['name']} ({me['account']['slug']})"),
        *((name, me["actor"][name]) for name in ("kind", "name", "id")),
        ("spaces", "all" if me["spaceIds"] == ["*"] else me["spaceIds"]),
    ])  # fmt: skip


def _environment(client: Client, _: Namespace) -> dict[str, str]:
    """Return the server and the token; only a token that the server takes."""
    client.get("/api/auth/me")
    return {"CARREL_URL": client.url, "CARREL_TOKEN": client.token}


def _export(found: dict[str, str], _: Namespace, screen: Screen) -> None:
    for name, value in found.items():
        screen.line(f"export {name}={shlex.quote(value)}")


_NAME = option("--name", "NAME")
_AGENT_FIELDS = (
    _NAME,
    option("--description", "TEXT"),
    option("--gateway", "NAME", "a gateway from the settings"),
    option("--model", "MODEL"),
    option("--thinking", choices=THINKING),
    option("--concurrency", "N", "runs of it that may work at once; 0 for any number", type=int),
    option("--instructions", "TEXT", "added to the standing instructions", field="instructionsExtra"),
)
_USER_FIELDS = (
    option("--slug", "SLUG", "a short name for mentions and commands (default: made from the name)"),
    option("--email", "ADDRESS"),
    option("--role", "", "default: member", choices=("owner", "member")),
)
_NEW_TOKEN = (
    option("kind", "", "owner, user, agent or client; clear from --user, --agent and --agents", nargs="?",
           choices=("owner", "user", "agent", "client"), field=""),
    option("--name", "NAME", "what it is for"),
    option("--agent", "AGENT", "the agent that an agent token acts for", field="agentId"),
    option("--user", "USER", "the person that a user token acts for, by id or slug", field=""),
    option("--agents", "IDS", "agents that a client may use, comma-separated", type=_comma_separated, field="agentIds"),
    option("--spaces", "IDS", "spaces that a person or agent is limited to, comma-separated", type=_comma_separated,
           field="spaceIds"),
    option("--expires", "TIME", "expiry time, e.g. 2030-01-31T12:00:00Z", field="expiresAt"),
)  # fmt: skip
RESOURCES = (AGENTS, USERS, TOKENS, ACCOUNTS)
COMMANDS = (
    AGENTS.lists(),
    AGENTS.shows(),
    AGENTS.creates("", option("id", "AGENT", "id of the agent"), *_AGENT_FIELDS, show=AGENTS.show,
                   examples=("writer --name Writer --model qwen3",)),
    AGENTS.edits(*_AGENT_FIELDS, examples=("writer --thinking high", "writer --set sandbox=on")),
    AGENTS.does("mcp", "show or choose the MCP servers whose tools an agent gets", _agent_servers, _show_servers,
                option("servers", "SERVER", "use these and no others", nargs="*"),
                option("--none", "", "use none", action="store_true")),
    AGENTS.does("prompt", "show what an agent is told before every message, and its tools", "GET prompt",
                _show_prompt,
                option("--profile", "", "for which kind of run", choices=("chat", "task", "subagent", "heartbeat"))),
    AGENTS.does("disable", "disable an agent: close its sessions and cancel its runs", _disable, _DISABLED),
    AGENTS.does("enable", "enable a disabled agent", "PATCH",
                "Enabled. Its closed sessions stay closed; the next message opens a new one.",
                sends={"enabled": True}),
    AGENTS.does("delete", "disable an agent after asking; what it did stays", _disable, _DISABLED,
                question=lambda client, args: "Disable {}, close {} and cancel {}?".format(
                    args.agent_id, *_work_of(client, args))),
    USERS.lists(),
    USERS.shows(),
    USERS.creates("", option("name", "NAME"), *_USER_FIELDS, show=_NEW_USER,
                  examples=("Ann --email ann@example.org",)),
    USERS.edits(_NAME, *_USER_FIELDS, examples=("ann --role owner",)),
    USERS.deletes("delete a user with their tokens", "Deleted; their tokens are revoked.",
                  question="Delete {user[name]} ({user[slug]}) and all their tokens?"),
    TOKENS.creates("", *_NEW_TOKEN, asks=_create_token, show=_SHOWN_ONCE,
                   examples=("--user ann", "agent --agent writer", "client --agents main,writer")),
    TOKENS.lists("list tokens"),
    TOKENS.shows(),
    TOKENS.deletes("revoke a token", "Revoked.", verb="revoke"),
    request("token renew", "write a new owner token into the data directory, e.g. after the old one was revoked",
            _renew, "Wrote a new owner token to {file}. Start the server with `carrel up`.",
            common=LOCAL_OPTIONS, connected=on_this_machine),
    ACCOUNTS.lists(),
    request("accounts show", "show the account of the token, with its settings", "GET /api/account", ACCOUNTS.show),
    ACCOUNTS.creates("create an account with its agent main, and print its owner token", option("name", "NAME"),
                     option("--slug", "SLUG", "a short name (default: made from the name)"), show=_NEW_ACCOUNT),
    request("accounts edit", "change the account of the token", "PATCH /api/account", ACCOUNTS.show,
            _NAME, SET, examples=('--set settings=\'{"defaultAgentId": "writer"}\'',)),
    request("whoami", "show the server, the account and whom the token acts for",
            lambda client, _: {"url": client.url, **client.get("/api/auth/me")}, _show_me),
    request("env", "print CARREL_URL and CARREL_TOKEN for a shell", _environment, _export,
            examples=('eval "$(carrel env)"',)),
)  # fmt: skip
