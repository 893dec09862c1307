"""Posts to channels: writing them, leasing them, and retrying after a failure.

Nothing is sent here; a channel's surface takes posts, sends them part by part, and reports the outcome.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct, structs

from carrel.chats import pointed_lane
from carrel.kernel import INTERNAL_CHANNEL, MS_PER_HOUR, MS_PER_SECOND, Access, Provenance, SessionKey, clip, limits
from carrel.outbox import post_store
from carrel.outbox.post_store import POSTS, About, Post
from carrel.outbox.webhooks import mark_webhooks_due
from carrel.runs import Claim, Rules, Run, RunChanged, RunRetried, retry_delay_ms, run_by_id
from carrel.sessions import Lane, lane_of, require_sending
from carrel.storage import Database, Tx

# The channels to which messages are posted; the others show what is stored.
POSTED_CHANNELS = ("telegram",)
_POSTED_STATES: dict[str, About] = {"completed": "completed", "failed": "failed", "waiting": "waiting"}
_LEASE_MS = limits.POST_LEASE_SECONDS * MS_PER_SECOND
_source = msgspec.json.Decoder(Provenance).decode


class ChannelMessage(Struct, frozen=True, kw_only=True):
    """A message to post on a channel. It may be offered more than once, with the same id."""

    id: str
    account_id: str
    key: SessionKey
    channel: str
    to: str | None
    text: str


class ChannelFault(Exception):
    """A message could not be posted; another attempt may succeed."""


class Channel(Protocol):
    """A service outside Carrel to which messages can be posted."""

    async def post(self, post: ChannelMessage) -> None:
        """Post a message; raise ChannelFault if that failed."""
        ...


Channels = Mapping[str, Channel]


def channel_of(lane: Lane) -> str:
    """Return the channel of a lane, `internal` if it has none."""
    return lane.channel or INTERNAL_CHANNEL


def post_text(
    tx: Tx, access: Access, channel: str, chat_address: str, text: str, *, post_id: str | None = None,
    speaker: SessionKey | None = None,
) -> str:  # fmt: skip
    """Queue a text for a chat address, once per id; return the post's id. `speaker` is the session it comes from."""
    post_id = post_id or tx.new_id("pst")
    if speaker is not None:
        text = with_speaker(tx, access, channel, chat_address, speaker, text)
    _queue(tx, access, post_id, channel, chat_address, text=text)
    return post_id


def _queue(tx: Tx, access: Access, post_id: str, channel: str, chat_address: str, **content: Any) -> None:
    post = Post(
        account_id=access.account_id,
        id=post_id,
        channel=channel,
        chat_address=chat_address,
        seq=tx.tick(),
        due_at=tx.now,
        created_at=tx.now,
        **content,
    )
    if post_store.insert_post(tx, access, post):
        tx.wake(POSTS)


def with_speaker(tx: Tx, access: Access, channel: str, chat_address: str, key: SessionKey, text: str) -> str:
    """Return a session's text for a chat, prefixed with its name unless it is the active session."""
    active, lane = pointed_lane(tx, access, channel, chat_address), lane_of(tx, access, key)
    if active is not None and active.session_key == key:
        return text
    name = (lane.display_name or lane.label if lane is not None else None) or key.conversation
    return f"[{name}] {text}"


def post_outcome(tx: Tx, changed: RunChanged) -> None:
    """Queue the outcome of a run for its reply address, if it has one."""
    run, about = changed.run, _POSTED_STATES.get(changed.state)
    if about is None or not _may_have_reply_address(run):
        return
    if (found := post_store.reply_address_of(tx, run.access, run.id)) is not None:
        _queue(tx, run.access, tx.new_id("pst"), *found, run_id=run.id, about=about)


def _may_have_reply_address(run: Claim) -> bool:
    """Whether a run may have a reply address; runs from elsewhere save the query."""
    return run.provenance_kind == "announce" or _source(run.provenance).source_channel in POSTED_CHANNELS


def copy_reply_address(tx: Tx, retried: RunRetried) -> None:
    """Give a retry the reply address of the run that it retries."""
    run, again = retried.run, retried.again
    if (found := post_store.reply_address_of(tx, run.access, run.id)) is not None:
        post_store.keep_reply_address(tx, run.access, again.id, *found)


def take_posts(tx: Tx, channel: str, limit: int) -> list[Post]:
    """Lease up to `limit` due posts of a channel; the caller looks up their text and writes the claim."""
    claim = tx.new_id("pcl")
    due = post_store.due_posts(tx, channel, limit)
    return [structs.replace(post, claim=claim, due_at=tx.now + _LEASE_MS) for post in due]


def postable_run(tx: Tx, post: Post, rules: Rules) -> Run | None:
    """Return the run that a post is about, None if it was deleted; Refusal if the send policy now denies it."""
    run = None if post.run_id is None else run_by_id(tx, post.access, post.run_id)
    if run is not None:
        lane = lane_of(tx, post.access, run.session_key)
        require_sending(rules.send_policy, run.session_key, post.channel, lane.send_policy if lane else None)
    return run


def drop_post(tx: Tx, post: Post, why: str) -> None:
    """Drop a leased post that should not be sent after all."""
    error = clip(why, limits.ERROR_CHARS_MAX)
    noted = structs.replace(post, state="dropped", due_at=None, ended_at=tx.now, error=error)
    post_store.note_post(tx, post.access, noted)
    tx.wake(POSTS)


def part_sent(tx: Tx, post: Post, parts: int) -> Post | None:
    """Record that one more of `parts` parts was sent; return the post while parts are left and the claim holds."""
    sent = post.parts_sent + 1
    noted = structs.replace(post, parts_sent=sent, attempts=0, error=None, due_at=tx.now + _LEASE_MS)
    if sent >= parts:
        noted = structs.replace(noted, state="sent", due_at=None, ended_at=tx.now)
    is_ours = post_store.note_post(tx, post.access, noted)
    if noted.state != "open":
        # For callers that wait for it, and for the next post of its chat address.
        tx.wake(POSTS)
    return noted if is_ours and noted.state == "open" else None


def post_failed(
    tx: Tx, post: Post, reason: str, *, final: bool = False, after_seconds: float = 0
) -> Literal["again", "dropped"]:
    """Record that a part could not be sent: the post is retried later, or dropped if that is useless or too late.

    Later posts to the same chat address wait as long, but not for a dropped one.
    """
    attempts = post.attempts + 1
    delay_ms = max(retry_delay_ms(attempts, tx.chance()), int(after_seconds * MS_PER_SECOND))
    dropped = final or tx.now + delay_ms > post.created_at + limits.POSTING_HOURS_MAX * MS_PER_HOUR
    noted = structs.replace(
        post,
        attempts=attempts,
        error=clip(reason, limits.ERROR_CHARS_MAX),
        state="dropped" if dropped else "open",
        due_at=None if dropped else tx.now + delay_ms,
        ended_at=tx.now if dropped else None,
    )
    post_store.note_post(tx, post.access, noted)
    tx.wake(POSTS)
    return "dropped" if dropped else "again"


def prune_posts(tx: Tx, access: Access) -> int:
    """Delete a batch of posts that ended long enough ago; return how many."""
    before = tx.now - limits.POSTS_KEPT_HOURS * MS_PER_HOUR
    return post_store.prune_posts(tx, access, before, limit=limits.PRUNE_ROWS_MAX)


def observe_runs(db: Database) -> None:
    """Register the observers of runs."""
    db.observe(RunChanged, mark_webhooks_due)
    db.observe(RunChanged, post_outcome)
    db.observe(RunRetried, copy_reply_address)
