"""`auto`: let agents work by themselves."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import AUTO_RUNS, MAIN, by_id, of
from carrel.main.cli.output import Screen
from carrel.main.cli.wording import distance

_STOP = "/api/auto/stop"
_HEADERS = ("RUN", "KIND", "STATUS", "TASK", "GOAL", "TICKS", "NEXT")
_SESSION = option("session", nargs="?", default=MAIN, metavar="SESSION", help="session key (default: main)")
_RUN = option("run_id", metavar="RUN", help="id of the auto run, cut to what is unique")


def list_runs(args: Namespace, screen: Screen) -> int:
    """List the auto runs of a session."""
    with connect(args) as client:
        answer = client.get("/api/auto/runs", {"sessionId": args.session, "includeEnded": "1" if args.all else "0"})
    if screen.as_json:
        return screen.json(answer)
    empty = 'No auto run is active in this session. To start one: `carrel auto start "what to do"`'
    screen.table(_HEADERS, [_row(run) for run in answer["runs"]], empty=empty, whole_ids=args.session != MAIN)
    return Exit.OK


def _row(run: dict[str, Any]) -> tuple[object, ...]:
    named = run["runId"], run["runKind"], run["status"], run["taskId"], run["goalId"] or ""
    return *named, run["tickCount"], distance(run["nextTickAt"])


def start(args: Namespace, screen: Screen) -> int:
    """Let the agent of a session work by itself."""
    body = {
        "sessionId": args.session,
        "goalId": args.goal,
        "taskId": args.task,
        "text": args.text,
        "intervalSeconds": args.every,
    }
    with connect(args) as client:
        answer = client.post("/api/auto/start", {name: value for name, value in body.items() if value is not None})
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["run"]["runId"])
    if screen.is_terminal:
        screen.note(f"Working on {answer['run']['taskId']}. To stop it: `carrel auto stop {answer['run']['runId']}`")
    return Exit.OK


def stop(args: Namespace, screen: Screen) -> int:
    """Stop one auto run, or all of a session."""
    with connect(args) as client:
        if args.name.startswith(AUTO_RUNS.prefix):
            answer = by_id(client, AUTO_RUNS, args.name, lambda run_id: client.post(_STOP, {"runId": run_id}))
        else:
            answer = client.post(_STOP, {"sessionId": args.name})
    if screen.as_json:
        return screen.json(answer)
    screen.line("\n".join(answer["stopped"]) or "Nothing to stop.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show one auto run in full."""
    with connect(args) as client:
        answer = of(client, AUTO_RUNS, args.run_id, client.get)
    if screen.as_json:
        return screen.json(answer)
    screen.facts(answer["run"].items())
    return Exit.OK


COMMANDS = (
    Command(
        "auto list",
        "list the auto runs of a session",
        list_runs,
        (_SESSION, option("--all", action="store_true", help="also those that have ended")),
    ),
    Command(
        "auto start",
        "let an agent work by itself",
        start,
        (
            option("text", nargs="?", metavar="TEXT", help="what to do; it becomes a task"),
            option("--session", default=MAIN, metavar="SESSION", help="session key (default: main)"),
            option("--task", metavar="TASK", help="work on this task instead"),
            option("--goal", metavar="GOAL", help="work through the tasks of this goal instead"),
            option("--every", type=int, metavar="SECONDS", help="from tick to tick (default: auto.tick_seconds)"),
        ),
    ),
    Command(
        "auto stop",
        "stop an auto run, or all of a session",
        stop,
        (option("name", nargs="?", default=MAIN, metavar="RUN|SESSION", help="id of an auto run, or session key"),),
    ),
    Command("auto show", "show one auto run", show, (_RUN,)),
)
