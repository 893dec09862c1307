"""`artifacts`: list, show and download what agents added to their runs."""

import sys
from argparse import Namespace
from pathlib import Path

from carrel.bridge import Artifact, Client
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import of_run
from carrel.main.cli.output import Screen
from carrel.main.cli.wording import age

_ARTIFACT = option("artifact_id", metavar="ARTIFACT", help="id of the artifact, as the list shows it")


def list_artifacts(args: Namespace, screen: Screen) -> int:
    """List what the agent of a run added to it."""
    with connect(args) as client:
        listed = of_run(client, args.run_id, client.artifacts.list)
    if screen.as_json:
        return screen.json(listed.raw)
    rows = [(one.id, one.kind, one.bytes, age(one.added_at), one.filename or one.name or one.url) for one in listed]
    screen.table(("ARTIFACT", "KIND", "BYTES", "AGE", "NAME"), rows, empty="This run has no artifacts.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show one artifact: its text, or what is known of a file."""
    with connect(args) as client:
        one = _artifact(client, args.artifact_id)
        if screen.as_json:
            return screen.json({"artifact": one.raw})
        if one.kind == "file":
            screen.facts(one.raw.items())
        else:
            screen.line(client.artifacts.content(one.id).decode("utf-8", "replace"))
    return Exit.OK


def get(args: Namespace, screen: Screen) -> int:
    """Download one artifact into a file; `-` writes it to stdout."""
    with connect(args) as client:
        one = _artifact(client, args.artifact_id)
        content = client.artifacts.content(one.id)
    # The name alone: an agent does not choose the folder.
    target = Path(args.output or Path(one.filename or one.name or one.id).name)
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
        return screen.json({"artifact": one.raw, "file": str(target)})
    screen.line(str(target))
    return Exit.OK


def _artifact(client: Client, artifact_id: str) -> Artifact:
    listed = client.artifacts.list(artifact_id.partition(".")[0])
    found = next((one for one in listed if one.id == artifact_id), None)
    if found is None:
        raise Failure(Exit.FAILED, f"There is no artifact '{artifact_id}'; `carrel artifacts list RUN` shows them.")
    return found


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
