"""SendMessage: a message starts a task, or answers the task it names; the same message twice is one task."""

from a2a.types import SendMessageRequest

from carrel.goals import Objectives
from carrel.journal import talk_of_runs
from carrel.kernel import SCOPE_END, Envelope
from carrel.runs import Rules, Run, answer, deliver, release_sender, run_by_sender
from carrel.sessions import lock_lane
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller, lane_of_context, own_run
from carrel.surfaces.a2a.errors import UNSUPPORTED_OPERATION, A2aError, invalid_params
from carrel.surfaces.a2a.messages import to_message
from carrel.surfaces.a2a.opt.errors import in_opt_codes
from carrel.surfaces.a2a.opt.hints import Hints
from carrel.surfaces.a2a.task_json import context_of

# The reason of a run that its caller cancelled.
BY_CALLER = "client_cancelled"


def send_message(
    tx: Tx, caller: Caller, request: SendMessageRequest, rules: Rules, hints: Hints, objectives: Objectives
) -> Run:  # fmt: skip
    """Return the run that the message started, or the waiting one that it answers."""
    if hints.task_id and not request.message.task_id:
        request.message.task_id = hints.answers(objectives)
    if request.message.task_id:
        return _answer(tx, caller, request)
    return _start(tx, caller, request, rules, hints, objectives)


def _start(
    tx: Tx, caller: Caller, request: SendMessageRequest, rules: Rules, hints: Hints, objectives: Objectives
) -> Run:  # fmt: skip
    message = request.message
    sender_id = f"a2a:{caller.agent.id}{SCOPE_END}{message.message_id}"
    earlier = run_by_sender(tx, caller.access, sender_id)
    if earlier is not None and message.context_id not in ("", context_of(tx, caller.access, earlier)):
        # The same id in another context is another message.
        sender_id = f"{lane_of_context(caller, message.context_id)}{SCOPE_END}{message.message_id}"
        earlier = run_by_sender(tx, caller.access, sender_id)
    if earlier is not None and not _has_moved_on(tx, caller, earlier):
        return earlier
    if earlier is not None:
        release_sender(tx, caller.access, earlier, f"{earlier.id}{SCOPE_END}{message.message_id}")
    with in_opt_codes():
        task = hints.planned(tx, caller, objectives, message)
    if not message.context_id:
        message.context_id = tx.new_id("ctx")
    envelope = Envelope(
        key=lane_of_context(caller, message.context_id),
        message=to_message(request, caller.access.actor_id, sender_id),
        channel="api",
        task_id=None if task is None else task.id,
    )
    run = deliver(tx, caller.access, envelope, rules)
    if task is not None:
        with in_opt_codes():
            objectives.link(task, run, begins_plan=hints.begins_plan)
    return run


def _has_moved_on(tx: Tx, caller: Caller, earlier: Run) -> bool:
    """Return whether the caller answered or cancelled the task: knowing its id, it is not repeating the message."""
    if earlier.state == "cancelled" and earlier.reason == BY_CALLER:
        return True
    entries = talk_of_runs(tx, caller.access, [earlier.id]).get(earlier.id, [])
    # An answer that did not come over A2A was another user's, and the caller may not know of it.
    return any(entry.role == "user" and "original" in (entry.details or {}) for entry in entries)


def _answer(tx: Tx, caller: Caller, request: SendMessageRequest) -> Run:
    message = request.message
    # Lock the lane, then read again: of answers that arrive together, each sees what the one before it did.
    lock_lane(tx, caller.access, own_run(tx, caller, message.task_id).key)
    run = own_run(tx, caller, message.task_id)
    context_id = context_of(tx, caller.access, run)
    if message.context_id and lane_of_context(caller, message.context_id) != lane_of_context(caller, context_id):
        raise invalid_params("message.contextId", "This is not the contextId of that task.")
    message.context_id = context_id
    reply = to_message(request, caller.access.actor_id, message.message_id)
    entries = talk_of_runs(tx, caller.access, [run.id]).get(run.id, [])
    if any(
        entry.id != run.message_id and (entry.message_id, entry.content) == (message.message_id, reply.text)
        for entry in entries
        if entry.role == "user"
    ):
        return run
    if run.state == "waiting" and run.waiting_for in ("input", "auth"):
        return answer(tx, caller.access, run.id, reply)
    if run.state == "waiting":
        problem = "This task is waiting for a person's approval and continues once it is given."
    elif run.ended:
        problem = "This task has ended; send the message without taskId to start another."
    else:
        problem = "This task is not waiting for input; send the message with only its contextId to queue behind it."
    raise A2aError(UNSUPPORTED_OPERATION, problem)
