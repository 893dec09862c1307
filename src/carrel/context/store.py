"""The SQL of contexts: the newest messages of a session, and topics and tasks. Limits bound what is read."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access, Provenance
from carrel.kernel.limits import CONTEXT_TIMELINE_ROWS_MAX
from carrel.storage import FLAG, Condition, Table, Tx, in_list, json_column
from carrel.visibility import seen_entries, seen_tasks, seen_topics


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """What a timeline shows of an entry."""

    id: str
    role: str
    content: str
    author: str
    agent_label: str | None
    topic_id: str | None
    task_id: str | None
    provenance: Provenance
    created_at: int


class TopicRow(Struct, frozen=True, kw_only=True):
    """What a block shows of a topic."""

    id: str
    name: str
    space_id: str
    digest: str | None
    created_by: str
    pinned: bool


class TaskRow(Struct, frozen=True, kw_only=True):
    """What a block shows of a task."""

    id: str
    title: str
    status: str
    priority: int
    space_id: str
    topic_id: str | None
    digest: str | None
    due_date: int | None
    created_by: str
    pinned: bool
    reopened_seq: int


class Timeline(Struct, frozen=True, kw_only=True):
    """The entries of a timeline: those of a lane's open generation, and those sent under its other names."""

    key: str | None
    session_id: str | None
    buckets: tuple[str, ...]
    # An auto run does not see what other auto runs say in its session.
    auto_run_id: str | None = None
    after: int = 0
    with_pending: bool = True
    # Whether it is a person's chat, which that person sees wherever its messages were sorted.
    is_personal: bool = False


_SAID = Table("entries", TimelineEntry, codecs={"provenance": json_column(Provenance)})
_TOPICS = Table("topics", TopicRow, codecs={"pinned": FLAG})
_TASKS = Table("tasks", TaskRow, codecs={"pinned": FLAG})
# Excludes a program's messages to itself, but not entries that could not be sorted.
_NOISE = "COALESCE(classification_error, '') IN ('', 'private', 'unallocated', 'attempts_exhausted')"
_UNPLACED = "task_id IS NULL AND topic_id IS NULL AND space_id IS NULL"
_INACTIVE = (
    "({0}.status = 'archived' OR COALESCE({0}.snoozed_until, 0) > :now "
    "OR ({0}.status = 'snoozed' AND {0}.snoozed_until IS NULL))"
)
# A task is open only while its topic is active.
_OPEN = (
    "is_chat = 0 AND status NOT IN ('done', 'archived') AND COALESCE(snoozed_until, 0) <= :now AND NOT EXISTS "
    f"(SELECT 1 FROM topics h WHERE h.account_id = :account AND h.id = tasks.topic_id AND {_INACTIVE.format('h')})"
)
# Names given by the classifier quote what was said in some session.
_MADE = "created_by <> 'classifier'"
_ACTIVE = "('in_progress', 'review', 'blocked')"
_URGENT = 2


def newest_said(tx: Tx, access: Access, spoken: Timeline, *, limit: int) -> list[TimelineEntry]:
    """Return the newest visible messages of a session, newest first."""
    seen, values = seen_entries(tx, access)
    looked, names = _looked_at(spoken)
    closed = "SELECT max(s.closed_at) FROM sessions s WHERE s.account_id = :account AND s.key = :key"
    rules = [
        "type = 'conversation' AND role IN ('user', 'assistant') AND content <> ''",
        _NOISE,
        # Nobody said the messages of ticks.
        "NOT (role = 'user' AND auto_run_id IS NOT NULL)",
        f"({seen} OR (key = :key AND {'TRUE' if spoken.is_personal else _UNPLACED}))",
        "seq > :after",
        # Entries that arrived while no generation was open belong to the next one.
        f"(session_id = :session_id OR (session_id IS NULL AND created_at > COALESCE(({closed}), 0)))",
    ]
    if spoken.auto_run_id is not None:
        rules.append("(auto_run_id IS NULL OR auto_run_id = :auto_run_id)")
        values["auto_run_id"] = spoken.auto_run_id
    if not spoken.with_pending:
        rules.append("classification <> 'pending'")
    sql = (
        f"{_SAID.select} WHERE account_id = :account AND seq IN ({looked}) "
        f"AND {' AND '.join(rules)} ORDER BY seq DESC LIMIT :limit"
    )
    values |= names | {"session_id": spoken.session_id or "", "key": spoken.key or "", "after": spoken.after}
    return _SAID.rows(tx.all(sql, access, looked=CONTEXT_TIMELINE_ROWS_MAX, limit=limit, **values))


def entries_marked(tx: Tx, access: Access, marks: Iterable[str]) -> frozenset[str]:
    """Return the ids of the entries that were sent under these marks."""
    listed, names = in_list("mark", marks)
    if not names:
        return frozenset()
    sql = f"SELECT id FROM entries WHERE account_id = :account AND dedupe IN ({listed})"
    return frozenset(row[0] for row in tx.all(sql, access, **names))


