"""`goals`: what sessions are to achieve."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import GOALS, MAIN, of
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age

_ID = option("goal_id", metavar="GOAL", help="id of the goal, cut to what is unique")
_SESSION = option("--session", default=MAIN, metavar="SESSION", help="session key (default: main)")


def list_goals(args: Namespace, screen: Screen) -> int:
    """List the goals of a session."""
    with connect(args) as client:
        answer = client.get("/api/goals", {"sessionId": args.session, "limit": args.limit})
    if screen.as_json:
        return screen.json(answer)
    rows = [(goal["id"], goal["status"], _count(goal), age(goal["updatedAt"]), first_line(goal["name"]))
            for goal in answer["goals"]]  # fmt: skip
    empty = "No goals yet. To create one: `carrel goals create NAME`"
    screen.table(("GOAL", "STATUS", "TASKS", "AGE", "NAME"), rows, empty=empty, whole_ids=args.session != MAIN)
    return Exit.OK


def _count(goal: dict[str, Any]) -> str:
    return f"{sum(task['status'] == 'done' for task in goal['tasks'])}/{len(goal['tasks'])}"


def create(args: Namespace, screen: Screen) -> int:
    """Create a goal of a session."""
    body = {"sessionId": args.session, "name": args.name, "description": args.description}
    with connect(args) as client:
        answer = client.post("/api/goals", body)
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["goal"]["id"])
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show a goal with its plans and tasks."""
    with connect(args) as client:
        answer = of(client, GOALS, args.goal_id, client.get)
    if screen.as_json:
        return screen.json(answer)
    goal = answer["goal"]
    screen.facts([(name, goal[name]) for name in ("id", "name", "description", "status", "sessionId", "createdAt")])
    screen.facts([("plan", f"{plan['id']}  {plan['status']}  {first_line(plan['title'])}") for plan in goal["plans"]])
    screen.facts([("task", f"{task['id']}  {task['status']}  {first_line(task['title'])}") for task in goal["tasks"]])
    return Exit.OK


def done(args: Namespace, screen: Screen) -> int:
    """Complete a goal."""
    with connect(args) as client:
        return _moved(of(client, GOALS, args.goal_id, lambda path: client.post(f"{path}/complete")), screen)


def cancel(args: Namespace, screen: Screen) -> int:
    """Cancel a goal with its plans and their runs."""
    with connect(args) as client:
        change = {"status": "cancelled"}
        return _moved(of(client, GOALS, args.goal_id, lambda path: client.patch(path, change)), screen)


def delete(args: Namespace, screen: Screen) -> int:
    """Delete a goal with its plans and its memory; its tasks stay."""
    with connect(args) as client:
        of(client, GOALS, args.goal_id, client.delete)
    if screen.as_json:
        return screen.json({"deleted": args.goal_id})
    screen.line("Deleted.")
    return Exit.OK


def _moved(answer: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["goal"]["status"])
    return Exit.OK


COMMANDS = (
    Command(
        "goals list",
        "list the goals of a session",
        list_goals,
        (_SESSION, option("--limit", type=int, default=50, metavar="N")),
    ),
    Command(
        "goals create",
        "create a goal",
        create,
        (
            option("name", metavar="NAME", help="what is to be achieved"),
            option("--description", default="", metavar="TEXT", help="more about it"),
            _SESSION,
        ),
    ),
    Command("goals show", "show a goal with its plans and tasks", show, (_ID,)),
    Command("goals done", "complete a goal", done, (_ID,)),
    Command("goals cancel", "cancel a goal with its plans and their runs", cancel, (_ID,)),
    Command("goals delete", "delete a goal; its tasks stay", delete, (_ID,)),
)
