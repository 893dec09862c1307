"""The SQL of titles: what sessions are named after, as far as the caller may see it."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.limits import SESSION_TITLE_CHARS_MAX
from carrel.storage import Tx, in_list
from carrel.visibility import seen_entries, seen_lanes, seen_tasks, seen_topics

_NAME = "COALESCE(l.display_name, l.label)"
# Unnamed lanes of these kinds are named after their first words.
_CALLED_BY_WORDS = (
    "'chat', 'direct', 'group', 'channel', 'cron', 'hook', 'node', 'a2a', 'openresponses', 'openresponses-user'"
)


class TitleSource(Struct, frozen=True):
    """What the title of a lane is made from; `item` is its task or topic, `maker` the name of a program."""

    key: str
    spawned_by: str | None
    name: str | None
    agent: str
    item: str | None
    maker: str | None
    words: str | None


def title_sources(tx: Tx, access: Access, keys: Iterable[str]) -> dict[str, TitleSource]:
    """Return, by key, what the titles of these lanes are made from, for the visible ones."""
    listed, names = in_list("key", keys)
    if not names:
        return {}
    lanes, of_lanes = seen_lanes(tx, access)
    item, of_items = _item(tx, access)
    words, of_words = _words(tx, access)
    sql = (
        f"SELECT l.key, l.spawned_by, {_NAME}, g.name, {item}, k.name, {words} FROM lanes l "
        "JOIN agents g ON g.account_id = l.account_id AND g.id = l.agent_id "
        "LEFT JOIN tokens k ON k.account_id = l.account_id AND k.id = l.made_by AND k.kind = 'client' "
        f"WHERE l.account_id = :account AND l.key IN ({listed}) AND {lanes}"
    )
    values = names | of_lanes | of_items | of_words
    rows = tx.all(sql, access, **values, chars=SESSION_TITLE_CHARS_MAX)
    return {row[0]: TitleSource(*row) for row in rows}


def _item(tx: Tx, access: Access) -> tuple[str, dict[str, object]]:
    """The title of the task or the name of the topic that a lane `l` is for."""
    task, of_tasks = seen_tasks(tx, access)
    topic, of_topics = seen_topics(tx, access)
    one = "SELECT substr(tasks.title, 1, :chars) FROM tasks WHERE tasks.account_id = :account"
    other = "SELECT substr(topics.name, 1, :chars) FROM topics WHERE topics.account_id = :account"
    return (
        f"CASE l.kind WHEN 'task' THEN ({one} AND tasks.id = substr(l.conversation, 6) AND {task}) "
        f"WHEN 'topic' THEN ({other} AND topics.id = substr(l.conversation, 7) AND {topic}) END"
    ), of_tasks | of_topics


def _words(tx: Tx, access: Access) -> tuple[str, dict[str, object]]:
    """The beginning of the first message in a lane `l` that has no name."""
    seen, values = seen_entries(tx, access)
    first = (
        "SELECT substr(entries.content, 1, :chars) FROM entries WHERE entries.account_id = :account "
        "AND entries.key = l.key AND entries.type = 'conversation' AND entries.role = 'user' "
        f"AND {seen} ORDER BY entries.seq LIMIT 1"
    )
    return f"CASE WHEN {_NAME} IS NULL AND l.kind IN ({_CALLED_BY_WORDS}) THEN ({first}) END", values


def task_titles(tx: Tx, access: Access, ids: Iterable[str]) -> dict[str, str]:
    """Return the beginnings of these tasks' titles, for the visible ones."""
    listed, names = in_list("id", ids)
    if not names:
        return {}
    seen, values = seen_tasks(tx, access)
    sql = f"SELECT id, substr(title, 1, :chars) FROM tasks WHERE account_id = :account AND id IN ({listed}) AND {seen}"
    return {row[0]: row[1] for row in tx.all(sql, access, **names, **values, chars=SESSION_TITLE_CHARS_MAX)}
