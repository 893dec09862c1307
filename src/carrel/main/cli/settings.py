"""`settings`: what a server is set to, and where each setting comes from."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Request, Table
from carrel.main.cli.wording import in_words


def _value(row: dict[str, Any]) -> str:
    return first_line(in_words(row["value"]))


def _show_reloaded(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    screen.line(f"Changed: {', '.join(answer['changed']) or 'nothing'}.")
    if answer["needRestart"]:
        screen.note(f"These need a restart: {', '.join(answer['needRestart'])}.")


_SETTINGS = Table("settings", {"SETTING": "name", "FROM": "source", "VALUE": _value})
COMMANDS = (
    Request("settings list", "list the settings, and where each comes from", "GET /api/settings", _SETTINGS),
    Request("settings reload", "let the server read its settings again", "POST /api/settings/reload", _show_reloaded),
)
