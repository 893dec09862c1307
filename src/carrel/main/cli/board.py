"""`spaces` and `topics`: how the board is divided, and what it groups tasks and messages under."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client, segment
from carrel.main.cli.command import option
from carrel.main.cli.names import LIMIT, TOPICS, exactly
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Request, Table, ago, start_of

_SPACE = option("space_id", "SPACE", "id of the space, e.g. space-work", of=exactly)
_TOPIC = option("topic_id", "TOPIC", "id of the topic, or a unique beginning of it", of=TOPICS.of)


def _all_spaces(client: Client, _: Namespace) -> Any:
    """Return the spaces of all pages as one."""
    answer = page = client.get("/api/spaces")
    while page.get("nextCursor"):
        page = client.get("/api/spaces", {"cursor": page["nextCursor"]})
        answer = {"spaces": answer["spaces"] + page["spaces"], "nextCursor": None}
    return answer


def _seen(space: dict[str, Any]) -> str:
    return ", ".join(target for target, visible in space["connectivity"].items() if visible)


def _connect(client: Client, args: Namespace) -> Any:
    """Set whether what is in one space is visible from another."""
    body = {"connectivity": {args.target: not args.off}}
    return client.patch(f"/api/spaces/{segment(args.space_id)}/connectivity", body)


def _show_connected(answer: dict[str, Any], args: Namespace, screen: Screen) -> None:
    screen.line(f"{args.space_id} sees: {_seen(answer['space']) or 'only itself'}")


def _topic(client: Client, args: Namespace) -> dict[str, Any]:
    """Return a topic with its tasks and the newest messages."""
    answer = TOPICS.of(client, args.topic_id, lambda found: client.get(f"/api/topics/{segment(found)}"))
    topic_id = answer["topic"]["id"]
    tasks = client.get("/api/tasks", {"topicId": topic_id})["tasks"]
    messages = client.get(f"/api/topics/{segment(topic_id)}/thread", {"limit": 10})["messages"]
    return {**answer, "tasks": tasks, "messages": messages}


def _show_topic(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    topic = answer["topic"]
    shown = ("id", "name", "description", "status", "spaceId", "tags", "digest", "createdAt")
    screen.facts([(name, ", ".join(topic[name]) if name == "tags" else topic[name]) for name in shown])
    screen.facts([("task", f"{task['id']}  {task['status']}  {first_line(task['title'])}") for task in answer["tasks"]])
    screen.facts([(message["authorName"], first_line(message["content"])) for message in answer["messages"]])


def _merge(client: Client, args: Namespace) -> Any:
    others = [TOPICS.of(client, name, lambda found: _id_of(client, found)) for name in args.others]
    into = {"topicIds": others}
    return TOPICS.of(client, args.topic_id, lambda found: client.post(f"/api/topics/{segment(found)}/merge", into))


def _id_of(client: Client, topic_id: str) -> str:
    return str(client.get(f"/api/topics/{segment(topic_id)}")["topic"]["id"])


def _show_merged(answer: dict[str, Any], args: Namespace, screen: Screen) -> None:
    count = len(args.others)
    screen.line(f"Merged {count} topic{'' if count == 1 else 's'} into {answer['topic']['name']}.")


_SPACES = Table("spaces", {"SPACE": "id", "NAME": start_of("name"), "SEES": _seen}, "No spaces.")
_TOPICS = Table(
    "topics",
    {"TOPIC": "id", "STATUS": "status", "SPACE": "spaceId", "AGE": ago("updatedAt"), "NAME": start_of("name")},
    "No topics yet. To create one: `carrel topics create NAME`",
)
_LOG = Table(
    "logs",
    {
        "ENTRY": "id",
        "AGE": ago("createdAt"),
        "TYPE": "type",
        "TOPIC": "topicId",
        "TASK": "taskId",
        "TEXT": start_of("content"),
    },
    "Nothing was recorded yet.",
)
COMMANDS = (
    Request("log", "list what was said and recorded, newest first", "GET /api/log", _LOG).takes(
        option("--session", "SESSION", "only what was said in this session", field="sessionKey"),
        option("--topic", "TOPIC", "only what belongs to this topic", field="topicId"),
        option("--task", "TASK", "only what belongs to this task", field="taskId"),
        option("--space", "SPACE", "only what is visible from this space", field="spaceId"),
        option("--type", "TYPE", "only entries of this type, e.g. conversation or note"),
        LIMIT,
    ),
    Request("spaces list", "list the spaces, and what is visible from each", _all_spaces, _SPACES),
    Request("spaces create", "create a space", "POST /api/spaces", "{space[id]}").takes(
        option("name", "NAME", "its name; the id follows from it"),
        option(
            "--hidden",
            action="store_false",
            field="defaultVisible",
            help="do not make it visible from the other spaces",
        ),
    ),
    Request("spaces connect", "make one space visible from another", _connect, _show_connected).takes(
        _SPACE,
        option("target", "TARGET", "id of the space that becomes visible from it"),
        option("--off", action="store_true", help="hide it instead"),
    ),
    Request("spaces rename", "give a space another name", "PATCH /api/spaces/{}", "Renamed: {space[name]}").takes(
        _SPACE, option("name", "NAME", "its new name; the id stays")
    ),
    Request(
        "spaces remove",
        "remove a space; everything in it moves to the default space",
        "DELETE /api/spaces/{}",
        "Removed.",
    ).takes(_SPACE),
    Request("topics list", "list the topics", "GET /api/topics", _TOPICS).takes(
        option("--space", "SPACE", "only what is visible from this space", field="spaceId"),
        option("--status", choices=("active", "snoozed", "archived")),
        LIMIT,
    ),
    Request("topics create", "create a topic", "POST /api/topics", "{topic[id]}").takes(
        option("name", "NAME", "its name"),
        option("--description", "TEXT", "more about it"),
        option("--tag", "TAG", "a tag, which also names a space; may be repeated", action="append", field="tags"),
        option("--space", "SPACE", "the space it belongs to", field="spaceId"),
    ),
    Request("topics rename", "give a topic another name", "PATCH /api/topics/{}", "Renamed: {topic[name]}").takes(
        _TOPIC, option("name", "NAME", "its new name")
    ),
    Request("topics merge", "merge topics into one", _merge, _show_merged).takes(
        _TOPIC, option("others", "OTHER", "topics that are merged into it, and are gone then", nargs="+")
    ),
    Request("topics split", "move entries of a topic into a new one", "POST /api/topics/{}/split", "{topic[id]}").takes(
        _TOPIC,
        option("entries", "ENTRY", "ids of entries, as `carrel log --json` shows them", nargs="+", field="entryIds"),
        option("--name", "NAME", "what the new topic is called (default: after the first entry)"),
    ),
    Request("topics show", "show a topic with its tasks and newest messages", _topic, _show_topic).takes(_TOPIC),
    Request("topics remove", "remove a topic; its tasks and messages stay", "DELETE /api/topics/{}", "Removed.").takes(
        _TOPIC
    ),
)
