"""The SQL of tasks, their parties, their dependencies, and the responses that agents were asked for."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from msgspec import Struct, structs

from carrel.journal import json_text
from carrel.kernel import Access
from carrel.storage import FLAG, Table, Tx, in_list, json_column
from carrel.visibility import seen_tasks
from carrel.work.model import Party, PartyKind, Searchable, Status, Task, TaskFilter, statuses_meant

TASK_TABLE = Table("tasks", Task, codecs={
    "tags": json_column(tuple[str, ...]), "metadata": json_column(dict[str, Any]), "pinned": FLAG, "is_chat": FLAG,
})  # fmt: skip
_PARTIES = Table("task_parties", Party, key=("account_id", "task_id", "kind", "party_id"), codecs={"subscribed": FLAG})
_SEARCHED = Table("tasks", Searchable)
_SELECT = f"{TASK_TABLE.select} WHERE account_id = :account"
_RELATED = (
    "(parent_id = :related_to OR id IN ("
    "SELECT parent_id FROM tasks WHERE account_id = :account AND id = :related_to AND parent_id IS NOT NULL "
    "UNION ALL SELECT depends_on FROM task_dependencies WHERE account_id = :account AND task_id = :related_to "
    "UNION ALL SELECT task_id FROM task_dependencies WHERE account_id = :account AND depends_on = :related_to))"
)
_OF_PARTY = "account_id = :account AND kind = :kind AND party_id = :party_id"
_COLUMN = f"{_SELECT} AND status = :status AND is_chat = 0 AND id <> :own"


def insert_task(tx: Tx, access: Access, task: Task) -> bool:
    """Write a new task; False when its id is taken."""
    return tx.run(f"{TASK_TABLE.insert} ON CONFLICT DO NOTHING", access, **TASK_TABLE.values(task)) > 0


def task_by_id(tx: Tx, access: Access, task_id: str) -> Task | None:
    return TASK_TABLE.row(tx.one(f"{_SELECT} AND id = :id", access, id=task_id))


def tasks_titled(tx: Tx, access: Access, title: str, *, limit: int) -> list[str]:
    """Return the ids of the tasks with this title that are not archived; case does not count."""
    sql = (
        "SELECT id FROM tasks WHERE account_id = :account AND lower(title) = lower(:title) AND status <> 'archived' "
        "ORDER BY seq LIMIT :most"
    )
    return [str(row[0]) for row in tx.all(sql, access, title=title, most=limit)]


def hold_task(tx: Tx, access: Access, task_id: str) -> Task | None:
    """Return one task, locked until the end of the transaction. A task is locked before its lanes and runs.

    The lock lets others, who hold their lanes, insert rows that refer to the task.
    """
    return TASK_TABLE.row(tx.one(f"{_SELECT} AND id = :id FOR NO KEY UPDATE", access, id=task_id))


def tasks_by_id(tx: Tx, access: Access, task_ids: Iterable[str]) -> list[Task]:
    """Return the existing ones of these tasks."""
    return TASK_TABLE.among(tx, access, "id", task_ids)


def chat_task(tx: Tx, access: Access) -> Task | None:
    return TASK_TABLE.row(tx.one(f"{_SELECT} AND is_chat = 1", access))


def tasks_planned(tx: Tx, access: Access, *, plan_id: str | None = None, goal_id: str | None = None) -> list[Task]:
    """Return the tasks of a plan in their order, or those of a goal, oldest first."""
    column, order = ("goal_id", "created_at") if plan_id is None else ("plan_id", "task_index")
    return TASK_TABLE.rows(tx.all(f"{_SELECT} AND {column} = :id ORDER BY {order}, id", access, id=plan_id or goal_id))


def tasks_in(tx: Tx, access: Access, column: Literal["topic_id", "space_id"], value: str) -> list[str]:
    """Return the ids of the tasks that belong to a topic or a space, in locking order."""
    sql = f"SELECT id FROM tasks WHERE account_id = :account AND {column} = :value ORDER BY id"
    return [row[0] for row in tx.all(sql, access, value=value)]


def save_task(tx: Tx, access: Access, task: Task) -> Task:
    """Write a task's changed fields under a new change number."""
    changed = structs.replace(task, seq=tx.tick(), updated_at=tx.now)
    tx.run(TASK_TABLE.update, access, **TASK_TABLE.values(changed))
    return changed


