"""The SQL of what is visible of the board: conditions for lists of topics, tasks and entries."""

from collections.abc import Iterable

from carrel.access import account_of
from carrel.agents import account_settings
from carrel.journal import DEFAULT_SPACE, json_text
from carrel.kernel import Access
from carrel.storage import Condition, Tx, in_list
from carrel.visibility.lane_store import seen_lanes
from carrel.visibility.tree_store import PERSONAL

# What an agent works on, wherever that is: its assigned tasks, and the task of its run.
_WORKED_ON = (
    "({0}.id IN (SELECT w.task_id FROM task_parties w WHERE w.account_id = :account AND w.kind = 'agent' "
    "AND w.party_id = :worker AND w.assigned_at IS NOT NULL) "
    "OR {0}.id = (SELECT r.task_id FROM runs r WHERE r.account_id = :account AND r.id = :its_run))"
)
# The lane and the task of a row of another table.
_LANE_OF = "SELECT 1 FROM lanes l WHERE l.account_id = {0}.account_id AND l.key = {0}.key"
_TASK_OF = "SELECT 1 FROM tasks t WHERE t.account_id = {0}.account_id AND t.id = {0}.task_id"
_NO_LANE = "entries.key IS NULL"
_UNSORTED = "entries.space_id IS NULL AND entries.topic_id IS NULL AND entries.task_id IS NULL"
# What was said in the reader's own chat.
_OWN = f"EXISTS ({_LANE_OF.format('entries')} AND l.made_by = :reader AND l.kind IN ({PERSONAL}))"
# Outside of lanes, agents only see entries that are sorted into a topic or a task.
_SHARED = f"{_NO_LANE} AND (entries.topic_id IS NOT NULL OR entries.task_id IS NOT NULL)"


def seen_topics(
    tx: Tx, access: Access, spaces: tuple[str, ...] | None = None, *, column: str = "topics.id"
) -> Condition:
    """Return the condition for topics visible in the caller's spaces among the given; `column` has the topic's id."""
    seen = access.narrowed(spaces)
    if "*" in seen:
        return "TRUE", {}
    listed, values = in_list("seen_space", seen)
    condition = (
        "EXISTS (SELECT 1 FROM topic_spaces p WHERE p.account_id = :account "
        f"AND p.topic_id = {column} AND p.space_id IN ({listed}))"
    )
    return (condition, values) if values else ("FALSE", {})


def seen_tasks(tx: Tx, access: Access, spaces: tuple[str, ...] | None = None, *, table: str = "tasks") -> Condition:
    """Return the condition for tasks that are visible in the caller's spaces, narrowed to the given ones.

    A task is visible where its own space is, or its topic. An agent also sees what it works on elsewhere, unless some
    spaces are given, and the orchestrator every task; its chat is hidden from all other agents.
    """
    if access.kind == "system" and access.agent_id is None and spaces is None:
        return "TRUE", {}
    by_topic, values = seen_topics(tx, access, spaces, column=f"{table}.topic_id")
    named = ", ".join(f":{name}" for name in values)
    seen = f"({table}.space_id IN ({named}) OR {by_topic})" if values else by_topic
    if access.agent_id is None:
        return seen, values
    is_orchestrator = _is_orchestrator(tx, access)
    # A run caused by somebody who may not see all spaces sees nothing beyond theirs.
    if seen != "TRUE" and spaces is None and "*" in access.cause_spaces:
        if is_orchestrator:
            return "TRUE", {}
        values |= {"its_run": access.run_id or "", "worker": access.agent_id}
        seen = f"({seen} OR {_WORKED_ON.format(table)})"
    return (seen if is_orchestrator else f"({seen} AND {table}.is_chat = 0)"), values


def _is_orchestrator(tx: Tx, access: Access) -> bool:
    return bool(account_settings(account_of(tx, access))["orchestratorAgentId"] == access.agent_id)


def tasks_worked_on(tx: Tx, access: Access, only: str | None = None, *, limit: int) -> tuple[str, ...]:
    """Return the ids of the tasks that an agent works on in any space, newest first; `only` checks a single one."""
    if access.agent_id is None or "*" not in access.cause_spaces:
        return ()
    values: dict[str, object] = {"worker": access.agent_id, "its_run": access.run_id or ""}
    one = "" if only is None else " AND id = :only"
    sql = (
        f"SELECT id FROM tasks WHERE account_id = :account AND {_WORKED_ON.format('tasks')}{one} "
        "ORDER BY created_at DESC, id LIMIT :limit"
    )
    return tuple(row[0] for row in tx.all(sql, access, limit=limit, **values, **({"only": only} if only else {})))


def seen_entries(tx: Tx, access: Access, spaces: tuple[str, ...] | None = None) -> Condition:
    """Return the condition for `entries` visible in the caller's spaces, narrowed to the given ones.

    An entry is visible in its own space, and with its task and its topic; one without any of them is in the default
    space. Unless spaces are given, an unsorted entry is as visible as its lane, and people always see their own chats.
    The orchestrator chat is hidden from all other agents.
    """
    by_location, values = _seen_by_location(tx, access, spaces)
    if access.agent_id is None or _is_orchestrator(tx, access):
        return by_location, values
    return f"({by_location} AND NOT EXISTS ({_TASK_OF.format('entries')} AND t.is_chat = 1))", values


def _seen_by_location(tx: Tx, access: Access, spaces: tuple[str, ...] | None) -> Condition:
    by_topic, values = seen_topics(tx, access, spaces, column="entries.topic_id")
    if by_topic == "TRUE":
        return by_topic, values
    task, of_tasks = seen_tasks(tx, access, spaces, table="t")
    rules = [by_topic, f"EXISTS ({_TASK_OF.format('entries')} AND {task})"]
    if values:
        rules.append(f"entries.space_id IN ({', '.join(f':{name}' for name in values)})")
    if DEFAULT_SPACE in values.values():
        rules.append(f"({_UNSORTED})")
    if spaces is None:
        rules += [f"(entries.key IS NOT NULL AND {_UNSORTED})", _OWN]
        values["reader"] = access.speaks_for or access.actor_id
    return f"({' OR '.join(rules)})", values | of_tasks


