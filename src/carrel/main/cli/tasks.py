"""`tasks`: create tasks, assign agents and people, write to threads, and follow what becomes of them."""

import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from carrel.bridge import Client, segment
from carrel.kernel import elapsed_seconds
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import TASKS, of
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.receipts import show_reasons
from carrel.main.cli.run_results import show_result, wait_for, wait_option
from carrel.main.cli.wording import age

STATUSES = ("inbox", "assigned", "in_progress", "review", "done", "blocked", "archived")
WAIT_SECONDS = 600.0
# What is shown below the rest, or says nothing to people; programs read it with --json.
_HIDDEN = ("spaceId", "sortIndex", "boardStatus", "priorityLabel", "description", "metadata", "createdBy", "pinned")
_TAIL = 10
_TASK = option("task", metavar="TASK", help="id of the task, cut to what is unique, or `last`")
_LINES = option("-n", "--lines", type=int, default=_TAIL, metavar="N", help="messages of the thread (default: 10)")

Task = dict[str, Any]


def _find(client: Client, name: str) -> Task:
    """Return the task that an id, the beginning of one, or `last` means."""
    found: Task = of(client, TASKS, name, client.get)["task"]
    return found


def _path(task: Task, *rest: str) -> str:
    return "/".join(["/api/tasks", segment(task["id"]), *rest])


def list_tasks(args: Namespace, screen: Screen) -> int:
    """List tasks, newest first."""
    query = {"status": args.status, "assigneeId": args.assignee, "tag": args.tag, "limit": args.limit}
    with connect(args) as client:
        answer = client.get("/api/tasks", query | {"includeArchived": args.archived or None})
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (task["id"], task["status"], task["priorityLabel"], _assignees(task), age(task["updatedAt"]), _title(task))
        for task in answer["tasks"]
    ]
    headers = ("TASK", "STATUS", "PRIORITY", "ASSIGNED", "CHANGED", "TITLE")
    screen.table(headers, rows, empty="No tasks yet. To create one: `carrel tasks create TITLE --assign main`")
    return Exit.OK


def _assignees(task: Task) -> list[str]:
    return [*task["assignedAgentIds"], *task["assignedUserIds"]]


def _title(task: Task) -> str:
    return first_line(task["title"])


def create(args: Namespace, screen: Screen) -> int:
    """Create a task; whoever is assigned is told at once."""
    body = {"title": args.title, "description": args.description, "tags": args.tag, "id": args.id}
    if args.priority is not None:
        body["priority"] = int(args.priority) if args.priority.isdigit() else args.priority
    with connect(args) as client:
        agents, users = _parties(client, args.assign)
        named = {"assignedAgentIds": agents, "assignedUserIds": users}
        answer = client.post("/api/tasks", {name: value for name, value in (body | named).items() if value})
    if screen.as_json:
        return screen.json(answer)
    task = answer["task"]
    screen.line(task["id"])
    if screen.is_terminal:
        told = f"Told {', '.join(_assignees(task))}." if _assignees(task) else "Nobody is assigned yet."
        screen.note(f"{told} To follow it: `carrel tasks watch {task['id']}`")
    return Exit.OK


