"""`sessions` and `queue`: list, read and manage sessions, and show a lane's queue."""

import sys
from argparse import Namespace
from typing import Any

from carrel.bridge import Client, Session, segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen, age, first_line

_KEY = option("key", metavar="SESSION", help="session key or id")
_LIST_OPTIONS = (
    option("--agent", metavar="ID"),
    option("--state", choices=("idle", "busy", "closed")),
    option("--archived", action="store_true", help="include archived sessions"),
    option("--limit", type=int, default=50, metavar="N"),
)
_UNDO = option("--undo", action="store_true", help="restore it")
_HEADERS = ("SESSION", "STATE", "GEN", "QUEUED", "ACTIVE", "NAME")


def _path(args: Namespace, *rest: str) -> str:
    return "/".join(["/api/sessions", segment(args.key), *rest])


def list_sessions(args: Namespace, screen: Screen) -> int:
    """List sessions, the most recently active first."""
    q = getattr(args, "text", None)
    with connect(args) as client:
        listed = client.sessions.list(
            q=q, agent_id=args.agent, state=args.state, archived=args.archived, limit=args.limit
        )  # fmt: skip
    if screen.as_json:
        return screen.json(listed.raw)
    rows = [_row(session) for session in listed]
    screen.table(_HEADERS, rows, empty="No sessions yet. `carrel chat` starts one.")
    return Exit.OK


def _row(session: Session) -> tuple[object, ...]:
    name = session.label or session.display_name or ""
    return session.session_key, session.state, session.generation, session.queued_runs, age(session.updated_at), name


def show(args: Namespace, screen: Screen) -> int:
    """Show one session in full."""
    with connect(args) as client:
        answer = client.get(_path(args))
    if screen.as_json:
        return screen.json(answer)
    screen.facts(list(answer["session"].items()))
    return Exit.OK


def tail(args: Namespace, screen: Screen) -> int:
    """Show the last messages of a session, and with --follow new ones too."""
    if args.follow and screen.as_json:
        raise Failure(Exit.USAGE, "--json and --follow cannot be combined here; use `carrel events --follow --json`.")
    with connect(args) as client:
        history = client.sessions.history(args.key, limit=args.lines, include_tools=args.tools)
        if screen.as_json:
            return screen.json(history.raw)
        seen: set[str] = set()
        _show_new(history.raw["messages"], seen, screen)
        if args.follow:
            _follow(client, args, seen, screen)
    return Exit.OK


def _follow(client: Client, args: Namespace, seen: set[str], screen: Screen) -> None:
    for _ in client.stream("/api/stream", {"sessionKey": args.key}):
        recent = client.sessions.history(args.key, limit=args.lines, include_tools=args.tools)
        _show_new(recent.raw["messages"], seen, screen)
        screen.out.flush()


def _show_new(messages: list[dict[str, Any]], seen: set[str], screen: Screen) -> None:
    for message in messages:
        if message["id"] in seen:
            continue
        seen.add(message["id"])
        text = "\n".join(_part(part) for part in message.get("content") or [])
        screen.out.write(screen.paint("bold", str(message.get("role"))) + "\t" * (not screen.is_terminal))
        if screen.is_terminal:
            screen.line("  " + str(message.get("timestamp") or ""))
        screen.line(text if screen.is_terminal else text.replace("\n", " "))


def _part(part: dict[str, Any]) -> str:
    if part.get("type") == "text":
        return str(part.get("text", ""))
    return first_line(" ".join(f"{name}={value}" for name, value in part.items()), 200)


def reset(args: Namespace, screen: Screen) -> int:
    """Close the open generation; the next message opens the next one."""
    with connect(args) as client:
        closed = client.sessions.reset(args.key)
    if screen.as_json:
        return screen.json(closed.raw)
    screen.line(f"Closed. The next message opens generation {closed.next_generation}.")
    return Exit.OK


def archive(args: Namespace, screen: Screen) -> int:
    """Archive a session, or restore it."""
    with connect(args) as client:
        answer = client.post(_path(args, "unarchive" if args.undo else "archive"))
    if screen.as_json:
        return screen.json(answer)
    screen.line("Restored." if args.undo else "Archived; --undo restores it.")
    return Exit.OK


def delete(args: Namespace, screen: Screen) -> int:
    """Delete a session with its transcript, once a person has agreed."""
    if not args.yes:
        if not sys.stdin.isatty():
            raise Failure(Exit.USAGE, "Deleting cannot be undone; pass --yes to do it without being asked.")
        screen.piece(f"Delete {args.key} with everything said in it? [y/N] ")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Failure(Exit.FAILED, "Nothing was deleted.")
    with connect(args) as client:
        client.sessions.delete(args.key)
    return screen.json({"deleted": args.key}) if screen.as_json else _said(screen, "Deleted.")


def _said(screen: Screen, sentence: str) -> int:
    screen.line(sentence)
    return Exit.OK


def queue(args: Namespace, screen: Screen) -> int:
    """Show the running and queued runs of a lane, in order."""
    with connect(args) as client:
        answer = client.get(_path(args, "queue"))
    if screen.as_json:
        return screen.json(answer)
    running = [answer["running"]] if answer.get("running") else []
    rows = [
        (run.get("queuePosition") or "now", run["id"], run["state"], age(run["createdAt"]), first_line(_message(run)))
        for run in [*running, *answer["runs"]]
    ]
    screen.table(("#", "RUN", "STATE", "AGE", "MESSAGE"), rows, empty="The queue is empty.")
    return Exit.OK


def _message(run: dict[str, Any]) -> str:
    return str((run.get("message") or {}).get("text") or "")


COMMANDS = (
    Command("sessions list", "list sessions", list_sessions, _LIST_OPTIONS),
    Command("sessions show", "show one session", show, (_KEY,)),
    Command(
        "sessions tail",
        "show the last messages",
        tail,
        (
            _KEY,
            option("-n", "--lines", type=int, default=20, metavar="N", help="how many (default: 20)"),
            option("-f", "--follow", action="store_true", help="keep printing new messages"),
            option("--tools", action="store_true", help="include tool calls and results"),
        ),
    ),
    Command("sessions reset", "close the open generation; the next message starts a new one", reset, (_KEY,)),
    Command("sessions archive", "archive a session", archive, (_KEY, _UNDO)),
    Command(
        "sessions delete",
        "delete a session with its transcript",
        delete,
        (_KEY, option("--yes", "-y", action="store_true", help="without being asked")),
    ),
    Command(
        "sessions search",
        "find sessions by name or key",
        list_sessions,
        (option("text", metavar="TEXT"), *_LIST_OPTIONS),
    ),
    Command("queue", "show the queue of a lane", queue, (_KEY,)),
)
