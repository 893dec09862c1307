"""The prompts of exchanges: what a run is told about its exchange, and the messages of its steps. Pure.

They are part of the instructions and change only with PROFILE_VERSION; a test enforces that.
"""

from carrel.exchanges.model import Exchange
from carrel.exchanges.silent_replies import ANNOUNCE_SKIP, NO_REPLY, REPLY_SKIP
from carrel.kernel import Provenance, clip, one_line
from carrel.kernel.limits import ANNOUNCED_PART_CHARS_MAX
from carrel.runs import Run


def sent_briefing(run: Run) -> str:
    """Brief the run of a message from another lane."""
    source = run.source()
    return (
        f"The newest message comes from another session, not from a person: from {_lane(source)} "
        f"(channel {_channel(source)}) to this session, {run.key}. Your answer goes back to that session. "
        f"If there is nothing to say, answer exactly {NO_REPLY}."
    )


def reply_briefing(run: Run, exchange: Exchange | None) -> str:
    """Brief the run of a reply; without an exchange, nobody waits for its answer any more."""
    source = run.source()
    begin = (
        f"The newest message comes from the session {_lane(source)} (channel {_channel(source)}), which this session, "
        f"{run.key}, exchanges messages with; no person wrote it. "
    )
    if exchange is None:
        return f"{begin}The exchange has ended: nobody waits for your answer. Answer exactly {REPLY_SKIP}."
    return (
        f"{begin}{exchange.requester_key} asked and {exchange.target_key} was asked; this is turn {exchange.round - 1} "
        f"of at most {exchange.rounds_max}. Your answer goes to {_lane(source)} and to nobody else. If nothing needs "
        f"to be said any more, answer exactly {REPLY_SKIP}."
    )


def announce_briefing(run: Run, channel: str) -> str:
    """Brief the run that writes the announcement of an exchange."""
    return (
        f"An exchange of this session, {run.key}, with the session {_lane(run.source())} has ended. What you answer "
        f"now is said on this session's own channel ({one_line(channel)}), as you write it. If nothing needs to be "
        f"said there, answer exactly {ANNOUNCE_SKIP}."
    )


def inline_notice(exchange: Exchange) -> str:
    """The message of a round whose reply the requester already has; it refers to the reply without repeating it."""
    return (
        f"{exchange.target_key} answered your message; you have the answer as the result of your call of "
        "sessions_send. Do you want to say something to it?"
    )


def announce_message(exchange: Exchange, first: Run) -> str:
    """The message of the announce step: the question, the first answer and the last reply."""
    parts = {
        f"Asked by {exchange.requester_key}": first.text,
        "First answer": first.reply or "",
        "Said last": exchange.last_reply or first.reply or "",
    }
    told = "\n\n".join(f"{name}:\n{clip(text, ANNOUNCED_PART_CHARS_MAX)}" for name, text in parts.items())
    return f"The exchange with {exchange.requester_key} has ended.\n\n{told}\n\nWhat is to be said on your channel?"


def _lane(source: Provenance) -> str:
    return str(source.source_session_key or "unknown")


def _channel(source: Provenance) -> str:
    return one_line(str(source.source_channel or "unknown"))