def _parties(client: Client, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which of the names are agents and which are people."""
    given = list(names)
    if not given:
        return [], []
    agents = client.get("/api/agents")["agents"]
    known = {name for agent in agents for name in (agent["id"], agent["slug"])}
    return [name for name in given if name in known], [name for name in given if name not in known]


def show(args: Namespace, screen: Screen) -> int:
    """Show a task: what it is, who works on it, the end of its thread, and why it is not moving."""
    with connect(args) as client:
        task = _find(client, args.task)
        thread = client.get(_path(task, "thread"), {"limit": args.lines})
        why = client.get(_path(task, "why"))
    if screen.as_json:
        return screen.json({"task": task, "thread": thread, "why": why})
    told = task | {"priority": task["priorityLabel"]}
    screen.facts((name, value) for name, value in told.items() if name not in _HIDDEN)
    if task["description"]:
        screen.line()
        screen.line(task["description"])
    screen.line()
    _show_messages(thread["messages"], screen)
    _show_typing(thread["typing"], screen)
    show_reasons(why, screen, moving="The task is moving.")
    return Exit.OK


def _show_messages(messages: list[dict[str, Any]], screen: Screen) -> None:
    for message in messages:
        name = screen.paint("bold", f"{message['authorName']}:")
        text = message["content"] if screen.is_terminal else " ".join(message["content"].split())
        screen.line(f"{name} {text}")


def _show_typing(typing: list[dict[str, Any]], screen: Screen) -> None:
    for one in typing:
        screen.note(f"{one['agentId']} is working on an answer ({one['runId']}).")


def move(args: Namespace, screen: Screen) -> int:
    """Move a task to a status, along the legal steps in between."""
    return _move(args, screen, args.status, args.reason)


def done(args: Namespace, screen: Screen) -> int:
    """Mark a task as done; its sessions are closed."""
    return _move(args, screen, "done", None)


def _move(args: Namespace, screen: Screen, status: str, reason: str | None) -> int:
    body = {"status": status} | ({} if reason is None else {"blockedReason": reason})
    with connect(args) as client:
        return _show_status(client.patch(_path(_find(client, args.task)), body), screen)


def reopen(args: Namespace, screen: Screen) -> int:
    """Move a task that is done back to review; its agents begin anew."""
    return _act(args, screen, "reopen")


def stop(args: Namespace, screen: Screen) -> int:
    """Cancel everything that runs or waits on a task, and block it."""
    return _act(args, screen, "stop")


def _act(args: Namespace, screen: Screen, act: str) -> int:
    with connect(args) as client:
        return _show_status(client.post(_path(_find(client, args.task), act)), screen)


def _show_status(answer: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(answer)
    cancelled = len(answer.get("cancelledRuns") or [])
    more = f", {cancelled} run{'' if cancelled == 1 else 's'} cancelled" if cancelled else ""
    screen.line(f"{answer['task']['id']} is {answer['task']['status']}{more}.")
    return Exit.OK


def assign(args: Namespace, screen: Screen) -> int:
    """Assign agents and people to a task, or with --remove take them off it."""
    with connect(args) as client:
        task = _find(client, args.task)
        agents, users = _parties(client, args.name)
        answer = client.post(_path(task, "assign"), {"agentIds": agents, "userIds": users, "remove": args.remove})
    if screen.as_json:
        return screen.json(answer)
    names = ", ".join(_assignees(answer["task"])) or "nobody"
    screen.line(f"{task['id']} is {answer['task']['status']}, assigned to {names}.")
    return Exit.OK


def message(args: Namespace, screen: Screen) -> int:
    """Write to a task's thread and show who was told; with --wait, show the replies of agents too."""
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
            screen.piece(screen.paint("bold", f"{run.agent_id}: "))
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
            shown.update(client.get(_path(task, "thread"), {"limit": args.lines}), screen)
            changed = client.get(_path(task))["task"]
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
        self._newest = max((one["seq"] for one in thread["messages"]), default=self._newest)
        _show_typing([one for one in thread["typing"] if one["runId"] not in self._typing], screen)
        self._typing = {one["runId"] for one in thread["typing"]}
        screen.out.flush()


def why(args: Namespace, screen: Screen) -> int:
    """Explain why a task is not moving, and what would help."""
    with connect(args) as client:
        answer = client.get(_path(_find(client, args.task), "why"))
    if screen.as_json:
        return screen.json(answer)
    show_reasons(answer, screen, moving="The task is moving.")
    return Exit.OK


COMMANDS = (
    Command(
        "tasks list",
        "list tasks",
        list_tasks,
        (
            option("--status", choices=(*STATUSES, "todo", "doing")),
            option("--assignee", metavar="NAME", help="only tasks of this agent or person"),
            option("--tag", metavar="TAG"),
            option("--archived", action="store_true", help="include archived tasks"),
            option("--limit", type=int, default=50, metavar="N"),
        ),
    ),
    Command("tasks show", "show one task, its thread, and why it is not moving", show, (_TASK, _LINES)),
    Command(
        "tasks create",
        "create a task",
        create,
        (
            option("title", metavar="TITLE"),
            option("--assign", action="append", default=[], metavar="NAME", help="agent or person; may be repeated"),
            option("--description", metavar="TEXT"),
            option("--priority", metavar="P", help="critical, high, medium, low or lowest, or 1 to 5"),
            option("--tag", action="append", default=[], metavar="TAG", help="may be repeated"),
            option("--id", metavar="ID", help="an id of your own choice"),
        ),
    ),
    Command(
        "tasks move",
        "move a task to a status",
        move,
        (
            _TASK,
            option("status", choices=(*STATUSES, "todo", "doing"), metavar="STATUS", help=", ".join(STATUSES)),
            option("--reason", metavar="TEXT", help="why it is blocked"),
        ),
    ),
    Command("tasks done", "mark a task as done", done, (_TASK,)),
    Command("tasks reopen", "reopen a task that is done", reopen, (_TASK,)),
    Command(
        "tasks assign",
        "assign agents and people to a task",
        assign,
        (
            _TASK,
            option("name", nargs="+", metavar="NAME", help="agents and people, by id or slug"),
            option("--remove", action="store_true", help="take them off the task"),
        ),
    ),
    Command(
        "tasks message",
        "write to a task's thread",
        message,
        (_TASK, option("text", metavar="TEXT", help="the message; - reads it from stdin"), wait_option(WAIT_SECONDS)),
    ),
    Command("tasks watch", "follow a task's thread live", watch, (_TASK, _LINES)),
    Command("tasks stop", "cancel the work on a task and block it", stop, (_TASK,)),
    Command("tasks why", "explain why a task is not moving", why, (_TASK,)),
)
