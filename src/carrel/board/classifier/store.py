"""The SQL of sorting: whose turn it is, what a bundle can be sorted into, and how often it was tried."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from carrel.board.classifier.scores import TaskCandidate
from carrel.journal import Entry, entries_by_id
from carrel.kernel import Access
from carrel.kernel.limits import CLASSIFIER_SAID_CHARS_MAX, WAITING_COUNTED_MAX
from carrel.storage import Tx

# An account is due when it has entries to sort or digests to renew, and nobody has it wait.
_DUE = (
    "SELECT a.id FROM accounts a LEFT JOIN classifier_cycles c ON c.account_id = a.id "
    "WHERE (c.due_at IS NULL OR c.due_at <= :upto) "
    "AND (EXISTS (SELECT 1 FROM entries e WHERE e.account_id = a.id AND e.classification = 'pending'){digests}) "
    "ORDER BY a.id LIMIT :limit"
)
_DIGESTS = (
    " OR EXISTS (SELECT 1 FROM topics o WHERE o.account_id = a.id AND o.digest_due_at <= :upto) "
    "OR EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = a.id AND t.digest_due_at <= :upto)"
)


class Cycle(Struct, frozen=True):
    """One account's turn of sorting, held until `until`."""

    account_id: str
    cycle_id: str
    until: int
    entries_max: int | None


class Placed(Struct, frozen=True):
    """Where an entry is, and whether that is settled."""

    topic_id: str | None
    task_id: str | None
    classification: str


def accounts_due(tx: Tx, upto: int, limit: int, *, digests: bool) -> list[str]:
    """Return accounts that have something to sort or, with `digests`, to renew and whose turn it is by a moment."""
    sql = _DUE.format(digests=_DIGESTS if digests else "")
    return [row[0] for row in tx.all(sql, upto=upto, limit=limit)]


def next_cycle_due(tx: Tx) -> int | None:
    """Return when the turn of the next account comes that was asked for; None when none is known."""
    row = tx.one("SELECT min(due_at) FROM classifier_cycles WHERE due_at > :now", now=tx.now)
    return None if row is None or row[0] is None else int(row[0])


def take_cycle(tx: Tx, access: Access, cycle_id: str, until: int) -> Cycle | None:
    """Hold an account's turn; None when another server was faster."""
    sql = (
        "INSERT INTO classifier_cycles (account_id, cycle_id, due_at) VALUES (:account, :cycle_id, :until) "
        "ON CONFLICT (account_id) DO UPDATE SET due_at = :until, cycle_id = COALESCE(classifier_cycles.cycle_id, "
        ":cycle_id) WHERE classifier_cycles.due_at <= :now RETURNING cycle_id, entries_max"
    )
    row = tx.one(sql, access, cycle_id=cycle_id, until=until, now=tx.now)
    return None if row is None else Cycle(access.account_id, row[0], until, row[1])


def end_cycle(tx: Tx, access: Access, cycle: Cycle, due_at: int) -> None:
    """End an account's turn and say when the next one may begin."""
    sql = (
        "UPDATE classifier_cycles SET due_at = :due_at, cycle_id = NULL, entries_max = NULL, last_cycle_at = :now "
        "WHERE account_id = :account AND due_at = :until"
    )
    tx.run(sql, access, due_at=due_at, until=cycle.until, now=tx.now)


def ask_for_cycle(tx: Tx, access: Access, cycle_id: str, entries_max: int | None) -> str:
    """Let an account's turn come now, unless one is under way; return the id of the turn that is meant."""
    sql = (
        "INSERT INTO classifier_cycles (account_id, cycle_id, due_at, entries_max) "
        "VALUES (:account, :cycle_id, :now, :entries_max) ON CONFLICT (account_id) DO UPDATE "
        "SET cycle_id = COALESCE(classifier_cycles.cycle_id, :cycle_id), entries_max = :entries_max, "
        "due_at = CASE WHEN classifier_cycles.cycle_id IS NULL THEN :now ELSE classifier_cycles.due_at END "
        "RETURNING cycle_id"
    )
    row = tx.one(sql, access, cycle_id=cycle_id, entries_max=entries_max, now=tx.now)
    assert row is not None
    return str(row[0])


def release_cycles(tx: Tx) -> int:
    """Let the turns begin anew that a server held which is gone; return how many."""
    return tx.run("UPDATE classifier_cycles SET due_at = :now, cycle_id = NULL WHERE cycle_id IS NOT NULL", now=tx.now)


def last_cycle(tx: Tx, access: Access) -> int | None:
    """Return when an account's entries were last sorted."""
    row = tx.one("SELECT last_cycle_at FROM classifier_cycles WHERE account_id = :account", access)
    return None if row is None else row[0]


def backlog(tx: Tx, access: Access) -> tuple[int, int | None]:
    """Return how many entries are still to be sorted, up to a limit, and when the oldest of them was written."""
    pending = "FROM entries WHERE account_id = :account AND classification = 'pending'"
    sql = (
        f"SELECT (SELECT count(*) FROM (SELECT 1 {pending} LIMIT :most) AS waiting), "
        f"(SELECT created_at {pending} ORDER BY seq LIMIT 1)"
    )
    row = tx.one(sql, access, most=WAITING_COUNTED_MAX)
    assert row is not None, "a count always has a row"
    return row[0], row[1]


