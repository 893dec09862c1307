"""Continuing a waiting run with an answer, a decision or its sender's outputs; or ending it if these do not come."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from carrel.journal import Entry, NewEntry, append_entry, entries_of_run
from carrel.kernel import Access, Message, Provenance, SessionKey, TurnExtras, check_message, not_found
from carrel.kernel.limits import OUTPUT_WAITS_COMPARED_MAX
from carrel.records import attach
from carrel.runs import queue_store, store
from carrel.runs.cancellation import end_without_worker
from carrel.runs.changes import publish_change
from carrel.runs.entries import run_entry
from carrel.runs.model import CONTINUED, RUNS, Run, not_waiting
from carrel.storage import Tx

# Marks entries about calls that the agent behind a gateway made by itself.
AGENT_ACTION = "byAgent"


class CallOutput(Struct, frozen=True, kw_only=True):
    """The output of a function that the sender executes; `parts` keeps the sender's form if it is not just text."""

    call: Entry
    text: str
    parts: list[dict[str, Any]] | None = None


def answer(tx: Tx, access: Access, run_id: str, message: Message, *, approved: bool | None = None) -> Run:
    """Answer a waiting run and queue it again in its lane.

    `approved` is the decision, if the run asked for one; the message then comments on it.
    """
    return continue_run(tx, access, run_id, message=message, approved=approved)[0]


def continue_run(
    tx: Tx, access: Access, run_id: str, *, outputs: Sequence[CallOutput] = (), message: Message | None = None,
    extras: TurnExtras | None = None, approved: bool | None = None,
) -> tuple[Run, int]:  # fmt: skip
    """Queue a waiting run again with its sender's outputs and a message; also return the last entry.

    A caller that passes outputs must have locked the lane and checked that they belong to the run's open calls.
    """
    if message is not None:
        check_message(message)
    known = store.run_by_id(tx, access, run_id)
    if known is None:
        raise not_found("run")
    entry = queue_store.hold_entry(tx, access, known.key)
    run = store.hold_run(tx, access, run_id)
    if run is None or run.state != "waiting" or entry is None:
        raise not_waiting(run)
    queue_store.enter_lane(tx, access, run.key, run.channel)
    entries = [append_entry(tx, access, _output_entry(access, run, output)) for output in outputs]
    if message is not None:
        entries.append(append_entry(tx, access, _message_entry(tx, access, run, message, approved)))
    if extras is not None:
        store.keep_extras(tx, access, run.id, extras)
    store.requeue_waiting(tx, access, run.id, head=entry[0] == 0)
    queued = store.run_by_id(tx, access, run.id)
    assert queued is not None
    publish_change(tx, queued, "run.queued", state="queued", queuePosition=queue_store.queue_position(tx, queued))
    if queued.due_at is not None:
        tx.wake(RUNS)
    return queued, entries[-1].seq


def _message_entry(tx: Tx, access: Access, run: Run, message: Message, approved: bool | None) -> NewEntry:
    entry_id = tx.new_id("ent")
    return run_entry(
        run,
        id=entry_id,
        type="conversation",
        role="user",
        content=message.text,
        details=_details(access, message, approved),
        task_view=run.question_view,
        author="user" if access.is_person else access.actor_id,
        provenance=message.provenance,
        message_id=message.sender_id,
        attachment_ids=attach(tx, access, message.attachments, entry_id),
    )


def _output_entry(access: Access, run: Run, output: CallOutput) -> NewEntry:
    details = output.call.details or {}
    shown = {} if output.parts is None else {"output": output.parts}
    return run_entry(
        run,
        type="action",
        role="toolResult",
        content=output.text,
        details={name: details[name] for name in ("callId", "name", "step")} | {"sender": True} | shown,
        author="user" if access.is_person else access.actor_id,
        provenance=Provenance(kind="external_user", actor=access.actor_id),
    )


def open_calls(own: Sequence[Entry]) -> list[Entry]:
    """Return the calls in a run's entries that have no result yet and that we have to make."""
    return [entry for entry in _without_result(own) if not is_act(entry)]


def open_actions(own: Sequence[Entry]) -> list[Entry]:
    """Return the calls that the agent behind the gateway began by itself and that have no result yet."""
    return [entry for entry in _without_result(own) if is_act(entry)]


def _without_result(own: Sequence[Entry]) -> list[Entry]:
    """Return the calls in a run's entries that have no result."""
    answered = {_call_id(entry) for entry in own if entry.role == "toolResult"}
    return [entry for entry in own if entry.role == "toolCall" and _call_id(entry) not in answered]


def is_act(entry: Entry) -> bool:
    """Return whether the agent behind the gateway made the call by itself: we do not make it."""
    return bool((entry.details or {}).get(AGENT_ACTION))


def is_sender_call(call: Entry) -> bool:
    """Return whether it is a call, or the result, of a function that the run's sender executes."""
    return bool((call.details or {}).get("sender"))


def _call_id(entry: Entry) -> tuple[object, object]:
    details = entry.details or {}
    return details.get("step"), details.get("callId")


def _details(access: Access, message: Message, approved: bool | None) -> dict[str, object]:
    named: dict[str, object] = {"authorName": access.name} if access.is_person and access.name else {}
    if approved is not None:
        return named | {"approval": approved}
    # The sender's original form is kept beside the text, so that it can be returned unchanged.
    return named if message.original is None else named | {"original": message.original.decode()}


def end_unanswered(tx: Tx, access: Access, key: SessionKey, made: Mapping[str, tuple[str, str]]) -> None:
    """End the caller's waits for outputs that will not come, after its new message to a lane.

    These are the waits of the same lane, and those whose calls the message repeats with their outputs: `made` has the
    name and arguments of each call by its id.
    """
    waits = store.waits_for_outputs(tx, access, key.agent, OUTPUT_WAITS_COMPARED_MAX)
    # Lock only the run, as a claim does: a waiting run has no position in its lane. Always in order of id.
    for seen in reversed(waits):
        if seen.key == str(key) or (made and _are_made(tx, access, seen, made)):
            run = store.hold_run(tx, access, seen.id)
            if run is not None and run.state == "waiting":
                end_without_worker(tx, run, "cancelled", CONTINUED)


def run_that_made(tx: Tx, access: Access, agent_id: str, made: Mapping[str, tuple[str, str]]) -> Run | None:
    """Return the caller's newest run with an agent that waits for the outputs of these calls."""
    waits = store.waits_for_outputs(tx, access, agent_id, OUTPUT_WAITS_COMPARED_MAX) if made else []
    return next((run for run in waits if _are_made(tx, access, run, made)), None)


def _are_made(tx: Tx, access: Access, run: Run, made: Mapping[str, tuple[str, str]]) -> bool:
    """Return whether all open calls of a run are among those made; by more than ids, because some models reuse them."""
    calls = [call.details or {} for call in open_calls(entries_of_run(tx, access, run.id)) if is_sender_call(call)]
    return bool(calls) and all(
        call["callId"] in made and _same(made[call["callId"]], (call["name"], call["arguments"])) for call in calls
    )


def _same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] == other[0] and _value(one[1]) == _value(other[1])


def _value(arguments: str) -> Any:
    """Return arguments as a value, because clients may format JSON differently; invalid JSON stays text."""
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
