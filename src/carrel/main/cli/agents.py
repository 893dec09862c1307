"""`agents`: the agents of the account."""

import json
from argparse import Namespace
from typing import Any

from carrel.bridge import segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.connection import reach
from carrel.main.cli.output import Screen

_ID = option("agent_id", metavar="AGENT", help="id of the agent")
_WORDS = {
    "name": "name",
    "description": "description",
    "gateway": "gateway",
    "model": "model",
    "thinking": "thinking",
    "instructions": "instructionsExtra",
}
_FIELDS = (
    option("--name"),
    option("--description"),
    option("--gateway", metavar="NAME", help="a gateway of the settings"),
    option("--model"),
    option("--thinking", choices=("off", "minimal", "low", "medium", "high")),
    option("--instructions", metavar="TEXT", help="what it is told beside the standing instructions"),
    option("--set", action="append", default=[], metavar="FIELD=JSON", help="any other field, e.g. sandbox=on"),
)


def list_agents(args: Namespace, screen: Screen) -> int:
    """Show the agents."""
    with reach(args) as client:
        answer = client.get("/api/agents")
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (agent["id"], agent["status"], agent.get("gateway") or "default", agent.get("model") or "", agent["name"])
        for agent in answer["agents"]
    ]
    screen.table(("AGENT", "STATUS", "GATEWAY", "MODEL", "NAME"), rows, empty="No agents.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show everything about one agent."""
    with reach(args) as client:
        return _show(client.get(f"/api/agents/{segment(args.agent_id)}"), screen)


def create(args: Namespace, screen: Screen) -> int:
    """Make an agent."""
    with reach(args) as client:
        return _show(client.post("/api/agents", {"id": args.agent_id, **_fields(args)}), screen)


def update(args: Namespace, screen: Screen) -> int:
    """Change an agent."""
    fields = _fields(args)
    if not fields:
        raise Failure(Exit.USAGE, "Say what to change, e.g. --model NAME.")
    with reach(args) as client:
        return _show(client.patch(f"/api/agents/{segment(args.agent_id)}", fields), screen)


def disable(args: Namespace, screen: Screen) -> int:
    """Send an agent home: its sessions close and what waits for it is cancelled."""
    with reach(args) as client:
        answer = client.delete(f"/api/agents/{segment(args.agent_id)}")
    if screen.as_json:
        return screen.json(answer or {"disabled": args.agent_id})
    screen.line(f"Disabled; `carrel agents update {args.agent_id} --set enabled=true` brings it back.")
    return Exit.OK


def _fields(args: Namespace) -> dict[str, Any]:
    fields = {field: getattr(args, word) for word, field in _WORDS.items() if getattr(args, word) is not None}
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
    screen.facts(list(answer["agent"].items()))
    return Exit.OK


COMMANDS = (
    Command("agents list", "show the agents", list_agents),
    Command("agents show", "show one agent", show, (_ID,)),
    Command("agents create", "make an agent", create, (_ID, *_FIELDS)),
    Command("agents update", "change an agent", update, (_ID, *_FIELDS)),
    Command("agents disable", "send an agent home", disable, (_ID,)),
)
