"""The command /schedule: schedule a goal or task, and list and delete the schedules of this session."""

from carrel import modes
from carrel.commands.model import LISTED_MAX, CommandContext, ParsedCommand, listed
from carrel.kernel import PEOPLE, Access, clip, one_line
from carrel.storage import Tx

_MESSAGE_CHARS_MAX = 60
_CRON_FIELDS = 5
# Python refuses to parse a very long number, and one of this length is above the limit anyway.
_TIMES_DIGITS_MAX = 12
_HELP = """/schedule goal|task <id> <cron> [times]: work on a goal or a task at these times; five fields, in UTC
/schedule list: list the schedules of this session
/schedule delete <id>: delete one; its messages stay
To send a message at set times, use `carrel schedule create` in a terminal."""


def schedule(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    match command.words:
        case ("list",):
            access.require(*PEOPLE)
            return _list(tx, access, context)
        case ("delete", schedule_id):
            access.require(*PEOPLE)
            if modes.find_schedule(tx, access, schedule_id).key != context.lane.key:
                return f"{schedule_id} belongs to another session."
            modes.remove_schedule(tx, access, schedule_id)
            return f"Deleted {schedule_id}."
        case ("goal" | "task" as kind, target, *cron) if _CRON_FIELDS <= len(cron) <= _CRON_FIELDS + 1:
            access.require(*PEOPLE)
            return _make(tx, access, context, kind, target, cron)
        case _:
            return _HELP


def _make(
    tx: Tx, access: Access, context: CommandContext, kind: modes.ScheduleType, target: str, cron: list[str]
) -> str:
    times = cron[_CRON_FIELDS] if len(cron) > _CRON_FIELDS else str(modes.UNLIMITED)
    if not times.removeprefix("-").isdecimal():
        return f"'{clip(times, _MESSAGE_CHARS_MAX)}' is not a number of times."
    new = modes.NewSchedule(
        type=kind, target_id=target, cron=" ".join(cron[:_CRON_FIELDS]), max_executions=int(times[:_TIMES_DIGITS_MAX])
    )
    return f"Created {_line(modes.schedule_shape(tx, modes.make_schedule(tx, access, context.lane.key, new)))}"


def _list(tx: Tx, access: Access, context: CommandContext) -> str:
    found = modes.schedules_of(tx, access, context.lane.key, limit=LISTED_MAX + 1)
    if not found:
        return "This session has no schedules."
    return listed([_line(modes.schedule_shape(tx, one)) for one in found])


def _line(one: modes.ScheduleShape) -> str:
    following = f"next {one.retry_at or one.next_at or 'never'}" if one.enabled else f"disabled ({one.disabled_reason})"
    last = f", last {one.last_status}" if one.last_status else ""
    what = one.message if one.target_id is None else f"{one.type} {one.target_id}"
    shown = clip(one_line(what or ""), _MESSAGE_CHARS_MAX)
    return f"{one.id}  {one.cron} {one.timezone}  {following}{last}  {shown}"
