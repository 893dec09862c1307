"""`a2a`: talk to any A2A agent. The bridge speaks the protocol."""

import base64
import mimetypes
import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from carrel.a2a import RemoteTask, interfaces_of, message_text, state_name
from carrel.bridge import A2aClient, NotReachable, Refused, is_local, owner_token, running_url
from carrel.kernel import Ids, SystemClock, system_chance
from carrel.kernel.limits import BODY_BYTES_MAX
from carrel.main.cli.command import LOCAL_OPTIONS, MESSAGE, Command, Exit, Failure, Option, command, option
from carrel.main.cli.discovery import local_place
from carrel.main.cli.humanize import age
from carrel.main.cli.output import Screen, first_line, json_text
from carrel.main.cli.request import Ask, Item, Show, request


class TokenFound(NamedTuple):
    """A token, and the hint to show when it is refused."""

    token: str
    hint: str


def token_for(args: Namespace) -> TokenFound:
    """Return the token for the agent that the arguments name; empty for strangers, who must not get our own token."""
    if args.token:
        return TokenFound(args.token, "Use another token with --token.")
    url, held = args.agent_url, os.environ.get("CARREL_TOKEN", "")
    if held and (is_local(url) or _server(url) == _server(os.environ.get("CARREL_URL", ""))):
        return TokenFound(held, "Use another token: pass it with --token or set CARREL_TOKEN.")
    if not held and is_local(url):
        data_dir, configured = local_place(args)
        if _server(url) in map(_server, (running_url(data_dir), configured)):
            return TokenFound(owner_token(data_dir), "Use another token with --token.")
    kept = "CARREL_TOKEN is for your own server and was not sent." if held else "The request had no token."
    return TokenFound("", f"{kept} Pass one for this agent with --token.")


