"""`artifacts`: list, show and download what agents added to their runs."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from carrel.bridge import Client, segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import of_run
from carrel.main.cli.output import Screen
from carrel.main.cli.wording import age

_ARTIFACT = option("artifact_id", metavar="ARTIFACT", help="id of the artifact, as the list shows it")


def list_artifacts(args: Namespace, screen: Screen) -> int:
    """List what the agent of a run added to it."""
    with connect(args) as client:
        answer = of_run(client, args.run_id, lambda path: client.get(f"{path}/artifacts"))
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (one["id"], one["kind"], one["bytes"], age(one["addedAt"]), one["filename"] or one["name"] or one["url"])
        for one in answer["artifacts"]
    ]
    screen.table(("ARTIFACT", "KIND", "BYTES", "AGE", "NAME"), rows, empty="This run has no artifacts.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show one artifact: its text, or what is known of a file."""
    with connect(args) as client:
        one = _artifact(client, args.artifact_id)
        if screen.as_json:
            return screen.json({"artifact": one})
        if one["kind"] == "file":
            screen.facts(one.items())
        else:
            screen.line(client.download(_content(args.artifact_id)).decode("utf-8", "replace"))
    return Exit.OK


def get(args: Namespace, screen: Screen) -> int:
    """Download one artifact into a file; `-` writes it to stdout."""
    with connect(args) as client:
        one = _artifact(client, args.artifact_id)
        content = client.download(_content(args.artifact_id))
    # The name alone: an agent does not choose the folder.
    target = Path(args.output or Path(one["filename"] or one["name"] or one["id"]).name)
    if args.output == "-":
        sys.stdout.buffer.write(content)
        return Exit.OK
    try:
        with target.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise Failure(Exit.FAILED, f"{target} exists already; name another file with --output.") from None
    except OSError as fault:
        raise Failure(Exit.FAILED, f"{target} cannot be written: {fault.strerror}.") from fault
    if screen.as_json:
        return screen.json({"artifact": one, "file": str(target)})
    screen.line(str(target))
    return Exit.OK


def _artifact(client: Client, artifact_id: str) -> dict[str, Any]:
    listed = client.get(f"/api/runs/{segment(artifact_id.partition('.')[0])}/artifacts")["artifacts"]
    found: dict[str, Any] | None = next((one for one in listed if one["id"] == artifact_id), None)
    if found is None:
        raise Failure(Exit.FAILED, f"There is no artifact '{artifact_id}'; `carrel artifacts list RUN` shows them.")
    return found


def _content(artifact_id: str) -> str:
    return f"/api/artifacts/{segment(artifact_id)}/content"


COMMANDS = (
    Command(
        "artifacts list",
        "list what the agent of a run added to it",
        list_artifacts,
        (option("run_id", nargs="?", default="last", metavar="RUN", help="id of the run (default: the newest)"),),
    ),
    Command("artifacts show", "show an artifact", show, (_ARTIFACT,)),
    Command(
        "artifacts get",
        "download an artifact",
        get,
        (_ARTIFACT, option("--output", "-o", metavar="FILE", help="where to write it; - for stdout")),
    ),
)
