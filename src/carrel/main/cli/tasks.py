"""`tasks`: create tasks, assign agents and people, write to threads, and follow what becomes of them."""

from argparse import Namespace
from functools import partial
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import LIMIT, MESSAGE, Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen
from carrel.main.cli.receipts import show_reasons
from carrel.main.cli.request import Item, Table, given_fields, request
from carrel.main.cli.resource import Resource
from carrel.main.cli.run_results import wait_option

STATUSES = ("inbox", "assigned", "in_progress", "review", "done", "blocked", "archived")
# Statuses, and other boards' names for them.
_SPELLINGS = (*STATUSES, "todo", "doing", "open")


def _assignees(task: Item) -> list[str]:
    return [*task["assignedAgentIds"], *task["assignedUserIds"]]


TASKS = Resource(
    "tasks", "create tasks, assign agents and follow their work", "/api/tasks", "task",
    {"TASK": "id", "STATUS": "status", "PRIORITY": "priorityLabel", "ASSIGNED": _assignees, "CHANGED": "updatedAt",
     "TITLE": "title…"},
    prefix="task_", query={"limit": 500, "includeArchived": True}, order="newest first",
    empty="No tasks yet. To create one: `carrel tasks create TITLE --assign main`", below=("description",),
    hidden=("spaceId", "sortIndex", "position", "boardStatus", "priorityLabel", "metadata", "createdBy", "pinned"),
)  # fmt: skip
_LINES = option("-n --lines", "N", "messages of the thread (default: 10)", type=int, default=10)
_TOLD = Table("notified", {"TOLD": "id", "OF": "type", "RUN": "runId"}, "Nobody was told.")
_show_why = partial(show_reasons, moving="The task is moving.")


def _create(client: Client, args: Namespace) -> Any:
    """Create a task; its assignees are notified at once."""
    agents, users = _parties(client, args.assign or [])
    assigned = {"assignedAgentIds": agents, "assignedUserIds": users}
    return client.post("/api/tasks", given_fields(_NEW, args) | {name: ids for name, ids in assigned.items() if ids})


def _hint(answer: Item) -> str:
    assignees = ", ".join(_assignees(answer["task"]))
    told = f"Told {assignees}." if assignees else "Nobody is assigned yet."
    return f"{told} To follow it: `carrel tasks watch {answer['task']['id']}`"


def _parties(client: Client, names: list[str]) -> tuple[list[str], list[str]]:
    """Return which of the names are agents and which are people."""
    agents = client.get("/api/agents")["agents"] if names else []
    known = {name for agent in agents for name in (agent["id"], agent["slug"])}
    return [name for name in names if name in known], [name for name in names if name not in known]


def _task(client: Client, args: Namespace) -> Any:
    return TASKS.read(client, args.task_id)["task"]


def _whole(client: Client, args: Namespace) -> Any:
    """Return a task: what it is, who works on it, the end of its thread, and why it is not moving."""
    task = _task(client, args)
    thread = client.get(TASKS.at(task["id"], "thread"), {"limit": args.lines})
    return {"task": task, "thread": thread, "why": client.get(TASKS.at(task["id"], "why"))}


def _show(answer: Item, args: Namespace, screen: Screen) -> None:
    task = answer["task"]
    TASKS.show({"task": task | {"priority": task["priorityLabel"]}}, args, screen)
    screen.line()
    _show_messages(answer["thread"]["messages"], screen)
    _show_typing(answer["thread"]["typing"], screen)
    _show_why(answer["why"], args, screen)


def _show_messages(messages: list[Item], screen: Screen) -> None:
    for message in messages:
        screen.piece(f"{message['authorName']}: ", "bold")
        screen.line(message["content"] if screen.is_terminal else " ".join(message["content"].split()))


def _show_typing(typing: list[Item], screen: Screen) -> None:
    for one in typing:
        screen.note(f"{one['agentId']} is working on an answer ({one['runId']}).")


def _show_status(answer: Item, *_: object) -> str:
    cancelled = len(answer.get("cancelledRuns") or [])
    more = f", {cancelled} run{'' if cancelled == 1 else 's'} cancelled" if cancelled else ""
    return f"{answer['task']['id']} is {answer['task']['status']}{more}."


def _assign(client: Client, args: Namespace) -> Any:
    agents, users = _parties(client, args.name)
    body = {"agentIds": agents, "userIds": users, "remove": args.remove}
    return client.post(TASKS.at(_task(client, args)["id"], "assign"), body)


def _show_assigned(answer: Item, *_: object) -> str:
    task = answer["task"]
    return f"{task['id']} is {task['status']}, assigned to {', '.join(_assignees(task)) or 'nobody'}."


