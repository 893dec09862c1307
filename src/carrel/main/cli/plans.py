"""`plan`: plan mode of a session, and its plans."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import Listing, of
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age

_SESSION = option("--session", default="main", metavar="SESSION", help="session key (default: main)")
_PLAN = option("plan_id", nargs="?", metavar="PLAN", help="id of the plan (default: the one it can be done to)")
# Which plans a change can be made to.
_FITTING = {
    "approve": ("ready",),
    "cancel": ("working", "blocked", "ready", "drafting"),
    "resume": ("failed", "blocked"),
}


def list_plans(args: Namespace, screen: Screen) -> int:
    """Show plan mode of a session, and list its plans."""
    with connect(args) as client:
        return _show_state(_state(client, args), screen)


def switch_on(args: Namespace, screen: Screen) -> int:
    """Switch plan mode on in a session."""
    with connect(args) as client:
        return _show_state(client.post("/api/plans/enable", {"sessionId": args.session}), screen)


def switch_off(args: Namespace, screen: Screen) -> int:
    """Switch plan mode off in a session."""
    with connect(args) as client:
        return _show_state(client.post("/api/plans/disable", {"sessionId": args.session}), screen)


def show(args: Namespace, screen: Screen) -> int:
    """Show one plan in full; the active one of the session unless another is named."""
    with connect(args) as client:
        plan_id = args.plan_id or _state(client, args)["activePlanId"]
        if plan_id is None:
            raise Failure(Exit.FAILED, f"{args.session} has no active plan. `carrel plan list` shows its plans.")
        plan = of(client, _plans(args), plan_id, lambda path: client.get(path, {"sessionId": args.session}))
        return _show_plan(plan, screen)


def approve(args: Namespace, screen: Screen) -> int:
    """Approve a plan, which runs its tasks."""
    return _change(args, screen, "approve")


def cancel(args: Namespace, screen: Screen) -> int:
    """Cancel a plan, with the runs of its tasks."""
    return _change(args, screen, "cancel")


def resume(args: Namespace, screen: Screen) -> int:
    """Go on with a plan that failed or is blocked."""
    return _change(args, screen, "resume")


def _change(args: Namespace, screen: Screen, change: str) -> int:
    with connect(args) as client:
        plan_id = args.plan_id or _fitting(_state(client, args), change, args.session)
        body = {"sessionId": args.session}
        answer = of(client, _plans(args), plan_id, lambda path: client.post(f"{path}/{change}", body))
        return _show_plan(answer, screen)


def _plans(args: Namespace) -> Listing:
    return Listing("plans", "plan_", "/api/plans", "plans", {"sessionId": args.session})


def _fitting(state: dict[str, Any], change: str, session: str) -> str:
    """Return the plan that is changed where none is named: the active one if it fits, else the newest that does."""
    found = [plan["id"] for plan in state["plans"] if plan["status"] in _FITTING[change]]
    if not found:
        raise Failure(Exit.FAILED, f"{session} has no plan that is {' or '.join(_FITTING[change])}.")
    return str(state["activePlanId"] if state["activePlanId"] in found else found[0])


def _state(client: Client, args: Namespace) -> dict[str, Any]:
    state: dict[str, Any] = client.get("/api/plans", {"sessionId": args.session})
    return state


def _show_state(state: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(state)
    screen.line(f"Plan mode of {state['sessionKey']}: {'on' if state['enabled'] else 'off'}")
    rows = [_row(plan, state["activePlanId"]) for plan in state["plans"]]
    screen.table(("PLAN", "ACTIVE", "STATUS", "TASKS", "AGE", "TITLE"), rows, empty="No plans yet.")
    return Exit.OK


def _row(plan: dict[str, Any], active: str | None) -> tuple[object, ...]:
    tasks = plan["tasks"]
    done = f"{sum(task['status'] == 'done' for task in tasks)}/{len(tasks)}"
    here = "*" if plan["id"] == active else ""
    return plan["id"], here, plan["status"], done, age(plan["updatedAt"]), first_line(plan["title"])


def _show_plan(answer: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(answer)
    plan = answer["plan"]
    screen.facts([(name, plan[name]) for name in ("id", "title", "status", "goalId", "updatedAt")])
    rows = [(task["id"], task["status"], first_line(task["title"])) for task in plan["tasks"]]
    screen.table(("TASK", "STATUS", "TITLE"), rows, empty="No tasks.")
    if plan["markdown"]:
        screen.line(f"\n{plan['markdown']}")
    return Exit.OK


COMMANDS = (
    Command("plan list", "show plan mode of a session and list its plans", list_plans, (_SESSION,)),
    Command("plan on", "switch plan mode on", switch_on, (_SESSION,)),
    Command("plan off", "switch plan mode off", switch_off, (_SESSION,)),
    Command("plan show", "show one plan", show, (_PLAN, _SESSION)),
    Command("plan approve", "approve a plan and run its tasks", approve, (_PLAN, _SESSION)),
    Command("plan cancel", "cancel a plan", cancel, (_PLAN, _SESSION)),
    Command("plan resume", "go on with a plan that failed or is blocked", resume, (_PLAN, _SESSION)),
)
