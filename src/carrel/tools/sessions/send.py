"""sessions_send: say something in another session, on demand wait for its reply; what follows is an exchange.

What only the house can judge about the target is no error of the call: it is told as its result, with a status.
"""

from typing import Annotated, Any

from msgspec import Meta

from carrel.exchanges import Exchange, begin_exchange, exchange_after, keep_exchange, moved
from carrel.kernel import (
    INTERNAL_CHANNEL,
    MS_PER_SECOND,
    Code,
    Envelope,
    Message,
    Provenance,
    Refusal,
    SessionKey,
    invalid,
    visible_reply,
)
from carrel.kernel.limits import (
    INLINE_GRACE_SECONDS,
    INLINE_LOOK_SECONDS,
    MESSAGE_CHARS_MAX,
    SESSION_REFERENCE_CHARS_MAX,
    WAIT_SECONDS_DEFAULT,
    WAIT_SECONDS_MAX,
)
from carrel.runs import Run, deliver
from carrel.sessions import FoundSession, Lane, find_session, lane_of, shown_channel, why_hidden
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Tool, Wait
from carrel.tools.sessions.rows import shown_key
from carrel.tools.sessions.shapes import Sent

_NAME = "sessions_send"
_PENDING = {"status": "pending", "mode": "announce"}
# What is refused by a rule, and what only did not work this time.
_BY_RULE = (Code.FORBIDDEN, Code.SEND_DENIED)


class SessionsSend(Params, frozen=True, kw_only=True):
    """What to say to whom, and how long to wait for the reply; 0 does not wait."""

    session_key: Annotated[str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX)]
    message: Annotated[str, Meta(max_length=MESSAGE_CHARS_MAX)]
    timeout_seconds: int = WAIT_SECONDS_DEFAULT


class _Refused(Exception):
    """The target is refused, which is a result and no error."""

    def __init__(self, code: str, why: str, *, by_rule: bool = False) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.status = "forbidden" if by_rule else "error"


def _send(tx: Tx, caller: Caller, params: SessionsSend) -> Result:
    if not params.message.strip():
        raise invalid("message", "A message needs some text.")
    wait_seconds = max(0, min(params.timeout_seconds, WAIT_SECONDS_MAX))
    shown = params.session_key
    try:
        if caller.house.draining():
            raise _Refused(str(Code.DRAINING), "The server is stopping and takes nothing new; try again shortly.")
        found = _target(tx, caller, params.session_key)
        shown = shown_key(caller.key.agent, found.key)
        run = _deliver(tx, caller, found, params.message)
    except _Refused as refused:
        # Whoever reads results by their run finds one here too, of a run that never was.
        value = {"runId": tx.new_id("run"), "status": refused.status, "error": refused.why, "code": refused.code}
        return Result(value=value | {"sessionKey": shown})
    until = tx.now + wait_seconds * MS_PER_SECOND
    begin_exchange(tx, caller.looking, _exchange(tx, caller, run, until if wait_seconds else None))
    if wait_seconds:
        return Result(value={}, wait=Wait(run.id, until))
    return Result(value={"runId": run.id, "status": "accepted", "sessionKey": shown, "delivery": _PENDING})


def _target(tx: Tx, caller: Caller, reference: str) -> FoundSession:
    """The lane a reference means, if something may be sent there: one that exists, or an agent's main lane."""
    try:
        found = find_session(tx, caller.looking, reference, caller.key, caller.visibility)
    except Refusal as refusal:
        if refusal.code not in (Code.NOT_FOUND, Code.AMBIGUOUS_SESSION):
            raise
        raise _Refused(str(refusal.code), f"'{reference}': {refusal.message}") from refusal
    if found.key == caller.key:
        raise _Refused("self_send", "This is your own session; say it in your answer instead.", by_rule=True)
    why = why_hidden(tx, caller.access, caller.visibility, found.key)
    if why is not None:
        raise _Refused(str(Code.FORBIDDEN), why, by_rule=True)
    if found.lane is None and found.key.kind != "main":
        raise _Refused(str(Code.NOT_FOUND), f"There is no session {found.key}; sessions_list names those there are.")
    return found


