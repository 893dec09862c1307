"""`sessions` and `queue`: list, read and manage sessions, and show a lane's queue."""

import json
import sys
from argparse import Namespace
from functools import partial
from typing import Any

from msgspec import convert

from carrel.bridge import Client, History, Session, segment
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import LIMIT, SESSION, YES, of_session
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Request, Table, ago
from carrel.main.cli.run_results import refusals_in, refused_call
from carrel.main.cli.wording import age, in_words

_LIST_OPTIONS = (
    option("--agent", "AGENT", "only those of this agent", field="agentId"),
    option("--state", choices=("idle", "busy", "closed")),
    option("--archived", action="store_true", help="include archived sessions"),
    LIMIT,
)
# As many as the server returns at once.
_MESSAGES_MAX = 1000
_UNDO = option("--undo", action="store_true", help="bring it back, with the same conversation")
# Said by other fields too, or of no use to people; programs read it with --json.
_HIDDEN = frozenset({
    "key", "sessionKey", "sessionId", "accountId", "agentId", "transcriptPath", "deliveryContext",
    "deliverySessionKey", "lastChannel", "systemSent", "title",
})  # fmt: skip
_LIST = Table(
    "sessions",
    {
        "SESSION": "sessionKey",
        "STATE": "state",
        "GEN": "generation",
        "QUEUED": "queuedRuns",
        "ACTIVE": ago("updatedAt"),
        "TITLE": "title",
    },
    "No sessions yet. `carrel chat` starts one.",
)


