"""`sessions` and `queue`: list, read and manage sessions, and show a lane's queue."""

import json
from argparse import Namespace
from functools import partial
from typing import Any

from msgspec import convert

from carrel.bridge import Client, History, Session
from carrel.main.cli.command import LIMIT, Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.labels import in_words
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import SET, Item, Table, request
from carrel.main.cli.resource import OF_AGENT, Resource
from carrel.main.cli.run_results import refusals_in, refused_call
from carrel.main.cli.session_keys import of_session

# As many as the server returns at once.
_MESSAGES_MAX = 1000
SESSIONS = Resource(
    "sessions", "list, read and manage sessions", "/api/sessions", "session",
    {"SESSION": "sessionKey", "STATE": "state", "GEN": "generation", "QUEUED": "queuedRuns", "ACTIVE": "updatedAt",
     "TITLE": "title"},
    id="sessionKey", find=of_session, empty="No sessions yet. `carrel chat` starts one.",
    # Said by other fields too, or of no use to people.
    hidden=("key", "sessionKey", "sessionId", "accountId", "agentId", "transcriptPath", "deliveryContext",
            "deliverySessionKey", "lastChannel", "systemSent", "title"),
)  # fmt: skip
_SESSION = option("key", "SESSION", "session key or id, or the beginning of one", of=of_session)


def _show(answer: Item, _: Namespace, screen: Screen) -> None:
    session = convert(answer["session"], Session)
    named = [("title", session.title), ("session", session.session_key), ("session id", session.session_id)]
    screen.facts([*named, *((name, value) for name, value in answer["session"].items() if name not in SESSIONS.hidden)])


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


def _shown(history: History, args: Namespace) -> list[Item]:
    """Return the messages that are shown: all with --tools, else without the results of calls that were made."""
    messages: list[Item] = history.raw["messages"]
    return [one for one in messages if args.tools or one.get("role") != "toolResult" or refusals_in([one])]


def _show_new(messages: list[Item], seen: set[str], screen: Screen) -> None:
    for message in messages:
        if message["id"] in seen:
            continue
        seen.add(message["id"])
        text = "\n".join(_part(part) for part in message.get("content") or [])
        screen.out.write(screen.paint("bold", str(message.get("role"))) + "\t" * (not screen.is_terminal))
        if screen.is_terminal:
            screen.line("  " + in_words(message.get("timestamp"), "At"))
        screen.line(text if screen.is_terminal else text.replace("\n", " "))


def _part(part: Item) -> str:
    if part.get("type") == "text":
        return str(part.get("text", ""))
    if part.get("type") == "toolCall":
        return first_line(f"→ {part['name']}({json.dumps(part['arguments'], ensure_ascii=False)})", 200)
    if part.get("type") == "toolResult":
        return refused_call(part) or first_line(f"← {part['text']}", 200)
    return first_line(" ".join(f"{name}={value}" for name, value in part.items()), 200)


def _recall(client: Client, args: Namespace) -> Any:
    """Keep what is said in a session to itself, or put it on the board; return which it is."""
    if args.recall is not None:
        wanted = {"recall": None if args.recall == "inherit" else args.recall}
        of_session(client, args.key, lambda key: client.patch(SESSIONS.at(key), wanted))
    return {"recall": of_session(client, args.key, lambda key: client.get(SESSIONS.at(key, "access")))["recall"]}


def _show_recall(answer: Item, _: Namespace, screen: Screen) -> None:
    known = answer["recall"]
    recalled = "the board of its spaces" if known["recall"] == "space" else "itself alone"
    said = "is on the board" if known["onBoard"] else "stays here"
    screen.line(f"It recalls {recalled} (chosen by: {known['chosenBy']}). What is said here {said}.")


def _archive(client: Client, args: Namespace) -> Any:
    """Archive a session, or bring it back."""
    if not args.undo:
        return of_session(client, args.key, lambda key: client.post(SESSIONS.at(key, "archive")))
    generations = of_session(client, args.key, lambda key: client.get(SESSIONS.at(key, "generations")))["sessions"]
    args.warning = _why_another(generations)
    return of_session(client, args.key, lambda key: client.post(SESSIONS.at(key, "unarchive")))


def _show_archived(answer: Item, args: Namespace, screen: Screen) -> None:
    if not args.undo:
        screen.line("Archived; --undo brings it back.")
        return
    if args.warning:
        # Warn first: this is not what --undo promises.
        screen.note(args.warning)
    session = answer["session"]
    goes_on = session["state"] != "closed" and session["generation"]
    then = f"generation {session['generation']} goes on" if goes_on else "the next message opens a new generation"
    screen.line(f"{'Brought back' if answer['reopened'] else 'It is listed'}; {then}.")


def _why_another(generations: list[Item]) -> str:
    """Return why the archived conversation does not continue; empty if it does, or if none was archived."""
    at = next((at for at, one in enumerate(generations) if one["closedReason"] == "archived"), 0)
    if at == 0:
        return ""
    newest, archived = generations[0], generations[at]
    return (
        f"Generation {newest['generation']} was opened since, so generation {archived['generation']} stays closed. "
        f"To read it: `carrel sessions tail {archived['deliverySessionKey']}`"
    )


