"""`status`: how the server stands, on one screen."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import Command, Exit
from carrel.main.cli.connection import reach
from carrel.main.cli.output import Screen, age, first_line
from carrel.main.cli.wait import asks, why_ended

_SHOWN = 10


def status(args: Namespace, screen: Screen) -> int:
    """Show the server, its lanes, what waits for a person and what failed last."""
    with reach(args) as client:
        picture = _look(client)
    if screen.as_json:
        return screen.json(picture)
    lanes = picture["health"].get("lanes") or {}
    screen.facts(
        [
            ("server", picture["url"]),
            ("version", picture["version"]),
            ("status", picture["health"].get("status")),
            ("troubled", [name for name, state in (picture["health"].get("checks") or {}).items() if state != "ok"]),
            ("lanes busy", lanes.get("busy")),
            ("runs queued", lanes.get("queued")),
            ("lanes stuck", lanes.get("stuck")),
            ("waiting for you", len(picture["waiting"])),
            ("failed lately", len(picture["failed"])),
        ]
    )
    _show_runs("Waiting for you", picture["waiting"], [asks(run) for run in picture["waiting"]], screen)
    _show_runs("Failed", picture["failed"], [why_ended(run) for run in picture["failed"]], screen)
    return Exit.OK


def _look(client: Client) -> dict[str, Any]:
    return {
        "url": client.url,
        "version": client.get("/healthz")["version"],
        "health": client.get("/api/health"),
        "waiting": client.get("/api/runs", {"state": "waiting", "limit": _SHOWN})["runs"],
        "failed": client.get("/api/runs", {"state": "failed", "limit": _SHOWN})["runs"],
    }


def _show_runs(title: str, runs: list[dict[str, Any]], words: list[str], screen: Screen) -> None:
    if not runs or not screen.is_terminal:
        return
    screen.line()
    screen.out.write(screen.paint("bold", title) + "\n")
    rows = [
        (run["id"], run["sessionKey"], age(run.get("endedAt") or run["createdAt"]), first_line(said, 120))
        for run, said in zip(runs, words, strict=True)
    ]
    screen.table(("RUN", "SESSION", "AGE", "WHAT"), rows)


COMMANDS = (Command("status", "show how the server stands", status),)
