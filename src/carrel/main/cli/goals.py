"""`goals`: what sessions are to achieve."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import option
from carrel.main.cli.names import GOALS, IN_SESSION, LIMIT, is_elsewhere
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Request, Table, ago, start_of

_ID = option("goal_id", "GOAL", "id of the goal, or a unique beginning of it", of=GOALS.of)


def _count(goal: dict[str, Any]) -> str:
    return f"{sum(task['status'] == 'done' for task in goal['tasks'])}/{len(goal['tasks'])}"


def _show(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    goal = answer["goal"]
    screen.facts([(name, goal[name]) for name in ("id", "name", "description", "status", "sessionId", "createdAt")])
    screen.facts([("plan", f"{plan['id']}  {plan['status']}  {first_line(plan['title'])}") for plan in goal["plans"]])
    screen.facts([("task", f"{task['id']}  {task['status']}  {first_line(task['title'])}") for task in goal["tasks"]])


_LIST = Table(
    "goals",
    {"GOAL": "id", "STATUS": "status", "TASKS": _count, "AGE": ago("updatedAt"), "NAME": start_of("name")},
    "No goals yet. To create one: `carrel goals create NAME`",
    is_elsewhere,
)
COMMANDS = (
    Request("goals list", "list the goals of a session", "GET /api/goals", _LIST).takes(IN_SESSION, LIMIT),
    Request("goals create", "create a goal", "POST /api/goals", "{goal[id]}").takes(
        option("name", "NAME", "what is to be achieved"),
        option("--description", "TEXT", "more about it", default=""),
        IN_SESSION,
    ),
    Request("goals show", "show a goal with its plans and tasks", "GET /api/goals/{}", _show).takes(_ID),
    Request("goals done", "complete a goal", "POST /api/goals/{}/complete", "{goal[status]}").takes(_ID),
    Request(
        "goals cancel",
        "cancel a goal with its plans and their runs",
        "PATCH /api/goals/{}",
        "{goal[status]}",
        sends={"status": "cancelled"},
    ).takes(_ID),
    Request("goals delete", "delete a goal; its tasks stay", "DELETE /api/goals/{}", "Deleted.").takes(_ID),
)
