"""`schedule`: send messages, and have goals and tasks worked on, on a schedule."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import MAIN, SCHEDULES, of
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.run_results import wait_and_show, wait_option
from carrel.main.cli.runs import WAIT_SECONDS
from carrel.main.cli.wording import distance, in_words

_ID = option("schedule_id", metavar="SCHEDULE", help="id of the schedule, cut to what is unique")
_HEADERS = ("SCHEDULE", "STATE", "WHEN", "NEXT", "LAST", "TIMES", "MESSAGE")


def list_schedules(args: Namespace, screen: Screen) -> int:
    """List the schedules of a session."""
    with connect(args) as client:
        answer = client.get("/api/schedules", {"sessionId": args.session, "limit": args.limit})
    if screen.as_json:
        return screen.json(answer)
    rows = [_row(schedule) for schedule in answer["schedules"]]
    empty = "No schedules yet. To create one: `carrel schedule create SESSION CRON MESSAGE`"
    screen.table(_HEADERS, rows, empty=empty, whole_ids=args.session != MAIN)
    return Exit.OK


def _row(schedule: dict[str, Any]) -> tuple[object, ...]:
    reason = schedule.get("disabledReason")
    state = "enabled" if schedule["enabled"] else "disabled" if reason in (None, "requested") else reason
    zone = "" if schedule["timezone"] == "UTC" else f" {schedule['timezone']}"
    most = f"/{schedule['maxExecutions']}" if schedule["maxExecutions"] > 0 else ""
    following = distance(schedule.get("retryAt") or schedule.get("nextAt"))
    times = f"{schedule['executionCount']}{most}"
    when, last = f"{schedule['cron']}{zone}", schedule.get("lastStatus") or ""
    target = f"{schedule['type']} {schedule['targetId']}" if schedule.get("targetId") else None
    return schedule["id"], state, when, following, last, times, target or first_line(schedule.get("message"))


def create(args: Namespace, screen: Screen) -> int:
    """Send a message to a session, or work on a goal or task, at the times of a cron expression."""
    kind = "goal" if args.goal else "task" if args.task else "message"
    what = {"message": args.message, "targetId": args.goal or args.task}
    body = {
        "type": kind,
        "sessionId": args.session,
        "cron": args.cron,
        **{name: value for name, value in what.items() if value is not None},
        "timezone": args.timezone,
        "isolated": args.isolated,
        "enabled": not args.disabled,
        "maxExecutions": args.times,
    }
    with connect(args) as client:
        answer = client.post("/api/schedules", body)
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["schedule"]["id"])
    if screen.is_terminal:
        screen.note(f"Next run: {in_words(answer['schedule']['nextAt']) or 'none, the schedule is disabled'}")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show one schedule in full."""
    with connect(args) as client:
        return _show(of(client, SCHEDULES, args.schedule_id, client.get), screen)


def run(args: Namespace, screen: Screen) -> int:
    """Fire a schedule now; with --wait, print the reply."""
    with connect(args) as client:
        fired = of(client, SCHEDULES, args.schedule_id, lambda path: client.post(f"{path}/run"))
        if args.wait is None:
            return _show_fired(fired, screen)
        return wait_and_show(client, fired["runId"], screen, seconds=args.wait)


def _show_fired(fired: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(fired)
    screen.line(fired["runId"])
    return Exit.OK


def enable(args: Namespace, screen: Screen) -> int:
    """Enable a schedule; it fires again from its next time on."""
    return _switch(args, screen, enabled=True)


def disable(args: Namespace, screen: Screen) -> int:
    """Disable a schedule."""
    return _switch(args, screen, enabled=False)


def _switch(args: Namespace, screen: Screen, *, enabled: bool) -> int:
    change = {"enabled": enabled}
    with connect(args) as client:
        return _show(of(client, SCHEDULES, args.schedule_id, lambda path: client.patch(path, change)), screen)


def delete(args: Namespace, screen: Screen) -> int:
    """Delete a schedule; the messages it has sent stay."""
    with connect(args) as client:
        of(client, SCHEDULES, args.schedule_id, client.delete)
    if screen.as_json:
        return screen.json({"deleted": args.schedule_id})
    screen.line("Deleted.")
    return Exit.OK


def _show(answer: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(answer)
    schedule = dict(answer["schedule"])
    if schedule.get("maxExecutions", 0) < 0:
        del schedule["maxExecutions"]
    screen.facts(schedule.items())
    return Exit.OK


COMMANDS = (
    Command(
        "schedule list",
        "list the schedules of a session",
        list_schedules,
        (
            option("session", nargs="?", default=MAIN, metavar="SESSION", help="session key (default: main)"),
            option("--limit", type=int, default=50, metavar="N"),
        ),
    ),
    Command(
        "schedule create",
        "send a message on a schedule",
        create,
        (
            option("session", metavar="SESSION", help="session key, e.g. main"),
            option("cron", metavar="CRON", help="minute, hour, day of month, month, day of week, e.g. '0 9 * * 1-5'"),
            option("message", nargs="?", metavar="MESSAGE", help="the message to send"),
            option("--goal", metavar="GOAL", help="work on the next task of this goal instead"),
            option("--task", metavar="TASK", help="work on this task instead"),
            option("--timezone", default="UTC", metavar="ZONE", help="time zone, e.g. Europe/Berlin (default: UTC)"),
            option("--isolated", action="store_true", help="use a separate session, started fresh each time"),
            option("--times", type=int, default=-1, metavar="N", help="stop after N times (default: never)"),
            option("--disabled", action="store_true", help="create it disabled"),
        ),
    ),
    Command("schedule show", "show one schedule", show, (_ID,)),
    Command(
        "schedule run",
        "fire a schedule now",
        run,
        (_ID, wait_option(WAIT_SECONDS)),
    ),
    Command("schedule enable", "enable a schedule", enable, (_ID,)),
    Command("schedule disable", "disable a schedule", disable, (_ID,)),
    Command("schedule delete", "delete a schedule", delete, (_ID,)),
)
