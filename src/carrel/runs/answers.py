"""Continuing a waiting run: with an answer, a decision, or the outputs of its sender's functions."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from carrel.journal import Entry, NewEntry, append_entry
from carrel.kernel import Access, Message, Provenance, TurnExtras, check_message, not_found
from carrel.records import insert_attachment
from carrel.runs import extras_store, queue_store, store
from carrel.runs.changes import publish_change
from carrel.runs.entries import run_entry
from carrel.runs.model import RUNS, Run, not_waiting
from carrel.storage import Tx


class CallOutput(Struct, frozen=True, kw_only=True):
    """The output of a function that the sender executes; `parts` keeps the sender's form where it is more than text."""

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
    """Queue a waiting run again with the outputs of its sender's functions and a message; also return the last entry.

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
        raise not_waiting()
    queue_store.enter_lane(tx, access, run.key, run.channel)
    entries = [append_entry(tx, access, _output_entry(access, run, output)) for output in outputs]
    if message is not None:
        entries.append(append_entry(tx, access, _message_entry(tx, access, run, message, approved)))
    if extras is not None:
        extras_store.keep_extras(tx, access, run.id, extras)
    store.requeue_waiting(tx, access, run.id, head=entry[0] == 0)
    queued = store.run_by_id(tx, access, run.id)
    assert queued is not None
    publish_change(tx, queued, "run.queued", state="queued", queuePosition=queue_store.queue_position(tx, queued))
    if queued.due_at is not None:
        tx.wake(RUNS)
    return queued, entries[-1].seq


def _message_entry(tx: Tx, access: Access, run: Run, message: Message, approved: bool | None) -> NewEntry:
    return run_entry(
        run,
        type="conversation",
        role="user",
        content=message.text,
        details=_details(message, approved),
        author="user" if access.is_person else access.actor_id,
        provenance=message.provenance,
        message_id=message.sender_id,
        attachment_ids=tuple(insert_attachment(tx, access, new) for new in message.attachments),
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
    """Return the calls in a run's entries that have no result yet."""
    answered = {_call_id(entry) for entry in own if entry.role == "toolResult"}
    return [entry for entry in own if entry.role == "toolCall" and _call_id(entry) not in answered]


def is_sender_call(call: Entry) -> bool:
    """True for a call, or its result, of a function that the run's sender executes itself."""
    return bool((call.details or {}).get("sender"))


def _call_id(entry: Entry) -> tuple[object, object]:
    details = entry.details or {}
    return details.get("step"), details.get("callId")


def _details(message: Message, approved: bool | None) -> dict[str, object] | None:
    if approved is not None:
        return {"approval": approved}
    # The sender's original form is kept beside the text, so that it can be shown again unchanged.
    return None if message.original is None else {"original": message.original.decode()}
