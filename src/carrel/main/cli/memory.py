"""`memory` and `context`: what is kept, and what an agent is shown of it."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import LIMIT, option
from carrel.main.cli.humanize import age
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Cell, Item, Table, request
from carrel.main.cli.resource import IN_SESSION, MAIN, Resource

# As in the API; importing them from there would load the server.
TYPES = ("decision", "constraint", "failure", "fix", "preference", "fact", "task_state", "result")
MODES = ("auto", "cheap", "full", "patient")
MEMORY = Resource(
    "memory", "keep, find, promote and forget facts", "/api/memory", "item",
    {"MEMORY": "id", "SCOPE": "scope", "TYPE": "type", "AGE": "updatedAt", "CONTENT": "content…"},
    word="memory", many="items", prefix="mem_", query={"sessionId": MAIN, "limit": 200}, order="newest first",
    listed_only=True, empty="Nothing is kept yet. To keep something: `carrel memory add TEXT`", below=("content",),
)  # fmt: skip
_FOUND = MEMORY.table._replace(
    columns={"MEMORY": "id", "SCOPE": "scope", "SCORE": lambda item: f"{item['score']:.2f}", "REASON": "reason",
             "CONTENT": "content…"},
    empty="Nothing was found.",
)  # fmt: skip
_READ: Mapping[str, Cell] = {"RUN": "runId", "SESSION": "sessionKey", "AGE": lambda row: age(row["at"])}
_ITEMS = Table(
    "items",
    {"SECTION": lambda item: item["section"].rstrip(":"), "KIND": "kind", "ID": "id", "SCOPE": "scope",
     "SCORE": lambda item: f"{item['score']:.2f}" if "score" in item else "", "REASON": "reason"},
    "Nothing is shown.", whole_ids=lambda _: True,
)  # fmt: skip


def _where(args: Namespace) -> Item:
    """Return what selects the memory of a session with its goal and task, or of one scope."""
    chain = {"sessionId": args.session, "goalId": args.goal, "taskId": args.task}
    return chain if args.scope is None else {"scope": args.scope, "agentId": args.agent}


def _add(client: Client, args: Namespace) -> Any:
    where: Item = {"scope": args.scope, "agentId": args.agent}
    if args.scope is None:
        chain = client.get("/api/memory", {"sessionId": args.session, "limit": 1})
        where = {"scope": chain["chain"][0], "agentId": chain["agentId"]}
    given = {name: value for name, value in where.items() if value is not None}
    return client.post("/api/memory", {**given, "type": args.type, "content": args.text, "tags": args.tag or []})


def _show_context(answer: Item, args: Namespace, screen: Screen) -> None:
    for line in answer["block"].splitlines():
        screen.line(line)
    if args.explain:
        _explain(answer["data"], args, screen, chars=len(answer["block"]))


def _explain(data: Item, args: Namespace, screen: Screen, *, chars: int) -> None:
    scope = data["scope"]
    allowed = ", ".join(scope["allowedSpaceIds"] or []) if scope["allowedSpaceIds"] is not None else "all in view"
    source = scope["sourceSpaceId"] and f"from {scope['sourceSpaceId']}, by {scope['resolvedFrom']}"
    screen.line()
    screen.facts([
        ("characters", chars),
        ("recalls", "the board of its spaces" if scope["recall"] == "space" else "this session alone"),
        ("spaces", f"{allowed} ({source or 'no source space'})"),
        ("left out", ", ".join(f"{count} of {name}" for name, count in data["omitted"].items()) or "nothing"),
        ("missing", data.get("degraded") or "nothing"),
    ])  # fmt: skip
    screen.line()
    _ITEMS.show(data, args, screen)


_GOAL = option("--goal", "GOAL", "also the memory of this goal", field="goalId")
_TASK = option("--task", "TASK", "also the memory of this task", field="taskId")
_SCOPE = option("--scope", "SCOPE", "one scope alone, e.g. global or task:<id>")
_AGENT = option("--agent", "AGENT", "whose session the scope means, if several agents have it")
_TAG = option("--tag", "TAG", "a word it is found by; may be repeated", action="append", field="tags", dest="tag")
RESOURCES = (MEMORY,)
COMMANDS = (
    MEMORY.lists("list what a session keeps", IN_SESSION, _GOAL, _TASK, _SCOPE, _AGENT, LIMIT,
                 asks=lambda client, args: client.get("/api/memory", {**_where(args), "limit": args.limit})),
    MEMORY.shows("", IN_SESSION, _GOAL, _TASK, _SCOPE, _AGENT,
                 asks=lambda client, args: MEMORY._replace(query={**_where(args), "limit": 200}).read(
                     client, args.item_id)),
    request(
        "memory search", "find what a session keeps by words", "GET /api/memory/search", _FOUND.show,
        option("query", "WORDS", "what to look for", field="q"), IN_SESSION, _GOAL, _TASK,
        option("--limit", "N", type=int, default=10),
    ),
    request(
        "memory add", "keep something in a session", _add, "{item[id]}",
        option("text", "TEXT", "what to keep"),
        option("--type", "", "what it is (default: fact)", default="fact", choices=TYPES),
        _TAG, IN_SESSION, _SCOPE, _AGENT,
        examples=('"The door is green" --tag door',),
    ),
    MEMORY.edits(option("--text", "TEXT", "what is kept", field="content"),
                 option("--type", "", "what it is", choices=TYPES), _TAG, option("--title", "TEXT")),
    MEMORY.does("promote", "let every session know a memory", "POST promote", "{item[id]}",
                option("reason", "REASON", "why all should know it"),
                examples=('mem_01m7knxqkg "everybody opens this door"',)),
    MEMORY.does("reads", "list the runs that were shown a memory", "GET reads",
                Table("reads", _READ, "No run was shown it.").show),
    MEMORY.deletes("forget a memory", "Forgotten.", verb="forget"),
    request(
        "context", "show what an agent is shown before a message, and why", "GET /api/context", _show_context,
        option("session", "SESSION", "session key, or any name that a program gives its session", field="sessionKey"),
        option("-q", "TEXT", "the message that the context is for", dest="question", field="q"),
        option("--mode", "", "how far it looks (default: auto)", choices=MODES),
        option("--max-chars", "N", "characters of the block, at most", type=int, field="maxChars"),
        option("--explain", "", "say where each line comes from and why it is there", action="store_true", field=""),
        sends={"form": "run"}, examples=('main -q "which door is green?" --explain',),
    ),
)  # fmt: skip
