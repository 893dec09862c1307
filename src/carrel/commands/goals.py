"""The commands /goal, /goals and /tasks: what this session is to achieve, and the tasks that lead there."""

from carrel.commands.model import LISTED_MAX, CommandContext, ParsedCommand, listed
from carrel.goals import (
    Goal,
    GoalChange,
    change_goal,
    complete_goal,
    goals_of_session,
    make_goal,
    pause_goal,
    resume_goal,
    tasks_of_session,
)
from carrel.kernel import PEOPLE, Access, clip, one_line
from carrel.storage import Tx
from carrel.work import tasks_planned

_NAME_CHARS_MAX = 60
_HELP = """/goal <text>                          create a goal of this session
/goal done|pause|resume|cancel <id>   move one; /goals lists them"""
_MARKS = {"done": "x", "archived": "-", "blocked": "!", "in_progress": ">", "review": ">"}


def goal(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    access.require(*PEOPLE)
    key, rules = context.lane.session_key, context.rules
    match command.words:
        case ():
            return _HELP
        case ("done", goal_id):
            moved = complete_goal(tx, access, goal_id, rules, key=key)
        case ("pause", goal_id):
            moved = pause_goal(tx, access, goal_id, key=key)
        case ("resume", goal_id):
            moved = resume_goal(tx, access, goal_id, rules, key=key)
        case ("cancel", goal_id):
            moved = change_goal(tx, access, goal_id, GoalChange(status="cancelled"), rules, key=key)
        case words:
            made = make_goal(tx, access, key, name=" ".join(words), description=command.more)
            return f"Created {made.id}: {_short(made.name)}"
    return f"{moved.id} is {moved.status}: {_short(moved.name)}"


def goals(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    access.require(*PEOPLE)
    found = goals_of_session(tx, access, context.lane.session_key, limit=LISTED_MAX + 1)
    if not found:
        return "This session has no goals; /goal <text> creates one."
    return listed([_line(tx, access, one) for one in found])


def _line(tx: Tx, access: Access, one: Goal) -> str:
    tasks = tasks_planned(tx, access, goal_id=one.id)
    done = sum(task.status == "done" for task in tasks)
    counted = f" ({done} of {len(tasks)} tasks done)" if tasks else ""
    return f"{one.id}  {one.status}  {_short(one.name)}{counted}"


def tasks(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    access.require(*PEOPLE)
    found = tasks_of_session(tx, access, context.lane.session_key, limit=LISTED_MAX + 1)
    if not found:
        return "No goal or plan of this session has tasks."
    return listed([f"[{_MARKS.get(one.status, ' ')}] {one.id}  {one.status}  {_short(one.title)}" for one in found])


def _short(text: str) -> str:
    return clip(one_line(text), _NAME_CHARS_MAX)
