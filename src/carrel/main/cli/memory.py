"""`memory`: the facts that sessions and tasks keep."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.names import MAIN, MEMORY, of
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age

# Those of the API; importing them from there would load the server.
TYPES = ("decision", "constraint", "failure", "fix", "preference", "fact", "task_state", "result")
_ID = option("memory_id", metavar="MEMORY", help="id of the memory, cut to what is unique")
_SESSION = option("--session", default=MAIN, metavar="SESSION", help="session key (default: main)")
_TASK = option("--task", metavar="TASK", help="also the memory of this task")
_GOAL = option("--goal", metavar="GOAL", help="also the memory of this goal")
_SCOPE = option("--scope", metavar="SCOPE", help="one scope alone, e.g. global or task:<id>")
_AGENT = option("--agent", metavar="AGENT", help="whose session the scope means, if several agents have it")


def list_memory(args: Namespace, screen: Screen) -> int:
    """List what a session, or one scope, keeps."""
    if args.scope is None:
        query = {"sessionId": args.session, "goalId": args.goal, "taskId": args.task}
    else:
        query = {"scope": args.scope, "agentId": args.agent}
    with connect(args) as client:
        answer = client.get("/api/memory", {**query, "limit": args.limit})
    if screen.as_json:
        return screen.json(answer)
    rows = [(item["id"], item["scope"], item["type"], age(item["updatedAt"]), first_line(item["content"]))
            for item in answer["items"]]  # fmt: skip
    empty = "Nothing is kept yet. To keep something: `carrel memory add TEXT`"
    screen.table(("MEMORY", "SCOPE", "TYPE", "AGE", "CONTENT"), rows, empty=empty, whole_ids=_is_elsewhere(args))
    return Exit.OK


def search(args: Namespace, screen: Screen) -> int:
    """Find what a session keeps by words, best first."""
    chain = {"sessionId": args.session, "goalId": args.goal, "taskId": args.task}
    query = {"q": args.query, **chain, "limit": args.limit}
    with connect(args) as client:
        answer = client.get("/api/memory/search", query)
    if screen.as_json:
        return screen.json(answer)
    rows = [(item["id"], item["scope"], f"{item['score']:.2f}", item["reason"], first_line(item["content"]))
            for item in answer["items"]]  # fmt: skip
    screen.table(("MEMORY", "SCOPE", "SCORE", "REASON", "CONTENT"), rows, empty="Nothing was found.",
                 whole_ids=_is_elsewhere(args))  # fmt: skip
    return Exit.OK


def _is_elsewhere(args: Namespace) -> bool:
    """Tell whether memory is shown that the main session does not have; ids are completed from there alone."""
    return args.session != MAIN or bool(args.goal or args.task or getattr(args, "scope", None))


def add(args: Namespace, screen: Screen) -> int:
    """Keep something in a session, or in one scope."""
    with connect(args) as client:
        where: dict[str, Any] = {"scope": args.scope, "agentId": args.agent}
        if args.scope is None:
            chain = client.get("/api/memory", {"sessionId": args.session, "limit": 1})
            where = {"scope": chain["chain"][0], "agentId": chain["agentId"]}
        given = {name: value for name, value in where.items() if value is not None}
        answer = client.post("/api/memory", {**given, "type": args.type, "content": args.text, "tags": args.tag or []})
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["item"]["id"])
    return Exit.OK


def promote(args: Namespace, screen: Screen) -> int:
    """Let every session of the account know a memory."""
    with connect(args) as client:
        body = {"reason": args.reason}
        answer = of(client, MEMORY, args.memory_id, lambda path: client.post(f"{path}/promote", body))
    if screen.as_json:
        return screen.json(answer)
    screen.line(answer["item"]["id"])
    return Exit.OK


def forget(args: Namespace, screen: Screen) -> int:
    """Forget a memory."""
    with connect(args) as client:
        of(client, MEMORY, args.memory_id, client.delete)
    if screen.as_json:
        return screen.json({"forgotten": args.memory_id})
    screen.line("Forgotten.")
    return Exit.OK


COMMANDS = (
    Command(
        "memory list",
        "list what a session keeps",
        list_memory,
        (_SESSION, _GOAL, _TASK, _SCOPE, _AGENT, option("--limit", type=int, default=50, metavar="N")),
    ),
    Command(
        "memory search",
        "find what a session keeps by words",
        search,
        (
            option("query", metavar="WORDS", help="what to look for"),
            _SESSION,
            _GOAL,
            _TASK,
            option("--limit", type=int, default=10, metavar="N"),
        ),
    ),
    Command(
        "memory add",
        "keep something in a session",
        add,
        (
            option("text", metavar="TEXT", help="what to keep"),
            option("--type", default="fact", choices=TYPES, help="what it is (default: fact)"),
            option("--tag", action="append", metavar="TAG", help="a word it is found by; may be repeated"),
            _SESSION,
            _SCOPE,
            _AGENT,
        ),
    ),
    Command(
        "memory promote",
        "let every session know a memory",
        promote,
        (_ID, option("reason", metavar="REASON", help="why all should know it")),
    ),
    Command("memory forget", "forget a memory", forget, (_ID,)),
)
