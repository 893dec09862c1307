"""`status`: the server at a glance."""

from argparse import Namespace
from collections.abc import Callable, Iterable

from carrel.bridge import Run
from carrel.main.cli.command import Command, Exit
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.run_results import question_of, why_ended
from carrel.main.cli.wording import age

_SHOWN = 10


def status(args: Namespace, screen: Screen) -> int:
    """Show the server, its lanes, the runs that wait for you and the latest failures."""
    with connect(args) as client:
        waiting_runs = client.runs.list(waiting_for="person", limit=_SHOWN)
        failed_runs = client.runs.list(state="failed", limit=_SHOWN)
        found = {"url": client.url, "version": client.get("/healthz")["version"], "health": client.get("/api/health")}
        found |= {"waiting": waiting_runs.raw["runs"], "failed": failed_runs.raw["runs"]}
    if screen.as_json:
        return screen.json(found)
    lanes, waiting = found["health"].get("lanes") or {}, found["health"].get("waiting") or {}
    screen.facts(
        [
            ("server", found["url"]),
            ("version", found["version"]),
            ("status", found["health"].get("status")),
            ("unhealthy", [name for name, state in (found["health"].get("checks") or {}).items() if state != "ok"]),
            ("lanes busy", lanes.get("busy")),
            ("runs queued", lanes.get("queued")),
            ("lanes stuck", lanes.get("stuck")),
            ("waiting for you", waiting.get("person")),
            ("waiting for a program", waiting.get("program")),
            ("recent failures", len(failed_runs)),
        ]
    )
    for gateway in found["health"].get("gateways") or []:
        if gateway["status"] != "ok":
            screen.note(f"Down for {age(gateway['since'])}: {gateway['lastError']}")
    _show_runs("Waiting for you", waiting_runs, question_of, screen)
    _show_runs("Failed", failed_runs, why_ended, screen)
    return Exit.OK


def _show_runs(title: str, runs: Iterable[Run], words: Callable[[Run], str], screen: Screen) -> None:
    rows = [(run.id, run.session_key, age(run.ended_at or run.created_at), first_line(words(run), 120)) for run in runs]
    if not rows or not screen.is_terminal:
        return
    screen.line()
    screen.out.write(screen.paint("bold", title) + "\n")
    screen.table(("RUN", "SESSION", "AGE", "DETAILS"), rows)


COMMANDS = (Command("status", "show the state of the server", status),)
