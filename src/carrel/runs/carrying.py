"""Carrying: what is to leave on a channel, who is at it, and what follows a failure.

Nothing is sent here; whoever speaks on a channel takes posts, says them part by part, and notes how that went.
"""

from typing import Literal

import msgspec
from msgspec import structs

from carrel.kernel import MS_PER_SECOND, Access, Provenance, clip
from carrel.kernel.limits import ERROR_CHARS_MAX, POST_LEASE_SECONDS, POSTING_HOURS_MAX
from carrel.runs import post_store
from carrel.runs.model import Claim, retry_delay_ms
from carrel.runs.post_store import About, Waybill
from carrel.storage import POSTS, Tx

# The channels that must be carried to; every other one shows what is stored.
CARRIED = ("telegram",)
_TOLD: dict[str, About] = {"completed": "completed", "failed": "failed", "waiting": "waiting"}
_LEASE_MS = POST_LEASE_SECONDS * MS_PER_SECOND
_HOUR_MS = 3_600_000
_source = msgspec.json.Decoder(Provenance).decode


def post_words(tx: Tx, access: Access, channel: str, place: str, text: str, *, post_id: str | None = None) -> str:
    """Say something at a place of a channel, soon and once for one id; the id it is kept under."""
    post = Waybill(
        account_id=access.account_id,
        id=post_id or tx.new_id("pst"),
        channel=channel,
        place=place,
        seq=tx.tick(),
        text=text,
        due_at=tx.now,
        created_at=tx.now,
    )
    if post_store.insert_post(tx, access, post):
        tx.wake(POSTS)
    return post.id


def post_outcome(tx: Tx, run: Claim, state: str) -> None:
    """Have what a run has come to said where its answers belong, if they belong anywhere."""
    about = _TOLD.get(state)
    if about is None or not _may_have_place(run):
        return
    found = post_store.place_of_run(tx, run.access, run.id)
    if found is None:
        return
    post = Waybill(
        account_id=run.account_id,
        id=tx.new_id("pst"),
        channel=found[0],
        place=found[1],
        seq=tx.tick(),
        run_id=run.id,
        about=about,
        due_at=tx.now,
        created_at=tx.now,
    )
    post_store.insert_post(tx, run.access, post)
    tx.wake(POSTS)


def _may_have_place(run: Claim) -> bool:
    """True for what came from such a channel, and for a result that came to a lane; no other run pays for the look."""
    return run.provenance_kind == "announce" or _source(run.provenance).source_channel in CARRIED


def take_posts(tx: Tx, channel: str, limit: int) -> list[Waybill]:
    """Take up to `limit` posts of a channel that may go out now; their words are for the taker to find and keep."""
    claim = tx.new_id("pcl")
    held = post_store.due_posts(tx, channel, limit)
    return [structs.replace(post, claim=claim, due_at=tx.now + _LEASE_MS) for post in held]


def pass_over(tx: Tx, post: Waybill, why: str) -> None:
    """Drop a post that was taken and is not to be said after all."""
    noted = structs.replace(post, state="dropped", due_at=None, ended_at=tx.now, error=clip(why, ERROR_CHARS_MAX))
    post_store.note_post(tx, post.access, noted)
    tx.wake(POSTS)


def part_sent(tx: Tx, post: Waybill, parts: int) -> Waybill | None:
    """Note that one more part of so many was said; the post while there is more and the claim holds."""
    sent = post.parts_sent + 1
    noted = structs.replace(post, parts_sent=sent, attempts=0, error=None, due_at=tx.now + _LEASE_MS)
    if sent >= parts:
        noted = structs.replace(noted, state="sent", due_at=None, ended_at=tx.now)
    is_ours = post_store.note_post(tx, post.access, noted)
    if noted.state != "open":
        # Who waits for it, and the next post of its place.
        tx.wake(POSTS)
    return noted if is_ours and noted.state == "open" else None


def post_failed(
    tx: Tx, post: Waybill, reason: str, *, final: bool = False, after_seconds: float = 0
) -> Literal["again", "dropped"]:
    """Note that a part could not be said: it is tried again later, or dropped when that is in vain or its time is up.

    What lies behind it at the same place waits as long, but not for one that is dropped.
    """
    attempts = post.attempts + 1
    delay_ms = max(retry_delay_ms(attempts, tx.chance()), int(after_seconds * MS_PER_SECOND))
    is_over = final or tx.now + delay_ms > post.created_at + POSTING_HOURS_MAX * _HOUR_MS
    noted = structs.replace(
        post,
        attempts=attempts,
        error=clip(reason, ERROR_CHARS_MAX),
        state="dropped" if is_over else "open",
        due_at=None if is_over else tx.now + delay_ms,
        ended_at=tx.now if is_over else None,
    )
    post_store.note_post(tx, post.access, noted)
    tx.wake(POSTS)
    return "dropped" if is_over else "again"
