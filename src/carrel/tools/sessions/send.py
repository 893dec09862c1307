"""sessions_send: send a message to another session and optionally wait for its reply; an exchange follows.

A target that cannot be used is not an error of the call: the result says so with a status.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, structs

from carrel.exchanges import Exchange, begin_exchange, exchange_after, keep_exchange, moved, visible_reply
from carrel.kernel import INTERNAL_CHANNEL, MS_PER_SECOND, Code, Envelope, Message, Provenance, Refusal, invalid, limits
from carrel.runs import Run, deliver
from carrel.sessions import FoundSession, find_session, lane_of, shown_channel
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Tool, Wait
from carrel.tools.sessions.rows import shown_key
from carrel.tools.sessions.shapes import Sent

_NAME = "sessions_send"
_PENDING = {"status": "pending", "mode": "announce"}
# Codes that mean a rule forbids it, not that it failed this time.
_BY_RULE = (Code.FORBIDDEN, Code.SEND_DENIED)


class SessionsSend(Params, frozen=True, kw_only=True):
    """The target, the message, and how long to wait for the reply; 0 does not wait."""

    session_key: Annotated[
        str, Meta(min_length=1, max_length=limits.SESSION_REFERENCE_CHARS_MAX, description="key of the session")
    ]
    message: Annotated[str, Meta(max_length=limits.MESSAGE_CHARS_MAX, description="what to say")]
    timeout_seconds: Annotated[int, Meta(description="how long to wait for the reply")] = limits.WAIT_SECONDS_DEFAULT


class _Refused(Exception):
    """The target is refused, which is a result and not an error."""

    def __init__(self, code: str, why: str, *, by_rule: bool = False) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.status = "forbidden" if by_rule else "error"


def _send(tx: Tx, caller: Caller, params: SessionsSend) -> Result:
    if not params.message.strip():
        raise invalid("message", "A message needs some text.")
    wait_seconds = max(0, min(params.timeout_seconds, limits.WAIT_SECONDS_MAX))
    shown = params.session_key
    try:
        found = _target(tx, caller, params.session_key)
        shown = shown_key(caller.key.agent, found.key)
        run = _deliver(tx, caller, found, params.message)
    except _Refused as refused:
        return Result(value={"status": refused.status, "error": refused.why, "code": refused.code, "sessionKey": shown})
    until = tx.now + wait_seconds * MS_PER_SECOND
    begin_exchange(tx, caller.account_access, _exchange(tx, caller, run, until if wait_seconds else None))
    if wait_seconds:
        return Result(value={}, wait=Wait(run.id, until))
    return Result(value={"runId": run.id, "status": "accepted", "sessionKey": shown, "delivery": _PENDING})


def _target(tx: Tx, caller: Caller, reference: str) -> FoundSession:
    """Return the lane of a reference, if it accepts messages: one that exists, or an agent's main lane."""
    try:
        found = find_session(tx, caller.account_access, reference, caller.key, caller.visibility)
    except Refusal as refusal:
        if refusal.code is Code.FORBIDDEN:
            raise _Refused(str(refusal.code), refusal.message, by_rule=True) from refusal
        if refusal.code not in (Code.NOT_FOUND, Code.AMBIGUOUS_SESSION):
            raise
        raise _Refused(str(refusal.code), f"'{reference}': {refusal.message}") from refusal
    if found.key == caller.key:
        raise _Refused("self_send", "This is your own session; say it in your answer instead.", by_rule=True)
    if found.lane is None and found.key.kind != "main":
        raise _Refused(str(Code.NOT_FOUND), f"There is no session {found.key}; sessions_list shows those you may see.")
    return found


