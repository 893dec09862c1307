"""`plan`, `auto` and `schedule`: plan before anything is changed, and work that goes on without a person."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client, segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import AUTO_RUNS, IN_SESSION, LIMIT, MAIN, SCHEDULES, Listing, is_elsewhere
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Ask, Request, Table, facts
from carrel.main.cli.run_results import wait_and_show, wait_option
from carrel.main.cli.runs import WAIT_SECONDS
from carrel.main.cli.wording import age, distance, in_words

_PLAN = option("plan_id", "PLAN", "id of the plan (default: the one it can be done to)", nargs="?")
# Which plans a change can be made to.
_FITTING = {
    "approve": ("ready",),
    "cancel": ("working", "blocked", "ready", "drafting"),
    "resume": ("failed", "blocked"),
}


def _plan(client: Client, args: Namespace) -> Any:
    """Return one plan in full; the active one of the session unless another is named."""
    plan_id = args.plan_id or _plan_state(client, args)["activePlanId"]
    if plan_id is None:
        raise Failure(Exit.FAILED, f"{args.session} has no active plan. `carrel plan list` shows its plans.")
    where = {"sessionId": args.session}
    return _plans(args).of(client, plan_id, lambda found: client.get(f"/api/plans/{segment(found)}", where))


def _changed(change: str) -> Ask:
    """Return what makes a change to a plan."""

    def changed(client: Client, args: Namespace) -> Any:
        plan_id = args.plan_id or _fitting(_plan_state(client, args), change, args.session)
        body = {"sessionId": args.session}
        return _plans(args).of(
            client, plan_id, lambda found: client.post(f"/api/plans/{segment(found)}/{change}", body)
        )

    return changed


def _plans(args: Namespace) -> Listing:
    return Listing("plans", "plan_", "/api/plans", "plans", {"sessionId": args.session})


def _fitting(state: dict[str, Any], change: str, session: str) -> str:
    """Return the plan to change if none is named: the active one if it fits, else the newest that does."""
    found = [plan["id"] for plan in state["plans"] if plan["status"] in _FITTING[change]]
    if not found:
        raise Failure(Exit.FAILED, f"{session} has no plan that is {' or '.join(_FITTING[change])}.")
    return str(state["activePlanId"] if state["activePlanId"] in found else found[0])


def _plan_state(client: Client, args: Namespace) -> dict[str, Any]:
    state: dict[str, Any] = client.get("/api/plans", {"sessionId": args.session})
    return state


def _show_plans(state: dict[str, Any], _: Namespace, screen: Screen) -> None:
    screen.line(f"Plan mode of {state['sessionKey']}: {'on' if state['enabled'] else 'off'}")
    rows = [_plan_row(plan, state["activePlanId"]) for plan in state["plans"]]
    screen.table(("PLAN", "ACTIVE", "STATUS", "TASKS", "AGE", "TITLE"), rows, empty="No plans yet.")


def _plan_row(plan: dict[str, Any], active: str | None) -> tuple[object, ...]:
    tasks = plan["tasks"]
    done = f"{sum(task['status'] == 'done' for task in tasks)}/{len(tasks)}"
    here = "*" if plan["id"] == active else ""
    return plan["id"], here, plan["status"], done, age(plan["updatedAt"]), first_line(plan["title"])


def _show_plan(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    plan = answer["plan"]
    screen.facts([(name, plan[name]) for name in ("id", "title", "status", "goalId", "updatedAt")])
    rows = [(task["id"], task["status"], first_line(task["title"])) for task in plan["tasks"]]
    screen.table(("TASK", "STATUS", "TITLE"), rows, empty="No tasks.")
    if plan["markdown"]:
        screen.line(f"\n{plan['markdown']}")


_STOP = "/api/auto/stop"
_AUTO_RUN = option("run_id", "RUN", "id of the auto run, or a unique beginning of it", of=AUTO_RUNS.of)
_AUTO_RUNS = Table(
    "runs",
    {
        "RUN": "runId",
        "KIND": "runKind",
        "STATUS": "status",
        "TASK": "taskId",
        "GOAL": "goalId",
        "TICKS": "tickCount",
        "NEXT": lambda run: distance(run["nextTickAt"]),
    },
    'No auto run is active in this session. To start one: `carrel auto start "what to do"`',
    is_elsewhere,
)


def _show_started(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    screen.line(answer["run"]["runId"])
    if screen.is_terminal:
        screen.note(f"Working on {answer['run']['taskId']}. To stop it: `carrel auto stop {answer['run']['runId']}`")


def _stop(client: Client, args: Namespace) -> Any:
    """Stop one auto run, or all of a session."""
    if args.name.startswith(AUTO_RUNS.prefix):
        return AUTO_RUNS.of(client, args.name, lambda run_id: client.post(_STOP, {"runId": run_id}))
    return client.post(_STOP, {"sessionId": args.name})


def _show_stopped(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    screen.line("\n".join(answer["stopped"]) or "Nothing to stop.")


Item = dict[str, Any]
_SCHEDULE = option("schedule_id", "SCHEDULE", "id of the schedule, or a unique beginning of it", of=SCHEDULES.of)


def _schedule_state(schedule: Item) -> str:
    reason = schedule.get("disabledReason")
    return "enabled" if schedule["enabled"] else "disabled" if reason in (None, "requested") else str(reason)


def _times(schedule: Item) -> str:
    most = f"/{schedule['maxExecutions']}" if schedule["maxExecutions"] > 0 else ""
    return f"{schedule['executionCount']}{most}"


def _message(schedule: Item) -> str:
    target = f"{schedule['type']} {schedule['targetId']}" if schedule.get("targetId") else None
    return target or first_line(schedule.get("message"))


def _create_schedule(client: Client, args: Namespace) -> Any:
    """Send a message to a session, or work on a goal or task, at the times of a cron expression."""
    what = {"message": args.message, "targetId": args.goal or args.task}
    body = {
        "type": "goal" if args.goal else "task" if args.task else "message",
        "sessionId": args.session,
        "cron": args.cron,
        **{name: value for name, value in what.items() if value is not None},
        "timezone": args.timezone,
        "isolated": args.isolated,
        "enabled": not args.disabled,
        "maxExecutions": args.times,
    }
    return client.post("/api/schedules", body)


def _show_new_schedule(answer: Item, _: Namespace, screen: Screen) -> None:
    screen.line(answer["schedule"]["id"])
    if screen.is_terminal:
        screen.note(f"Next run: {in_words(answer['schedule']['nextAt']) or 'none, the schedule is disabled'}")


def run_schedule(args: Namespace, screen: Screen) -> int:
    """Fire a schedule now; with --wait, print the reply."""
    with connect(args) as client:
        fired = SCHEDULES.of(client, args.schedule_id, lambda one: client.post(f"/api/schedules/{segment(one)}/run"))
        if args.wait is not None:
            return wait_and_show(client, fired["runId"], screen, seconds=args.wait)
    if screen.as_json:
        return screen.json(fired)
    screen.line(fired["runId"])
    return Exit.OK


def _show_schedule(answer: Item, _: Namespace, screen: Screen) -> None:
    schedule = answer["schedule"]
    is_endless = schedule.get("maxExecutions", 0) < 0
    screen.facts((name, value) for name, value in schedule.items() if name != "maxExecutions" or not is_endless)


_SCHEDULES = Table(
    "schedules",
    {
        "SCHEDULE": "id",
        "STATE": _schedule_state,
        "WHEN": lambda one: one["cron"] + ("" if one["timezone"] == "UTC" else f" {one['timezone']}"),
        "NEXT": lambda one: distance(one.get("retryAt") or one.get("nextAt")),
        "LAST": "lastStatus",
        "TIMES": _times,
        "MESSAGE": _message,
    },
    "No schedules yet. To create one: `carrel schedule create SESSION CRON MESSAGE`",
    is_elsewhere,
)


COMMANDS = (
    Request("plan list", "show plan mode of a session and list its plans", "GET /api/plans", _show_plans).takes(
        IN_SESSION
    ),
    Request("plan on", "switch plan mode on", "POST /api/plans/enable", _show_plans).takes(IN_SESSION),
    Request("plan off", "switch plan mode off", "POST /api/plans/disable", _show_plans).takes(IN_SESSION),
    Request("plan show", "show one plan", _plan, _show_plan).takes(_PLAN, IN_SESSION),
    Request("plan approve", "approve a plan and run its tasks", _changed("approve"), _show_plan).takes(
        _PLAN, IN_SESSION
    ),
    Request("plan cancel", "cancel a plan", _changed("cancel"), _show_plan).takes(_PLAN, IN_SESSION),
    Request("plan resume", "go on with a plan that failed or is blocked", _changed("resume"), _show_plan).takes(
        _PLAN, IN_SESSION
    ),
    Request("auto list", "list the auto runs of a session", "GET /api/auto/runs", _AUTO_RUNS).takes(
        option("session", "SESSION", "session key (default: main)", nargs="?", default=MAIN, field="sessionId"),
        option(
            "--all",
            action="store_const",
            const="1",
            default="0",
            field="includeEnded",
            help="also those that have ended",
        ),
    ),
    Request("auto start", "let an agent work by itself", "POST /api/auto/start", _show_started).takes(
        option("text", "TEXT", "what to do; it becomes a task", nargs="?"),
        IN_SESSION,
        option("--task", "TASK", "work on this task instead", field="taskId"),
        option("--goal", "GOAL", "work through the tasks of this goal instead", field="goalId"),
        option(
            "--every", "SECONDS", "from tick to tick (default: auto.tick_seconds)", type=int, field="intervalSeconds"
        ),
    ),
    Request("auto stop", "stop an auto run, or all of a session", _stop, _show_stopped).takes(
        option("name", "RUN|SESSION", "id of an auto run, or session key", nargs="?", default=MAIN)
    ),
    Request("auto show", "show one auto run", "GET /api/auto/runs/{}", facts("run")).takes(_AUTO_RUN),
    Request("schedule list", "list the schedules of a session", "GET /api/schedules", _SCHEDULES).takes(
        option("session", "SESSION", "session key (default: main)", nargs="?", default=MAIN, field="sessionId"), LIMIT
    ),
    Request("schedule create", "send a message on a schedule", _create_schedule, _show_new_schedule).takes(
        option("session", "SESSION", "session key, e.g. main"),
        option("cron", "CRON", "minute, hour, day of month, month, day of week, e.g. '0 9 * * 1-5'"),
        option("message", "MESSAGE", "the message to send", nargs="?"),
        option("--goal", "GOAL", "work on the next task of this goal instead"),
        option("--task", "TASK", "work on this task instead"),
        option("--timezone", "ZONE", "time zone, e.g. Europe/Berlin (default: UTC)", default="UTC"),
        option("--isolated", action="store_true", help="use a separate session, started fresh each time"),
        option("--times", "N", "stop after N times (default: never)", type=int, default=-1),
        option("--disabled", action="store_true", help="create it disabled"),
    ),
    Request("schedule show", "show one schedule", "GET /api/schedules/{}", _show_schedule).takes(_SCHEDULE),
    Command("schedule run", "fire a schedule now", run_schedule).takes(_SCHEDULE, wait_option(WAIT_SECONDS)),
    Request(
        "schedule enable", "enable a schedule", "PATCH /api/schedules/{}", _show_schedule, sends={"enabled": True}
    ).takes(_SCHEDULE),
    Request(
        "schedule disable", "disable a schedule", "PATCH /api/schedules/{}", _show_schedule, sends={"enabled": False}
    ).takes(_SCHEDULE),
    Request("schedule delete", "delete a schedule", "DELETE /api/schedules/{}", "Deleted.").takes(_SCHEDULE),
)
