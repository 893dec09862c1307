"""`spaces`, `topics`, `log`, `note`, `search` and `classifier`: what is on the board, and where it belongs."""

from argparse import Namespace
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import LIMIT, option
from carrel.main.cli.humanize import age
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Item, Table, request
from carrel.main.cli.resource import OF_SESSION, OF_SPACE, OF_TASK, OF_TOPIC, Resource


def _seen(space: Item) -> str:
    return ", ".join(target for target, visible in space["connectivity"].items() if visible)


SPACES = Resource(
    "spaces", "divide the board into spaces", "/api/spaces", "space",
    {"SPACE": "id", "NAME": "name", "SEES": _seen},
    prefix="space-", listed_only=True, empty="No spaces yet. To create one: `carrel spaces create NAME`",
)  # fmt: skip
TOPICS = Resource(
    "topics", "see and create what tasks and messages are about", "/api/topics", "topic",
    {"TOPIC": "id", "STATUS": "status", "SPACE": "spaceId", "AGE": "updatedAt", "NAME": "name…"},
    prefix="topic_", query={"limit": 500}, empty="No topics yet. To create one: `carrel topics create NAME`",
    hidden=("priority", "sortIndex", "pinned", "createdBy", "color"),
)  # fmt: skip
LOG = Resource(
    "log", "list, correct and delete what was said and recorded", "/api/log", "log",
    {"ENTRY": "id", "AGE": "createdAt", "TYPE": "type", "TOPIC": "topicId", "TASK": "taskId", "TEXT": "content…"},
    word="entry", many="logs", prefix="ent_", query={"limit": 200}, order="newest first",
    empty="Nothing was recorded yet.", below=("content",),
    hidden=("raw", "seq", "idempotencyKey", "classificationAttempts", "provenance"),
)  # fmt: skip
NOTES = LOG._replace(
    noun="note", path="/api/notes", word="note", empty="No notes yet. To write one: `carrel note TEXT`",
    columns={"NOTE": "id", "TOPIC": "topicId", "TASK": "taskId", "AGE": "createdAt", "TEXT": "content…"},
)  # fmt: skip


def _all_spaces(client: Client, _: Namespace) -> Any:
    answer = page = client.get("/api/spaces")
    while page.get("nextCursor"):
        page = client.get("/api/spaces", {"cursor": page["nextCursor"]})
        answer = {"spaces": answer["spaces"] + page["spaces"], "nextCursor": None}
    return answer


def _topic(client: Client, args: Namespace) -> Any:
    answer = TOPICS.read(client, args.topic_id)
    topic_id = answer["topic"]["id"]
    tasks = client.get("/api/tasks", {"topicId": topic_id})["tasks"]
    return {**answer, "tasks": tasks, "messages": client.get(TOPICS.at(topic_id, "thread"), {"limit": 10})["messages"]}


def _show_topic(answer: Item, args: Namespace, screen: Screen) -> None:
    TOPICS.show({"topic": answer["topic"] | {"tasks": answer["tasks"]}}, args, screen)
    screen.facts((message["authorName"], first_line(message["content"])) for message in answer["messages"])


def _merge(client: Client, args: Namespace) -> Any:
    into, *others = (TOPICS.read(client, name)["topic"]["id"] for name in (args.topic_id, *args.others))
    return client.post(TOPICS.at(into, "merge"), {"topicIds": others})


def _show_merged(answer: Item, args: Namespace, _: Screen) -> str:
    count = len(args.others)
    return f"Merged {count} topic{'' if count == 1 else 's'} into {answer['topic']['name']}."


def _note(client: Client, args: Namespace) -> Any:
    where = {"topicId": args.topic, "taskId": args.task, "spaceId": args.space, "relatedLogId": args.about}
    given = {name: value for name, value in where.items() if value is not None}
    if args.text is None:
        return client.get("/api/notes", {**given, "limit": args.limit})
    body = {"content": args.text, **given}
    if not args.about:
        return client.post("/api/notes", body)
    return NOTES.of(client, args.about, lambda entry: client.post("/api/notes", {**body, "relatedLogId": entry}))


def _show_note(answer: Item, args: Namespace, screen: Screen) -> None:
    if args.text is None:
        NOTES.table.show(answer, args, screen)
    else:
        screen.line(answer["log"]["id"])


# The list in an answer -> what each of its hits is called, and which field of it is shown.
_KINDS = {"topics": ("topic", "name"), "tasks": ("task", "title"), "notes": ("note", "content"),
          "logs": ("entry", "content")}  # fmt: skip


def _search(client: Client, args: Namespace) -> Any:
    where = {"topicId": args.topic, "sessionKey": args.session, "spaceId": args.space}
    limits = {f"limit{kind}": args.limit for kind in ("Topics", "Tasks", "Logs", "Notes")}
    return client.get("/api/search", {"q": args.query, **where, **limits})


def _show_found(answer: Item, _: Namespace, screen: Screen) -> None:
    rows = [
        (kind, f"{hit['score']:.2f}", hit["id"], age(hit["createdAt"]), first_line(hit[shown]))
        for name, (kind, shown) in _KINDS.items() for hit in answer[name]
    ]  # fmt: skip
    rows.sort(key=lambda row: -float(row[1]))
    screen.table(("KIND", "SCORE", "ID", "AGE", "TEXT"), rows, empty="Nothing was found.", whole_ids=True)


