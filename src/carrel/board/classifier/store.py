"""The SQL of sorting: the turns of accounts, the candidates for a bundle, and the profiles of topics."""

from collections.abc import Iterable, Sequence
from operator import itemgetter

import msgspec
from msgspec import Struct

from carrel.board.classifier.moves import TopicEntry
from carrel.board.classifier.rules import Candidate, TaskCandidate
from carrel.board.profiles import Profile
from carrel.journal import Entry, entries_by_id, json_text
from carrel.kernel import Access, limits
from carrel.storage import Tx, in_list

# An account is due when it has entries to sort or digests to renew, and its turn has come.
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
_words = msgspec.json.Decoder(dict[str, tuple[int, str]]).decode
_OF_TOPIC = "account_id = :account AND topic_id = :topic_id"
_BY_PERSON = "author_kind = 'user' AND (role = 'user' OR type = 'note')"


class Cycle(Struct, frozen=True):
    """One account's turn of sorting, held until `until`."""

    account_id: str
    cycle_id: str
    until: int
    entries_max: int | None


class EntryLocation(Struct, frozen=True):
    """The location of an entry, and whether it is final."""

    topic_id: str | None
    task_id: str | None
    classification: str


def accounts_due(tx: Tx, upto: int, limit: int, *, digests: bool) -> list[str]:
    """Return accounts whose turn has come and that have entries to sort or, with `digests`, digests to renew."""
    sql = _DUE.format(digests=_DIGESTS if digests else "")
    return [row[0] for row in tx.all(sql, upto=upto, limit=limit)]


def next_cycle_due(tx: Tx) -> int | None:
    """Return when the next account's turn comes; None if there is none."""
    return tx.value("SELECT min(due_at) FROM classifier_cycles WHERE due_at > :now", now=tx.now)


def take_cycle(tx: Tx, access: Access, cycle_id: str, until: int) -> Cycle | None:
    """Take an account's turn; None if another server was faster."""
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
    """Make an account's turn due now, unless one is in progress; return the id of that turn."""
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
    """Make the turns due again that were held by a server that has ended; return how many."""
    return tx.run("UPDATE classifier_cycles SET due_at = :now, cycle_id = NULL WHERE cycle_id IS NOT NULL", now=tx.now)


def last_cycle(tx: Tx, access: Access) -> int | None:
    """Return when an account's entries were last sorted."""
    return tx.value("SELECT last_cycle_at FROM classifier_cycles WHERE account_id = :account", access)


def backlog(tx: Tx, access: Access) -> tuple[int, int | None]:
    """Return how many entries wait to be sorted, up to a limit, and when the oldest of them was written."""
    pending = "FROM entries WHERE account_id = :account AND classification = 'pending'"
    sql = (
        f"SELECT (SELECT count(*) FROM (SELECT 1 {pending} LIMIT :most) AS waiting), "
        f"(SELECT created_at {pending} ORDER BY seq LIMIT 1)"
    )
    row = tx.one(sql, access, most=limits.WAITING_COUNTED_MAX)
    assert row is not None, "a count always has a row"
    return row[0], row[1]


def conversation_around(tx: Tx, access: Access, entry: Entry, *, count: int) -> list[Entry]:
    """Return an entry with up to `count` before it and `count` after it in its session, oldest first."""
    column, name = ("key", entry.key) if entry.key is not None else ("bucket", entry.bucket)
    ids: list[str] = []
    for side in ("<= :seq ORDER BY seq DESC", "> :seq ORDER BY seq"):
        sql = f"SELECT id FROM entries WHERE account_id = :account AND {column} = :name AND seq {side} LIMIT :limit"
        ids += [row[0] for row in tx.all(sql, access, name=name, seq=entry.seq, limit=count)]
    return entries_by_id(tx, access, ids)


def hold_topic(tx: Tx, access: Access, topic_id: str) -> str | None:
    """Lock a topic and return its space; None if it is gone."""
    sql = "SELECT space_id FROM topics WHERE account_id = :account AND id = :id FOR NO KEY UPDATE"
    return tx.value(sql, access, id=topic_id)


def topic_named(tx: Tx, access: Access, space_id: str, name: str) -> str | None:
    """Return the id of the topic in a space with exactly this name."""
    sql = (
        "SELECT id FROM topics WHERE account_id = :account AND space_id = :space_id AND lower(name) = lower(:name) "
        "AND status <> 'archived' ORDER BY id LIMIT 1"
    )
    return tx.value(sql, access, space_id=space_id, name=name)