def listed_tasks(
    tx: Tx, access: Access, wanted: TaskFilter, *, by_position: bool = False, beyond: tuple[float, str] | None = None,
    limit: int,
) -> list[Task]:  # fmt: skip
    """Return visible tasks beyond a (time of creation, id), newest first; or by position, beyond a (rank, id)."""
    rules, values = _conditions(wanted)
    column, sign, way = ("sort_index", ">", "ASC") if by_position else ("created_at", "<", "DESC")
    if beyond is not None:
        rules.append(f"({column} {sign} :place OR ({column} = :place AND id {sign} :place_id))")
        values |= {"place": beyond[0], "place_id": beyond[1]}
    seen, named = seen_tasks(tx, access, wanted.spaces)
    where = " AND ".join(["is_chat = 0", seen, *rules])
    sql = f"{_SELECT} AND {where} ORDER BY {column} {way}, id {way} LIMIT :limit"
    return TASK_TABLE.rows(tx.all(sql, access, limit=limit, **values, **named))


def _conditions(wanted: TaskFilter) -> tuple[list[str], dict[str, object]]:
    rules, values = [], dict[str, object]()
    if wanted.status is not None:
        meant = statuses_meant(wanted.status)
        values |= {f"status_{at}": status for at, status in enumerate(meant)}
        rules.append(f"status IN ({', '.join(f':status_{at}' for at in range(len(meant)))})")
    elif not wanted.include_archived:
        rules.append("archived_at IS NULL")
    for column in ("topic_id", "goal_id", "plan_id"):
        if (value := getattr(wanted, column)) is not None:
            rules.append(f"{column} = :{column}")
            values[column] = value
    if wanted.assignee_id is not None:
        rules.append(
            "id IN (SELECT task_id FROM task_parties WHERE account_id = :account AND kind IN ('agent', 'user') "
            "AND party_id = :assignee AND assigned_at IS NOT NULL)"
        )
        values["assignee"] = wanted.assignee_id
    if wanted.tag is not None:
        # Tags are a JSON list of strings, so a tag is matched with its quotes.
        rules.append("replace(tags, :tag, '') <> tags")
        values["tag"] = json_text(wanted.tag)
    if wanted.related_to is not None:
        rules.append(_RELATED)
        values["related_to"] = wanted.related_to
    if wanted.pinned is not None:
        rules.append("pinned = :pinned")
        values["pinned"] = int(wanted.pinned)
    return rules, values


def searchable_tasks(tx: Tx, access: Access, *, before: str | None, limit: int) -> list[Searchable]:
    """Return the searched fields of the tasks below an id, newest first; archived ones too, but never the chat."""
    rule, values = ("TRUE", {}) if before is None else ("id < :before", {"before": before})
    sql = (
        f"SELECT {_SEARCHED.columns} FROM tasks WHERE account_id = :account AND is_chat = 0 AND {rule} "
        "ORDER BY id DESC LIMIT :limit"
    )
    return _SEARCHED.rows(tx.all(sql, access, limit=limit, **values))


def tasks_changed(tx: Tx, access: Access, after: int, upto: int, *, limit: int) -> list[Task]:
    """Return the tasks whose newest change lies after one number and up to another, oldest change first."""
    sql = f"{_SELECT} AND seq > :after AND seq <= :upto AND is_chat = 0 ORDER BY seq LIMIT :limit"
    return TASK_TABLE.rows(tx.all(sql, access, after=after, upto=upto, limit=limit))


def highest_sort_index(tx: Tx, access: Access) -> float:
    return tx.value("SELECT max(sort_index) FROM tasks WHERE account_id = :account", access) or 0.0


def parties_of(tx: Tx, access: Access, task_id: str) -> list[Party]:
    """Return everyone who takes part in a task, in a stable order."""
    sql = f"{_PARTIES.select} WHERE account_id = :account AND task_id = :task_id ORDER BY kind, party_id"
    return _PARTIES.rows(tx.all(sql, access, task_id=task_id))