def watch(args: Namespace, screen: Screen) -> None:
    if screen.as_json:
        raise Failure(Exit.USAGE, "`tasks watch` is for people; programs use `carrel events --follow --json`.")
    with connect(args) as client:
        task = _task(client, args)
        newest, typing = 0, set[str]()
        for _ in client.stream("/api/stream", {"taskId": task["id"]}):
            # Read the task before its thread, so that messages from before a change are shown before the change.
            changed = client.get(TASKS.at(task["id"]))["task"]
            thread = client.get(TASKS.at(task["id"], "thread"), {"limit": args.lines})
            _show_messages([one for one in thread["messages"] if one["seq"] > newest], screen)
            # Notes are not buffered, and would come in the middle of a message.
            screen.out.flush()
            newest = max((one["seq"] for one in thread["messages"]), default=newest)
            _show_typing([one for one in thread["typing"] if one["runId"] not in typing], screen)
            typing = {one["runId"] for one in thread["typing"]}
            if changed["status"] != task["status"]:
                screen.note(f"The task is now {changed['status']}.")
            task = changed


_FIELDS = (
    option("--description", "TEXT"),
    option(
        "--priority",
        "P",
        "critical, high, medium, low or lowest, or 1 to 5",
        type=lambda text: int(text) if text.isdigit() else text,
    ),
    option("--tag", "TAG", "all its tags; may be repeated", action="append", field="tags"),
    option("--due", "TIME", "when it is due, e.g. 2030-01-31T12:00:00Z", field="dueDate"),
    option("--topic", "TOPIC", "the topic it is about", field="topicId"),
    option("--space", "SPACE", "the space it belongs to", field="spaceId"),
)
_NEW = (option("title", "TITLE"), *_FIELDS, option("--id", "ID", "an id of your own choice"))
RESOURCES = (TASKS,)
COMMANDS = (
    TASKS.lists(
        "",
        option("--status", "STATUS", f"{', '.join(STATUSES)}, or open: all that are left", choices=_SPELLINGS),
        option("--assignee", "NAME", "only tasks of this agent or person", field="assigneeId"),
        option("--tag", "TAG"),
        option("--archived", "", "include archived tasks", action="store_const", const=True, field="includeArchived"),
        LIMIT,
        examples=("--status doing", "--assignee main"),
    ),
    TASKS.shows("show one task, its thread, and why it is not moving", _LINES, asks=_whole, show=_show),
    TASKS.creates(
        "",
        *_NEW,
        option("--assign", "NAME", "agent or person; may be repeated", action="append", field=""),
        asks=_create,
        hint=_hint,
        examples=('"Write the report" --assign main --priority high',),
    ),
    TASKS.does(
        "move", "move a task to a status", "PATCH", _show_status,
        option("status", "STATUS", ", ".join(STATUSES), choices=_SPELLINGS[:-1]),
        option("--reason", "TEXT", "why it is blocked", field="blockedReason"),
        option("--before", "OTHER_TASK", "put it before this task of the column", of=TASKS.of, field="beforeId"),
        option("--after", "OTHER_TASK", "put it after this task of the column", of=TASKS.of, field="afterId"),
        examples=("last review", 'last blocked --reason "no data yet"'),
    ),
    TASKS.edits(
        option("--title", "TEXT"), *_FIELDS, option("--status", "STATUS", ", ".join(STATUSES), choices=_SPELLINGS[:-1]),
        show="{task[id]}: {task[title]}", examples=("last --due 2030-01-31T12:00:00Z", "last --set pinned=true"),
    ),
    TASKS.deletes(
        "archive a task for good; it can still be read", "Archived; its runs are cancelled, and it can still be read.",
        question="Archive {task[title]} for good and cancel its runs?",
    ),
    TASKS.does("done", "mark a task as done", "PATCH", _show_status, sends={"status": "done"}),
    TASKS.does("reopen", "reopen a task that is done", "POST reopen", _show_status),
    TASKS.does(
        "assign", "assign agents and people to a task", _assign, _show_assigned,
        option("name", "NAME", "agents and people, by id or slug", nargs="+"),
        option("--remove", "", "take them off the task", action="store_true"),
    ),
    TASKS.does(
        "message", "write to a task's thread", "POST messages", _TOLD.show, MESSAGE, wait_option(600.0),
        examples=('last "@main What is missing?" --wait',),
    ),
    command("tasks watch", "follow a task's thread live", watch, TASKS.named(), _LINES),
    TASKS.does("stop", "cancel the work on a task and block it", "POST stop", _show_status),
    TASKS.does("why", "explain why a task is not moving", "GET why", _show_why),
    request("tasks digest", "renew the summary of a task now", "POST /api/digests/run", "It is being renewed.",
            TASKS.named()),
)  # fmt: skip
