"""`goals`, `plan`, `auto` and `schedule`: what is to be achieved, planned first, and worked on without a person."""

from argparse import Namespace
from functools import partial
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import LIMIT, Exit, Failure, option
from carrel.main.cli.humanize import distance, in_words
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Item, request
from carrel.main.cli.resource import IN_SESSION, MAIN, Resource
from carrel.main.cli.run_results import wait_option


def _count(owner: Item) -> str:
    return f"{sum(task['status'] == 'done' for task in owner['tasks'])}/{len(owner['tasks'])}"


def _state(schedule: Item) -> str:
    reason = schedule.get("disabledReason")
    return "enabled" if schedule["enabled"] else "disabled" if reason in (None, "requested") else str(reason)


def _times(schedule: Item) -> str:
    most = f"/{schedule['maxExecutions']}" if schedule["maxExecutions"] > 0 else ""
    return f"{schedule['executionCount']}{most}"


def _message(schedule: Item) -> str:
    target = f"{schedule['type']} {schedule['targetId']}" if schedule.get("targetId") else None
    return target or first_line(schedule.get("message"))


GOALS = Resource(
    "goals", "set goals for sessions and see how far they are", "/api/goals", "goal",
    {"GOAL": "id", "STATUS": "status", "TASKS": _count, "AGE": "updatedAt", "NAME": "name…"},
    prefix="goal_", query={"all": "1", "limit": 200}, order="newest first",
    empty="No goals yet. To create one: `carrel goals create NAME`", hidden=("metadata",),
)  # fmt: skip
PLANS = Resource(
    "plan", "plan before anything is changed, and run the plan", "/api/plans", "plan",
    {"PLAN": "id", "ACTIVE": "active", "STATUS": "status", "TASKS": _count, "AGE": "updatedAt", "TITLE": "title…"},
    many="plans", empty="No plans yet.", prefix="plan_", below=("markdown",), hidden=("dependencies", "sessionId"),
)  # fmt: skip
AUTO_RUNS = Resource(
    "auto", "let agents work by themselves", "/api/auto/runs", "run",
    {"RUN": "runId", "KIND": "runKind", "STATUS": "status", "TASK": "taskId", "GOAL": "goalId", "TICKS": "tickCount",
     "NEXT": lambda run: distance(run["nextTickAt"])},
    word="auto-run", many="runs", prefix="auto_", id="runId", query={"sessionId": MAIN, "includeEnded": "1"},
    order="newest first",
    empty='No auto run is active in this session. To start one: `carrel auto start "what to do"`',
)  # fmt: skip
SCHEDULES = Resource(
    "schedule", "send messages on a schedule", "/api/schedules", "schedule",
    {"SCHEDULE": "id", "STATE": _state,
     "WHEN": lambda one: one["cron"] + ("" if one["timezone"] == "UTC" else f" {one['timezone']}"),
     "NEXT": lambda one: distance(one.get("retryAt") or one.get("nextAt")),
     "LAST": "lastStatus", "TIMES": _times, "MESSAGE": _message},
    many="schedules", prefix="sch_", query={"limit": 200}, order="oldest first",
    empty="No schedules yet. To create one: `carrel schedule create SESSION CRON MESSAGE`",
)  # fmt: skip
# Which plans a change can be made to.
_FITTING = {
    "approve": ("ready",),
    "cancel": ("working", "blocked", "ready", "drafting"),
    "resume": ("failed", "blocked"),
}


def _plan(client: Client, args: Namespace) -> Any:
    """Return one plan in full; the active one of the session unless another is named."""
    plan_id = args.plan_id or _plan_mode(client, args)["activePlanId"]
    if plan_id is None:
        raise Failure(Exit.FAILED, f"{args.session} has no active plan. `carrel plan list` shows its plans.")
    where = {"sessionId": args.session}
    return _plans(args).of(client, plan_id, lambda found: client.get(PLANS.at(found), where))


def _change(client: Client, args: Namespace, *, change: str) -> Any:
    plan_id = args.plan_id or _fitting(_plan_mode(client, args), change, args.session)
    body = {"sessionId": args.session}
    return _plans(args).of(client, plan_id, lambda found: client.post(PLANS.at(found, change), body))


def _plans(args: Namespace) -> Resource:
    return PLANS._replace(query={"sessionId": args.session})


def _fitting(mode: Item, change: str, session: str) -> str:
    """Return the plan to change if none is named: the active one if it fits, else the newest that does."""
    found = [plan["id"] for plan in mode["plans"] if plan["status"] in _FITTING[change]]
    if not found:
        raise Failure(Exit.FAILED, f"{session} has no plan that is {' or '.join(_FITTING[change])}.")
    return str(mode["activePlanId"] if mode["activePlanId"] in found else found[0])


def _plan_mode(client: Client, args: Namespace) -> Any:
    return client.get("/api/plans", {"sessionId": args.session})


def _show_plans(mode: Item, args: Namespace, screen: Screen) -> None:
    screen.line(f"Plan mode of {mode['sessionKey']}: {'on' if mode['enabled'] else 'off'}")
    plans = [plan | {"active": "*" if plan["id"] == mode["activePlanId"] else ""} for plan in mode["plans"]]
    PLANS.table.show({"plans": plans}, args, screen)


def _stop(client: Client, args: Namespace) -> Any:
    if args.name.startswith(AUTO_RUNS.prefix):
        return AUTO_RUNS.of(client, args.name, lambda run_id: client.post("/api/auto/stop", {"runId": run_id}))
    return client.post("/api/auto/stop", {"sessionId": args.name})


