"""`runs` and `artifacts`: list, inspect, answer and cancel runs, and download what agents added to them."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from msgspec import convert

from carrel.bridge import Artifact, Client, Run, segment
from carrel.main.cli.command import LIMIT, Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Item, Table, request
from carrel.main.cli.resource import OF_AGENT, OF_SESSION, OF_TASK, Resource


def _subject(row: Item) -> str:
    run = convert(row, Run)
    return first_line(run.question.partition("\n")[0] if run.question else run.message.text)


RUNS = Resource(
    "runs", "list, inspect, answer and cancel runs", "/api/runs", "run",
    {"RUN": "id", "STATE": "state", "AGENT": "agentId", "SESSION": "sessionKey", "AGE": "createdAt",
     "MESSAGE OR QUESTION": _subject},
    prefix="run_", query={"limit": 200}, order="newest first", empty="No runs yet.",
    hidden=("message", "reply", "accountId", "sessionId", "deliverySessionKey", "attributes", "announce",
            "deliveryInstructionProfileVersion", "instructionsSha256"),
)  # fmt: skip
RUN = RUNS.named()


def _show(answer: Item, args: Namespace, screen: Screen) -> None:
    run = convert(answer["run"], Run)
    # The question is shown below instead of the note that has it.
    shown = {name: value for name, value in answer["run"].items() if name != "note"} if run.question else answer["run"]
    RUNS.show({"run": shown}, args, screen)
    said = ("Question", run.question) if run.question else ("Reply", run.reply)
    for title, text in (("Message", run.message.text), said):
        if text:
            screen.line()
            screen.out.write(screen.paint("bold", title) + "\n")
            screen.line(text)


def _answer(client: Client, args: Namespace) -> Any:
    ways = ((client.runs.answer, args.text), (client.runs.approve, args.approve), (client.runs.deny, args.deny))
    chosen = [(how, text) for how, text in ways if text is not None]
    if len(chosen) != 1:
        raise Failure(Exit.USAGE, "Answer with a text, --approve or --deny.")
    ((how, text),) = chosen
    return {"run": RUNS.of(client, args.run_id, lambda run_id: how(run_id, text)).raw}


def _stop(client: Client, args: Namespace) -> Any:
    """Stop the whole session of a run: other runs that wait there would go on with the same work."""
    key = RUNS.of(client, args.run_id, client.runs.get).session_key
    return client.post(f"/api/sessions/{segment(key)}/stop", {})


def _artifact_with_text(client: Client, args: Namespace) -> Any:
    one = _artifact(client, args.artifact_id)
    args.text = None if one.kind == "file" else client.artifacts.content(one.id).decode("utf-8", "replace")
    return {"artifact": one.raw}


def _show_artifact(answer: Item, args: Namespace, screen: Screen) -> None:
    if args.text is None:
        screen.facts(answer["artifact"].items())
    else:
        screen.line(args.text)


def get_artifact(args: Namespace, screen: Screen) -> int:
    """Download one artifact into a file; `-` writes it to stdout."""
    with connect(args) as client:
        one = _artifact(client, args.artifact_id)
        content = client.artifacts.content(one.id)
    if args.output == "-":
        if screen.is_terminal:
            screen.line(content.decode(errors="replace"))
        else:
            sys.stdout.buffer.write(content)
        return Exit.OK
    # The name alone: an agent does not choose the folder.
    target = Path(args.output or Path(one.filename or one.name or one.id).name)
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


_ARTIFACT = option("artifact_id", "ARTIFACT", "id of the artifact, as the list shows it")
_ARTIFACTS = Table(
    "artifacts",
    {"ARTIFACT": "id", "KIND": "kind", "BYTES": "bytes", "AGE": "addedAt",
     "NAME": lambda one: one.get("filename") or one.get("name") or one.get("url")},
    "This run has no artifacts.",
)  # fmt: skip
_STATES = ("queued", "running", "waiting", "completed", "failed", "cancelled")
RESOURCES = (RUNS,)
COMMANDS = (
    RUNS.lists(
        "", OF_SESSION, OF_AGENT, OF_TASK, LIMIT, option("--state", choices=_STATES),
        option("--waiting-for", "", "only runs that wait for one of them", choices=("person", "program"),
               field="waitingFor"),
        examples=("--state failed", "--waiting-for person"),
    ),
    RUNS.shows("", show=_show, examples=("last",)),
    RUNS.does("wait", "wait for a run's reply",
              lambda client, args: {"runId": RUNS.of(client, args.run_id, client.runs.get).id}, "",
              option("--timeout", "S", "seconds (default: %(default)g)", type=float, default=600.0, dest="wait")),
    RUNS.does(
        "answer", "answer a run that is waiting for you", _answer, "Answered. The run continues.",
        option("text", "TEXT", "the answer; yes or no where a tool call is to be approved", nargs="?"),
        option("--approve", "TEXT", "approve the tool call", nargs="?", const=""),
        option("--deny", "TEXT", "refuse the tool call", nargs="?", const=""),
        examples=("last yes", 'last --deny "too expensive"'),
    ),
    RUNS.does(
        "steer", "send a message into a run that is at work", "POST steer",
        "Sent as {runId}: it is heard at the next step, or afterwards if the run ends first.",
        option("message", "TEXT", "the message"),
    ),
    RUNS.does("cancel", "cancel a run", "POST cancel", "Cancelled."),
    RUNS.does("advance", "move a queued run one place up", "POST advance",
              "Moved up: it is number {run[queuePosition]}."),
    RUNS.does("allow", "resume a run that is held because it does nothing new", "POST allow", "It goes on."),
    RUNS.does("stop", "stop a run and everything else of its session", _stop, "Stopped."),
    RUNS.does("retry", "retry a failed run", "POST retry", "{runId}"),
    RUNS.does("announce", "deliver a result again that could not be delivered", "POST announce",
              "It is being delivered."),
    request("artifacts list", "list what the agent of a run added to it", "GET /api/runs/{}/artifacts", _ARTIFACTS.show,
            RUNS.named("id of the run (default: the newest)", nargs="?", default="last")),
    request("artifacts show", "show an artifact", _artifact_with_text, _show_artifact, _ARTIFACT),
    command("artifacts get", "download an artifact", get_artifact, _ARTIFACT,
            option("--output -o", "FILE", "where to write it; - for stdout"),
            examples=("run_01m7knxt1p2gzd8eh38rzwycx0.1 -o report.pdf",)),
)  # fmt: skip