def open_tasks_of(tx: Tx, access: Access, space_id: str, topic_ids: Sequence[str]) -> list[TaskCandidate]:
    """Return the open tasks of topics in the same space, newest change first."""
    if not topic_ids:
        return []
    listed, names = in_list("topic", topic_ids)
    sql = (
        "SELECT id, title, substr(description, 1, :chars), topic_id FROM tasks "
        "WHERE account_id = :account AND space_id = :space_id "
        f"AND topic_id IN ({listed}) AND status NOT IN ('done', 'archived') "
        "ORDER BY updated_at DESC, id LIMIT :limit"
    )
    values = {"space_id": space_id, "chars": limits.CLASSIFIER_SAID_CHARS_MAX, "limit": limits.CLASSIFIER_TASKS_MAX}
    rows = tx.all(sql, access, **values, **names)
    return [TaskCandidate(id=row[0], name=row[1], description=row[2], topic_id=row[3]) for row in rows]


def location_of_run(tx: Tx, access: Access, run_id: str) -> EntryLocation | None:
    """Return the location of a run's message; None if there is none, or it is gone."""
    sql = (
        "SELECT topic_id, task_id, classification FROM entries WHERE account_id = :account AND run_id = :run_id "
        "AND role = 'user' ORDER BY seq LIMIT 1"
    )
    row = tx.one(sql, access, run_id=run_id)
    return None if row is None else EntryLocation(*row)


def parent_of_run(tx: Tx, access: Access, run_id: str) -> str | None:
    return tx.value("SELECT parent_run_id FROM runs WHERE account_id = :account AND id = :id", access, id=run_id)


def spawning_run(tx: Tx, access: Access, key: str) -> str | None:
    """Return the run that spawned the lane with exactly this key."""
    sql = (
        "SELECT parent_run_id FROM runs WHERE account_id = :account AND key = :key AND provenance_kind = 'spawn' "
        "ORDER BY seq LIMIT 1"
    )
    return tx.value(sql, access, key=key)


def asked_before_spawn(tx: Tx, access: Access, child_key: str) -> EntryLocation | None:
    """Return the location of the last message before the entry that reports a foreign session's spawn."""
    sql = (
        "SELECT e.topic_id, e.task_id, e.classification FROM spawn_links l "
        "JOIN entries s ON s.account_id = :account AND s.id = l.entry_id "
        "JOIN entries e ON e.account_id = :account AND e.bucket = s.bucket AND e.seq < s.seq "
        "WHERE l.account_id = :account AND l.child_key = :child_key AND e.type = 'conversation' AND e.role = 'user' "
        "ORDER BY e.seq DESC LIMIT 1"
    )
    row = tx.one(sql, access, child_key=child_key)
    return None if row is None else EntryLocation(*row)


def count_attempt(tx: Tx, access: Access, entry_ids: Iterable[str]) -> None:
    """Count an attempt to sort entries, without an event."""
    listed, names = in_list("id", entry_ids)
    if names:
        sql = (
            "UPDATE entries SET classification_attempts = classification_attempts + 1 WHERE account_id = :account "
            f"AND classification = 'pending' AND id IN ({listed})"
        )
        tx.run(sql, access, **names)


def topics_of_space(tx: Tx, access: Access, space_id: str) -> list[Candidate]:
    """Return the topics of a space that are not archived, with their profiles if made, the newest change first."""
    sql = (
        "SELECT o.id, o.name, substr(o.description, 1, :chars), o.status, p.lines, p.words, p.named, o.tags, "
        "o.created_by = 'classifier' AND o.curated = 0 AND o.pinned = 0 AND o.parent_id IS NULL AND o.tags = '[]' "
        "AND o.status = 'active' AND o.description = '' "
        "FROM topics o LEFT JOIN topic_profiles p ON p.account_id = o.account_id AND p.topic_id = o.id "
        "WHERE o.account_id = :account AND o.space_id = :space_id AND o.status <> 'archived' "
        "ORDER BY o.updated_at DESC, o.id LIMIT :limit"
    )
    chars, limit = limits.CLASSIFIER_SAID_CHARS_MAX, limits.CLASSIFIER_CANDIDATES_MAX
    return [
        Candidate(
            id=row[0],
            name=row[1],
            description=row[2],
            is_snoozed=row[3] == "snoozed",
            profile=None if row[4] is None else Profile(row[4], _words(row[5]), row[6]),
            is_in_one_space=row[7] == "[]",
            is_mergeable=bool(row[8]),
        )
        for row in tx.all(sql, access, space_id=space_id, chars=chars, limit=limit)
    ]


