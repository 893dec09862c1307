"""The commands /plan and /plans: plan mode and the plans of this session."""

from contextlib import suppress

from carrel import modes
from carrel.commands.model import CommandContext, ParsedCommand
from carrel.goals import Plan, plans_of_session
from carrel.kernel import PEOPLE, Access, Refusal, SessionKey, clip, one_line
from carrel.kernel.limits import SESSION_PLANS_SHOWN
from carrel.storage import Tx
from carrel.work import tasks_planned

_TITLE_CHARS_MAX = 80
_HELP = "Use /plan on, off, status or done, or /plan approve, cancel or resume with or without the id of a plan."
_CHANGES = {
    "approve": modes.approve_session_plan,
    "cancel": modes.cancel_session_plan,
    "resume": modes.resume_session_plan,
}


def plan(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    words = _words(command)
    if words in ([], ["status"]):
        return describe_plan_mode(tx, access, context)
    access.require(*PEOPLE)
    key = context.lane.session_key
    match words:
        case ["on"]:
            modes.enable_plan_mode(tx, access, key)
        case ["off"]:
            modes.disable_plan_mode(tx, access, key, context.rules)
        case ["done"]:
            return _finish(tx, access, context)
        case ["approve" | "cancel" | "resume" as change, *named] if len(named) <= 1:
            changed = _CHANGES[change](tx, access, key, named[0] if named else None, context.rules)
            return f"Now: {_line(tx, access, changed)}"
        case _:
            return _HELP
    return describe_plan_mode(tx, access, context)


def lock_plan(tx: Tx, access: Access, key: SessionKey, command: ParsedCommand) -> None:
    """Lock the plan that /plan changes before the session's lane is locked; the command itself refuses later."""
    with suppress(Refusal):
        match _words(command):
            case ["off" | "done"]:
                modes.active_plan(tx, access, modes.plan_state(tx, access, key), hold=True)
            case ["approve" | "cancel" | "resume" as change, *named]:
                modes.choose_plan(tx, access, key, change, named[0] if named else None)


def _words(command: ParsedCommand) -> list[str]:
    return [word.lower() if at == 0 else word for at, word in enumerate(command.words)]


def _finish(tx: Tx, access: Access, context: CommandContext) -> str:
    key = context.lane.session_key
    state = modes.plan_state(tx, access, key)
    if not state.enabled:
        return "Plan mode is off already."
    if modes.is_unwritten(tx, access, state):
        return "Nothing has been planned yet. Say what to plan, or leave with /plan off."
    modes.disable_plan_mode(tx, access, key, context.rules)
    return describe_plan_mode(tx, access, context)


def plans(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    key = context.lane.session_key
    active = modes.plan_state(tx, access, key).active_plan_id
    found = plans_of_session(tx, access, key, limit=SESSION_PLANS_SHOWN)
    lines = [f"{'*' if one.id == active else '-'} {_line(tx, access, one)}" for one in found]
    return "\n".join(lines) or "This session has no plans."


def describe_plan_mode(tx: Tx, access: Access, context: CommandContext) -> str:
    """Return whether this session is in plan mode, and on which plan it works, in a line or two."""
    state = modes.plan_state(tx, access, context.lane.session_key)
    active = modes.active_plan(tx, access, state)
    lines = [f"Plan mode: {'on' if state.enabled else 'off'}"]
    return "\n".join(lines if active is None else [*lines, f"Plan: {_line(tx, access, active)}"])


def _line(tx: Tx, access: Access, one: Plan) -> str:
    tasks = tasks_planned(tx, access, plan_id=one.id)
    done = sum(task.status == "done" for task in tasks)
    counted = f", {done} of {len(tasks)} tasks done" if tasks else ""
    return f"{one.id} ({one.status}{counted}) {clip(one_line(one.title), _TITLE_CHARS_MAX)}".rstrip()
