"""`agents`: list and change the account's agents."""

import json
from argparse import Namespace
from typing import Any

from carrel.bridge import segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import of_agent
from carrel.main.cli.output import Screen

_ID = option("agent_id", metavar="AGENT", help="id of the agent")
_FIELD_OF = {
    "name": "name",
    "description": "description",
    "gateway": "gateway",
    "model": "model",
    "thinking": "thinking",
    "instructions": "instructionsExtra",
}
_OPTIONS = (
    option("--name"),
    option("--description"),
    option("--gateway", metavar="NAME", help="a gateway from the settings"),
    option("--model"),
    option("--thinking", choices=("off", "minimal", "low", "medium", "high")),
    option("--instructions", metavar="TEXT", help="added to the standing instructions"),
    option("--set", action="append", default=[], metavar="FIELD=JSON", help="set any other field, e.g. sandbox=on"),
)


def list_agents(args: Namespace, screen: Screen) -> int:
    """List the agents."""
    with connect(args) as client:
        answer = client.get("/api/agents")
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (agent["id"], agent["status"], agent.get("gateway") or "default", agent.get("model") or "", agent["name"])
        for agent in answer["agents"]
    ]
    screen.table(("AGENT", "STATUS", "GATEWAY", "MODEL", "NAME"), rows, empty="No agents yet.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show one agent in full."""
    with connect(args) as client:
        return _show(of_agent(client, args.agent_id, lambda: client.get(_path(args))), screen)


def create(args: Namespace, screen: Screen) -> int:
    """Create an agent."""
    with connect(args) as client:
        return _show(client.post("/api/agents", {"id": args.agent_id, **_fields(args)}), screen)


def update(args: Namespace, screen: Screen) -> int:
    """Change an agent."""
    fields = _fields(args)
    if not fields:
        raise Failure(Exit.USAGE, "Nothing to change; name a field, e.g. --model NAME.")
    with connect(args) as client:
        return _show(of_agent(client, args.agent_id, lambda: client.patch(_path(args), fields)), screen)


def disable(args: Namespace, screen: Screen) -> int:
    """Disable an agent: close its sessions and cancel its queued runs."""
    with connect(args) as client:
        answer = of_agent(client, args.agent_id, lambda: client.delete(_path(args)))
    if screen.as_json:
        return screen.json(answer or {"disabled": args.agent_id})
    screen.line(f"Disabled. To enable it again: `carrel agents update {args.agent_id} --set enabled=true`")
    return Exit.OK


def _path(args: Namespace) -> str:
    return f"/api/agents/{segment(args.agent_id)}"


def _fields(args: Namespace) -> dict[str, Any]:
    fields = {field: getattr(args, word) for word, field in _FIELD_OF.items() if getattr(args, word) is not None}
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


def _show(answer: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(answer)
    screen.facts(answer["agent"].items())
    return Exit.OK


COMMANDS = (
    Command("agents list", "list agents", list_agents),
    Command("agents show", "show one agent", show, (_ID,)),
    Command("agents create", "create an agent", create, (_ID, *_OPTIONS)),
    Command("agents update", "change an agent", update, (_ID, *_OPTIONS)),
    Command("agents disable", "disable an agent", disable, (_ID,)),
    Command("agents delete", "disable an agent; what it did stays", disable, (_ID,)),
)
