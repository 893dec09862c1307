"""`demo`: look at a server with a month of work in it."""

import shutil
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.bridge import running_url
from carrel.kernel import SystemClock, elapsed_seconds
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import LOCAL_OPTIONS, local_settings
from carrel.main.cli.output import Screen

if TYPE_CHECKING:
    from carrel.main.settings import Loaded

FOLDER = "demo"
# Marks a complete demo; one without the mark is built again.
_BUILT = "built"
_SETTINGS = """\
# The settings of `carrel demo`. Its agents need no model: they follow a script.

[prices."demo-large"]
input = 3
cached = 0.3
output = 15

[prices."demo-small"]
input = 0.25
cached = 0.03
output = 1.25

[classifier]
mode = "off"
"""


def demo(args: Namespace, screen: Screen) -> int:
    """Build the demo unless it exists, and serve it."""
    folder = local_settings(args).settings.storage.data_dir / FOLDER
    if running_url(folder):
        screen.note("The demo is running already; `carrel open --data-dir` with the folder below opens it.")
        screen.line(str(folder))
        return Exit.OK
    # These import the web framework and the database; no other command should pay for that.
    from carrel.main.demo.serve import build, serve_demo

    if args.anew:
        shutil.rmtree(folder, ignore_errors=True)
    if not (folder / _BUILT).exists():
        shutil.rmtree(folder, ignore_errors=True)
        screen.note(f"Building the demo in {folder}; this takes some seconds.")
        began = elapsed_seconds()
        folder.mkdir(mode=0o700, parents=True)
        (folder / "carrel.toml").write_text(_SETTINGS, encoding="utf-8")
        build(lambda: _settings(folder, args), SystemClock().now_ms())
        (folder / _BUILT).touch()
        screen.note(f"Built in {elapsed_seconds() - began:.0f} s. It is kept; --anew builds it again.")
    if args.build_only:
        return Exit.OK
    return serve_demo(lambda: _settings(folder, args), open_browser=args.open)


def _settings(folder: Path, args: Namespace) -> "Loaded":
    """Return the settings of the demo alone: neither those of this server nor of the environment apply to it."""
    from carrel.main.settings import load

    given = {"storage.data_dir": str(folder), "server.host": args.host, "server.port": args.port}
    return load(folder / "carrel.toml", {}, {name: value for name, value in given.items() if value is not None})


COMMANDS = (
    Command("demo", "look at a server with a month of work in it", demo, needs_server=False).takes(
        option("--anew", action="store_true", help="build it again; what was done in it is lost"),
        option("--build-only", action="store_true", help="build it, and do not serve it"),
        option("--host", help="address to listen on"),
        option("--port", type=int, help="port to listen on; 0 picks a free one"),
        option("--open", action="store_true", help="open the dashboard in a browser"),
        *LOCAL_OPTIONS,
    ),
)