_TO_TOPIC = option("--topic", "TOPIC", "id of the topic that it belongs to", field="topicId")
_TO_TASK = option("--task", "TASK", "id of the task that it belongs to", field="taskId")
_TO_SPACE = option("--space", "SPACE", "id of the space that it belongs to", field="spaceId")
_DESCRIPTION = option("--description", "TEXT")
_TAG = option("--tag", "TAG", "a tag, which also names a space; may be repeated", action="append", field="tags")
_STATUS = option("--status", choices=("active", "snoozed", "archived"))
_HIDDEN = option("--hidden", "", "do not make it visible from the other spaces", action="store_const", const=False,
                 field="defaultVisible")  # fmt: skip
_PENDING = Table("logs", LOG.columns, "Nothing waits to be sorted.")
RESOURCES = (SPACES, TOPICS, LOG)
COMMANDS = (
    LOG.lists("list what was said and recorded, newest first", OF_SESSION, OF_TOPIC, OF_TASK, OF_SPACE, LIMIT,
              option("--type", "TYPE", "only entries of this type, e.g. conversation or note")),
    LOG.shows(),
    LOG.edits(_TO_TOPIC, _TO_TASK, _TO_SPACE, option("--text", "TEXT", "what it says", field="content"),
              examples=("last --topic topic_01m7knxqkg",)),
    LOG.deletes(question="Delete this entry for good: {log[content]:.60}?"),
    request(
        "note", "write a note, or list notes", _note, _show_note,
        option("text", "TEXT", "what to note; without it notes are listed", nargs="?"),
        option("--about", "ENTRY", "id of the entry that the note is about"), _TO_TOPIC, _TO_TASK, _TO_SPACE,
        option("--limit", "N", "how many notes are listed (default: 50)", type=int, default=50),
        examples=('"The door was painted in May" --task report',),
    ),
    request(
        "search", "find topics, tasks, entries and notes", _search, _show_found,
        option("query", "WORDS", "what to look for"), OF_TOPIC, OF_SPACE,
        option("--session", "SESSION", "look from this session, in the spaces that it sees"),
        option("--limit", "N", "results of each kind (default: 10)", type=int, default=10),
        examples=('"green door" --limit 3',),
    ),
    SPACES.lists("list the spaces, and what is visible from each", asks=_all_spaces),
    SPACES.shows(),
    SPACES.creates("", option("name", "NAME", "its name; the id follows from it"), _HIDDEN),
    SPACES.edits(option("--name", "NAME"), option("--color", "COLOR"), _HIDDEN),
    SPACES.renames(option("name", "NAME", "its new name; the id stays")),
    SPACES.does("connect", "make one space visible from another", "PATCH connectivity",
                lambda answer, *_: f"{answer['space']['id']} sees: {_seen(answer['space']) or 'only itself'}",
                option("target", "TARGET", "id of the space that becomes visible from it", field=""),
                option("--off", "", "hide it instead", action="store_true", field=""),
                sends=lambda args: {"connectivity": {args.target: not args.off}}, examples=("space-work space-home",)),
    SPACES.deletes("remove a space; everything in it moves to the default space", "Removed.", verb="remove"),
    TOPICS.lists("", OF_SPACE, _STATUS, option("--tag", "TAG"), LIMIT),
    TOPICS.shows("show a topic with its tasks and newest messages", asks=_topic, show=_show_topic),
    TOPICS.creates("", option("name", "NAME"), _DESCRIPTION, _TAG, _TO_SPACE, examples=("Doors --tag services",)),
    TOPICS.edits(option("--name", "NAME"), _DESCRIPTION, _STATUS, _TAG, _TO_SPACE,
                 examples=("topic_01m7knxqkg --status archived",)),
    TOPICS.renames(option("name", "NAME", "its new name")),
    TOPICS.does("merge", "merge topics into one, which keeps its name", _merge, _show_merged,
                option("others", "OTHER_TOPIC", "topics that are merged into it, and are gone then", nargs="+")),
    TOPICS.does(
        "split", "move entries of a topic into a new one", "POST split", "{topic[id]}",
        option("entries", "ENTRY", "ids of entries, as `carrel log --json` shows them", nargs="+", field="entryIds"),
        option("--name", "NAME", "what the new topic is called (default: after the first entry)"),
    ),
    request("topics digest", "renew the summary of a topic now", "POST /api/digests/run", "It is being renewed.",
            TOPICS.named()),
    TOPICS.deletes("remove a topic; its tasks and messages stay", "Removed.", verb="remove"),
    request("classifier list", "list the entries that are not sorted into topics yet", "GET /api/classifier/pending",
            _PENDING.show, LIMIT),
    request("classifier status", "show how far the sorting into topics is", "GET /api/classifier/status",
            lambda answer, _, screen: screen.facts(answer.items())),
    request("classifier run", "sort what is pending now", "POST /api/classifier/run", "It is being sorted."),
    request("classifier replay", "sort an entry again, with its bundle", "POST /api/classifier/replay",
            "It is being sorted.", option("entry", "ENTRY", "id of the entry", of=LOG.of, field="anchorLogId"),
            option("--mode", "", "its bundle, or all that follows it in its session (default: bundle)",
                   choices=("bundle", "from_here"), default="bundle")),
    request("reindex", "rebuild the search index while it goes on answering", "POST /api/reindex",
            "It is being rebuilt.",
            option("kind", "", "what to index again (default: all)", nargs="?", default="all",
                   choices=("all", "topic", "task", "log")),
            option("--id", "ID", "only this one")),
)  # fmt: skip