def assignees_of(tx: Tx, access: Access, task_ids: Iterable[str]) -> dict[str, list[Party]]:
    """Return the assignees of several tasks, by task, the first assigned first."""
    assigned = "AND assigned_at IS NOT NULL ORDER BY assigned_at, kind, party_id"
    found: dict[str, list[Party]] = {}
    for party in _PARTIES.among(tx, access, "task_id", task_ids, assigned):
        found.setdefault(party.task_id, []).append(party)
    return found


def open_tasks_by_agent(tx: Tx, access: Access) -> dict[str, int]:
    """Return how many open tasks each agent is assigned to, counting those that the caller may see."""
    seen, named = seen_tasks(tx, access)
    sql = (
        "SELECT party_id, count(*) FROM task_parties JOIN tasks ON tasks.account_id = :account AND id = task_id "
        "WHERE task_parties.account_id = :account AND kind = 'agent' AND assigned_at IS NOT NULL "
        f"AND status NOT IN ('done', 'archived') AND {seen} GROUP BY party_id"
    )
    return {row[0]: int(row[1]) for row in tx.all(sql, access, **named)}


def tasks_assigned_to(tx: Tx, access: Access, kind: PartyKind, party_id: str) -> list[str]:
    sql = f"SELECT task_id FROM task_parties WHERE {_OF_PARTY} AND assigned_at IS NOT NULL ORDER BY task_id"
    return [row[0] for row in tx.all(sql, access, kind=kind, party_id=party_id)]


def tasks_known_to(tx: Tx, access: Access, task_ids: Iterable[str], kind: PartyKind, party_id: str) -> set[str]:
    """Return the tasks among these that somebody takes or took part in."""
    listed, names = in_list("id", task_ids)
    sql = f"SELECT task_id FROM task_parties WHERE {_OF_PARTY} AND task_id IN ({listed})"
    return {row[0] for row in tx.all(sql, access, kind=kind, party_id=party_id, **names)}


def is_assigned(tx: Tx, access: Access, task_id: str, kind: PartyKind, party_id: str) -> bool:
    sql = f"SELECT 1 FROM task_parties WHERE {_OF_PARTY} AND task_id = :task_id AND assigned_at IS NOT NULL"
    return tx.one(sql, access, task_id=task_id, kind=kind, party_id=party_id) is not None


def set_assigned(tx: Tx, access: Access, task_id: str, kind: PartyKind, party_id: str, at: int | None) -> None:
    """Assign somebody to a task, or with None unassign them; assignees are subscribed."""
    _put_party(tx, access, task_id, kind, party_id, {"assigned_at": at, "subscribed": int(at is not None)})


def subscribe(tx: Tx, access: Access, task_id: str, kind: PartyKind, party_id: str) -> None:
    _put_party(tx, access, task_id, kind, party_id, {"subscribed": 1})


def mark_seen(tx: Tx, access: Access, task_id: str, kind: PartyKind, party_id: str, seq: int) -> None:
    """Record how far somebody has read a thread; the mark never goes back."""
    only = " WHERE task_parties.seen_seq < excluded.seen_seq"
    _put_party(tx, access, task_id, kind, party_id, {"seen_seq": seq, "seen_at": tx.now}, only)


def _put_party(
    tx: Tx, access: Access, task_id: str, kind: PartyKind, party_id: str, values: dict[str, object], only: str = ""
) -> None:  # fmt: skip
    named, bound = ", ".join(values), ", ".join(f":{column}" for column in values)
    sql = (
        f"INSERT INTO task_parties (account_id, task_id, kind, party_id, {named}) "
        f"VALUES (:account, :task_id, :kind, :party_id, {bound}) ON CONFLICT (account_id, task_id, kind, party_id) "
        f"DO UPDATE SET {', '.join(f'{column} = excluded.{column}' for column in values)}{only}"
    )
    tx.run(sql, access, task_id=task_id, kind=kind, party_id=party_id, **values)