def conversation_around(tx: Tx, access: Access, entry: Entry, *, count: int) -> list[Entry]:
    """Return an entry among up to `count` before it and `count` behind it in its session, oldest first."""
    column, name = ("key", entry.key) if entry.key is not None else ("bucket", entry.bucket)
    ids: list[str] = []
    for side in ("<= :seq ORDER BY seq DESC", "> :seq ORDER BY seq"):
        sql = f"SELECT id FROM entries WHERE account_id = :account AND {column} = :name AND seq {side} LIMIT :limit"
        ids += [row[0] for row in tx.all(sql, access, name=name, seq=entry.seq, limit=count)]
    return entries_by_id(tx, access, ids)


def hold_topic(tx: Tx, access: Access, topic_id: str) -> str | None:
    """Return the space of a topic, which stays there until the end of the transaction; None when it is gone."""
    sql = "SELECT space_id FROM topics WHERE account_id = :account AND id = :id FOR NO KEY UPDATE"
    row = tx.one(sql, access, id=topic_id)
    return None if row is None else str(row[0])


def topic_named(tx: Tx, access: Access, space_id: str, name: str) -> str | None:
    """Return the id of the topic of a space with this very name."""
    sql = (
        "SELECT id FROM topics WHERE account_id = :account AND space_id = :space_id AND lower(name) = lower(:name) "
        "AND status <> 'archived' ORDER BY id LIMIT 1"
    )
    row = tx.one(sql, access, space_id=space_id, name=name)
    return None if row is None else str(row[0])


def open_tasks_of(
    tx: Tx, access: Access, space_id: str, topic_ids: Sequence[str], *, limit: int
) -> list[TaskCandidate]:
    """Return the open tasks of topics, as far as they belong to the same space, newest change first."""
    if not topic_ids:
        return []
    names = {f"topic_{at}": topic_id for at, topic_id in enumerate(topic_ids)}
    sql = (
        "SELECT id, title, substr(description, 1, :chars), topic_id FROM tasks "
        "WHERE account_id = :account AND space_id = :space_id "
        f"AND topic_id IN ({', '.join(f':{name}' for name in names)}) AND status NOT IN ('done', 'archived') "
        "ORDER BY updated_at DESC, id LIMIT :limit"
    )
    rows = tx.all(sql, access, space_id=space_id, chars=CLASSIFIER_SAID_CHARS_MAX, limit=limit, **names)
    return [TaskCandidate(id=row[0], name=row[1], description=row[2], topic_id=row[3]) for row in rows]


def place_of_run(tx: Tx, access: Access, run_id: str) -> Placed | None:
    """Return where the message of a run is; None when there is none, or it is gone."""
    sql = (
        "SELECT topic_id, task_id, classification FROM entries WHERE account_id = :account AND run_id = :run_id "
        "AND role = 'user' ORDER BY seq LIMIT 1"
    )
    row = tx.one(sql, access, run_id=run_id)
    return None if row is None else Placed(*row)


def parent_of_run(tx: Tx, access: Access, run_id: str) -> str | None:
    """Return the run that caused another."""
    row = tx.one("SELECT parent_run_id FROM runs WHERE account_id = :account AND id = :run_id", access, run_id=run_id)
    return None if row is None else row[0]


def spawning_run(tx: Tx, access: Access, key: str) -> str | None:
    """Return the run that spawned the lane of this very key."""
    sql = (
        "SELECT parent_run_id FROM runs WHERE account_id = :account AND key = :key AND provenance_kind = 'spawn' "
        "ORDER BY seq LIMIT 1"
    )
    row = tx.one(sql, access, key=key)
    return None if row is None else row[0]


def asked_before_spawn(tx: Tx, access: Access, child_key: str) -> Placed | None:
    """Return where the newest message of a person went before the entry that tells of a foreign session's spawning."""
    sql = (
        "SELECT e.topic_id, e.task_id, e.classification FROM spawn_links l "
        "JOIN entries s ON s.account_id = :account AND s.id = l.entry_id "
        "JOIN entries e ON e.account_id = :account AND e.bucket = s.bucket AND e.seq < s.seq "
        "WHERE l.account_id = :account AND l.child_key = :child_key AND e.type = 'conversation' AND e.role = 'user' "
        "ORDER BY e.seq DESC LIMIT 1"
    )
    row = tx.one(sql, access, child_key=child_key)
    return None if row is None else Placed(*row)


def count_attempt(tx: Tx, access: Access, entry_ids: Iterable[str]) -> None:
    """Note that entries were tried to be sorted, without telling anybody."""
    names: dict[str, object] = {f"id_{at}": entry_id for at, entry_id in enumerate(entry_ids)}
    if names:
        sql = (
            "UPDATE entries SET classification_attempts = classification_attempts + 1 WHERE account_id = :account "
            f"AND classification = 'pending' AND id IN ({', '.join(f':{name}' for name in names)})"
        )
        tx.run(sql, access, **names)
