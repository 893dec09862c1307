"""`token`: who may speak to the server."""

from argparse import Namespace

from carrel.bridge import segment
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.connection import reach
from carrel.main.cli.output import Screen, age


def create(args: Namespace, screen: Screen) -> int:
    """Make a token; its secret is shown this once."""
    body = {
        "kind": args.kind,
        "name": args.name or f"{args.kind} token",
        "agentId": args.agent,
        "userId": args.user,
        "agentIds": args.agents.split(",") if args.agents else None,
        "spaceIds": args.spaces.split(",") if args.spaces else None,
        "expiresAt": args.expires,
    }
    with reach(args) as client:
        answer = client.post("/api/tokens", {name: value for name, value in body.items() if value is not None})
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["secret"])
    screen.note(f"Keep it now: it is not shown again. Its id is {answer['token']['id']}.")
    return Exit.OK


def list_tokens(args: Namespace, screen: Screen) -> int:
    """Show the tokens, never their secrets."""
    with reach(args) as client:
        answer = client.get("/api/tokens")
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (
            token["id"],
            token["kind"],
            token.get("agentId") or token.get("userId") or "",
            age(token.get("lastUsedAt")) or "never",
            token.get("expiresAt") or "never",
            token["name"],
        )
        for token in answer["tokens"]
    ]
    screen.table(("TOKEN", "KIND", "WHO", "USED", "EXPIRES", "NAME"), rows, empty="No tokens.")
    return Exit.OK


def revoke(args: Namespace, screen: Screen) -> int:
    """End a token at once."""
    with reach(args) as client:
        client.delete(f"/api/tokens/{segment(args.token_id)}")
    if screen.as_json:
        return screen.json({"revoked": args.token_id})
    screen.line("Revoked.")
    return Exit.OK


COMMANDS = (
    Command(
        "token create",
        "make a token",
        create,
        (
            option("kind", choices=("owner", "user", "agent", "client")),
            option("--name", help="what it is for"),
            option("--agent", metavar="ID", help="the agent an agent token speaks for"),
            option("--user", metavar="ID", help="the person a user token speaks for"),
            option("--agents", metavar="IDS", help="agents a client may reach, comma separated"),
            option("--spaces", metavar="IDS", help="spaces it may see, comma separated"),
            option("--expires", metavar="TIME", help="when it ends, e.g. 2030-01-31T12:00:00Z"),
        ),
    ),
    Command("token list", "show the tokens", list_tokens),
    Command("token revoke", "end a token", revoke, (option("token_id", metavar="TOKEN"),)),
)