def _deliver(tx: Tx, caller: Caller, found: FoundSession, text: str) -> Run:
    own = lane_of(tx, caller.account_access, caller.key)
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
        channel=found.key.channel or (found.lane.last_channel if found.lane else None) or INTERNAL_CHANNEL,
        parent_run_id=caller.run.id if caller.run else None,
    )
    try:
        caller.services.refuse_when_draining()
        # Tool visibility has allowed it, and is wider than what an agent may otherwise address.
        return deliver(tx, caller.account_access, envelope, caller.services.rules)
    except Refusal as refusal:
        raise _Refused(str(refusal.code), refusal.message, by_rule=refusal.code in _BY_RULE) from refusal


def _exchange(tx: Tx, caller: Caller, run: Run, waits_until: int | None) -> Exchange:
    """Return the exchange that follows; without rounds of replies if the requester cannot answer."""
    one_way = caller.key.kind == "cron" or caller.access.is_person
    rounds_max = 0 if one_way else caller.services.settings.sessions.agent_to_agent.max_ping_pong_turns
    begun = new_exchange(tx, caller, run, "send", rounds_max=rounds_max)
    if waits_until is None:
        return begun
    # The waiting call records itself whether it returned the reply; a lost one is detected after a while.
    look_at = tx.now + limits.INLINE_LOOK_SECONDS * MS_PER_SECOND
    expires_at = waits_until + limits.INLINE_GRACE_SECONDS * MS_PER_SECOND
    return structs.replace(begun, answered_inline=None, due_at=look_at, expires_at=expires_at)


def new_exchange(tx: Tx, caller: Caller, run: Run, kind: Literal["send", "spawn"], **more: Any) -> Exchange:
    """Return the exchange of a caller with the session that a run was just delivered to."""
    return Exchange(
        account_id=run.account_id,
        id=tx.new_id("exc"),
        kind=kind,
        requester_key=str(caller.key),
        requester_session_id=caller.session.id if caller.session else None,
        requester_run_id=caller.run.id if caller.run else None,
        target_key=run.key,
        first_run_id=run.id,
        current_run_id=run.id,
        created_at=tx.now,
        **more,
    )


def _finish(tx: Tx, caller: Caller, run_id: str, run: Run | None) -> dict[str, Any]:
    """Return the result of a call that waited: the run's reply, unless it is already being delivered as a message."""
    if run is None:
        return {"runId": run_id, "status": "error", "error": "The session was deleted before it answered."}
    inline = _answer_inline(tx, caller, run)
    value: dict[str, Any] = {"runId": run.id, "sessionKey": shown_key(caller.key.agent, run.session_key)}
    if run.state == "completed" and inline:
        reply = run.reply if visible_reply(run.reply) else ""
        return value | {"status": "ok", "reply": reply, "delivery": _PENDING}
    status, error = "timeout", "No reply in time. The run continues; sessions_history will show its reply."
    if run.state == "completed":
        error = "The reply came too late for this call and will arrive as a message."
    elif run.state == "waiting":
        status = "error"
        error = f"The run is waiting for {run.waiting_for}: {run.question or 'no question was given'}"
    elif run.ended:
        reason = run.error_message or run.reason or run.error_code or "no reason was given"
        status, error = "error", f"The run {run.state}: {reason}"
    return value | {"status": status, "error": error}


def _answer_inline(tx: Tx, caller: Caller, run: Run) -> bool:
    """Decide, once, whether this call returns the reply; True if it does."""
    exchange = exchange_after(tx, caller.account_access, run.id, hold=True)
    if exchange is None or exchange.answered_inline is not None:
        return exchange is None or bool(exchange.answered_inline)
    inline = run.state == "completed"
    # Due now in any case: a run that ends at this moment does not see the decision and would not wake the exchange.
    decided = moved(exchange, answered_inline=int(inline), due_at=tx.now, expires_at=None)
    keep_exchange(tx, caller.account_access, decided)
    return inline


SEND_TOOLS = (
    Tool(_NAME, "send a message to another session",
         "Send a message to another session and wait for its reply; timeoutSeconds 0 does not wait.",
         "write", SessionsSend, _send, Sent, finish=_finish),
)  # fmt: skip
