"""`sessions` and `queue`: list, read and manage sessions, and show a lane's queue."""

import json
from argparse import Namespace
from functools import partial
from typing import Any

from carrel.bridge import Client, History
from carrel.main.cli.accounts import THINKING
from carrel.main.cli.command import LIMIT, Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.humanize import in_words
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Item, Table, request
from carrel.main.cli.resource import OF_AGENT, Resource
from carrel.main.cli.run_results import refusals_in, refused_call
from carrel.main.cli.session_keys import of_session

# What people call the fields that name a session.
_NAMES = {"title": "title", "sessionKey": "session", "sessionId": "session id"}
# As many as the server returns at once.
_MESSAGES_MAX = 1000
SESSIONS = Resource(
    "sessions", "list, read and manage sessions", "/api/sessions", "session",
    {"SESSION": "sessionKey", "STATE": "state", "GEN": "generation", "QUEUED": "queuedRuns", "ACTIVE": "updatedAt",
     "TITLE": "title"},
    id="sessionKey", find=of_session, names="session key or id, or the beginning of one",
    empty="No sessions yet. `carrel chat` starts one.",
    # Said by other fields too, or of no use to people.
    hidden=("key", "sessionKey", "sessionId", "accountId", "agentId", "transcriptPath", "deliveryContext",
            "deliverySessionKey", "lastChannel", "systemSent", "title"),
)  # fmt: skip


def _show(answer: Item, _: Namespace, screen: Screen) -> None:
    session = answer["session"]
    named = [(label, session.get(name)) for name, label in _NAMES.items()]
    screen.facts([*named, *((name, value) for name, value in session.items() if name not in SESSIONS.hidden)])


def tail(args: Namespace, screen: Screen) -> int:
    """Show the last messages of a session, and with --follow new ones too."""
    if args.follow and screen.as_json:
        raise Failure(Exit.USAGE, "--json and --follow cannot be combined here; use `carrel events --follow --json`.")
    with connect(args) as client:
        if screen.as_json:
            read = partial(client.sessions.history, limit=args.lines, include_tools=args.tools)
            return screen.json(of_session(client, args.session_id, read).raw)
        # Fetch results even if they are not shown: a refused call must not look as if it had been made.
        # A call has at most one result, so twice as many messages are enough.
        read = partial(client.sessions.history, limit=min(2 * args.lines, _MESSAGES_MAX), include_tools=True)
        history = of_session(client, args.session_id, read)
        messages = _shown(history, args)
        seen = {message["id"] for message in messages[: -args.lines]}
        _show_new(messages, seen, screen)
        if args.follow:
            key = history.session_key or args.session_id
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
    if args.recall is not None:
        wanted = {"recall": None if args.recall == "inherit" else args.recall}
        of_session(client, args.session_id, lambda key: client.patch(SESSIONS.at(key), wanted))
    return {"recall": of_session(client, args.session_id, lambda key: client.get(SESSIONS.at(key, "access")))["recall"]}


def _show_recall(answer: Item, *_: object) -> str:
    known = answer["recall"]
    recalled = "the board of its spaces" if known["recall"] == "space" else "itself alone"
    said = "is on the board" if known["onBoard"] else "stays here"
    return f"It recalls {recalled} (chosen by: {known['chosenBy']}). What is said here {said}."


def _archive(client: Client, args: Namespace) -> Any:
    if args.undo:
        found = of_session(client, args.session_id, lambda key: client.get(SESSIONS.at(key, "generations")))
        args.warning = _why_another(found["sessions"])
    verb = "unarchive" if args.undo else "archive"
    return of_session(client, args.session_id, lambda key: client.post(SESSIONS.at(key, verb)))


def _show_archived(answer: Item, args: Namespace, screen: Screen) -> str:
    if not args.undo:
        return "Archived; --undo brings it back."
    if args.warning:
        # Warn first: this is not what --undo promises.
        screen.note(args.warning)
    session = answer["session"]
    goes_on = session["state"] != "closed" and session["generation"]
    then = f"generation {session['generation']} goes on" if goes_on else "the next message opens a new generation"
    return f"{'Brought back' if answer['reopened'] else 'It is listed'}; {then}."


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
    client.sessions.delete(args.session_id)
    return {"deleted": args.session_id}


def _question(client: Client, args: Namespace) -> str:
    args.session_id = of_session(client, args.session_id, client.sessions.get).session_key
    return f"Delete {args.session_id} with everything said in it?"


def _show_queue(answer: Item, args: Namespace, screen: Screen) -> None:
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
_NAME = option("--name", "NAME", "what the chat is called", field="displayName")
RESOURCES = (SESSIONS,)
COMMANDS = (
    SESSIONS.lists("", *_LIST_OPTIONS, examples=("--state busy", "--archived")),
    SESSIONS.does("show", "show one session", "GET", _show),
    command(
        "sessions tail", "show the last messages", tail, SESSIONS.named(),
        option("-n --lines", "N", "how many (default: 20)", type=int, default=20),
        option("-f --follow", "", "keep printing new messages", action="store_true"),
        option("--tools", "", "include tool calls and results", action="store_true"),
        examples=("main -n 5", "main --follow"),
    ),
    request("sessions create", "create a chat with an agent, and print its key", "POST /api/sessions", "{sessionKey}",
            option("agent", "AGENT", "id of the agent (default: the account's)", nargs="?", field="agentId"),
            _NAME, examples=("main --name Report",)),
    SESSIONS.does("reset", "close the open generation; the next message starts a new one", "POST reset",
                  "Closed. The next message opens generation {nextGeneration}."),
    SESSIONS.does("recall", "keep what is said in a session to itself, or put it on the board", _recall, _show_recall,
                  option("recall", "", "left out: show what holds; inherit: what its agent or the account says",
                         nargs="?", choices=("own", "space", "inherit"))),
    SESSIONS.does("rename", "give a session a name", "PATCH", "Renamed: {session[title]}",
                  option("title", "NAME", "the new name; left out: its automatic title", nargs="?"),
                  sends={"title": None}),
    SESSIONS.edits(option("--model", "MODEL", "the model of its next runs"),
                   option("--thinking", "", "how long it thinks", choices=THINKING, field="thinkingLevel"),
                   option("--label", "LABEL"), show=_show,
                   examples=("main --thinking high", "main --set sendPolicy=deny")),
    SESSIONS.does("pin", "pin a session", "PATCH", "{session[title]}",
                  option("--undo", "", "unpin it", action="store_const", const=False, default=True, field="pinned")),
    SESSIONS.does("fork", "make a chat that starts with a session's transcript", "POST fork", "{sessionKey}",
                  option("entry", "ENTRY", field="entryId", nargs="?",
                         text="id of the last entry, as `sessions tail --json` shows it; left out: the newest"), _NAME),
    SESSIONS.does("generations", "list the generations of a session", "GET generations", _GENERATIONS.show),
    SESSIONS.does("stop", "cancel all runs of a session and of those spawned from it", "POST stop", _show_stopped),
    SESSIONS.does("archive", "archive a session", _archive, _show_archived,
                  option("--undo", "", "bring it back, with the same conversation", action="store_true"),
                  examples=("agent:main:cli:report", "agent:main:cli:report --undo")),
    SESSIONS.does("delete", "delete a session with its transcript", _delete, "Deleted.", question=_question),
    request("sessions search", "find sessions by name or key", "GET /api/sessions", SESSIONS.table.show,
            option("text", "TEXT", field="q"), *_LIST_OPTIONS),
    request("queue", "show the queue of a lane", "GET /api/sessions/{}/queue", _show_queue, SESSIONS.named()),
)  # fmt: skip
