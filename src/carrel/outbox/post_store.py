"""The SQL of posts: what is to be said on a channel outside of the house, and where a run's answers belong.

A post is written with what it tells of, in one transaction, so no crash comes between a run's end and the wish to say
so. What is posted to one chat_address goes there in its order; saying it, and in which words, is the channel's affair.
"""

from typing import Literal

from msgspec import Struct

from carrel.kernel import Access, system_access
from carrel.runs import Run, run_by_id
from carrel.storage import Row, Tx

# Rung when a post was written, or has come further.
POSTS = "posts"
About = Literal["completed", "failed", "waiting"]
PostState = Literal["open", "sent", "dropped"]


class Post(Struct, frozen=True, kw_only=True):
    """A post as it is kept; its fields are the columns of its table."""

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
        """The house's access to the post's account."""
        return system_access(self.account_id)


_NAMES = Post.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_INSERT = f"INSERT INTO posts ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in _NAMES)})"
_ONE = "account_id = :account AND id = :id"
# Only the first open post of a chat_address may go out.
_IS_FIRST = (
    "NOT EXISTS (SELECT 1 FROM posts e WHERE e.account_id = p.account_id AND e.channel = p.channel "
    "AND e.chat_address = p.chat_address AND e.due_at IS NOT NULL AND e.seq < p.seq)"
)


def _post(row: Row | None) -> Post | None:
    return None if row is None else Post(**dict(zip(_NAMES, row, strict=True)))


def _values(post: Post) -> dict[str, object]:
    return {name: getattr(post, name) for name in _NAMES}


def keep_reply_address(tx: Tx, access: Access, run_id: str, channel: str, chat_address: str) -> None:
    """Remember where on a channel the answers of a run belong."""
    tx.run(
        "INSERT INTO reply_addresses (account_id, run_id, channel, chat_address) "
        "VALUES (:account, :run_id, :channel, :chat_address)",
        account=access.account_id,
        run_id=run_id,
        channel=channel,
        chat_address=chat_address,
    )


def reply_address_of(tx: Tx, access: Access, run_id: str) -> tuple[str, str] | None:
    """The channel and the chat_address on it where the answers of a run belong."""
    row = tx.one(
        "SELECT channel, chat_address FROM reply_addresses WHERE account_id = :account AND run_id = :run_id",
        account=access.account_id,
        run_id=run_id,
    )
    return None if row is None else (row[0], row[1])


def waiting_at(tx: Tx, access: Access, key: str, channel: str, chat_address: str) -> Run | None:
    """The run of a lane that waits for a person and was asked for at a chat_address; the oldest of several."""
    row = tx.one(
        "SELECT r.id FROM runs r JOIN reply_addresses p ON p.account_id = r.account_id AND p.run_id = r.id "
        "WHERE r.account_id = :account AND r.key = :key AND r.state = 'waiting' AND p.channel = :channel "
        "AND p.chat_address = :chat_address ORDER BY r.id LIMIT 1",
        account=access.account_id,
        key=key,
        channel=channel,
        chat_address=chat_address,
    )
    return None if row is None else run_by_id(tx, access, row[0])


def insert_post(tx: Tx, access: Access, post: Post) -> bool:
    """Write a new post; False when there is one of that id already, which stays."""
    values = _values(post) | {"account_id": access.account_id}
    return tx.run(f"{_INSERT} ON CONFLICT (account_id, id) DO NOTHING", **values) > 0


def post_by_id(tx: Tx, access: Access, post_id: str) -> Post | None:
    """One post."""
    return _post(tx.one(f"SELECT {_COLUMNS} FROM posts WHERE {_ONE}", account=access.account_id, id=post_id))


def due_posts(tx: Tx, channel: str, limit: int) -> list[Post]:
    """Posts of a channel that may go out now, of whatever account, at most one for each chat_address; holds them."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM posts p WHERE p.channel = :channel AND p.due_at <= :now AND {_IS_FIRST} "
        "ORDER BY p.due_at LIMIT :limit FOR UPDATE SKIP LOCKED",
        channel=channel,
        now=tx.now,
        limit=limit,
    )
    return [found for found in map(_post, rows) if found is not None]


def next_post_due(tx: Tx, channel: str) -> int | None:
    """When the next post of a channel may go out, in whatever account."""
    row = tx.one(
        f"SELECT p.due_at FROM posts p WHERE p.channel = :channel AND p.due_at IS NOT NULL AND {_IS_FIRST} "
        "ORDER BY p.due_at LIMIT 1",
        channel=channel,
    )
    return None if row is None else int(row[0])


def release_posts(tx: Tx, channel: str) -> int:
    """End every claim now: for the only server of a store, which has just started and is at none."""
    return tx.run(
        "UPDATE posts SET claim = NULL, due_at = :now WHERE channel = :channel AND claim IS NOT NULL AND due_at > :now",
        channel=channel,
        now=tx.now,
    )


def claim_post(tx: Tx, access: Access, post: Post) -> None:
    """Write the claim and the words of a post that this transaction holds."""
    tx.run(
        f"UPDATE posts SET claim = :claim, due_at = :due_at, text = :text WHERE {_ONE}",
        account=access.account_id,
        id=post.id,
        claim=post.claim,
        due_at=post.due_at,
        text=post.text,
    )


def note_post(tx: Tx, access: Access, post: Post) -> bool:
    """Write how far a post has come; False, with nothing written, when the claim is over.

    A post that is no longer open, or that waits for another attempt, is let go.
    """
    noted = tx.run(
        "UPDATE posts SET parts_sent = :parts_sent, attempts = :attempts, due_at = :due_at, state = :state, "
        "error = :error, ended_at = :ended_at, claim = CASE WHEN :held = 1 THEN claim ELSE NULL END "
        f"WHERE {_ONE} AND claim = :claim",
        account=access.account_id,
        id=post.id,
        claim=post.claim,
        parts_sent=post.parts_sent,
        attempts=post.attempts,
        due_at=post.due_at,
        state=post.state,
        error=post.error,
        ended_at=post.ended_at,
        held=int(post.state == "open" and post.error is None),
    )
    return noted > 0


def prune_posts(tx: Tx, access: Access, before: int, *, limit: int) -> int:
    """Forget posts that ended before a moment."""
    return tx.run(
        "DELETE FROM posts WHERE account_id = :account AND id IN (SELECT id FROM posts WHERE account_id = :account "
        "AND ended_at < :before LIMIT :limit)",
        account=access.account_id,
        before=before,
        limit=limit,
    )
