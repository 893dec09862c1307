"""The command /schedule: list and delete the schedules of this session."""

from carrel.kernel import PEOPLE, Access, clip, one_line
from carrel.modes.commands.model import CommandContext, ParsedCommand
from carrel.modes.schedules.administration import (
    UNSUPPORTED_TYPE,
    ScheduleShape,
    find_schedule,
    remove_schedule,
    schedule_shape,
)
from carrel.modes.schedules.store import schedules_of
from carrel.storage import Tx

_LISTED_MAX = 20
_MESSAGE_CHARS_MAX = 60
_HELP = """/schedule list         list the schedules of this session
/schedule delete <id>  delete one; its messages stay
Create schedules with `carrel schedule create` or POST /api/schedules: a cron expression and a message."""


def schedule(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """List or delete the schedules of this session."""
    match command.words:
        case ("list",):
            access.require(*PEOPLE)
            return _list(tx, access, context)
        case ("delete", schedule_id):
            access.require(*PEOPLE)
            return _delete(tx, access, context, schedule_id)
        case ("goal" | "task", *_):
            return UNSUPPORTED_TYPE
        case _:
            return _HELP


def _list(tx: Tx, access: Access, context: CommandContext) -> str:
    found = schedules_of(tx, access, context.lane.key, limit=_LISTED_MAX + 1)
    if not found:
        return "This session has no schedules."
    lines = [_line(schedule_shape(tx, one)) for one in found[:_LISTED_MAX]]
    return "\n".join(lines if len(found) <= _LISTED_MAX else [*lines, "… and more."])


def _line(one: ScheduleShape) -> str:
    following = f"next {one.retry_at or one.next_at or 'never'}" if one.enabled else f"disabled ({one.disabled_reason})"
    last = f", last {one.last_status}" if one.last_status else ""
    message = clip(one_line(one.message or ""), _MESSAGE_CHARS_MAX)
    return f"{one.id}  {one.cron} {one.timezone}  {following}{last}  {message}"


def _delete(tx: Tx, access: Access, context: CommandContext, schedule_id: str) -> str:
    if find_schedule(tx, access, schedule_id).key != context.lane.key:
        return f"{schedule_id} belongs to another session."
    remove_schedule(tx, access, schedule_id)
    return f"Deleted {schedule_id}."