def _delete(client: Client, args: Namespace) -> Any:
    """Delete a session; without a question, only the whole key will do: a cut one may mean another session."""
    client.sessions.delete(args.key)
    return {"deleted": args.key}


def _question(client: Client, args: Namespace) -> str:
    args.key = of_session(client, args.key, client.sessions.get).session_key
    return f"Delete {args.key} with everything said in it?"


def _show_queue(answer: Item, args: Namespace, screen: Screen) -> None:
    """Show the running and queued runs of a lane, in order."""
    running = [answer["running"]] if answer.get("running") else []
    _QUEUE.show({"runs": [*running, *answer["runs"]]}, args, screen)


def _show_stopped(answer: Item, _: Namespace, screen: Screen) -> None:
    for run_id in answer["cancelledRuns"]:
        screen.line(run_id)
    screen.note(f"Cancelled: {len(answer['cancelledRuns'])}.")


_GENERATIONS = Table(
    "sessions",
    {"GEN": "generation", "STATE": "state", "SESSION ID": "sessionId", "ACTIVE": "updatedAt",
     "WHY CLOSED": "closedReason"},
    whole_ids=lambda _: True,
)  # fmt: skip
_QUEUE = Table(
    "runs",
    {"#": lambda run: run.get("queuePosition") or "now", "RUN": "id", "STATE": "state", "AGE": "createdAt",
     "MESSAGE": lambda run: first_line((run.get("message") or {}).get("text"))},
    "The queue is empty.",
)  # fmt: skip
_LIST_OPTIONS = (
    OF_AGENT, option("--state", choices=("idle", "busy", "closed")), LIMIT,
    option("--archived", "", "include archived sessions", action="store_true"),
)  # fmt: skip
RESOURCES = (SESSIONS,)
COMMANDS = (
    SESSIONS.lists("", *_LIST_OPTIONS, examples=("--state busy", "--archived")),
    request("sessions show", "show one session", "GET /api/sessions/{}", _show, _SESSION),
    command(
        "sessions tail", "show the last messages", tail, _SESSION,
        option("-n --lines", "N", "how many (default: 20)", type=int, default=20),
        option("-f --follow", "", "keep printing new messages", action="store_true"),
        option("--tools", "", "include tool calls and results", action="store_true"),
        examples=("main -n 5", "main --follow"),
    ),
    request("sessions create", "create a chat with an agent, and print its key", "POST /api/sessions", "{sessionKey}",
            option("agent", "AGENT", "id of the agent (default: the account's)", nargs="?", field="agentId"),
            option("--name", "NAME", "what the chat is called", field="displayName"), examples=("main --name Report",)),
    request("sessions reset", "close the open generation; the next message starts a new one",
            "POST /api/sessions/{}/reset", "Closed. The next message opens generation {nextGeneration}.", _SESSION),
    request("sessions recall", "keep what is said in a session to itself, or put it on the board", _recall,
            _show_recall, _SESSION,
            option("recall", "", "left out: show what holds; inherit: what its agent or the account says",
                   nargs="?", choices=("own", "space", "inherit"))),
    request("sessions rename", "give a session a name", "PATCH /api/sessions/{}", "Renamed: {session[title]}",
            _SESSION, option("title", "NAME", "the new name; left out: its automatic title", nargs="?"),
            sends={"title": None}),
    request("sessions edit", "change a session", "PATCH /api/sessions/{}", _show, _SESSION,
            option("--model", "MODEL", "the model of its next runs"),
            option("--thinking", "", "how long it thinks", choices=("off", "minimal", "low", "medium", "high"),
                   field="thinkingLevel"),
            option("--label", "LABEL"), SET, examples=("main --thinking high", "main --set sendPolicy=deny")),
    request("sessions pin", "pin a session", "PATCH /api/sessions/{}", "{session[title]}", _SESSION,
            option("--undo", "", "unpin it", action="store_const", const=False, default=True, field="pinned")),
    request(
        "sessions fork", "make a chat that starts with a session's transcript", "POST /api/sessions/{}/fork",
        "{sessionKey}", _SESSION,
        option("entry", "ENTRY", "id of the last entry, as `sessions tail --json` shows it; left out: the newest",
               field="entryId", nargs="?"),
        option("--name", "NAME", "what the chat is called", field="displayName"),
    ),
    request("sessions generations", "list the generations of a session", "GET /api/sessions/{}/generations",
            _GENERATIONS.show, _SESSION),
    request("sessions stop", "cancel all runs of a session and of those spawned from it",
            "POST /api/sessions/{}/stop", _show_stopped, _SESSION),
    request("sessions archive", "archive a session", _archive, _show_archived, _SESSION,
            option("--undo", "", "bring it back, with the same conversation", action="store_true"),
            examples=("agent:main:cli:report", "agent:main:cli:report --undo")),
    request("sessions delete", "delete a session with its transcript", _delete, "Deleted.", _SESSION,
            question=_question),
    request("sessions search", "find sessions by name or key", "GET /api/sessions", SESSIONS.table.show,
            option("text", "TEXT", field="q"), *_LIST_OPTIONS),
    request("queue", "show the queue of a lane", "GET /api/sessions/{}/queue", _show_queue, _SESSION),
)  # fmt: skip