def _deliver(tx: Tx, caller: Caller, found: FoundSession, text: str) -> Run:
    own = lane_of(tx, caller.looking, caller.key)
    provenance = Provenance(
        kind="inter_session",
        source_session_key=str(caller.key),
        source_channel=shown_channel(caller.key, own.last_channel if own else None),
        source_tool=_NAME,
        actor=caller.access.actor_id,
    )
    envelope = Envelope(
        key=found.key,
        message=Message(text=text, provenance=provenance),
        channel=_channel(found.key, found.lane),
        parent_run_id=caller.run.id if caller.run else None,
    )
    try:
        # Tool visibility has allowed it, which reaches further than what an agent may address by itself.
        return deliver(tx, caller.looking, envelope, caller.house.rules)
    except Refusal as refusal:
        raise _Refused(str(refusal.code), refusal.message, by_rule=refusal.code in _BY_RULE) from refusal


def _channel(key: SessionKey, lane: Lane | None) -> str:
    return key.channel or (lane.last_channel if lane else None) or INTERNAL_CHANNEL


def _exchange(tx: Tx, caller: Caller, run: Run, waits_until: int | None) -> Exchange:
    """What follows: replies back and forth, unless nobody is there who could go on talking."""
    alone = caller.key.kind == "cron" or caller.access.is_person
    rounds_max = 0 if alone else caller.house.settings.sessions.agent_to_agent.max_ping_pong_turns
    return Exchange(
        account_id=run.account_id,
        id=tx.new_id("exc"),
        kind="send",
        requester_key=str(caller.key),
        requester_session_id=caller.session.id if caller.session else None,
        requester_run_id=caller.run.id if caller.run else None,
        target_key=run.key,
        first_run_id=run.id,
        current_run_id=run.id,
        rounds_max=rounds_max,
        # A call that waits says itself whether it brought the reply; one that was lost is found out after a while.
        answered_inline=0 if waits_until is None else None,
        due_at=None if waits_until is None else tx.now + INLINE_LOOK_SECONDS * MS_PER_SECOND,
        expires_at=None if waits_until is None else waits_until + INLINE_GRACE_SECONDS * MS_PER_SECOND,
        created_at=tx.now,
    )


def _finish(tx: Tx, caller: Caller, run_id: str, run: Run | None) -> dict[str, Any]:
    """The result for a call that has waited: this very run's reply, if nobody else is bringing it already."""
    if run is None:
        return {"runId": run_id, "status": "error", "error": "The session was deleted before it answered."}
    given = _answer_inline(tx, caller, run)
    value: dict[str, Any] = {"runId": run.id, "sessionKey": shown_key(caller.key.agent, run.session_key)}
    if run.state == "completed" and given:
        reply = run.reply if visible_reply(run.reply) else ""
        return value | {"status": "ok", "reply": reply, "delivery": _PENDING}
    if run.state == "completed":
        return value | {"status": "timeout", "error": "The reply came too late for this call; it comes as a message."}
    if run.state == "waiting":
        asked = f"The run waits for {run.waiting_for} before it goes on: {run.question or 'no question was given'}"
        return value | {"status": "error", "error": asked}
    if run.ended:
        told = run.error_message or run.reason or run.error_code or "no reason was given"
        return value | {"status": "error", "error": f"The run {run.state}: {told}"}
    return value | {
        "status": "timeout",
        "error": "No reply in time. The run goes on; sessions_history shows its reply.",
    }


def _answer_inline(tx: Tx, caller: Caller, run: Run) -> bool:
    """Settle whether this call brings the reply, once for all; whether it does."""
    exchange = exchange_after(tx, caller.looking, run.id, hold=True)
    if exchange is None or exchange.answered_inline is not None:
        return exchange is None or bool(exchange.answered_inline)
    given = run.state == "completed"
    # Looked at again in any case: a run that ends in this very moment does not find it settled and tells nobody.
    settled = moved(exchange, answered_inline=int(given), due_at=tx.now, expires_at=None)
    keep_exchange(tx, caller.looking, settled)
    return given


SEND_TOOLS = (
    Tool(
        name=_NAME,
        description="Say something in another session and wait for its reply, or with timeoutSeconds 0 do not wait.",
        params=SessionsSend,
        effect="write",
        act=_send,
        gives=Sent,
        finish=_finish,
    ),
)
