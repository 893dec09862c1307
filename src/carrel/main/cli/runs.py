"""`runs`: list, inspect, answer and cancel runs."""

from argparse import Namespace

from carrel.bridge import Run
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import RUN, RUNS, of, of_run
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.run_results import wait_and_show
from carrel.main.cli.wording import age

WAIT_SECONDS = 600.0
# What is shown below the rest, or says nothing to people; programs read it with --json.
_HIDDEN = frozenset({
    "message", "reply", "accountId", "sessionId", "deliverySessionKey", "attributes", "announce",
    "deliveryInstructionProfileVersion", "instructionsSha256",
})  # fmt: skip


def list_runs(args: Namespace, screen: Screen) -> int:
    """List runs, newest first."""
    with connect(args) as client:
        listed = client.runs.list(
            session_key=args.session, agent_id=args.agent, task_id=args.task, state=args.state,
            waiting_for=args.waiting_for, limit=args.limit,
        )  # fmt: skip
    if screen.as_json:
        return screen.json(listed.raw)
    rows = [(run.id, run.state, run.agent_id, run.session_key, age(run.created_at), _subject(run)) for run in listed]
    screen.table(("RUN", "STATE", "AGENT", "SESSION", "AGE", "MESSAGE OR QUESTION"), rows, empty="No runs yet.")
    return Exit.OK


def show(args: Namespace, screen: Screen) -> int:
    """Show one run in full."""
    with connect(args) as client:
        run = of_run(client, args.run_id, client.runs.get)
    if screen.as_json:
        return screen.json({"run": run.raw})
    # The question is shown below instead of the note that has it.
    hidden = _HIDDEN | {"note"} if run.question else _HIDDEN
    screen.facts((name, value) for name, value in run.raw.items() if name not in hidden)
    said = ("Question", run.question) if run.question else ("Reply", run.reply)
    for title, text in (("Message", run.message.text), said):
        if text:
            screen.line()
            screen.out.write(screen.paint("bold", title) + "\n")
            screen.line(text)
    return Exit.OK


def wait(args: Namespace, screen: Screen) -> int:
    """Wait until a run has ended and show its reply."""
    with connect(args) as client:
        run = of_run(client, args.run_id, client.runs.get)
        return wait_and_show(client, run.id, screen, seconds=args.timeout)


def answer(args: Namespace, screen: Screen) -> int:
    """Answer a run that is waiting for a person."""
    given: dict[str, str] = {
        name: text for name in ("text", "approve", "deny") if (text := getattr(args, name)) is not None
    }
    if len(given) != 1:
        raise Failure(Exit.USAGE, "Answer with a text, --approve or --deny.")
    ((name, text),) = given.items()
    with connect(args) as client:
        how = {"text": client.runs.answer, "approve": client.runs.approve, "deny": client.runs.deny}[name]
        answered = of_run(client, args.run_id, lambda run_id: how(run_id, text))
    if screen.as_json:
        return screen.json({"run": answered.raw})
    screen.line("Answered. The run continues.")
    return Exit.OK


def cancel(args: Namespace, screen: Screen) -> int:
    """Cancel a run that has not ended."""
    with connect(args) as client:
        run = of_run(client, args.run_id, client.runs.cancel)
    if screen.as_json:
        return screen.json({"run": run.raw})
    screen.line("Cancelled.")
    return Exit.OK


def retry(args: Namespace, screen: Screen) -> int:
    """Send a failed run's message again, as a new run."""
    with connect(args) as client:
        answer = of(client, RUNS, args.run_id, lambda path: client.post(f"{path}/retry"))
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["runId"])
    return Exit.OK


def _subject(run: Run) -> str:
    return first_line(run.question.partition("\n")[0] if run.question else run.message.text)


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
