"""`tasks`: create tasks, assign agents and people, write to threads, and follow what becomes of them."""

import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from carrel.bridge import Client, segment
from carrel.kernel import elapsed_seconds
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import LIMIT, TASKS, YES
from carrel.main.cli.output import Screen
from carrel.main.cli.receipts import show_reasons
from carrel.main.cli.request import Request, Table, ago, start_of
from carrel.main.cli.run_results import show_result, wait_for, wait_option

STATUSES = ("inbox", "assigned", "in_progress", "review", "done", "blocked", "archived")
# Statuses, and other boards' names for them.
_SPELLINGS = (*STATUSES, "todo", "doing", "open")
WAIT_SECONDS = 600.0
# Shown below the rest, or of no use to people; programs read it with --json.
_HIDDEN = (
    "spaceId",
    "sortIndex",
    "position",
    "boardStatus",
    "priorityLabel",
    "description",
    "metadata",
    "createdBy",
    "pinned",
)
_TAIL = 10
_TASK = option("task", "TASK", "id of the task, a unique beginning of it, or `last`", of=TASKS.of)
_LINES = option("-n --lines", "N", "messages of the thread (default: 10)", type=int, default=_TAIL)

Task = dict[str, Any]


def _find(client: Client, name: str) -> Task:
    """Return the task that an id, the beginning of one, or `last` means."""
    found: Task = TASKS.of(client, name, lambda one: client.get(f"/api/tasks/{segment(one)}"))["task"]
    return found


def _path(task: Task, *rest: str) -> str:
    return "/".join(["/api/tasks", segment(task["id"]), *rest])


def _assignees(task: Task) -> list[str]:
    return [*task["assignedAgentIds"], *task["assignedUserIds"]]


def _create(client: Client, args: Namespace) -> Any:
    """Create a task; its assignees are notified at once."""
    agents, users = _parties(client, args.assign)
    body = {"title": args.title, "description": args.description, "tags": args.tag, "id": args.id}
    body |= {"priority": args.priority, "assignedAgentIds": agents, "assignedUserIds": users}
    return client.post("/api/tasks", {name: value for name, value in body.items() if value})


