"""`schedule`: what is said to sessions again and again."""

from argparse import Namespace
from typing import Any

from carrel.bridge import segment
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.connection import reach
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.runs import WAIT_SECONDS
from carrel.main.cli.wait import tell, wait_for

_ID = option("schedule_id", metavar="SCHEDULE", help="id of the schedule")
_HEADERS = ("SCHEDULE", "STATE", "WHEN", "NEXT", "LAST", "TIMES", "MESSAGE")


def list_schedules(args: Namespace, screen: Screen) -> int:
    """Show the schedules of a session."""
    with reach(args) as client:
        answer = client.get("/api/schedules", {"sessionId": args.session, "limit": args.limit})
    if screen.as_json:
        return screen.json(answer)
    rows = [_row(schedule) for schedule in answer["schedules"]]
    screen.table(_HEADERS, rows, empty="No schedules. `carrel schedule create SESSION CRON MESSAGE` makes one.")
    return Exit.OK


def _row(schedule: dict[str, Any]) -> tuple[object, ...]:
    reason = schedule.get("disabledReason")
    state = "enabled" if schedule["enabled"] else "disabled" if reason in (None, "requested") else reason
    zone = "" if schedule["timezone"] == "UTC" else f" {schedule['timezone']}"
    most = f"/{schedule['maxExecutions']}" if schedule["maxExecutions"] > 0 else ""
    following = schedule.get("retryAt") or schedule.get("nextAt") or ""
    times = f"{schedule['executionCount']}{most}"
    when, last = f"{schedule['cron']}{zone}", schedule.get("lastStatus") or ""
    return schedule["id"], state, when, following, last, times, first_line(schedule.get("message"))


def create(args: Namespace, screen: Screen) -> int:
    """Have something said in a session at the moments of a cron expression."""
    body = {
        "type": "message",
        "sessionId": args.session,
        "cron": args.cron,
        "message": args.message,
        "timezone": args.timezone,
        "isolated": args.isolated,
        "enabled": not args.disabled,
        "maxExecutions": args.times,
    }
    with reach(args) as client:
        answer = client.post("/api/schedules", body)
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["schedule"]["id"])
    if screen.is_terminal:
        screen.note(f"Comes next at {answer['schedule']['nextAt'] or 'no time: it is disabled'}.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show everything about one schedule."""
    with reach(args) as client:
        return _show(client.get(_path(args)), screen)


def run(args: Namespace, screen: Screen) -> int:
    """Have a schedule fire now; with --wait the answer comes on stdout."""
    with reach(args) as client:
        fired = client.post(f"{_path(args)}/run")
        if args.wait is None:
            return _tell_fired(fired, screen)
        ended = wait_for(client, fired["runId"], screen, seconds=args.wait)
    if screen.as_json:
        screen.json({"run": ended})
    return tell(ended, screen, with_reply=not screen.as_json)


def _tell_fired(fired: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(fired)
    screen.line(fired["runId"])
    return Exit.OK


def enable(args: Namespace, screen: Screen) -> int:
    """Let a schedule fire again, from its next moment on."""
    return _switch(args, screen, enabled=True)


def disable(args: Namespace, screen: Screen) -> int:
    """Let a schedule rest."""
    return _switch(args, screen, enabled=False)


def _switch(args: Namespace, screen: Screen, *, enabled: bool) -> int:
    with reach(args) as client:
        return _show(client.patch(_path(args), {"enabled": enabled}), screen)


def delete(args: Namespace, screen: Screen) -> int:
    """Forget a schedule; what it has said stays."""
    with reach(args) as client:
        client.delete(_path(args))
    if screen.as_json:
        return screen.json({"deleted": args.schedule_id})
    screen.line("Deleted.")
    return Exit.OK


def _path(args: Namespace) -> str:
    return f"/api/schedules/{segment(args.schedule_id)}"


def _show(answer: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(answer)
    screen.facts(list(answer["schedule"].items()))
    return Exit.OK


COMMANDS = (
    Command(
        "schedule list",
        "show the schedules of a session",
        list_schedules,
        (
            option("session", nargs="?", default="main", metavar="SESSION", help="session key (the main session)"),
            option("--limit", type=int, default=50, metavar="N"),
        ),
    ),
    Command(
        "schedule create",
        "have something said again and again",
        create,
        (
            option("session", metavar="SESSION", help="session key, e.g. main"),
            option("cron", metavar="CRON", help="minute, hour, day of month, month, day of week, e.g. '0 9 * * 1-5'"),
            option("message", metavar="MESSAGE", help="what to say"),
            option("--timezone", default="UTC", metavar="ZONE", help="whose clock, e.g. Europe/Berlin (UTC)"),
            option("--isolated", action="store_true", help="in a lane of its own, afresh each time"),
            option("--times", type=int, default=-1, metavar="N", help="how often at most (for ever)"),
            option("--disabled", action="store_true", help="make it, but let it rest"),
        ),
    ),
    Command("schedule show", "show one schedule", show, (_ID,)),
    Command(
        "schedule run",
        "have a schedule fire now",
        run,
        (
            _ID,
            option(
                "--wait",
                type=float,
                nargs="?",
                const=WAIT_SECONDS,
                metavar="S",
                help=f"wait so many seconds for the answer ({WAIT_SECONDS:g})",
            ),
        ),
    ),
    Command("schedule enable", "let a schedule fire again", enable, (_ID,)),
    Command("schedule disable", "let a schedule rest", disable, (_ID,)),
    Command("schedule delete", "forget a schedule", delete, (_ID,)),
)