def _show(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    session = convert(answer["session"], Session)
    named = [("title", session.title), ("session", session.session_key), ("session id", session.session_id)]
    screen.facts([*named, *((name, value) for name, value in answer["session"].items() if name not in _HIDDEN)])


def tail(args: Namespace, screen: Screen) -> int:
    """Show the last messages of a session, and with --follow new ones too."""
    if args.follow and screen.as_json:
        raise Failure(Exit.USAGE, "--json and --follow cannot be combined here; use `carrel events --follow --json`.")
    with connect(args) as client:
        if screen.as_json:
            read = partial(client.sessions.history, limit=args.lines, include_tools=args.tools)
            return screen.json(of_session(client, args.key, read).raw)
        # Fetch results even if they are not shown: a refused call must not look as if it had been made.
        # A call has at most one result, so twice as many messages are enough.
        read = partial(client.sessions.history, limit=min(2 * args.lines, _MESSAGES_MAX), include_tools=True)
        history = of_session(client, args.key, read)
        messages = _shown(history, args)
        seen = {message["id"] for message in messages[: -args.lines]}
        _show_new(messages, seen, screen)
        if args.follow:
            key = history.session_key or args.key
            for _ in client.stream("/api/stream", {"sessionKey": key}):
                _show_new(_shown(read(key), args), seen, screen)
                screen.out.flush()
    return Exit.OK


def _shown(history: History, args: Namespace) -> list[dict[str, Any]]:
    """Return the messages that are shown: all with --tools, else without the results of calls that were made."""
    messages: list[dict[str, Any]] = history.raw["messages"]
    return [one for one in messages if args.tools or one.get("role") != "toolResult" or refusals_in([one])]


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
    if part.get("type") == "toolCall":
        return first_line(f"→ {part['name']}({json.dumps(part['arguments'], ensure_ascii=False)})", 200)
    if part.get("type") == "toolResult":
        return refused_call(part) or first_line(f"← {part['text']}", 200)
    return first_line(" ".join(f"{name}={value}" for name, value in part.items()), 200)


def _rename(client: Client, args: Namespace) -> Any:
    """Rename a session, or restore its automatic title."""
    return {"session": of_session(client, args.key, lambda key: client.sessions.rename(key, args.title)).raw}


def _pin(client: Client, args: Namespace) -> Any:
    """Pin or unpin a session."""
    return of_session(client, args.key, lambda key: client.patch(_path(key), {"pinned": not args.undo}))


def _recall(client: Client, args: Namespace) -> Any:
    """Keep what is said in a session to itself, or put it on the board; return which it is."""
    if args.recall is not None:
        wanted = None if args.recall == "inherit" else args.recall
        of_session(client, args.key, lambda key: client.patch(_path(key), {"recall": wanted}))
    return {"recall": of_session(client, args.key, lambda key: client.get(_path(key, "access")))["recall"]}


def _show_recall(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    known = answer["recall"]
    recalled = "the board of its spaces" if known["recall"] == "space" else "itself alone"
    said = "is on the board" if known["onBoard"] else "stays here"
    screen.line(f"It recalls {recalled} (chosen by: {known['chosenBy']}). What is said here {said}.")


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
        # Warn first: this is not what --undo promises.
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
    """Return why the archived conversation does not continue; empty if it does, or if none was archived."""
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
        # Without a question, only the whole key will do: a cut one may mean another session.
        key = args.key if args.yes else _confirmed(client, args, screen)
        client.sessions.delete(key)
    return screen.json({"deleted": key}) if screen.as_json else _said(screen, "Deleted.")


def _confirmed(client: Client, args: Namespace, screen: Screen) -> str:
    """Return the key of the session that a person agreed to delete."""
    key = of_session(client, args.key, client.sessions.get).session_key
    if not screen.agrees(f"Delete {key} with everything said in it?"):
        raise Failure(Exit.FAILED, "Nothing was deleted.")
    return key


def _said(screen: Screen, sentence: str) -> int:
    screen.line(sentence)
    return Exit.OK


def _show_queue(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    """Show the running and queued runs of a lane, in order."""
    running = [answer["running"]] if answer.get("running") else []
    rows = [
        (run.get("queuePosition") or "now", run["id"], run["state"], age(run["createdAt"]), first_line(_message(run)))
        for run in [*running, *answer["runs"]]
    ]
    screen.table(("#", "RUN", "STATE", "AGE", "MESSAGE"), rows, empty="The queue is empty.")


def _show_stopped(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    for run_id in answer["cancelledRuns"]:
        screen.line(run_id)
    screen.note(f"Cancelled: {len(answer['cancelledRuns'])}.")


def _path(key: str, *rest: str) -> str:
    return "/".join(("/api/sessions", segment(key), *rest))


def _message(run: dict[str, Any]) -> str:
    return str((run.get("message") or {}).get("text") or "")


COMMANDS = (
    Request("sessions list", "list sessions", "GET /api/sessions", _LIST).takes(*_LIST_OPTIONS),
    Request("sessions show", "show one session", "GET /api/sessions/{}", _show).takes(SESSION),
    Command("sessions tail", "show the last messages", tail).takes(
        SESSION,
        option("-n --lines", "N", "how many (default: 20)", type=int, default=20),
        option("-f --follow", action="store_true", help="keep printing new messages"),
        option("--tools", action="store_true", help="include tool calls and results"),
    ),
    Request(
        "sessions reset",
        "close the open generation; the next message starts a new one",
        "POST /api/sessions/{}/reset",
        "Closed. The next message opens generation {nextGeneration}.",
    ).takes(SESSION),
    Request(
        "sessions recall", "keep what is said in a session to itself, or put it on the board", _recall, _show_recall
    ).takes(
        SESSION,
        option(
            "recall",
            nargs="?",
            choices=("own", "space", "inherit"),
            help="left out: show what holds; inherit: what its agent or the account says",
        ),
    ),
    Request("sessions rename", "give a session a name", _rename, "Renamed: {session[title]}").takes(
        SESSION, option("title", "NAME", "the new name; left out: its automatic title", nargs="?")
    ),
    Request("sessions pin", "pin a session", _pin, "{session[title]}").takes(
        SESSION, option("--undo", action="store_true", help="unpin it")
    ),
    Request(
        "sessions fork",
        "make a chat that starts with a session's transcript",
        "POST /api/sessions/{}/fork",
        "{sessionKey}",
    ).takes(
        SESSION,
        option(
            "entry",
            "ENTRY",
            "id of the last entry, as `sessions tail --json` shows it; left out: the newest",
            field="entryId",
            nargs="?",
        ),
        option("--name", "NAME", "what the chat is called", field="displayName"),
    ),
    Request(
        "sessions stop",
        "cancel all runs of a session and of those spawned from it",
        "POST /api/sessions/{}/stop",
        _show_stopped,
    ).takes(SESSION),
    Command("sessions archive", "archive a session", archive).takes(SESSION, _UNDO),
    Command("sessions delete", "delete a session with its transcript", delete).takes(SESSION, YES),
    Request("sessions search", "find sessions by name or key", "GET /api/sessions", _LIST).takes(
        option("text", "TEXT", field="q"), *_LIST_OPTIONS
    ),
    Request("queue", "show the queue of a lane", "GET /api/sessions/{}/queue", _show_queue).takes(SESSION),
)