def _new_schedule(args: Namespace) -> Item:
    """Return what is done at the times of a cron expression: a message is sent, or a goal or task worked on."""
    target = {"targetId": args.goal or args.task} if args.goal or args.task else {}
    kind = "goal" if args.goal else "task" if args.task else "message"
    return {"type": kind, **target, "enabled": not args.disabled}


def _show_schedule(answer: Item, args: Namespace, screen: Screen) -> None:
    is_endless = answer["schedule"].get("maxExecutions", 0) < 0
    SCHEDULES._replace(hidden=("maxExecutions",) if is_endless else ()).show(answer, args, screen)


_PLAN = PLANS.named("id of the plan (default: the one it can be done to)", nargs="?")
_SESSION = option("session", "SESSION", "session key (default: main)", nargs="?", default=MAIN, field="sessionId")
_ZONE = option("--timezone", "ZONE", "time zone, e.g. Europe/Berlin (default: UTC)")
_TIMES = option("--times", "N", "stop after N times (default: never)", type=int, field="maxExecutions")
RESOURCES = (GOALS, PLANS, AUTO_RUNS, SCHEDULES)
COMMANDS = (
    GOALS.lists("list the goals of a session", IN_SESSION,
                option("--all", "", "of all sessions", action="store_const", const="1"), LIMIT),
    GOALS.creates("", option("name", "NAME", "what is to be achieved"),
                  option("--description", "TEXT", "more about it", default=""), IN_SESSION,
                  examples=('"Ship the first version"',)),
    GOALS.shows("show a goal with its plans and tasks"),
    GOALS.edits(option("--name", "NAME"), option("--description", "TEXT")),
    GOALS.does("done", "complete a goal", "POST complete", "{goal[status]}"),
    GOALS.does("cancel", "cancel a goal with its plans and their runs", "PATCH", "{goal[status]}",
               sends={"status": "cancelled"}),
    GOALS.deletes("delete a goal; its tasks stay"),
    request("plan list", "show plan mode of a session and list its plans", "GET /api/plans", _show_plans, IN_SESSION),
    request("plan on", "switch plan mode on", "POST /api/plans/enable", _show_plans, IN_SESSION),
    request("plan off", "switch plan mode off", "POST /api/plans/disable", _show_plans, IN_SESSION),
    request("plan show", "show one plan", _plan, PLANS.show, _PLAN, IN_SESSION),
    *(request(f"plan {change}", summary, partial(_change, change=change), PLANS.show, _PLAN, IN_SESSION)
      for change, summary in (
          ("approve", "approve a plan and run its tasks"),
          ("cancel", "cancel a plan"),
          ("resume", "go on with a plan that failed or is blocked"),
      )),
    AUTO_RUNS.lists("list the auto runs of a session", _SESSION,
                    option("--all", "", "also those that have ended", action="store_const", const="1", default="0",
                           field="includeEnded")),
    request(
        "auto start", "let an agent work by itself", "POST /api/auto/start", "{run[runId]}",
        option("text", "TEXT", "what to do; it becomes a task", nargs="?"), IN_SESSION,
        option("--task", "TASK", "work on this task instead", field="taskId"),
        option("--goal", "GOAL", "work through the tasks of this goal instead", field="goalId"),
        option("--every", "SECONDS", "from tick to tick (default: auto.tick_seconds)", type=int,
               field="intervalSeconds"),
        hint="Working on {run[taskId]}. To stop it: `carrel auto stop {run[runId]}`",
        examples=('"Tidy the desk" --every 600', "--goal goal_01m7knxs2k"),
    ),
    request("auto stop", "stop an auto run, or all of a session", _stop,
            lambda answer, _, screen: screen.line("\n".join(answer["stopped"]) or "Nothing to stop."),
            option("name", "AUTO-RUN|SESSION", "id of an auto run, or session key", nargs="?", default=MAIN)),
    AUTO_RUNS.shows(),
    SCHEDULES.lists("list the schedules of a session", _SESSION,
                    option("--all", "", "of all sessions", action="store_true"), LIMIT,
                    asks=lambda client, args: client.get(
                        "/api/schedules", {"sessionId": None if args.all else args.session, "limit": args.limit})),
    SCHEDULES.creates(
        "send a message on a schedule",
        option("session", "SESSION", "session key, e.g. main", field="sessionId"),
        option("cron", "CRON", "minute, hour, day of month, month, day of week, e.g. '0 9 * * 1-5'; or @daily"),
        option("message", "MESSAGE", "the message to send", nargs="?"),
        option("--goal", "GOAL", "work on the next task of this goal instead", field=""),
        option("--task", "TASK", "work on this task instead", field=""), _ZONE,
        option("--isolated", "", "use a separate session, started fresh each time", action="store_true"), _TIMES,
        option("--disabled", "", "create it disabled", action="store_true", field=""),
        sends=_new_schedule,
        hint=lambda answer: f"Next run: {in_words(answer['schedule']['nextAt']) or 'none, the schedule is disabled'}",
        examples=('main "0 9 * * 1-5" "What is due today?"', 'main @daily "Tidy the desk"'),
    ),
    SCHEDULES.shows("", show=_show_schedule),
    SCHEDULES.edits(option("--message", "TEXT"), option("--cron", "CRON"), _ZONE, _TIMES,
                    examples=('last --cron "0 8 * * *"',)),
    SCHEDULES.does("run", "fire a schedule now", "POST run", "{runId}", wait_option(600.0)),
    SCHEDULES.does("enable", "enable a schedule", "PATCH", _show_schedule, sends={"enabled": True}),
    SCHEDULES.does("disable", "disable a schedule", "PATCH", _show_schedule, sends={"enabled": False}),
    SCHEDULES.deletes(),
)  # fmt: skip