def profile_of(tx: Tx, access: Access, topic_id: str) -> Profile | None:
    """Return the profile of a topic; None until one is made."""
    row = tx.one(f"SELECT lines, words, named FROM topic_profiles WHERE {_OF_TOPIC}", access, topic_id=topic_id)
    return None if row is None else Profile(row[0], _words(row[1]), row[2])


def save_profile(tx: Tx, access: Access, topic_id: str, profile: Profile) -> None:
    """Write the profile of a topic, which must be locked so that nobody deletes its entries meanwhile."""
    sql = (
        "INSERT INTO topic_profiles (account_id, topic_id, lines, named, words) "
        "VALUES (:account, :topic_id, :lines, :named, :words) ON CONFLICT (account_id, topic_id) DO UPDATE "
        "SET lines = excluded.lines, named = excluded.named, words = excluded.words"
    )
    words = json_text(profile.words)
    tx.run(sql, access, topic_id=topic_id, lines=profile.lines, named=profile.named, words=words)


def fresh_profile(tx: Tx, access: Access, topic_id: str, *, read: int = limits.CLASSIFIER_SAID_ENTRIES_READ) -> Profile:
    """Return a profile made from what people said among the newest entries of a topic."""
    said = f"substr(content, 1, :chars), {_BY_PERSON}"
    sql = f"SELECT {said} FROM entries WHERE {_OF_TOPIC} ORDER BY seq DESC LIMIT :read"
    rows = tx.all(sql, access, topic_id=topic_id, chars=limits.CLASSIFIER_SAID_CHARS_MAX, read=read)
    return Profile().with_said(text for text, is_by_person in reversed(rows) if is_by_person)


def said_in_topics(tx: Tx, access: Access, topic_ids: Sequence[str], *, limit: int) -> list[TopicEntry]:
    """Return the newest entries of topics, by chat and number; entries of a task count as given, so they stay."""
    if not topic_ids:
        return []
    listed, names = in_list("topic", topic_ids)
    sql = (
        "SELECT id, topic_id, COALESCE(key, bucket, id), created_at, substr(content, 1, :chars), "
        f"{_BY_PERSON}, "
        "task_id IS NOT NULL OR COALESCE(source, '') LIKE '%boardScopeTopicId%', seq "
        f"FROM entries WHERE account_id = :account AND topic_id IN ({listed}) "
        "ORDER BY seq DESC LIMIT :limit"
    )
    rows = tx.all(sql, access, chars=limits.CLASSIFIER_SAID_CHARS_MAX * 2, limit=limit, **names)
    return [
        TopicEntry(entry_id, topic_id, chat, at, text, bool(is_by_person), bool(is_given))
        for entry_id, topic_id, chat, at, text, is_by_person, is_given, _ in sorted(rows, key=itemgetter(2, 7))
    ]


def learn_again(tx: Tx, access: Access, topic_id: str) -> None:
    """Rebuild a topic's profile from its present entries."""
    if hold_topic(tx, access, topic_id) is not None:
        profile = fresh_profile(tx, access, topic_id, read=limits.CLASSIFIER_MERGED_ENTRIES_MAX)
        save_profile(tx, access, topic_id, profile)


def hold_mergeable(tx: Tx, access: Access, topic_id: str) -> bool:
    """Lock a topic; return whether the classifier may still rename or merge it."""
    loose = "created_by = 'classifier' AND curated = 0"
    sql = f"SELECT {loose} FROM topics WHERE account_id = :account AND id = :id FOR NO KEY UPDATE"
    return bool(tx.value(sql, access, id=topic_id))


def is_used(tx: Tx, access: Access, topic_id: str) -> bool:
    """Return whether a topic has tasks, topics below it or a session of its own."""
    sql = (
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = :account AND t.topic_id = :id) "
        "OR EXISTS (SELECT 1 FROM topics o WHERE o.account_id = :account AND o.parent_id = :id) "
        "OR EXISTS (SELECT 1 FROM lanes l WHERE l.account_id = :account AND l.kind = 'topic' "
        "AND l.conversation = :conversation)"
    )
    return tx.one(sql, access, id=topic_id, conversation=f"topic:{topic_id}") is not None


def entries_of_topic(tx: Tx, access: Access, topic_id: str, *, limit: int) -> list[str]:
    """Return the ids of a topic's entries, oldest first."""
    sql = f"SELECT id FROM entries WHERE {_OF_TOPIC} ORDER BY seq LIMIT :limit"
    return [row[0] for row in tx.all(sql, access, topic_id=topic_id, limit=limit)]
