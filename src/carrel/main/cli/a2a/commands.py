"""`a2a`: talk to any A2A agent. The bridge speaks the protocol."""

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
from carrel.main.cli.a2a.credentials import token_for
from carrel.main.cli.a2a.display import show_card, show_event, show_result, show_task, show_tasks
from carrel.main.cli.command import Command, Exit, Failure, Option, option
from carrel.main.cli.discovery import LOCAL_OPTIONS
from carrel.main.cli.output import Screen

Item = dict[str, Any]
WAIT_SECONDS = 600.0
_UNKNOWN_TYPE = "application/octet-stream"


def card(args: Namespace, screen: Screen) -> int:
    """Show an agent's card."""
    with _agent(args) as client:
        found, url = client.card()
    return screen.json(found) if screen.as_json else show_card(found, url, screen)


def send(args: Namespace, screen: Screen) -> int:
    """Send a message to an agent and print its reply."""
    with _agent(args) as client, screen.waiting("waiting for the reply…"):
        answer = client.send(_message(args), wait=not args.no_wait, timeout_seconds=args.timeout)
    if screen.as_json:
        screen.json(answer)
    task = RemoteTask(answer)
    if args.no_wait and not task.is_settled:
        if not screen.as_json:
            screen.line(task.id)
        return Exit.OK
    return show_result(task, args.agent_url, screen)


def stream(args: Namespace, screen: Screen) -> int:
    """Send a message to an agent and print its events as they arrive; JSON is one event per line."""
    task = RemoteTask()
    has_text = False
    with _agent(args) as client:
        if not client.streams:
            raise Failure(Exit.FAILED, "This agent does not support streaming; use `carrel a2a send`.")
        for event in client.stream(_message(args), timeout_seconds=args.timeout):
            before, text = task.state, task.apply(event)
            has_text = has_text or bool(text)
            show_event(event, text, task, screen, is_new_state=task.state != before)
            if task.is_settled:
                break
        if task.id and not task.is_settled:
            # A dropped stream does not end the task, so its current state is shown instead.
            task = RemoteTask({"task": client.task(task.id, history=0)})
    if has_text and not screen.as_json:
        screen.line()
    return show_result(task, args.agent_url, screen, with_text=not has_text)


def get(args: Namespace, screen: Screen) -> int:
    """Show one task."""
    with _agent(args) as client:
        task = client.task(args.task_id, history=args.history)
    return screen.json(task) if screen.as_json else show_task(task, screen)


def list_tasks(args: Namespace, screen: Screen) -> int:
    """List your tasks, newest first."""
    filters: Item = {"contextId": args.context, "pageSize": args.limit, "pageToken": args.page}
    filters["status"] = state_name(args.status) if args.status else None
    with _agent(args) as client:
        answer = client.tasks({name: value for name, value in filters.items() if value})
    return screen.json(answer) if screen.as_json else show_tasks(answer, screen)


def cancel(args: Namespace, screen: Screen) -> int:
    """Request the cancellation of a task."""
    with _agent(args) as client:
        task = client.cancel(args.task_id)
    if screen.as_json:
        return screen.json(task)
    screen.line(RemoteTask({"task": task}).state)
    return Exit.OK


@contextmanager
def _agent(args: Namespace) -> Iterator[A2aClient]:
    """Yield a client for the agent that the arguments name; its errors do not assume a Carrel server."""
    found = token_for(args)
    try:
        yield A2aClient(args.agent_url, found.token)
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
        raise Failure(Exit.USAGE, "Nothing to send; pass a text, or - to read it from stdin.")
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
    option("--token", help="token for the agent (your own server only: default CARREL_TOKEN, or the local owner's)"),
    option("--json", action="store_true", help="print the answer as A2A 1.0 JSON"),
    *LOCAL_OPTIONS,
)
_URL = option("agent_url", metavar="URL", help="address of an A2A agent or of its card")
_TASK = option("task_id", metavar="TASK", help="id of the task")
_NO_WAIT = option("--no-wait", action="store_true", help="print the task's id without waiting")
_SEND_OPTIONS: tuple[Option, ...] = (
    _URL,
    option("text", metavar="TEXT", help="the message; - reads it from stdin"),
    option("--context", metavar="ID", help="context to continue (default: a new one)"),
    option("--task", metavar="ID", help="task to answer"),
    option("--file", type=Path, action="append", default=[], metavar="PATH", help="attach a file; repeatable"),
    option("--timeout", type=float, default=WAIT_SECONDS, metavar="S", help="seconds to wait (default: %(default)g)"),
)
COMMANDS = (
    Command("a2a card", "show an agent's card", card, (_URL, *_OPTIONS), needs_server=False),
    Command(
        "a2a send",
        "send a message and wait for the reply",
        send,
        (*_SEND_OPTIONS, _NO_WAIT, *_OPTIONS),
        needs_server=False,
    ),
    Command(
        "a2a stream",
        "send a message and stream the reply",
        stream,
        (*_SEND_OPTIONS, *_OPTIONS),
        needs_server=False,
    ),
    Command(
        "a2a get",
        "show one task",
        get,
        (_URL, _TASK, option("--history", type=int, metavar="N", help="include its newest N messages"), *_OPTIONS),
        needs_server=False,
    ),
    Command(
        "a2a list",
        "list your tasks",
        list_tasks,
        (
            _URL,
            option("--context", metavar="ID", help="only tasks of this context"),
            option("--status", metavar="STATE", help="only tasks in this state, e.g. working or input-required"),
            option("--limit", type=int, default=50, metavar="N"),
            option("--page", metavar="TOKEN", help="continue from a page token"),
            *_OPTIONS,
        ),
        needs_server=False,
    ),
    Command("a2a cancel", "cancel a task", cancel, (_URL, _TASK, *_OPTIONS), needs_server=False),
)
