"""The SQL of profiles: what topics are recognised by."""

import msgspec

from carrel.board.classifier.scores import Candidate
from carrel.board.profiles import Profile
from carrel.journal import json_text
from carrel.kernel import Access
from carrel.kernel.limits import CLASSIFIER_SAID_CHARS_MAX
from carrel.storage import Tx

_words = msgspec.json.Decoder(dict[str, tuple[int, str]]).decode
_ONE = "account_id = :account AND topic_id = :topic_id"


def topics_of_space(tx: Tx, access: Access, space_id: str, *, limit: int) -> list[Candidate]:
    """Return the topics that belong to a space and are not archived, with their profiles, the newest change first.

    One whose profile is not known has none.
    """
    sql = (
        "SELECT o.id, o.name, substr(o.description, 1, :chars), o.status, p.lines, p.words, p.named, o.tags, "
        "o.created_by = 'classifier' AND o.curated = 0 AND o.pinned = 0 AND o.parent_id IS NULL AND o.tags = '[]' "
        "AND o.status = 'active' AND o.description = '' "
        "FROM topics o LEFT JOIN topic_profiles p ON p.account_id = o.account_id AND p.topic_id = o.id "
        "WHERE o.account_id = :account AND o.space_id = :space_id AND o.status <> 'archived' "
        "ORDER BY o.updated_at DESC, o.id LIMIT :limit"
    )
    rows = tx.all(sql, access, space_id=space_id, chars=CLASSIFIER_SAID_CHARS_MAX, limit=limit)
    return [
        Candidate(
            id=row[0],
            name=row[1],
            description=row[2],
            is_snoozed=row[3] == "snoozed",
            profile=None if row[4] is None else Profile(row[4], _words(row[5]), row[6]),
            is_plain=row[7] == "[]",
            is_loose=bool(row[8]),
        )
        for row in rows
    ]


def profile_of(tx: Tx, access: Access, topic_id: str) -> Profile | None:
    """Return the profile of a topic; None when it is not known."""
    row = tx.one(f"SELECT lines, words, named FROM topic_profiles WHERE {_ONE}", access, topic_id=topic_id)
    return None if row is None else Profile(row[0], _words(row[1]), row[2])


def save_profile(tx: Tx, access: Access, topic_id: str, profile: Profile) -> None:
    """Write the profile of a topic. The topic is locked, so that nobody deletes what it was made from meanwhile."""
    sql = (
        "INSERT INTO topic_profiles (account_id, topic_id, lines, named, words) "
        "VALUES (:account, :topic_id, :lines, :named, :words) ON CONFLICT (account_id, topic_id) DO UPDATE "
        "SET lines = excluded.lines, named = excluded.named, words = excluded.words"
    )
    words = json_text(profile.words)
    tx.run(sql, access, topic_id=topic_id, lines=profile.lines, named=profile.named, words=words)


def said_in_topic(tx: Tx, access: Access, topic_id: str, *, read: int) -> list[str]:
    """Return what people said among the newest entries of a topic, newest first."""
    sql = (
        "SELECT substr(content, 1, :chars), role, author_kind, type FROM entries WHERE account_id = :account "
        "AND topic_id = :topic_id ORDER BY seq DESC LIMIT :read"
    )
    rows = tx.all(sql, access, topic_id=topic_id, chars=CLASSIFIER_SAID_CHARS_MAX, read=read)
    return [row[0] for row in rows if row[2] == "user" and (row[1] == "user" or row[3] == "note")]
