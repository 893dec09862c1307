"""The command /schedule: what this session's schedules are, and an end to one of them."""

from carrel.kernel import PEOPLE, Access, clip, one_line
from carrel.modes.commands.model import Scene, Typed
from carrel.modes.schedules.administration import NOT_YET, ScheduleShape, find_schedule, remove_schedule, shape_of
from carrel.modes.schedules.store import schedules_of
from carrel.storage import Tx

_LISTED_MAX = 20
_MESSAGE_CHARS_MAX = 60
_HELP = """/schedule list         the schedules of this session
/schedule delete <id>  ends one; what it has said stays
New ones are made with `carrel schedule create` or POST /api/schedules: a cron expression and what to say."""


def schedule(tx: Tx, access: Access, scene: Scene, typed: Typed) -> str:
    """The schedules of this session, listed or ended."""
    match typed.words:
        case ("list",):
            access.require(*PEOPLE)
            return _list(tx, access, scene)
        case ("delete", schedule_id):
            access.require(*PEOPLE)
            return _delete(tx, access, scene, schedule_id)
        case ("goal" | "task", *_):
            return NOT_YET
        case _:
            return _HELP


def _list(tx: Tx, access: Access, scene: Scene) -> str:
    found = schedules_of(tx, access, scene.lane.key, limit=_LISTED_MAX + 1)
    if not found:
        return "This session has no schedules."
    lines = [_line(shape_of(tx, one)) for one in found[:_LISTED_MAX]]
    return "\n".join(lines if len(found) <= _LISTED_MAX else [*lines, "… and more."])


def _line(one: ScheduleShape) -> str:
    following = f"next {one.retry_at or one.next_at or 'never'}" if one.enabled else f"disabled ({one.disabled_reason})"
    last = f", last {one.last_status}" if one.last_status else ""
    words = clip(one_line(one.message or ""), _MESSAGE_CHARS_MAX)
    return f"{one.id}  {one.cron} {one.timezone}  {following}{last}  {words}"


def _delete(tx: Tx, access: Access, scene: Scene, schedule_id: str) -> str:
    if find_schedule(tx, access, schedule_id).key != scene.lane.key:
        return f"{schedule_id} is a schedule of another session."
    remove_schedule(tx, access, schedule_id)
    return f"Deleted {schedule_id}."
