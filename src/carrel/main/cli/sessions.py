"""`sessions` and `queue`: list, read and manage sessions, and show a lane's queue."""

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

from carrel.bridge import Client, History, Session, segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import SESSION, of_session
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age, in_words

_LIST_OPTIONS = (
    option("--agent", metavar="AGENT", help="only those of this agent"),
    option("--state", choices=("idle", "busy", "closed")),
    option("--archived", action="store_true", help="include archived sessions"),
    option("--limit", type=int, default=50, metavar="N"),
)
_UNDO = option("--undo", action="store_true", help="bring it back, with the same conversation")
# What other fields say too, or says nothing to people; programs read it with --json.
_HIDDEN = frozenset({
    "key", "sessionKey", "sessionId", "accountId", "agentId", "transcriptPath", "deliveryContext",
    "deliverySessionKey", "lastChannel", "systemSent",
})  # fmt: skip
_HEADERS = ("SESSION", "STATE", "GEN", "QUEUED", "ACTIVE", "NAME")


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
        session = of_session(client, args.key, client.sessions.get)
    if screen.as_json:
        return screen.json({"session": session.raw})
    named = [("session", session.session_key), ("session id", session.session_id)]
    screen.facts([*named, *((name, value) for name, value in session.raw.items() if name not in _HIDDEN)])
    return Exit.OK


def tail(args: Namespace, screen: Screen) -> int:
    """Show the last messages of a session, and with --follow new ones too."""
    if args.follow and screen.as_json:
        raise Failure(Exit.USAGE, "--json and --follow cannot be combined here; use `carrel events --follow --json`.")
    with connect(args) as client:
        read = partial(client.sessions.history, limit=args.lines, include_tools=args.tools)
        history = of_session(client, args.key, read)
        if screen.as_json:
            return screen.json(history.raw)
        seen: set[str] = set()
        _show_new(history.raw["messages"], seen, screen)
        if args.follow:
            _follow(client, history.session_key or args.key, read, seen, screen)
    return Exit.OK


def _follow(client: Client, key: str, read: Callable[[str], History], seen: set[str], screen: Screen) -> None:
    for _ in client.stream("/api/stream", {"sessionKey": key}):
        _show_new(read(key).raw["messages"], seen, screen)
        screen.out.flush()


def _show_new(messages: list[dict[str, Any]], seen: set[str], screen: Screen) -> None:
    for message in messages:
        if message["id"] in seen:
            continue
        seen.add(message["id"])
        text = "\n".join(_part(part) for part in message.get("content") or [])
        screen.out.write(screen.paint("bold", str(message.get("role"))) + "\t" * (not screen.is_terminal))
        if screen.is_terminal:
            screen.line("  " + in_words(message.get("timestamp"), "At"))
        screen.line(text if screen.is_terminal else text.replace("\n", " "))


def _part(part: dict[str, Any]) -> str:
    if part.get("type") == "text":
        return str(part.get("text", ""))
    return first_line(" ".join(f"{name}={value}" for name, value in part.items()), 200)


def reset(args: Namespace, screen: Screen) -> int:
    """Close the open generation; the next message opens the next one."""
    with connect(args) as client:
        closed = of_session(client, args.key, client.sessions.reset)
    if screen.as_json:
        return screen.json(closed.raw)
    screen.line(f"Closed. The next message opens generation {closed.next_generation}.")
    return Exit.OK


def archive(args: Namespace, screen: Screen) -> int:
    """Archive a session, or bring it back."""
    with connect(args) as client:
        if args.undo:
            return _show_restored(of_session(client, args.key, lambda key: _restore(client, key, screen)), screen)
        session = of_session(client, args.key, client.sessions.archive)
    if screen.as_json:
        return screen.json({"session": session.raw})
    return _said(screen, "Archived; --undo brings it back.")


def _restore(client: Client, key: str, screen: Screen) -> Any:
    warning = _why_another(client.get(_path(key, "generations"))["sessions"])
    if warning:
        # Before anything is done: it is not what an undo promises.
        screen.note(warning)
    return client.post(_path(key, "unarchive"))