def _show_created(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    task = answer["task"]
    screen.line(task["id"])
    if screen.is_terminal:
        told = f"Told {', '.join(_assignees(task))}." if _assignees(task) else "Nobody is assigned yet."
        screen.note(f"{told} To follow it: `carrel tasks watch {task['id']}`")


def _edit(client: Client, args: Namespace) -> Any:
    """Change the fields of a task that are named."""
    fields = {one.field: value for one in _FIELDS if (value := getattr(args, one.dest)) is not None}
    if not fields:
        raise Failure(Exit.USAGE, "Nothing to change; name a field, e.g. --title TEXT.")
    return TASKS.of(client, args.task, lambda found: client.patch(f"/api/tasks/{segment(found)}", fields))


def delete(args: Namespace, screen: Screen) -> int:
    """Archive a task for good, once a person has agreed."""
    if not args.yes and not sys.stdin.isatty():
        raise Failure(Exit.USAGE, "Nobody works on an archived task again; pass --yes to do it without being asked.")
    with connect(args) as client:
        task = _find(client, args.task)
        if not args.yes and not screen.agrees(f"Archive {task['title']} for good and cancel its runs?"):
            raise Failure(Exit.FAILED, "Nothing was changed.")
        answer = client.delete(_path(task))
    if screen.as_json:
        return screen.json(answer)
    screen.line("Archived; its runs are cancelled, and it can still be read.")
    return Exit.OK


def _parties(client: Client, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which of the names are agents and which are people."""
    given = list(names)
    if not given:
        return [], []
    agents = client.get("/api/agents")["agents"]
    known = {name for agent in agents for name in (agent["id"], agent["slug"])}
    return [name for name in given if name in known], [name for name in given if name not in known]


def _whole(client: Client, args: Namespace) -> Any:
    """Return a task: what it is, who works on it, the end of its thread, and why it is not moving."""
    task = _find(client, args.task)
    thread = client.get(_path(task, "thread"), {"limit": args.lines})
    return {"task": task, "thread": thread, "why": client.get(_path(task, "why"))}


def _show(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    task, thread = answer["task"], answer["thread"]
    told = task | {"priority": task["priorityLabel"]}
    screen.facts((name, value) for name, value in told.items() if name not in _HIDDEN)
    if task["description"]:
        screen.line()
        screen.line(task["description"])
    screen.line()
    _show_messages(thread["messages"], screen)
    _show_typing(thread["typing"], screen)
    _show_why(answer["why"], _, screen)


def _show_messages(messages: list[dict[str, Any]], screen: Screen) -> None:
    for message in messages:
        screen.piece(f"{message['authorName']}: ", "bold")
        screen.line(message["content"] if screen.is_terminal else " ".join(message["content"].split()))


def _show_typing(typing: list[dict[str, Any]], screen: Screen) -> None:
    for one in typing:
        screen.note(f"{one['agentId']} is working on an answer ({one['runId']}).")


def _show_status(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    cancelled = len(answer.get("cancelledRuns") or [])
    more = f", {cancelled} run{'' if cancelled == 1 else 's'} cancelled" if cancelled else ""
    screen.line(f"{answer['task']['id']} is {answer['task']['status']}{more}.")


def _assign(client: Client, args: Namespace) -> Any:
    """Assign agents and people to a task, or with --remove take them off it."""
    task = _find(client, args.task)
    agents, users = _parties(client, args.name)
    return client.post(_path(task, "assign"), {"agentIds": agents, "userIds": users, "remove": args.remove})


def _show_assigned(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    task = answer["task"]
    screen.line(f"{task['id']} is {task['status']}, assigned to {', '.join(_assignees(task)) or 'nobody'}.")


def message(args: Namespace, screen: Screen) -> int:
    """Write to a task's thread and show who was notified; with --wait, show the agents' replies too."""
    text = sys.stdin.read().rstrip("\n") if args.text == "-" else args.text
    with connect(args) as client:
        posted = client.post(_path(_find(client, args.task), "messages"), {"content": text})
        runs = [told["runId"] for told in posted["notified"] if told.get("runId")]
        if args.wait is None:
            return _show_posted(posted, screen)
        if not runs:
            screen.note("No agent was told, so no reply will come. Mention one with @, or assign one.")
        return _wait_and_show(client, posted, runs, screen, args.wait)


def _show_posted(posted: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(posted)
    rows = [(told["id"], told["type"], told.get("runId") or "") for told in posted["notified"]]
    screen.table(("TOLD", "OF", "RUN"), rows, empty="Nobody was told.")
    return Exit.OK


def _wait_and_show(client: Client, posted: dict[str, Any], runs: list[str], screen: Screen, seconds: float) -> int:
    ends_at, code, waited = elapsed_seconds() + seconds, int(Exit.OK), []
    for run_id in runs:
        run = wait_for(client, run_id, screen, seconds=max(0.0, ends_at - elapsed_seconds()))
        waited.append(run.raw)
        if not screen.as_json:
            screen.piece(f"{run.agent_id}: ", "bold")
        code = max(code, show_result(run, screen, with_reply=not screen.as_json))
    if screen.as_json:
        screen.json(posted | {"runs": waited})
    return code


def watch(args: Namespace, screen: Screen) -> int:
    """Follow a task's thread live, with who is working on an answer."""
    if screen.as_json:
        raise Failure(Exit.USAGE, "`tasks watch` is for people; programs use `carrel events --follow --json`.")
    with connect(args) as client:
        task = _find(client, args.task)
        shown = Shown()
        for _ in client.stream("/api/stream", {"taskId": task["id"]}):
            # Read the task before its thread, so that messages from before a change are shown before the change.
            changed = client.get(_path(task))["task"]
            shown.update(client.get(_path(task, "thread"), {"limit": args.lines}), screen)
            if changed["status"] != task["status"]:
                screen.note(f"The task is now {changed['status']}.")
            task = changed
    return Exit.OK


class Shown:
    """What a watcher of a thread has been shown."""

    def __init__(self) -> None:
        self._newest = 0
        self._typing: set[str] = set()

    def update(self, thread: dict[str, Any], screen: Screen) -> None:
        """Show what is new in a thread."""
        _show_messages([one for one in thread["messages"] if one["seq"] > self._newest], screen)
        # Notes are not buffered, and would come in the middle of a message.
        screen.out.flush()
        self._newest = max((one["seq"] for one in thread["messages"]), default=self._newest)
        _show_typing([one for one in thread["typing"] if one["runId"] not in self._typing], screen)
        self._typing = {one["runId"] for one in thread["typing"]}


def _show_why(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    show_reasons(answer, screen, moving="The task is moving.")


def _priority(text: str) -> int | str:
    return int(text) if text.isdigit() else text


# What `tasks edit` changes.
_FIELDS = (
    option("--title", "TEXT"),
    option("--description", "TEXT"),
    option("--priority", "P", "critical, high, medium, low or lowest, or 1 to 5", type=_priority),
    option("--tag", "TAG", "may be repeated; replaces the tags", action="append", field="tags"),
    option("--due", "TIME", "when it is due, e.g. 2030-01-31T12:00:00Z", field="dueDate"),
    option("--topic", "TOPIC", "the topic it is about", field="topicId"),
    option("--space", "SPACE", "the space it belongs to", field="spaceId"),
)
_LIST = Table(
    "tasks",
    {
        "TASK": "id",
        "STATUS": "status",
        "PRIORITY": "priorityLabel",
        "ASSIGNED": _assignees,
        "CHANGED": ago("updatedAt"),
        "TITLE": start_of("title"),
    },
    "No tasks yet. To create one: `carrel tasks create TITLE --assign main`",
)
COMMANDS = (
    Request("tasks list", "list tasks", "GET /api/tasks", _LIST).takes(
        option("--status", "STATUS", f"{', '.join(STATUSES)}, or open: all that are left", choices=_SPELLINGS),
        option("--assignee", "NAME", "only tasks of this agent or person", field="assigneeId"),
        option("--tag", "TAG"),
        option("--archived", action="store_const", const=True, field="includeArchived", help="include archived tasks"),
        LIMIT,
    ),
    Request("tasks show", "show one task, its thread, and why it is not moving", _whole, _show).takes(_TASK, _LINES),
    Request("tasks create", "create a task", _create, _show_created).takes(
        option("title", "TITLE"),
        option("--assign", "NAME", "agent or person; may be repeated", action="append", default=[]),
        option("--description", "TEXT"),
        option("--priority", "P", "critical, high, medium, low or lowest, or 1 to 5", type=_priority),
        option("--tag", "TAG", "may be repeated", action="append", default=[]),
        option("--id", "ID", "an id of your own choice"),
    ),
    Request("tasks move", "move a task to a status", "PATCH /api/tasks/{}", _show_status).takes(
        _TASK,
        option("status", "STATUS", ", ".join(STATUSES), choices=_SPELLINGS),
        option("--reason", "TEXT", "why it is blocked", field="blockedReason"),
        option("--before", "OTHER", "put it before this task of the column", field="beforeId"),
        option("--after", "OTHER", "put it after this task of the column", field="afterId"),
    ),
    Request("tasks edit", "change a task", _edit, "{task[id]}: {task[title]}").takes(_TASK, *_FIELDS),
    Command("tasks delete", "archive a task for good; it can still be read", delete).takes(_TASK, YES),
    Request("tasks done", "mark a task as done", "PATCH /api/tasks/{}", _show_status, sends={"status": "done"}).takes(
        _TASK
    ),
    Request("tasks reopen", "reopen a task that is done", "POST /api/tasks/{}/reopen", _show_status).takes(_TASK),
    Request("tasks assign", "assign agents and people to a task", _assign, _show_assigned).takes(
        _TASK,
        option("name", "NAME", "agents and people, by id or slug", nargs="+"),
        option("--remove", action="store_true", help="take them off the task"),
    ),
    Command("tasks message", "write to a task's thread", message).takes(
        _TASK, option("text", "TEXT", "the message; - reads it from stdin"), wait_option(WAIT_SECONDS)
    ),
    Command("tasks watch", "follow a task's thread live", watch).takes(_TASK, _LINES),
    Request("tasks stop", "cancel the work on a task and block it", "POST /api/tasks/{}/stop", _show_status).takes(
        _TASK
    ),
    Request("tasks why", "explain why a task is not moving", "GET /api/tasks/{}/why", _show_why).takes(_TASK),
)
