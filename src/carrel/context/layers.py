"""The layers that need no search: each function returns the lines of a section, best first."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from carrel.board import Route
from carrel.context import budget, store
from carrel.context.budget import as_line
from carrel.context.model import KEPT_FACTS, LOCATION, MEMORY, ROUTING, TIMELINE, WORKING_TASKS, WORKING_TOPICS, Line
from carrel.context.session_position import SessionPosition
from carrel.context.store import TaskRow, TimelineEntry, TopicRow
from carrel.kernel import MS_PER_DAY, Access, iso, minute_of
from carrel.memory import Recalled, fact_lines
from carrel.storage import Tx

_SOON_DAYS = 7
_ACTIVE = ("in_progress", "review", "blocked")


def location_lines(
    session: SessionPosition, *, digests: bool, in_run: bool = False, said: Iterable[str] = ()
) -> list[Line]:  # fmt: skip
    """Return the topic and the task of a session, with digests if the reader may see these.

    A run's message already starts with its task, so the block only adds the digest, without lines that quote `said`.
    """
    why, topic, task, texts = "this session is about it", session.topic, session.task, tuple(said)
    if topic is not None:
        topic = structs.replace(topic, digest=_unsaid(topic.digest, texts))
    if task is not None:
        task = structs.replace(task, digest=_unsaid(task.digest, texts))
    is_shown = in_run and not (digests and task is not None and task.digest)
    return [
        *([] if topic is None else [topic_line(topic, LOCATION, why, digests=digests)]),
        *([] if task is None or is_shown else [task_line(task, LOCATION, why, digests=digests)]),
    ]


def _unsaid(digest: str | None, said: tuple[str, ...]) -> str:
    """Return the lines of a digest that quote none of these texts."""

    def is_said(line: str) -> bool:
        quoted = line.partition(": ")[2].removesuffix("…").strip() or line
        return any(quoted in text for text in said)

    return "\n".join(line for line in (digest or "").splitlines() if not is_said(line))


def topic_line(topic: TopicRow, section: str, reason: str, score: float | None = None, *, digests: bool) -> Line:
    """Return the line of a topic: name and id; the digest if what is said on the board may be shown."""
    digest = _digest(topic.digest, budget.TOPIC_DIGEST_CHARS) if digests else ""
    return _item_line("topic", topic, topic.name, digest, section, reason, score)


def task_line(
    task: TaskRow, section: str, reason: str, score: float | None = None, *, digests: bool = False
) -> Line:  # fmt: skip
    """Return the line of a task: title, id, status, due date; the digest only in lanes of that task."""
    due = "" if task.due_date is None else f", due {minute_of(task.due_date)[:10]}"
    digest = _digest(task.digest, budget.TASK_DIGEST_CHARS) if digests else ""
    return _item_line("task", task, task.title, f" [{task.status}{due}]{digest}", section, reason, score)


def _item_line(
    kind: str, item: TopicRow | TaskRow, name: str, more: str, section: str, reason: str, score: float | None
) -> Line:  # fmt: skip
    start = f"- {kind.capitalize()}: " if section == LOCATION else "- "
    return Line(
        id=item.id,
        kind=kind,
        section=section,
        scope=item.space_id,
        source=item.created_by,
        reason=reason,
        line=as_line(f"{start}{as_line(name, budget.ITEM_NAME_CHARS)} ({item.id}){more}", budget.ITEM_CHARS),
        score=score,
    )


def _digest(text: str | None, chars_max: int) -> str:
    return f": {as_line(text, chars_max)}" if text else ""


def topic_lines(
    tx: Tx, seen: Access, routed: list[str], said: list[str], *, limit: int, digests: bool
) -> list[Line]:  # fmt: skip
    """Return the pinned topics, then those that routing memory and the timeline of the session name."""
    pinned = store.pinned_topics(tx, seen, limit=limit) if limit else []
    lines = [topic_line(topic, WORKING_TOPICS, "pinned", digests=digests) for topic in pinned]
    known = {topic.id for topic in pinned}
    reasons = dict.fromkeys(said, "named in this session") | dict.fromkeys(routed, "messages of this session go there")
    named = [name for name in dict.fromkeys((*routed, *said)) if name not in known]
    found = store.topics_named(tx, seen, named)
    lines += [topic_line(topic, WORKING_TOPICS, reasons[topic.id], digests=digests) for topic in found]
    return lines[:limit]


class WorkingTask(Struct, frozen=True):
    """A task being worked on, and why; one that is pinned or due soon `is_urgent`, whatever the question."""

    task: TaskRow
    reason: str
    is_urgent: bool


def tasks_in_progress(
    tx: Tx, seen: Access, spaces: tuple[str, ...] | None, topic_id: str | None, *, limit: int
) -> list[WorkingTask]:  # fmt: skip
    """Return the tasks being worked on, the most urgent first; optionally only those of spaces or a topic."""
    soon = tx.now + _SOON_DAYS * MS_PER_DAY
    found = store.working_tasks(tx, seen, spaces=spaces, topic_id=topic_id, soon=soon, limit=limit) if limit else []
    return [WorkingTask(task, _reason(task, soon), is_urgent=task.pinned or _is_due(task, soon)) for task in found]


def task_lines(
    working: Iterable[WorkingTask], topic_id: str | None, recalled: Sequence[Line] | None
) -> list[Line]:  # fmt: skip
    """Return the tasks being worked on; if something was searched, only related ones.

    A task is related if it was found, if it belongs to the session's topic, or if it is urgent.
    """
    found = {line.id: line.score for line in recalled or () if line.kind == "task"}

    def is_shown(one: WorkingTask) -> bool:
        is_of_topic = topic_id is not None and one.task.topic_id == topic_id
        return recalled is None or one.is_urgent or one.task.id in found or is_of_topic

    return [task_line(one.task, WORKING_TASKS, one.reason, found.get(one.task.id)) for one in working if is_shown(one)]


def newest_lines(tx: Tx, seen: Access, spaces: tuple[str, ...] | None, *, limit: int) -> list[Line]:
    """Return the last changed topics and open tasks by name, for an empty context; a digest may quote a session."""
    topics = store.newest_topics(tx, seen, limit=limit) if limit else []
    tasks = store.newest_tasks(tx, seen, spaces=spaces, limit=limit) if limit else []
    return [
        *(topic_line(topic, WORKING_TOPICS, "changed last", digests=False) for topic in topics),
        *(task_line(task, WORKING_TASKS, "changed last") for task in tasks),
    ]


def _is_due(task: TaskRow, soon: int) -> bool:
    return task.due_date is not None and task.due_date <= soon


def _reason(task: TaskRow, soon: int) -> str:
    if task.pinned:
        return "pinned"
    if task.status in _ACTIVE:
        return task.status.replace("_", " ")
    if _is_due(task, soon):
        return f"due {(iso(task.due_date) or '')[:10]}"
    return f"priority {task.priority}"


def routing_lines(routes: Sequence[Route]) -> list[Line]:
    """Return a line for each route, newest first."""
    return [
        Line(
            id=route.task_id or route.topic_id,
            kind="task" if route.task_id else "topic",
            section=ROUTING,
            scope=route.space_id,
            source="routing memory",
            reason="messages of this session went there",
            line=as_line(
                f"- {_route_place(route)}: {as_line(route.anchor, budget.ROUTE_ANCHOR_CHARS)}", budget.ROUTE_CHARS
            ),
        )
        for route in reversed(routes)
    ]


def _route_place(route: Route) -> str:
    names = (route.topic_name, route.task_title) if route.task_title else (route.topic_name,)
    return " > ".join(as_line(name, budget.ROUTE_NAME_CHARS) for name in names)


def timeline_lines(said: Sequence[TimelineEntry], name: str) -> list[Line]:
    """Return a line for each message of a session, newest first."""
    return [
        Line(
            id=one.id,
            kind="log",
            section=TIMELINE,
            scope=name,
            source=one.agent_label or one.author,
            reason="said in this session",
            line=as_line(
                f"- {minute_of(one.created_at)[:10]} {one.provenance.marked(one.role)}: {one.content}",
                budget.MESSAGE_CHARS,
            ),
        )
        for one in said
    ]


def fact_section(recalled: list[Recalled], chars_max: int) -> list[Line]:
    """Return a line for each memory, narrowest scope first, together within the limit."""
    # The heading and the line breaks count as well.
    texts = fact_lines(recalled, chars_max - len(KEPT_FACTS) - len(recalled))
    return [
        Line(
            id=one.memory.id,
            kind=MEMORY,
            section=KEPT_FACTS,
            scope=one.memory.read_scope,
            source=one.memory.source_run_id or one.memory.created_by,
            reason=one.reason,
            line=text,
            score=one.score,
        )
        for one, text in zip(recalled, texts, strict=True)
    ]