def _looked_at(spoken: Timeline) -> Condition:
    """The numbers of the newest entries of a session, of any kind; older ones are not considered."""
    names: dict[str, object] = {f"bucket_{at}": name for at, name in enumerate(spoken.buckets)}
    of = ["key = :key", *(f"bucket = :{name}" for name in names)]
    parts = [
        f"SELECT seq FROM (SELECT seq FROM entries WHERE account_id = :account AND {one} ORDER BY seq DESC "
        f"LIMIT :looked) AS of_{at}"
        for at, one in enumerate(of)
    ]
    return " UNION ".join(parts), names


def runs_begun_before(tx: Tx, access: Access, run_ids: Iterable[str], seq: int) -> set[str]:
    """Return the runs with an entry before that number."""
    listed, names = in_list("run", run_ids)
    if not names or not seq:
        return set()
    sql = f"SELECT DISTINCT run_id FROM entries WHERE account_id = :account AND seq < :seq AND run_id IN ({listed})"
    return {row[0] for row in tx.all(sql, access, seq=seq, **names)}


def is_small_board(tx: Tx, access: Access, rows_max: int) -> bool:
    """Return whether an account has at most this many topics and tasks; the count stops there."""
    counted = "(SELECT count(*) FROM (SELECT 1 FROM {0} WHERE account_id = :account LIMIT :most) AS some_{0})"
    sql = f"SELECT {counted.format('tasks')} + {counted.format('topics')}"
    row = tx.one(sql, access, most=rows_max + 1)
    return row is not None and row[0] <= rows_max


def pinned_topics(tx: Tx, access: Access, *, limit: int) -> list[TopicRow]:
    """Return visible, active pinned topics, newest change first."""
    return _newest_topics(tx, access, "pinned = 1", limit)


def newest_topics(tx: Tx, access: Access, *, limit: int) -> list[TopicRow]:
    """Return visible, active topics that the classifier did not create, newest change first."""
    return _newest_topics(tx, access, _MADE, limit)


def _newest_topics(tx: Tx, access: Access, rule: str, limit: int) -> list[TopicRow]:
    seen, values = seen_topics(tx, access)
    sql = (
        f"{_TOPICS.select} WHERE account_id = :account AND {rule} AND {seen} "
        f"AND NOT {_INACTIVE.format('topics')} ORDER BY updated_at DESC, id LIMIT :limit"
    )
    return _TOPICS.rows(tx.all(sql, access, now=tx.now, limit=limit, **values))


def newest_tasks(tx: Tx, access: Access, *, spaces: tuple[str, ...] | None, limit: int) -> list[TaskRow]:
    """Return visible, open tasks that the classifier did not create, newest change first."""
    seen, values = seen_tasks(tx, access, spaces)
    sql = (
        f"{_TASKS.select} WHERE account_id = :account AND {_MADE} AND {_OPEN} AND {seen} ORDER BY seq DESC LIMIT :limit"
    )
    return _TASKS.rows(tx.all(sql, access, now=tx.now, limit=limit, **values))


def topics_named(tx: Tx, access: Access, topic_ids: Iterable[str], *, with_inactive: bool = False) -> list[TopicRow]:
    """Return the visible ones of these topics, in the given order; by default only active ones."""
    wanted, (seen, values) = list(dict.fromkeys(topic_ids)), seen_topics(tx, access)
    if not with_inactive:
        seen, values = f"{seen} AND NOT {_INACTIVE.format('topics')}", values | {"now": tx.now}
    found = {row.id: row for row in _TOPICS.among(tx, access, "id", wanted, f"AND {seen}", **values)}
    return [found[name] for name in wanted if name in found]


def working_tasks(
    tx: Tx, access: Access, *, spaces: tuple[str, ...] | None, topic_id: str | None, soon: int, limit: int
) -> list[TaskRow]:  # fmt: skip
    """Return visible tasks that are being worked on, urgent or due soon.

    Pinned ones first, the others by due date and priority; optionally only those of spaces or a topic.
    """
    seen, values = seen_tasks(tx, access, spaces)
    sql = (
        f"{_TASKS.select} WHERE account_id = :account AND {_OPEN} AND {seen} "
        f"AND (pinned = 1 OR status IN {_ACTIVE} OR priority <= {_URGENT} OR due_date <= :soon) "
        f"{'' if topic_id is None else 'AND topic_id = :topic_id '}"
        "ORDER BY pinned DESC, CASE WHEN due_date <= :soon THEN 0 ELSE 1 END, "
        "CASE WHEN due_date <= :soon THEN due_date END, priority, "
        f"CASE WHEN status IN {_ACTIVE} THEN 0 ELSE 1 END, updated_at DESC, id DESC LIMIT :limit"
    )
    if topic_id is not None:
        values["topic_id"] = topic_id
    return _TASKS.rows(tx.all(sql, access, now=tx.now, soon=soon, limit=limit, **values))


def tasks_named(tx: Tx, access: Access, task_ids: Iterable[str]) -> list[TaskRow]:
    """Return the visible ones of these tasks, in the given order."""
    wanted, (seen, values) = list(dict.fromkeys(task_ids)), seen_tasks(tx, access)
    found = {row.id: row for row in _TASKS.among(tx, access, "id", wanted, f"AND is_chat = 0 AND {seen}", **values)}
    return [found[name] for name in wanted if name in found]