def forget_party(tx: Tx, access: Access, kind: PartyKind, party_id: str) -> None:
    tx.run(f"DELETE FROM task_parties WHERE {_OF_PARTY}", access, kind=kind, party_id=party_id)


def dependencies_of(tx: Tx, access: Access, task_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the dependencies of several tasks, by task."""
    listed, names = in_list("id", task_ids)
    if not names:
        return {}
    sql = (
        "SELECT task_id, depends_on FROM task_dependencies WHERE account_id = :account "
        f"AND task_id IN ({listed}) ORDER BY task_id, depends_on"
    )
    found = groupby(tx.all(sql, access, **names), key=itemgetter(0))
    return {task_id: [other for _, other in rows] for task_id, rows in found}


def replace_dependencies(tx: Tx, access: Access, task_id: str, others: Iterable[str]) -> None:
    sql = "DELETE FROM task_dependencies WHERE account_id = :account AND task_id = :task_id"
    tx.run(sql, access, task_id=task_id)
    tx.run_many(
        "INSERT INTO task_dependencies (account_id, task_id, depends_on) VALUES (:account, :task_id, :depends_on)",
        [{"account": access.account_id, "task_id": task_id, "depends_on": other} for other in others],
    )


def tasks_beside(
    tx: Tx, access: Access, status: Status, rank: float, task_id: str, own: str, *, above: bool, limit: int
) -> list[Task]:  # fmt: skip
    """Return the tasks of a column next to a (rank, id), nearest first; `own` is left out."""
    sign, order = ("<", "DESC") if above else (">", "ASC")
    beside = f"(sort_index {sign} :rank OR (sort_index = :rank AND id {sign} :task))"
    sql = f"{_COLUMN} AND {beside} ORDER BY sort_index {order}, id {order} LIMIT :limit"
    return TASK_TABLE.rows(tx.all(sql, access, status=status, rank=rank, task=task_id, own=own, limit=limit))


def lowest_rank(tx: Tx, access: Access, status: Status) -> float | None:
    """Return the rank of the first task in a column; None if it is empty."""
    sql = "SELECT min(sort_index) FROM tasks WHERE account_id = :account AND status = :status AND is_chat = 0"
    return tx.value(sql, access, status=status)


class ResponseRequest(Struct, frozen=True, kw_only=True):
    """The newest response that an agent was asked for on a task."""

    task_id: str
    agent_id: str
    run_id: str
    delivered_at: int | None = None
    answered_at: int | None = None


_REQUESTS = Table("response_requests", ResponseRequest, key=("account_id", "task_id", "agent_id"))
_OF_AGENT = "account_id = :account AND task_id = :task_id AND agent_id = :agent_id"


def request_of(tx: Tx, access: Access, task_id: str, agent_id: str) -> ResponseRequest | None:
    """Return the newest request for a response from an agent on a task."""
    return _REQUESTS.row(tx.one(f"{_REQUESTS.select} WHERE {_OF_AGENT}", access, task_id=task_id, agent_id=agent_id))


def put_request(tx: Tx, access: Access, request: ResponseRequest) -> None:
    tx.run(_REQUESTS.upsert, access, **_REQUESTS.values(request))


def deliver_request(tx: Tx, access: Access, task_id: str, agent_id: str, run_id: str) -> None:
    """Record that an agent received the request that a run brings."""
    only = f"{_OF_AGENT} AND run_id = :run_id AND delivered_at IS NULL"
    sql = f"UPDATE response_requests SET delivered_at = :now WHERE {only}"
    tx.run(sql, access, task_id=task_id, agent_id=agent_id, run_id=run_id, now=tx.now)


def answer_request(tx: Tx, access: Access, task_id: str, agent_id: str, *, run_id: str | None = None) -> None:
    """Record that an agent answered its request, or that the given run will not bring the answer."""
    only, values = ("", {}) if run_id is None else (" AND run_id = :run_id", {"run_id": run_id})
    sql = f"UPDATE response_requests SET answered_at = :now WHERE {_OF_AGENT} AND answered_at IS NULL{only}"
    tx.run(sql, access, task_id=task_id, agent_id=agent_id, now=tx.now, **values)
