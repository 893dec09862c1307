"""`token`: create, list and revoke tokens."""

from argparse import Namespace

from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import TOKENS, of
from carrel.main.cli.output import Screen
from carrel.main.cli.wording import age, distance


def create(args: Namespace, screen: Screen) -> int:
    """Create a token; its secret is shown only once."""
    if args.kind in ("agent", "user") and getattr(args, args.kind) is None:
        raise Failure(Exit.USAGE, f"A token of kind {args.kind} needs --{args.kind}: whom it acts for.")
    body = {
        "kind": args.kind,
        "name": args.name or f"{args.kind} token",
        "agentId": args.agent,
        "userId": args.user,
        "agentIds": args.agents.split(",") if args.agents else None,
        "spaceIds": args.spaces.split(",") if args.spaces else None,
        "expiresAt": args.expires,
    }
    with connect(args) as client:
        answer = client.post("/api/tokens", {name: value for name, value in body.items() if value is not None})
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["secret"])
    screen.note(f"Save it now; it is not shown again. Token id: {answer['token']['id']}")
    return Exit.OK


def list_tokens(args: Namespace, screen: Screen) -> int:
    """List the tokens, without their secrets."""
    with connect(args) as client:
        answer = client.get("/api/tokens")
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (
            token["id"],
            token["kind"],
            token.get("agentId") or token.get("userId") or "",
            age(token.get("lastUsedAt")) or "never",
            distance(token.get("expiresAt")) or "never",
            token["name"],
        )
        for token in answer["tokens"]
    ]
    screen.table(("TOKEN", "KIND", "WHO", "USED", "EXPIRES", "NAME"), rows, empty="No tokens.")
    return Exit.OK


def revoke(args: Namespace, screen: Screen) -> int:
    """Revoke a token with immediate effect."""
    with connect(args) as client:
        of(client, TOKENS, args.token_id, client.delete)
    if screen.as_json:
        return screen.json({"revoked": args.token_id})
    screen.line("Revoked.")
    return Exit.OK


COMMANDS = (
    Command(
        "token create",
        "create a token",
        create,
        (
            option("kind", choices=("owner", "user", "agent", "client")),
            option("--name", help="what it is for"),
            option("--agent", metavar="AGENT", help="the agent that an agent token acts for"),
            option("--user", metavar="ID", help="the person that a user token acts for"),
            option("--agents", metavar="IDS", help="agents that a client may use, comma-separated"),
            option("--spaces", metavar="IDS", help="spaces that a person or agent is limited to, comma-separated"),
            option("--expires", metavar="TIME", help="expiry time, e.g. 2030-01-31T12:00:00Z"),
        ),
    ),
    Command("token list", "list tokens", list_tokens),
    Command(
        "token revoke",
        "revoke a token",
        revoke,
        (option("token_id", metavar="TOKEN", help="id of the token, cut to what is unique"),),
    ),
)
