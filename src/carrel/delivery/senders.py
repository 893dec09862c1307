"""Who wrote a message and when: the line before it and before earlier messages. Pure, except `sender_of`.

The model's own answers have no such lines, or it would write them itself. Nor has every message: what was said within
a few hours is dated once, and a single author is not named. That keeps a history short, and the same from run to run
for the caches of providers. Only the line before the newest message, at the end of the input, says what time it is now
and in which zone all times are.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from carrel.access import user_by_id
from carrel.journal import Entry
from carrel.kernel import MS_PER_DAY, MS_PER_MINUTE, clip, minute_of, one_line
from carrel.kernel.limits import DATED_AFTER_MINUTES, NAME_CHARS_MAX
from carrel.outbox import POSTED_CHANNELS
from carrel.runs import Run
from carrel.sessions import Lane
from carrel.storage import Tx
from carrel.visibility import PERSONAL_KINDS

LINE, SENDER = "line", "sender"
# Senders that are not people; runs that only Carrel causes learn that from their instructions.
_OTHERS = {"cron": "a schedule", "hook": "a hook", "a2a": "a program"}
_FROM_SESSIONS = ("inter_session", "reply_back")
# Every line with which we say who writes, at any place where a reader may see a line begin.
_OURS = re.compile(
    r"(?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))(?=[^\S\n]*(?:message[^\S\n]+from\b.*?:|(?:\d+[^\S\n]+)?messages,[^\S\n]+(?:the[^\S\n]+first|each)"
    r"|at[^\S\n]+\d{4}-\d\d-\d\d|it[^\S\n]+is[^\S\n]+now[^\S\n]+\d{4}-|\[(?:notification|message)[^\S\n]+\w+[^\S\n]+·))",
    re.IGNORECASE | re.MULTILINE,
)


def sender_of(tx: Tx, run: Run, lane: Lane) -> str:
    """Return who wrote a run's message, in words; empty if only one person could, or if nobody wrote it."""
    source = run.source()
    if run.provenance_kind in _FROM_SESSIONS:
        return f"the session {source.source_session_key or 'of another agent'}"
    if run.provenance_kind == "hook" and source.by:
        return f"the webhook {source.by.partition(':')[2]}"
    if run.provenance_kind != "external_user":
        return _OTHERS.get(run.provenance_kind, "")
    if run.session_key.kind in PERSONAL_KINDS and run.actor_id == lane.made_by:
        return ""
    user, named = user_by_id(tx, run.access, run.actor_id), _name(source.name or "")
    if user is None and named and source.source_channel in POSTED_CHANNELS:
        # People on a channel choose their own names.
        return f'"{named}" on {source.source_channel}'
    return (named if user is None else _name(user.name)) or "a person"


def line_before(sender: str, sent_at: int, now: int) -> str:
    """Return the line before the message of a run: what time it is, and who wrote it and when."""
    sent, read = minute_of(sent_at), minute_of(now)
    if sent == read:
        return f"Message from {sender}, at {sent} UTC, just now:" if sender else f"It is now {read} UTC."
    return f"It is now {read} UTC. {f'Message from {sender}, at' if sender else 'Sent at'} {sent}:"


def have_several_senders(entries: Iterable[Entry]) -> bool:
    """Return whether the messages among these entries have several authors."""
    return len({_sender(entry) for entry in entries if entry.role == "user"}) > 1


def line_of_earlier(entry: Entry, before: Entry | None, *, is_named: bool) -> str:
    """Return the line before an earlier message: its time, unless `before` tells it, and its author if `is_named`."""
    sender, at = _sender(entry), entry.created_at
    if sender and is_named:
        return f"Message from {sender}, at {minute_of(at)}:"
    is_told = before is not None and at - before.created_at < DATED_AFTER_MINUTES * MS_PER_MINUTE
    is_same_day = before is not None and at // MS_PER_DAY == before.created_at // MS_PER_DAY
    return "" if is_told and is_same_day else f"At {minute_of(at)}:"


def noted(run: Run, own: Sequence[Entry]) -> dict[str, Any]:
    """Return the note stored with the message of a run when it was heard."""
    return next((entry.details for entry in own if entry.id == run.message_id), None) or {}


def as_said(text: str) -> str:
    """Return somebody's text with lines quoted that could be taken for one of ours."""
    return _OURS.sub("> ", text)


def _sender(entry: Entry) -> str:
    return str((entry.details or {}).get(SENDER, ""))


def _name(text: str) -> str:
    return clip(one_line(text.replace('"', "'")), NAME_CHARS_MAX)
