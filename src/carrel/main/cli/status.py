"""`status`: the server at a glance."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import Command, Exit
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.run_results import question_of, why_ended
from carrel.main.cli.wording import age

_SHOWN = 10


def status(args: Namespace, screen: Screen) -> int:
    """Show the server, its lanes, the runs that wait for you and the latest failures."""
    with connect(args) as client:
        found = _read(client)
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
            ("recent failures", len(found["failed"])),
        ]
    )
    for gateway in found["health"].get("gateways") or []:
        if gateway["status"] != "ok":
            screen.note(f"Down for {age(gateway['since'])}: {gateway['lastError']}")
    _show_runs("Waiting for you", found["waiting"], [question_of(run) for run in found["waiting"]], screen)
    _show_runs("Failed", found["failed"], [why_ended(run) for run in found["failed"]], screen)
    return Exit.OK


def _read(client: Client) -> dict[str, Any]:
    return {
        "url": client.url,
        "version": client.get("/healthz")["version"],
        "health": client.get("/api/health"),
        "waiting": client.get("/api/runs", {"waitingFor": "person", "limit": _SHOWN})["runs"],
        "failed": client.get("/api/runs", {"state": "failed", "limit": _SHOWN})["runs"],
    }


def _show_runs(title: str, runs: list[dict[str, Any]], words: list[str], screen: Screen) -> None:
    if not runs or not screen.is_terminal:
        return
    screen.line()
    screen.out.write(screen.paint("bold", title) + "\n")
    rows = [
        (run["id"], run["sessionKey"], age(run.get("endedAt") or run["createdAt"]), first_line(text, 120))
        for run, text in zip(runs, words, strict=True)
    ]
    screen.table(("RUN", "SESSION", "AGE", "DETAILS"), rows)


COMMANDS = (Command("status", "show the state of the server", status),)