def _show_restored(answer: dict[str, Any], screen: Screen) -> int:
    if screen.as_json:
        return screen.json(answer)
    session = answer["session"]
    goes_on = session["state"] != "closed" and session["generation"]
    then = f"generation {session['generation']} goes on" if goes_on else "the next message opens a new generation"
    return _said(screen, f"{'Brought back' if answer['reopened'] else 'It is listed'}; {then}.")


def _why_another(generations: list[dict[str, Any]]) -> str:
    """Return why the conversation that was archived does not go on; empty if it does, or if none was archived."""
    at = next((at for at, one in enumerate(generations) if one["closedReason"] == "archived"), 0)
    if at == 0:
        return ""
    newest, archived = generations[0], generations[at]
    return (
        f"Generation {newest['generation']} was opened since, so generation {archived['generation']} stays closed. "
        f"To read it: `carrel sessions tail {archived['deliverySessionKey']}`"
    )


def delete(args: Namespace, screen: Screen) -> int:
    """Delete a session with its transcript, once a person has agreed."""
    if not args.yes and not sys.stdin.isatty():
        raise Failure(Exit.USAGE, "Deleting cannot be undone; pass --yes to do it without being asked.")
    with connect(args) as client:
        # Without being asked, only the key itself is good enough: a cut one may mean another session.
        key = args.key if args.yes else _confirmed(client, args, screen)
        client.sessions.delete(key)
    return screen.json({"deleted": key}) if screen.as_json else _said(screen, "Deleted.")


def _confirmed(client: Client, args: Namespace, screen: Screen) -> str:
    """Return the key of the session that a person agreed to delete."""
    key = of_session(client, args.key, client.sessions.get).session_key
    screen.piece(f"Delete {key} with everything said in it? [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure(Exit.FAILED, "Nothing was deleted.")
    return key


def _said(screen: Screen, sentence: str) -> int:
    screen.line(sentence)
    return Exit.OK


def queue(args: Namespace, screen: Screen) -> int:
    """Show the running and queued runs of a lane, in order."""
    with connect(args) as client:
        answer = of_session(client, args.key, lambda key: client.get(_path(key, "queue")))
    if screen.as_json:
        return screen.json(answer)
    running = [answer["running"]] if answer.get("running") else []
    rows = [
        (run.get("queuePosition") or "now", run["id"], run["state"], age(run["createdAt"]), first_line(_message(run)))
        for run in [*running, *answer["runs"]]
    ]
    screen.table(("#", "RUN", "STATE", "AGE", "MESSAGE"), rows, empty="The queue is empty.")
    return Exit.OK


def _path(key: str, rest: str) -> str:
    return f"/api/sessions/{segment(key)}/{rest}"


def _message(run: dict[str, Any]) -> str:
    return str((run.get("message") or {}).get("text") or "")


COMMANDS = (
    Command("sessions list", "list sessions", list_sessions, _LIST_OPTIONS),
    Command("sessions show", "show one session", show, (SESSION,)),
    Command(
        "sessions tail",
        "show the last messages",
        tail,
        (
            SESSION,
            option("-n", "--lines", type=int, default=20, metavar="N", help="how many (default: 20)"),
            option("-f", "--follow", action="store_true", help="keep printing new messages"),
            option("--tools", action="store_true", help="include tool calls and results"),
        ),
    ),
    Command("sessions reset", "close the open generation; the next message starts a new one", reset, (SESSION,)),
    Command("sessions archive", "archive a session", archive, (SESSION, _UNDO)),
    Command(
        "sessions delete",
        "delete a session with its transcript",
        delete,
        (SESSION, option("--yes", "-y", action="store_true", help="without being asked")),
    ),
    Command(
        "sessions search",
        "find sessions by name or key",
        list_sessions,
        (option("text", metavar="TEXT"), *_LIST_OPTIONS),
    ),
    Command("queue", "show the queue of a lane", queue, (SESSION,)),
)
