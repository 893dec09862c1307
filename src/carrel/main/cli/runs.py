"""`runs` and `artifacts`: list, inspect, answer and cancel runs, and download what agents added to them."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from msgspec import convert

from carrel.bridge import Artifact, Client, Run, segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import LIMIT, RUN, RUNS
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Request, Table, ago
from carrel.main.cli.run_results import wait_and_show

WAIT_SECONDS = 600.0
# Shown below the rest, or of no use to people; programs read it with --json.
_HIDDEN = frozenset({
    "message", "reply", "accountId", "sessionId", "deliverySessionKey", "attributes", "announce",
    "deliveryInstructionProfileVersion", "instructionsSha256",
})  # fmt: skip


def _show(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    run = convert(answer["run"], Run)
    # The question is shown below instead of the note that has it.
    hidden = _HIDDEN | {"note"} if run.question else _HIDDEN
    screen.facts((name, value) for name, value in answer["run"].items() if name not in hidden)
    said = ("Question", run.question) if run.question else ("Reply", run.reply)
    for title, text in (("Message", run.message.text), said):
        if text:
            screen.line()
            screen.out.write(screen.paint("bold", title) + "\n")
            screen.line(text)


def wait(args: Namespace, screen: Screen) -> int:
    """Wait until a run has ended and show its reply."""
    with connect(args) as client:
        run = RUNS.of(client, args.run_id, client.runs.get)
        return wait_and_show(client, run.id, screen, seconds=args.timeout)


def _answer(client: Client, args: Namespace) -> Any:
    """Answer a run that is waiting for a person."""
    given: dict[str, str] = {
        name: text for name in ("text", "approve", "deny") if (text := getattr(args, name)) is not None
    }
    if len(given) != 1:
        raise Failure(Exit.USAGE, "Answer with a text, --approve or --deny.")
    ((name, text),) = given.items()
    how = {"text": client.runs.answer, "approve": client.runs.approve, "deny": client.runs.deny}[name]
    return {"run": RUNS.of(client, args.run_id, lambda run_id: how(run_id, text)).raw}


def _stop(client: Client, args: Namespace) -> Any:
    """Stop the whole session of a run: other runs that wait there would go on with the same work."""
    key = RUNS.of(client, args.run_id, client.runs.get).session_key
    return client.post(f"/api/sessions/{segment(key)}/stop", {})


def _subject(row: dict[str, Any]) -> str:
    run = convert(row, Run)
    return first_line(run.question.partition("\n")[0] if run.question else run.message.text)


_RUNS = Table(
    "runs",
    {
        "RUN": "id",
        "STATE": "state",
        "AGENT": "agentId",
        "SESSION": "sessionKey",
        "AGE": ago("createdAt"),
        "MESSAGE OR QUESTION": _subject,
    },
    "No runs yet.",
)


_ARTIFACT = option("artifact_id", "ARTIFACT", "id of the artifact, as the list shows it")


def show_artifact(args: Namespace, screen: Screen) -> int:
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


def get_artifact(args: Namespace, screen: Screen) -> int:
    """Download one artifact into a file; `-` writes it to stdout."""
    with connect(args) as client:
        one = _artifact(client, args.artifact_id)
        content = client.artifacts.content(one.id)
    # The name alone: an agent does not choose the folder.
    target = Path(args.output or Path(one.filename or one.name or one.id).name)
    if args.output == "-" and screen.is_terminal:
        screen.line(content.decode(errors="replace"))
        return Exit.OK
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


_ARTIFACTS = Table(
    "artifacts",
    {
        "ARTIFACT": "id",
        "KIND": "kind",
        "BYTES": "bytes",
        "AGE": ago("addedAt"),
        "NAME": lambda one: one.get("filename") or one.get("name") or one.get("url"),
    },
    "This run has no artifacts.",
)
_RUN_OR_LAST = option("run_id", "RUN", "id of the run (default: the newest)", nargs="?", default="last", of=RUNS.of)


COMMANDS = (
    Request("runs list", "list runs", "GET /api/runs", _RUNS).takes(
        option("--session", "SESSION", "only runs of this session", field="sessionKey"),
        option("--agent", "AGENT", "only runs of this agent", field="agentId"),
        option("--task", "TASK", "only runs of this task", field="taskId"),
        option("--state", choices=("queued", "running", "waiting", "completed", "failed", "cancelled")),
        option(
            "--waiting-for",
            choices=("person", "program"),
            field="waitingFor",
            help="only runs that wait for one of them",
        ),
        LIMIT,
    ),
    Request("runs show", "show one run", "GET /api/runs/{}", _show).takes(RUN),
    Command("runs wait", "wait for a run's reply", wait).takes(
        RUN, option("--timeout", "S", "seconds (default: %(default)g)", type=float, default=WAIT_SECONDS)
    ),
    Request("runs answer", "answer a run that is waiting for you", _answer, "Answered. The run continues.").takes(
        RUN,
        option("text", "TEXT", "the answer; yes or no where a tool call is to be approved", nargs="?"),
        option("--approve", "TEXT", "approve the tool call", nargs="?", const=""),
        option("--deny", "TEXT", "refuse the tool call", nargs="?", const=""),
    ),
    Request(
        "runs steer",
        "send a message into a run that is at work",
        "POST /api/runs/{}/steer",
        "Sent as {runId}: it is heard at the next step, or afterwards if the run ends first.",
    ).takes(RUN, option("message", "TEXT", "the message")),
    Request("runs cancel", "cancel a run", "POST /api/runs/{}/cancel", "Cancelled.").takes(RUN),
    Request(
        "runs advance",
        "move a queued run one place up",
        "POST /api/runs/{}/advance",
        "Moved up: it is number {run[queuePosition]}.",
    ).takes(RUN),
    Request(
        "runs allow",
        "resume a run that is held because it does nothing new",
        "POST /api/runs/{}/allow",
        "It goes on.",
    ).takes(RUN),
    Request("runs stop", "stop a run and everything else of its session", _stop, "Stopped.").takes(RUN),
    Request("runs retry", "retry a failed run", "POST /api/runs/{}/retry", "{runId}").takes(RUN),
    Request(
        "artifacts list", "list what the agent of a run added to it", "GET /api/runs/{}/artifacts", _ARTIFACTS
    ).takes(_RUN_OR_LAST),
    Command("artifacts show", "show an artifact", show_artifact).takes(_ARTIFACT),
    Command("artifacts get", "download an artifact", get_artifact).takes(
        _ARTIFACT, option("--output -o", "FILE", "where to write it; - for stdout")
    ),
)
