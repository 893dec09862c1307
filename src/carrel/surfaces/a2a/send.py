"""Sending over A2A: a message becomes a run, or answers the one it names; the same message twice is the same task."""

from a2a.types import SendMessageRequest

from carrel.journal import talk_of_runs
from carrel.kernel import SCOPE_END, Envelope, SessionKey, caller_hash, key_text
from carrel.runs import Rules, Run, answer, deliver, release_sender, run_by_id, run_by_sender
from carrel.sessions import lock_lane
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.errors import UNSUPPORTED_OPERATION, A2aError, task_not_found, wrong
from carrel.surfaces.a2a.messages import said
from carrel.surfaces.a2a.task_view import context_of

# Why a run was cancelled by whoever sent it.
BY_CALLER = "client_cancelled"


def own_run(tx: Tx, caller: Caller, task_id: str) -> Run:
    """A task of this caller with this agent; what is another's is answered as if it were missing."""
    # PostgreSQL cannot even be asked for a text with a NUL.
    run = run_by_id(tx, caller.access, task_id) if "\x00" not in task_id else None
    if run is None or run.provenance_kind != "a2a":
        raise task_not_found()
    if (run.actor_id, run.agent_id) != (caller.access.actor_id, caller.agent.id):
        raise task_not_found()
    return run


def lane_of_context(caller: Caller, context_id: str) -> SessionKey:
    """The lane of a context: the caller is part of its name, so nobody enters another's."""
    owner = caller_hash(caller.access.actor_id)
    return SessionKey.of(caller.agent.id, f"a2a:{owner}:{key_text(context_id)}")


def send(tx: Tx, caller: Caller, request: SendMessageRequest, rules: Rules) -> Run:
    """The run that the message became, or the waiting one that it answers."""
    if request.message.task_id:
        return _continue(tx, caller, request)
    return _begin(tx, caller, request, rules)


def _begin(tx: Tx, caller: Caller, request: SendMessageRequest, rules: Rules) -> Run:
    message = request.message
    sender_id = f"a2a:{caller.agent.id}{SCOPE_END}{message.message_id}"
    known = run_by_sender(tx, caller.access, sender_id)
    if known is not None and message.context_id not in ("", context_of(known)):
        # The same id in another context is another message.
        sender_id = f"{lane_of_context(caller, message.context_id)}{SCOPE_END}{message.message_id}"
        known = run_by_sender(tx, caller.access, sender_id)
    if known is not None and not _gone_on(tx, caller, known):
        return known
    if known is not None:
        release_sender(tx, caller.access, known, f"{known.id}{SCOPE_END}{message.message_id}")
    if not message.context_id:
        message.context_id = tx.new_id("ctx")
    key = lane_of_context(caller, message.context_id)
    words = said(request, caller.access.actor_id, sender_id)
    return deliver(tx, caller.access, Envelope(key=key, message=words, channel="api"), rules)


def _gone_on(tx: Tx, caller: Caller, known: Run) -> bool:
    """True when the caller has answered or cancelled the task: it had the task's id, so this is no repetition."""
    if known.state == "cancelled" and known.reason == BY_CALLER:
        return True
    heard = talk_of_runs(tx, caller.access, [known.id]).get(known.id, [])
    # An answer that came by another way was somebody else's, and tells nothing of what the caller knows.
    return any(entry.role == "user" and "original" in (entry.details or {}) for entry in heard)


def _continue(tx: Tx, caller: Caller, request: SendMessageRequest) -> Run:
    message = request.message
    # Held first, and read again then: of answers that come at the same moment each sees what the one before it did.
    lock_lane(tx, caller.access, own_run(tx, caller, message.task_id).key)
    run = own_run(tx, caller, message.task_id)
    context_id = context_of(run)
    if message.context_id not in ("", context_id):
        raise wrong("message.contextId", "This is not the contextId of that task.")
    message.context_id = context_id
    answered = said(request, caller.access.actor_id, message.message_id)
    heard = talk_of_runs(tx, caller.access, [run.id]).get(run.id, [])
    if any(
        entry.id != run.message_id and (entry.message_id, entry.content) == (message.message_id, answered.text)
        for entry in heard
        if entry.role == "user"
    ):
        return run
    if run.state == "waiting" and run.waiting_for in ("input", "auth"):
        return answer(tx, caller.access, run.id, answered)
    if run.state == "waiting":
        words = "This task waits for a person's approval; it goes on when that is given."
    elif run.ended:
        words = "This task has ended; send the message without taskId to begin another."
    else:
        words = "This task is not waiting for anything; send the message with its contextId alone to queue behind it."
    raise A2aError(UNSUPPORTED_OPERATION, words)