def _server(url: str) -> tuple[str, str, int | None]:
    """Return what identifies a server; all names of this machine count as one."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", url, None)
    return parts.scheme, "localhost" if is_local(url) else parts.hostname or "", port


def _card(client: A2aClient, args: Namespace) -> Item:
    card, args.card_url = client.card()
    return card


def _show_card(card: Item, args: Namespace, screen: Screen) -> None:
    """Show an agent's name, interfaces and skills; a stranger's card may have anything in its fields."""
    provider, capabilities, skills = (card.get(name) for name in ("provider", "capabilities", "skills"))
    screen.facts([
        *((name, card.get(name)) for name in ("name", "description", "version")),
        ("provider", provider.get("organization") if isinstance(provider, dict) else None),
        ("card", args.card_url),
        *(("interface", f"{one.binding} {one.version} {one.url}") for one in interfaces_of(card, args.card_url)),
        ("capabilities", [name for name, value in capabilities.items() if value is True]
                         if isinstance(capabilities, dict) else []),
        ("input", card.get("defaultInputModes")),
        ("output", card.get("defaultOutputModes")),
        *(("skill", _skill(one)) for one in (skills if isinstance(skills, list) else []) if isinstance(one, dict)),
    ])  # fmt: skip


def _show_task(task: Item, _: Namespace, screen: Screen) -> None:
    remote = RemoteTask({"task": task})
    screen.facts([
        ("task", remote.id),
        ("context", remote.context_id),
        ("state", remote.state),
        ("since", remote.status.get("timestamp")),
        ("status message", first_line(remote.status_text) if remote.status_text != remote.text else ""),
        *(("file", name) for name in _files(remote)),
    ])  # fmt: skip
    if remote.text:
        screen.line(f"\n{remote.text}")
    for message in remote.history:
        screen.line(f"\n{str(message['role']).removeprefix('ROLE_').lower()}: {message_text(message)}")


def _tasks(client: A2aClient, args: Namespace) -> Item:
    status = state_name(args.status) if args.status else None
    filters = {"contextId": args.context, "pageSize": args.limit, "pageToken": args.page, "status": status}
    return client.tasks({name: value for name, value in filters.items() if value})


def _show_tasks(answer: Item, _: Namespace, screen: Screen) -> None:
    tasks = [RemoteTask({"task": task}) for task in answer["tasks"]]
    rows = [
        (one.id, one.state, one.context_id, _age(one.status.get("timestamp")), first_line(one.status_text))
        for one in tasks
    ]
    screen.table(("TASK", "STATE", "CONTEXT", "SINCE", "MESSAGE"), rows, empty="No tasks yet.", whole_ids=True)
    if answer.get("nextPageToken"):
        screen.note(f"More tasks: --page {answer['nextPageToken']}")


def _show_result(task: RemoteTask, url: str, screen: Screen, *, with_text: bool = True) -> int:
    if task.state == "completed":
        if with_text and not screen.as_json:
            screen.line(task.text)
        for name in () if screen.as_json else _files(task):
            screen.note(f"The agent also sent {name}; use --json to see it.")
        return Exit.OK
    if task.is_asking:
        if not screen.as_json:
            screen.line(task.status_text or "The agent needs more input.")
        screen.note(f"Waiting ({task.state}). To answer: `carrel a2a send {url} TEXT --task {task.id}`")
        return Exit.OK
    if task.has_ended:
        ending = task.state if task.state == "failed" else f"was {task.state}"
        screen.note(f"The task {ending}: {task.status_text or 'no reason was given'}")
        return Exit.FAILED
    screen.note(f"Not finished yet ({task.state or 'unknown'}). To check again: `carrel a2a get {url} {task.id}`")
    return Exit.TIMED_OUT


def _skill(skill: Item) -> str:
    named = str(skill.get("name") or skill.get("id") or "")
    return f"{named}: {skill['description']}" if skill.get("description") else named


def _files(task: RemoteTask) -> list[str]:
    """Return the names of the parts that are not text."""
    wholes = [*task.artifacts, *([task.message] if task.message is not None else [])]
    return [
        str(part.get("filename") or part.get("url") or whole.get("name") or "an unnamed part")
        for whole in wholes
        for part in whole["parts"]
        if "text" not in part
    ]


def _age(moment: Any) -> str:
    with suppress(ValueError, TypeError):
        return age(moment)
    return str(moment)


def send(args: Namespace, screen: Screen) -> int:
    with _agent(args) as client, screen.waiting("waiting for the reply…"):
        answer = client.send(_message(args), wait=not args.no_wait, timeout_seconds=args.timeout)
    if screen.as_json:
        screen.json(answer)
    task = RemoteTask(answer)
    if args.no_wait and not task.is_settled:
        if not screen.as_json:
            screen.line(task.id)
        return Exit.OK
    return _show_result(task, args.agent_url, screen)


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
            if screen.as_json:
                screen.line(json_text(event))
                screen.out.flush()
            else:
                screen.piece(text)
                if task.state != before and task.message is None:
                    has_message = not task.is_settled and task.status_text
                    screen.note(f"{task.state}: {first_line(task.status_text)}" if has_message else task.state)
            if task.is_settled:
                break
        if task.id and not task.is_settled:
            # A dropped stream does not end the task, so its current state is shown instead.
            task = RemoteTask({"task": client.task(task.id, history=0)})
    screen.end_line()
    return _show_result(task, args.agent_url, screen, with_text=not has_text)


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
    parts = [*map(_file, args.file), *([{"text": args.text}] if args.text.strip() else [])]
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
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return {"raw": base64.b64encode(content).decode(), "mediaType": kind, "filename": path.name}


_COMMON = (
    option("--token", "", "token for the agent (for your own server, default: CARREL_TOKEN, or the local owner's)"),
    option("--json", "", "print the answer as A2A 1.0 JSON", action="store_true"),
    *LOCAL_OPTIONS,
)
_URL = option("agent_url", "URL", "address of an A2A agent or of its card")
_TASK = option("task_id", "TASK", "id of the task")
_MESSAGE = (
    _URL,
    MESSAGE,
    option("--context", "ID", "context to continue (default: a new one)"),
    option("--task", "ID", "task to answer"),
    option("--file", "PATH", "attach a file; repeatable", type=Path, action="append", default=[]),
    option("--timeout", "S", "seconds to wait (default: %(default)g)", type=float, default=600.0),
)


def _asks(name: str, summary: str, asks: Ask, show: str | Show, *options: Option) -> Command:
    return request(f"a2a {name}", summary, asks, show, _URL, *options, common=_COMMON, connected=_agent)


COMMANDS = (
    _asks("card", "show an agent's card", _card, _show_card),
    command("a2a send", "send a message and wait for the reply", send, *_MESSAGE,
            option("--no-wait", "", "print the task's id without waiting", action="store_true"),
            common=_COMMON, examples=('http://127.0.0.1:8787/a2a/main "hello"',)),
    command("a2a stream", "send a message and stream the reply", stream, *_MESSAGE, common=_COMMON),
    _asks("get", "show one task", lambda client, args: client.task(args.task_id, history=args.history), _show_task,
          _TASK, option("--history", "N", "include its newest N messages", type=int)),
    _asks(
        "list", "list your tasks", _tasks, _show_tasks,
        option("--context", "ID", "only tasks of this context"),
        option("--status", "STATE", "only tasks in this state, e.g. working or input-required"),
        option("--limit", "N", type=int, default=50),
        option("--page", "TOKEN", "continue from a page token"),
    ),
    _asks("cancel", "cancel a task", lambda client, args: client.cancel(args.task_id),
          lambda task, _, screen: screen.line(RemoteTask({"task": task}).state), _TASK),
)  # fmt: skip
