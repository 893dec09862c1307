"""`spaces` and `topics`: how the board is divided, and what it groups tasks and messages under."""

from argparse import Namespace
from typing import Any

from carrel.bridge import segment
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import TOPICS, of
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age

_SPACE = option("space_id", metavar="SPACE", help="id of the space, e.g. space-work")
_TOPIC = option("topic_id", metavar="TOPIC", help="id of the topic, cut to what is unique")


def list_spaces(args: Namespace, screen: Screen) -> int:
    """List the spaces, and what is visible from each."""
    with connect(args) as client:
        answer = client.get("/api/spaces")
    if screen.as_json:
        return screen.json(answer)
    rows = [(space["id"], first_line(space["name"]), _seen(space)) for space in answer["spaces"]]
    screen.table(("SPACE", "NAME", "SEES"), rows, empty="No spaces.")
    return Exit.OK


def _seen(space: dict[str, Any]) -> str:
    return ", ".join(target for target, visible in space["connectivity"].items() if visible)


def create_space(args: Namespace, screen: Screen) -> int:
    """Create a space."""
    with connect(args) as client:
        answer = client.post("/api/spaces", {"name": args.name, "defaultVisible": not args.hidden})
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["space"]["id"])
    return Exit.OK


def connect_space(args: Namespace, screen: Screen) -> int:
    """Set whether what is in one space is visible from another."""
    body = {"connectivity": {args.target: not args.off}}
    with connect(args) as client:
        answer = client.patch(f"/api/spaces/{segment(args.space_id)}/connectivity", body)
    if screen.as_json:
        return screen.json(answer)
    screen.line(f"{args.space_id} sees: {_seen(answer['space']) or 'only itself'}")
    return Exit.OK


def remove_space(args: Namespace, screen: Screen) -> int:
    """Remove a space; everything in it moves to the default space."""
    with connect(args) as client:
        client.delete(f"/api/spaces/{segment(args.space_id)}")
    return _removed(args.space_id, screen)


def list_topics(args: Namespace, screen: Screen) -> int:
    """List the topics, in the order of the board."""
    query = {"spaceId": args.space, "status": args.status, "limit": args.limit}
    with connect(args) as client:
        answer = client.get("/api/topics", {name: value for name, value in query.items() if value is not None})
    if screen.as_json:
        return screen.json(answer)
    rows = [(topic["id"], topic["status"], topic["spaceId"], age(topic["updatedAt"]), first_line(topic["name"]))
            for topic in answer["topics"]]  # fmt: skip
    empty = "No topics yet. To create one: `carrel topics create NAME`"
    screen.table(("TOPIC", "STATUS", "SPACE", "AGE", "NAME"), rows, empty=empty)
    return Exit.OK


def create_topic(args: Namespace, screen: Screen) -> int:
    """Create a topic."""
    body = {"name": args.name, "description": args.description, "tags": args.tag, "spaceId": args.space}
    with connect(args) as client:
        answer = client.post("/api/topics", {name: value for name, value in body.items() if value is not None})
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["topic"]["id"])
    return Exit.OK


def show_topic(args: Namespace, screen: Screen) -> int:
    """Show a topic with its tasks and the newest messages."""
    with connect(args) as client:
        answer = of(client, TOPICS, args.topic_id, client.get)
        topic_id = answer["topic"]["id"]
        tasks = client.get("/api/tasks", {"topicId": topic_id})["tasks"]
        messages = client.get(f"/api/topics/{segment(topic_id)}/thread", {"limit": 10})["messages"]
    if screen.as_json:
        return screen.json(answer | {"tasks": tasks, "messages": messages})
    topic = answer["topic"]
    shown = ("id", "name", "description", "status", "spaceId", "tags", "digest", "createdAt")
    screen.facts([(name, ", ".join(topic[name]) if name == "tags" else topic[name]) for name in shown])
    screen.facts([("task", f"{task['id']}  {task['status']}  {first_line(task['title'])}") for task in tasks])
    screen.facts([(message["authorName"], first_line(message["content"])) for message in messages])
    return Exit.OK


def remove_topic(args: Namespace, screen: Screen) -> int:
    """Remove a topic; its tasks and messages stay."""
    with connect(args) as client:
        of(client, TOPICS, args.topic_id, client.delete)
    return _removed(args.topic_id, screen)


def _removed(name: str, screen: Screen) -> int:
    if screen.as_json:
        return screen.json({"removed": name})
    screen.line("Removed.")
    return Exit.OK


COMMANDS = (
    Command("spaces list", "list the spaces, and what is visible from each", list_spaces),
    Command(
        "spaces create",
        "create a space",
        create_space,
        (
            option("name", metavar="NAME", help="its name; the id follows from it"),
            option("--hidden", action="store_true", help="do not make it visible from the other spaces"),
        ),
    ),
    Command(
        "spaces connect",
        "make one space visible from another",
        connect_space,
        (
            _SPACE,
            option("target", metavar="TARGET", help="id of the space that becomes visible from it"),
            option("--off", action="store_true", help="hide it instead"),
        ),
    ),
    Command("spaces remove", "remove a space; everything in it moves to the default space", remove_space, (_SPACE,)),
    Command(
        "topics list",
        "list the topics",
        list_topics,
        (
            option("--space", metavar="SPACE", help="only what is visible from this space"),
            option("--status", choices=("active", "snoozed", "archived")),
            option("--limit", type=int, default=50, metavar="N"),
        ),
    ),
    Command(
        "topics create",
        "create a topic",
        create_topic,
        (
            option("name", metavar="NAME", help="its name"),
            option("--description", metavar="TEXT", help="more about it"),
            option("--tag", action="append", metavar="TAG", help="a tag, which also names a space; may be repeated"),
            option("--space", metavar="SPACE", help="the space it belongs to"),
        ),
    ),
    Command("topics show", "show a topic with its tasks and newest messages", show_topic, (_TOPIC,)),
    Command("topics remove", "remove a topic; its tasks and messages stay", remove_topic, (_TOPIC,)),
)