def seen_log(tx: Tx, access: Access, spaces: tuple[str, ...] | None = None) -> Condition:
    """Return the condition for `entries` that the caller may see: in visible lanes and visible spaces."""
    in_spaces, of_spaces = seen_entries(tx, access, spaces)
    lanes, of_lanes = seen_lanes(tx, access)
    if lanes == "TRUE":
        return in_spaces, of_spaces
    elsewhere, of_task = _seen_elsewhere(access)
    seen = f"(EXISTS ({_LANE_OF.format('entries')} AND {lanes}) OR ({elsewhere})) AND {in_spaces}"
    return seen, of_lanes | of_spaces | of_task


def _seen_elsewhere(access: Access) -> Condition:
    """The condition for entries without a lane."""
    if access.view is None:
        return (_NO_LANE if access.is_person or access.kind == "system" else "FALSE"), {}
    if not access.view.sandboxed:
        return _SHARED, {}
    # A sandbox contains its own sessions and the task that it works on.
    task_id = access.view.key.task_id
    return ("FALSE", {}) if task_id is None else (f"{_NO_LANE} AND task_id = :own_task", {"own_task": task_id})


def seen_runs(tx: Tx, access: Access, *, table: str = "runs") -> Condition:
    """Return the condition for `runs` that the caller may see: in visible lanes, on tasks in visible spaces.

    `table` is any other table with the key and the task of runs; the task may be empty there.
    """
    lanes, values = seen_lanes(tx, access)
    # Checked per run, because a list needs few runs, and there may be many lanes.
    lane = f"{_LANE_OF.format(table)} AND {lanes}"
    of_lane = f"EXISTS ({lane})" if values else lanes
    task, of_task = seen_tasks(tx, access, table="t")
    if task == "TRUE":
        return of_lane, values
    one = f"{_TASK_OF.format(table)} AND {task}"
    return f"({of_lane} AND (NULLIF({table}.task_id, '') IS NULL OR EXISTS ({one})))", values | of_task


def seen_of_sessions(tx: Tx, access: Access, *, table: str) -> Condition:
    """Return the condition for rows of a table that belong to visible sessions, by `key`.

    Rows of a session without messages are visible to whoever created them.
    """
    lanes, values = seen_lanes(tx, access)
    if lanes == "TRUE":
        return lanes, values
    lane = _LANE_OF.format(table)
    own = f"(NOT EXISTS ({lane}) AND {table}.made_by = :maker)"
    return f"(EXISTS ({lane} AND {lanes}) OR {own})", values | {"maker": access.actor_id}


def seen_tool_entries(tx: Tx, access: Access) -> Condition:
    """Return the condition for `entries` of tools that a run may be shown of earlier runs in its lane.

    What a tool read for one person may only be shown to another who sees as much: a run caused by somebody with a
    limited view is shown tool entries of the same person in the same spaces.
    """
    rules, values = list[str](), dict[str, object]()
    if access.speaks_for is not None:
        rules.append("b.behalf = :its_person")
        values["its_person"] = access.speaks_for
    if "*" not in access.cause_spaces:
        rules.append("b.space_ids = :its_spaces")
        values["its_spaces"] = json_text(access.cause_spaces)
    if not rules:
        return "TRUE", {}
    run = "SELECT 1 FROM runs b WHERE b.account_id = entries.account_id AND b.id = entries.run_id"
    return f"EXISTS ({' AND '.join((run, *rules))})", values


def seen_notifications(tx: Tx, access: Access) -> Condition:
    """Return the condition for `notifications` that the caller may see: those about tasks in visible spaces."""
    task, values = seen_tasks(tx, access, table="t")
    if task == "TRUE":
        return task, values
    one = f"{_TASK_OF.format('notifications')} AND {task}"
    return f"(notifications.task_id IS NULL OR EXISTS ({one}))", values


def tasks_seen(tx: Tx, access: Access, ids: Iterable[str], spaces: tuple[str, ...] | None = None) -> set[str]:
    """Return the tasks that the caller may see, in the given spaces if any."""
    return _among(tx, access, "tasks", ids, *seen_tasks(tx, access, spaces))


def topics_seen(tx: Tx, access: Access, ids: Iterable[str], spaces: tuple[str, ...] | None = None) -> set[str]:
    """Return the topics that the caller may see, in the given spaces if any."""
    return _among(tx, access, "topics", ids, *seen_topics(tx, access, spaces))


def entries_seen(tx: Tx, access: Access, ids: Iterable[str], spaces: tuple[str, ...] | None = None) -> set[str]:
    """Return the entries that the caller may see among those of visible lanes."""
    seen, values = seen_entries(tx, access, spaces)
    elsewhere, of_task = _seen_elsewhere(access)
    if elsewhere != _NO_LANE:
        seen, values = f"({seen} AND (entries.key IS NOT NULL OR ({elsewhere})))", values | of_task
    return _among(tx, access, "entries", ids, seen, values)


def _among(tx: Tx, access: Access, table: str, ids: Iterable[str], seen: str, values: dict[str, object]) -> set[str]:
    listed, names = in_list("id", ids)
    if seen == "TRUE" or not names:
        return {str(one) for one in names.values()}
    sql = f"SELECT id FROM {table} WHERE account_id = :account AND id IN ({listed}) AND {seen}"
    return {row[0] for row in tx.all(sql, access, **names, **values)}
