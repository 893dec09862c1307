"""`memory`, `context` and `note`: what is kept, and what an agent is shown of it."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import option
from carrel.main.cli.names import IN_SESSION, LIMIT, MEMORY, NOTES, is_elsewhere
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Request, Table, ago, start_of

# As in the API; importing them from there would load the server.
TYPES = ("decision", "constraint", "failure", "fix", "preference", "fact", "task_state", "result")
_ID = option("memory_id", "MEMORY", "id of the memory, or a unique beginning of it", of=MEMORY.of)
_TASK = option("--task", "TASK", "also the memory of this task", field="taskId")
_GOAL = option("--goal", "GOAL", "also the memory of this goal", field="goalId")
_SCOPE = option("--scope", "SCOPE", "one scope alone, e.g. global or task:<id>")
_AGENT = option("--agent", "AGENT", "whose session the scope means, if several agents have it")
_KEPT = Table(
    "items",
    {"MEMORY": "id", "SCOPE": "scope", "TYPE": "type", "AGE": ago("updatedAt"), "CONTENT": start_of("content")},
    "Nothing is kept yet. To keep something: `carrel memory add TEXT`",
    is_elsewhere,
)
_FOUND = Table(
    "items",
    {
        "MEMORY": "id",
        "SCOPE": "scope",
        "SCORE": lambda item: f"{item['score']:.2f}",
        "REASON": "reason",
        "CONTENT": start_of("content"),
    },
    "Nothing was found.",
    is_elsewhere,
)


def _kept(client: Client, args: Namespace) -> Any:
    """Return what a session, or one scope, keeps."""
    chain = {"sessionId": args.session, "goalId": args.goal, "taskId": args.task}
    query = chain if args.scope is None else {"scope": args.scope, "agentId": args.agent}
    return client.get("/api/memory", {**query, "limit": args.limit})


def _add(client: Client, args: Namespace) -> Any:
    """Keep something in a session, or in one scope."""
    where: dict[str, Any] = {"scope": args.scope, "agentId": args.agent}
    if args.scope is None:
        chain = client.get("/api/memory", {"sessionId": args.session, "limit": 1})
        where = {"scope": chain["chain"][0], "agentId": chain["agentId"]}
    given = {name: value for name, value in where.items() if value is not None}
    return client.post("/api/memory", {**given, "type": args.type, "content": args.text, "tags": args.tag or []})


# As in the API; importing them from there would load the server.
MODES = ("auto", "cheap", "full", "patient")


def _show_context(answer: dict[str, Any], args: Namespace, screen: Screen) -> None:
    """Show the context block of a session; with --explain, where each line comes from and why it is there."""
    for line in answer["block"].splitlines():
        screen.line(line)
    if args.explain:
        _explain(answer["data"], screen, chars=len(answer["block"]))


def _explain(data: dict[str, Any], screen: Screen, *, chars: int) -> None:
    scope = data["scope"]
    allowed = ", ".join(scope["allowedSpaceIds"] or []) if scope["allowedSpaceIds"] is not None else "all in view"
    found = (
        f"from {scope['sourceSpaceId']}, by {scope['resolvedFrom']}" if scope["sourceSpaceId"] else "no source space"
    )
    screen.line()
    screen.facts(
        [
            ("characters", chars),
            ("recalls", "the board of its spaces" if scope["recall"] == "space" else "this session alone"),
            ("spaces", f"{allowed} ({found})"),
            ("left out", ", ".join(f"{count} of {name}" for name, count in data["omitted"].items()) or "nothing"),
            ("missing", data.get("degraded") or "nothing"),
        ]
    )
    screen.line()
    rows = [
        (item["section"].rstrip(":"), item["kind"], item["id"], item["scope"], _score(item), item["reason"])
        for item in data["items"]
    ]
    screen.table(("SECTION", "KIND", "ID", "SCOPE", "SCORE", "REASON"), rows, empty="Nothing is shown.", whole_ids=True)


def _score(item: dict[str, Any]) -> str:
    return f"{item['score']:.2f}" if "score" in item else ""


_NOTES = Table(
    "logs",
    {"NOTE": "id", "TOPIC": "topicId", "TASK": "taskId", "AGE": ago("createdAt"), "TEXT": start_of("content")},
    "No notes yet. To write one: `carrel note TEXT`",
)


def _note(client: Client, args: Namespace) -> Any:
    """Write a note; without a text, list notes."""
    where = {"topicId": args.topic, "taskId": args.task, "spaceId": args.space, "relatedLogId": args.about}
    given = {name: value for name, value in where.items() if value is not None}
    if args.text is None:
        return client.get("/api/notes", {**given, "limit": args.limit})
    body = {"content": args.text, **given}
    if not args.about:
        return client.post("/api/notes", body)
    return NOTES.of(client, args.about, lambda entry: client.post("/api/notes", {**body, "relatedLogId": entry}))


def _show_note(answer: dict[str, Any], args: Namespace, screen: Screen) -> None:
    if args.text is None:
        _NOTES.show(answer, args, screen)
    else:
        screen.line(answer["log"]["id"])


COMMANDS = (
    Request("memory list", "list what a session keeps", _kept, _KEPT).takes(
        IN_SESSION, _GOAL, _TASK, _SCOPE, _AGENT, LIMIT
    ),
    Request("memory search", "find what a session keeps by words", "GET /api/memory/search", _FOUND).takes(
        option("query", "WORDS", "what to look for", field="q"),
        IN_SESSION,
        _GOAL,
        _TASK,
        option("--limit", "N", type=int, default=10),
    ),
    Request("memory add", "keep something in a session", _add, "{item[id]}").takes(
        option("text", "TEXT", "what to keep"),
        option("--type", default="fact", choices=TYPES, help="what it is (default: fact)"),
        option("--tag", "TAG", "a word it is found by; may be repeated", action="append"),
        IN_SESSION,
        _SCOPE,
        _AGENT,
    ),
    Request("memory promote", "let every session know a memory", "POST /api/memory/{}/promote", "{item[id]}").takes(
        _ID, option("reason", "REASON", "why all should know it")
    ),
    Request("memory forget", "forget a memory", "DELETE /api/memory/{}", "Forgotten.").takes(_ID),
    Request(
        "context",
        "show what an agent is shown before a message, and why",
        "GET /api/context",
        _show_context,
        sends={"form": "run"},
    ).takes(
        option("session", "SESSION", "session key, or any name that a program gives its session", field="sessionKey"),
        option("-q", "TEXT", "the message that the context is for", dest="question", field="q"),
        option("--mode", choices=MODES, help="how far it looks (default: auto)"),
        option("--max-chars", "N", "characters of the block, at most", type=int, field="maxChars"),
        option(
            "--explain", action="store_true", field="", help="explain where each line comes from and why it is there"
        ),
    ),
    Request("note", "write a note, or list notes", _note, _show_note).takes(
        option("text", "TEXT", "what to note; without it notes are listed", nargs="?"),
        option("--about", "ENTRY", "id of the entry that the note is about"),
        option("--topic", "TOPIC", "id of the topic that it belongs to"),
        option("--task", "TASK", "id of the task that it belongs to"),
        option("--space", "SPACE", "id of the space that it belongs to"),
        option("--limit", "N", "how many notes are listed (default: 50)", type=int, default=50),
    ),
)
