"""`a2a`: speak to any A2A agent, ours or another's; the protocol is the bridge's affair."""

import base64
import mimetypes
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from carrel.a2a import RemoteTask, state_name
from carrel.bridge import A2aClient, NotReachable, Refused
from carrel.kernel import Ids, SystemClock, system_chance
from carrel.kernel.limits import BODY_BYTES_MAX
from carrel.main.cli.a2a.display import show_card, show_event, show_task, show_tasks, tell
from carrel.main.cli.a2a.token import token_for
from carrel.main.cli.command import Command, Exit, Failure, Option, option
from carrel.main.cli.connection import LOCAL_OPTIONS
from carrel.main.cli.output import Screen

Item = dict[str, Any]
WAIT_SECONDS = 600.0
_UNKNOWN_TYPE = "application/octet-stream"


def card(args: Namespace, screen: Screen) -> int:
    """Show what an agent says of itself."""
    with _agent(args) as client:
        found, url = client.card()
    return screen.json(found) if screen.as_json else show_card(found, url, screen)


def send(args: Namespace, screen: Screen) -> int:
    """Say something to an agent; its answer comes on stdout."""
    with _agent(args) as client, screen.waiting("waiting for the answer…"):
        answer = client.send(_message(args), wait=not args.no_wait, timeout_seconds=args.timeout)
    if screen.as_json:
        screen.json(answer)
    run = RemoteTask(answer)
    if args.no_wait and not run.is_resting:
        if not screen.as_json:
            screen.line(run.id)
        return Exit.OK
    return tell(run, args.agent_url, screen)


def stream(args: Namespace, screen: Screen) -> int:
    """Say something to an agent and show what comes of it while it comes; JSON is one event per line."""
    run = RemoteTask()
    has_spoken = False
    with _agent(args) as client:
        if not client.streams:
            raise Failure(Exit.FAILED, "This agent does not stream; use `carrel a2a send`.")
        for event in client.stream(_message(args), timeout_seconds=args.timeout):
            before, text = run.state, run.apply(event)
            has_spoken = has_spoken or bool(text)
            show_event(event, text, run, screen, is_new_state=run.state != before)
            if run.is_resting:
                break
        if run.id and not run.is_resting:
            # A stream that is cut ends no work; how it stands is told instead.
            run = RemoteTask({"task": client.task(run.id, history=0)})
    if has_spoken and not screen.as_json:
        screen.line()
    return tell(run, args.agent_url, screen, with_text=not has_spoken)


def get(args: Namespace, screen: Screen) -> int:
    """Show one task."""
    with _agent(args) as client:
        task = client.task(args.task_id, history=args.history)
    return screen.json(task) if screen.as_json else show_task(task, screen)


def list_tasks(args: Namespace, screen: Screen) -> int:
    """Show your tasks, the newest first."""
    filters: Item = {"contextId": args.context, "pageSize": args.limit, "pageToken": args.page}
    filters["status"] = state_name(args.status) if args.status else None
    with _agent(args) as client:
        answer = client.tasks({name: value for name, value in filters.items() if value})
    return screen.json(answer) if screen.as_json else show_tasks(answer, screen)


def cancel(args: Namespace, screen: Screen) -> int:
    """Ask for a task to be cancelled."""
    with _agent(args) as client:
        task = client.cancel(args.task_id)
    if screen.as_json:
        return screen.json(task)
    screen.line(RemoteTask({"task": task}).state)
    return Exit.OK


@contextmanager
def _agent(args: Namespace) -> Iterator[A2aClient]:
    """The agent the arguments mean; what goes wrong with it is told in words that fit an agent of anybody."""
    found = token_for(args)
    try:
        yield A2aClient(args.agent_url, found.token, only_here=found.only_here)
    except NotReachable as fault:
        raise Failure(Exit.NOT_REACHABLE, str(fault)) from fault
    except Refused as fault:
        if not fault.not_allowed:
            raise
        raise Failure(Exit.NOT_ALLOWED, f"{fault} {found.hint}") from fault


def _message(args: Namespace) -> Item:
    text = sys.stdin.read().rstrip("\n") if args.text == "-" else args.text
    parts = [*map(_file, args.file), *([{"text": text}] if text.strip() else [])]
    if not parts:
        raise Failure(Exit.USAGE, "There is nothing to send; give a text, or - and the text on stdin.")
    message: Item = {"messageId": Ids(SystemClock(), system_chance()).new("msg"), "role": "ROLE_USER", "parts": parts}
    named = {"contextId": args.context, "taskId": args.task}
    return message | {name: value for name, value in named.items() if value}


def _file(path: Path) -> Item:
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise Failure(Exit.USAGE, f"{path} cannot be read ({fault.strerror}).") from fault
    if len(content) > BODY_BYTES_MAX:
        raise Failure(Exit.USAGE, f"{path} is larger than {BODY_BYTES_MAX} bytes.")
    kind = mimetypes.guess_type(path.name)[0] or _UNKNOWN_TYPE
    return {"raw": base64.b64encode(content).decode(), "mediaType": kind, "filename": path.name}


_OPTIONS: tuple[Option, ...] = (
    option("--token", help="token for the agent (else CARREL_TOKEN or the local owner's, for your own server only)"),
    option("--json", action="store_true", help="print the answer as JSON, in the form of A2A 1.0"),
    *LOCAL_OPTIONS,
)
_URL = option("agent_url", metavar="URL", help="address of an A2A agent or of its card")
_TASK = option("task_id", metavar="TASK", help="id of the task")
_SAYING: tuple[Option, ...] = (
    _URL,
    option("text", metavar="TEXT", help="what to say; - reads it from stdin"),
    option("--context", metavar="ID", help="the context to say it in (else a new one)"),
    option("--task", metavar="ID", help="the task that it answers"),
    option("--file", type=Path, action="append", default=[], metavar="PATH", help="a file to send along; repeatable"),
    option("--timeout", type=float, default=WAIT_SECONDS, metavar="S", help=f"seconds to wait ({WAIT_SECONDS:g})"),
)
COMMANDS = (
    Command("a2a card", "show what an agent says of itself", card, (_URL, *_OPTIONS), asks_server=False),
    Command(
        "a2a send",
        "say something to an agent and wait for the answer",
        send,
        (*_SAYING, option("--no-wait", action="store_true", help="print the task's id and return at once"), *_OPTIONS),
        asks_server=False,
    ),
    Command(
        "a2a stream",
        "say something and see what comes of it as it comes",
        stream,
        (*_SAYING, *_OPTIONS),
        asks_server=False,
    ),
    Command(
        "a2a get",
        "show one task",
        get,
        (_URL, _TASK, option("--history", type=int, metavar="N", help="with its newest N messages"), *_OPTIONS),
        asks_server=False,
    ),
    Command(
        "a2a list",
        "show your tasks",
        list_tasks,
        (
            _URL,
            option("--context", metavar="ID", help="only of this context"),
            option("--status", metavar="STATE", help="only in this state, e.g. working or input-required"),
            option("--limit", type=int, default=50, metavar="N"),
            option("--page", metavar="TOKEN", help="go on from a page"),
            *_OPTIONS,
        ),
        asks_server=False,
    ),
    Command("a2a cancel", "cancel a task", cancel, (_URL, _TASK, *_OPTIONS), asks_server=False),
)
