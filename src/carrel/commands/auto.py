"""The command /auto: let the agent of this session work by itself."""

from carrel.commands.model import CommandContext, ParsedCommand
from carrel.kernel import PEOPLE, Access
from carrel.modes import AutoRun, NewAutoRun, auto_runs_of_session, start_auto, stop_auto
from carrel.storage import Tx

_HELP = """/auto on [goal:<id>|task:<id>|<text>]: work on a goal, a task, or a new task made from the text
/auto off [runId]: stop the auto runs of this session, or one
/auto status: list the auto runs of this session"""


def auto(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    access.require(*PEOPLE)
    match command.words:
        case ("on", *words):
            return _on(tx, access, context, " ".join(words), command.more)
        case ("off",):
            stopped = stop_auto(tx, access, key=context.lane.session_key)
            return f"Stopped {', '.join(stopped)}." if stopped else "No auto run is active in this session."
        case ("off", auto_run_id):
            stopped = stop_auto(tx, access, auto_run_id=auto_run_id)
            return f"Stopped {auto_run_id}." if stopped else f"{auto_run_id} has ended already."
        case () | ("status",):
            return auto_run_lines(tx, access, context) or "No auto run is active in this session."
        case _:
            return _HELP


def _on(tx: Tx, access: Access, context: CommandContext, said: str, more: str) -> str:
    text = "\n".join(line for line in (said, more) if line)
    goal_id, task_id = context.goal_id, None
    if said.startswith("goal:"):
        goal_id, text = said.removeprefix("goal:"), more
    elif said.startswith("task:"):
        task_id, text = said.removeprefix("task:"), more
    new = NewAutoRun(key=context.lane.session_key, goal_id=goal_id, task_id=task_id, text=text or None)
    return f"Started {_line(start_auto(tx, access, new, context.rules))}"


def auto_run_lines(tx: Tx, access: Access, context: CommandContext) -> str:
    """Return a line for each auto run of this session that has not ended."""
    return "\n".join(_line(one) for one in auto_runs_of_session(tx, access, context.lane.session_key))


def _line(one: AutoRun) -> str:
    goal = f", goal {one.goal_id}" if one.goal_id else ""
    return f"{one.id} ({one.run_kind}): {one.status}, task {one.task_id}{goal}, {one.tick_count} ticks"
