"""`runs`: list, inspect, answer and cancel runs."""

from argparse import Namespace

from carrel.bridge import segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import RUN, of_run
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.run_results import answer_body, wait_and_show
from carrel.main.cli.wording import age

WAIT_SECONDS = 600.0
# What is shown below the rest, or says nothing to people; programs read it with --json.
_HIDDEN = frozenset({
    "message", "reply", "accountId", "sessionId", "deliverySessionKey", "attributes", "announce",
    "deliveryInstructionProfileVersion", "instructionsSha256",
})  # fmt: skip


def list_runs(args: Namespace, screen: Screen) -> int:
    """List runs, newest first."""
    query = {"sessionKey": args.session, "agentId": args.agent, "state": args.state, "limit": args.limit}
    query |= {"waitingFor": args.waiting_for, "taskId": args.task}
    with connect(args) as client:
        answer = client.get("/api/runs", query)
    if screen.as_json:
        return screen.json(answer)
    rows = [
        (run["id"], run["state"], run["agentId"], run["sessionKey"], age(run["createdAt"]), _message(run))
        for run in answer["runs"]
    ]
    screen.table(("RUN", "STATE", "AGENT", "SESSION", "AGE", "MESSAGE"), rows, empty="No runs yet.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show one run in full."""
    with connect(args) as client:
        run = of_run(client, args.run_id, client.get)["run"]
    if screen.as_json:
        return screen.json({"run": run})
    message, reply = (run.get("message") or {}).get("text"), run.get("reply")
    screen.facts((name, value) for name, value in run.items() if name not in _HIDDEN)
    for title, text in (("Message", message), ("Reply", reply)):
        if text:
            screen.line()
            screen.out.write(screen.paint("bold", title) + "\n")
            screen.line(text)
    return Exit.OK


def wait(args: Namespace, screen: Screen) -> int:
    """Wait until a run has ended and show its reply."""
    with connect(args) as client:
        run_id = of_run(client, args.run_id, client.get)["run"]["id"]
        return wait_and_show(client, run_id, screen, seconds=args.timeout)


def answer(args: Namespace, screen: Screen) -> int:
    """Answer a run that is waiting for a person."""
    given = {name: text for name in ("text", "approve", "deny") if (text := getattr(args, name)) is not None}
    if len(given) != 1:
        raise Failure(Exit.USAGE, "Answer with a text, --approve or --deny.")
    ((name, text),) = given.items()
    with connect(args) as client:
        run = of_run(client, args.run_id, client.get)["run"]
        body = answer_body(run, text) if name == "text" else {"approve": name == "approve"}
        if name != "text" and text:
            body["text"] = text
        answer = client.post(f"/api/runs/{segment(run['id'])}/answer", body)
    if screen.as_json:
        return screen.json(answer)
    screen.line("Answered. The run continues.")
    return Exit.OK


def cancel(args: Namespace, screen: Screen) -> int:
    """Cancel a run that has not ended."""
    with connect(args) as client:
        answer = of_run(client, args.run_id, lambda path: client.post(f"{path}/cancel"))
    if screen.as_json:
        return screen.json(answer)
    screen.line("Cancelled.")
    return Exit.OK


def retry(args: Namespace, screen: Screen) -> int:
    """Send a failed run's message again, as a new run."""
    with connect(args) as client:
        answer = of_run(client, args.run_id, lambda path: client.post(f"{path}/retry"))
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["runId"])
    return Exit.OK


def _message(run: dict[str, object]) -> str:
    message = run.get("message")
    return first_line(str(message.get("text") or "")) if isinstance(message, dict) else ""


COMMANDS = (
    Command(
        "runs list",
        "list runs",
        list_runs,
        (
            option("--session", metavar="SESSION", help="only runs of this session"),
            option("--agent", metavar="AGENT", help="only runs of this agent"),
            option("--task", metavar="TASK", help="only runs of this task"),
            option("--state", choices=("queued", "running", "waiting", "completed", "failed", "cancelled")),
            option("--waiting-for", choices=("person", "program"), help="only runs that wait for one of them"),
            option("--limit", type=int, default=50, metavar="N"),
        ),
    ),
    Command("runs show", "show one run", show, (RUN,)),
    Command(
        "runs wait",
        "wait for a run's reply",
        wait,
        (
            RUN,
            option("--timeout", type=float, default=WAIT_SECONDS, metavar="S", help="seconds (default: %(default)g)"),
        ),
    ),
    Command(
        "runs answer",
        "answer a run that is waiting for you",
        answer,
        (
            RUN,
            option("text", nargs="?", metavar="TEXT", help="the answer; yes or no where a tool call is to be approved"),
            option("--approve", nargs="?", const="", metavar="TEXT", help="approve the tool call"),
            option("--deny", nargs="?", const="", metavar="TEXT", help="refuse the tool call"),
        ),
    ),
    Command("runs cancel", "cancel a run", cancel, (RUN,)),
    Command("runs retry", "retry a failed run", retry, (RUN,)),
)
