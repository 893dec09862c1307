"""Answers that say nothing: when they are not posted, and when the agent is asked again."""

from carrel.delivery.snapshot import Snapshot
from carrel.delivery.transcript import since_heard, view_of_reply
from carrel.exchanges import visible_reply
from carrel.runs import Completed, Run

NO_REPLY_NOTE = "no_reply"
_ADDRESSED = ("assignment", "mention", "response_request")


def is_silent(run: Run, text: str) -> bool:
    """Return whether an answer says nothing: it is empty, or a silent reply to a thread or to a heartbeat.

    In other chats a silent reply stays in the transcript, and surfaces do not show it.
    """
    is_posted = view_of_reply(run) is not None or run.provenance_kind == "heartbeat"
    return visible_reply(text) is None if is_posted else not text.strip()


def is_unanswered(snapshot: Snapshot, outcome: object) -> bool:
    """Return whether an agent owes somebody an answer and has done nothing: it called no tool and said nothing."""
    if not isinstance(outcome, Completed) or outcome.note != NO_REPLY_NOTE:
        return False
    return _is_due(snapshot) and not any(entry.role == "toolCall" for entry in since_heard(snapshot.own))


def _is_due(snapshot: Snapshot) -> bool:
    kind, told = snapshot.run.provenance_kind, snapshot.told
    if kind != "notification" or told is None:
        return kind == "external_user"
    return told.notice in _ADDRESSED or (told.notice == "thread_update" and told.by_a_person)
