"""The SQL of posts: messages to send on a channel, and the chat address of a run's answers.

A post is written in the transaction of the change that it reports, so a crash cannot separate the two. Posts to one
chat address go out in order; the channel decides how to word and send them.
"""

from typing import Literal

from msgspec import Struct

from carrel.kernel import Access, system_access
from carrel.runs import Run, run_by_id
from carrel.storage import Table, Tx

# Rung when a post was written or updated.
POSTS = "posts"
About = Literal["completed", "failed", "waiting"]
PostState = Literal["open", "sent", "dropped"]


class Post(Struct, frozen=True, kw_only=True):
    """A post as it is stored; its fields are the columns of its table."""

    account_id: str
    id: str
    channel: str
    chat_address: str
    seq: int
    created_at: int
    run_id: str | None = None
    about: About | None = None
    text: str | None = None
    parts_sent: int = 0
    attempts: int = 0
    due_at: int | None = None
    claim: str | None = None
    state: PostState = "open"
    error: str | None = None
    ended_at: int | None = None

    @property
    def access(self) -> Access:
        """The system's access to the post's account."""
        return system_access(self.account_id)


_TABLE = Table("posts", Post)
_ONE = "account_id = :account AND id = :id"
# Only the first open post of a chat address may go out.
_IS_FIRST = (
    "NOT EXISTS (SELECT 1 FROM posts e WHERE e.account_id = p.account_id AND e.channel = p.channel "
    "AND e.chat_address = p.chat_address AND e.due_at IS NOT NULL AND e.seq < p.seq)"
)


def keep_reply_address(tx: Tx, access: Access, run_id: str, channel: str, chat_address: str) -> None:
    """Record the channel and chat address of a run's answers."""
    sql = (
        "INSERT INTO reply_addresses (account_id, run_id, channel, chat_address) "
        "VALUES (:account, :run_id, :channel, :chat_address)"
    )
    tx.run(sql, access, run_id=run_id, channel=channel, chat_address=chat_address)


def reply_address_of(tx: Tx, access: Access, run_id: str) -> tuple[str, str] | None:
    """Return the channel and the chat address of a run's answers, or None."""
    sql = "SELECT channel, chat_address FROM reply_addresses WHERE account_id = :account AND run_id = :run_id"
    row = tx.one(sql, access, run_id=run_id)
    return None if row is None else (row[0], row[1])


def waiting_at(tx: Tx, access: Access, key: str, channel: str, chat_address: str) -> Run | None:
    """Return the oldest run of a lane that came from a chat address and waits for a person."""
    sql = (
        "SELECT r.id FROM runs r JOIN reply_addresses p ON p.account_id = r.account_id AND p.run_id = r.id "
        "WHERE r.account_id = :account AND r.key = :key AND r.state = 'waiting' AND p.channel = :channel "
        "AND p.chat_address = :chat_address ORDER BY r.id LIMIT 1"
    )
    row = tx.one(sql, access, key=key, channel=channel, chat_address=chat_address)
    return None if row is None else run_by_id(tx, access, row[0])


def insert_post(tx: Tx, access: Access, post: Post) -> bool:
    """Write a new post; False if its id exists, and that post stays."""
    return tx.run(f"{_TABLE.insert} ON CONFLICT (account_id, id) DO NOTHING", access, **_TABLE.values(post)) > 0


def post_by_id(tx: Tx, access: Access, post_id: str) -> Post | None:
    """Return one post."""
    return _TABLE.row(tx.one(f"{_TABLE.select} WHERE {_ONE}", access, id=post_id))


def due_posts(tx: Tx, channel: str, limit: int) -> list[Post]:
    """Lock and return posts of a channel that may go out now, across all accounts, one per chat address."""
    sql = (
        f"{_TABLE.select} p WHERE p.channel = :channel AND p.due_at <= :now AND {_IS_FIRST} "
        "ORDER BY p.due_at LIMIT :limit FOR UPDATE SKIP LOCKED"
    )
    return _TABLE.rows(tx.all(sql, channel=channel, now=tx.now, limit=limit))


def next_post_due(tx: Tx, channel: str) -> int | None:
    """Return when the next post of a channel may go out, across all accounts."""
    sql = (
        f"SELECT p.due_at FROM posts p WHERE p.channel = :channel AND p.due_at IS NOT NULL AND {_IS_FIRST} "
        "ORDER BY p.due_at LIMIT 1"
    )
    return tx.value(sql, channel=channel)


def release_posts(tx: Tx, channel: str) -> int:
    """End every claim: for the only server of a store at its start, when it holds none."""
    claimed = "channel = :channel AND claim IS NOT NULL AND due_at > :now"
    return tx.run(f"UPDATE posts SET claim = NULL, due_at = :now WHERE {claimed}", channel=channel, now=tx.now)


def claim_post(tx: Tx, access: Access, post: Post) -> None:
    """Write the claim and the text of a post that this transaction has locked."""
    sql = f"UPDATE posts SET claim = :claim, due_at = :due_at, text = :text WHERE {_ONE}"
    tx.run(sql, access, **_TABLE.values(post))


def note_post(tx: Tx, access: Access, post: Post) -> bool:
    """Record the progress of a post; False, with nothing written, if the claim is over.

    The claim also ends if the post is finished or has to be retried.
    """
    sql = (
        "UPDATE posts SET parts_sent = :parts_sent, attempts = :attempts, due_at = :due_at, state = :state, "
        "error = :error, ended_at = :ended_at, claim = CASE WHEN :held = 1 THEN claim ELSE NULL END "
        f"WHERE {_ONE} AND claim = :claim"
    )
    held = int(post.state == "open" and post.error is None)
    return tx.run(sql, access, held=held, **_TABLE.values(post)) > 0


def prune_posts(tx: Tx, access: Access, before: int, *, limit: int) -> int:
    """Delete posts that ended before a moment."""
    sql = (
        "DELETE FROM posts WHERE account_id = :account AND id IN (SELECT id FROM posts WHERE account_id = :account "
        "AND ended_at < :before LIMIT :limit)"
    )
    return tx.run(sql, access, before=before, limit=limit)
