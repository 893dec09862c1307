"""Going on by hand: a person answers a waiting run, or says a failed one again."""

from carrel.journal import NewEntry, append_entry
from carrel.kernel import Access, Code, Envelope, Message, NewAttachment, Refusal, not_found
from carrel.runs import queue_store, record_store, store
from carrel.runs.accepting import Rules, check_message, deliver
from carrel.runs.model import Run
from carrel.runs.telling import tell
from carrel.sessions import lock_lane
from carrel.storage import RUNS, Tx


def answer(tx: Tx, access: Access, run_id: str, message: Message, *, approved: bool | None = None) -> Run:
    """Give a waiting run what it asked for; it joins its lane again as its own continuation.

    `approved` is the decision where it asked for one, and the message a word that goes with it.
    """
    check_message(message)
    known = store.run_by_id(tx, access, run_id)
    if known is None:
        raise not_found("run")
    entry = queue_store.hold_entry(tx, access, known.key)
    run = store.hold_run(tx, access, run_id)
    if run is None or run.state != "waiting" or entry is None:
        raise Refusal(Code.CONFLICT, "This run is not waiting for an answer.")
    head = entry[0] == 0
    queue_store.enter_lane(tx, access, run.key, run.channel)
    append_entry(
        tx,
        access,
        NewEntry(
            type="conversation",
            role="user",
            content=message.text,
            details=_details(message, approved),
            author="user" if access.is_person else access.actor_id,
            provenance=message.provenance,
            message_id=message.sender_id,
            attachment_ids=tuple(record_store.insert_attachment(tx, access, new) for new in message.attachments),
            key=run.key,
            session_id=run.session_id,
            run_id=run.id,
            agent_id=run.agent_id,
            channel=run.channel,
        ),
    )
    store.requeue_waiting(tx, access, run.id, head=head)
    queued = store.run_by_id(tx, access, run.id)
    assert queued is not None
    tell(tx, queued, "run.queued", state="queued", queuePosition=queue_store.queue_position(tx, queued))
    if head:
        tx.wake(RUNS)
    return queued


def _details(message: Message, approved: bool | None) -> dict[str, object] | None:
    if approved is not None:
        return {"approval": approved}
    # The sender's own form of it is kept beside the words, for whoever is to see it again just as it was.
    return None if message.original is None else {"original": message.original.decode()}


def retry(tx: Tx, access: Access, run: Run, rules: Rules) -> Run:
    """Say a failed run's message again, as a new run of the same lane."""
    if run.state != "failed":
        raise Refusal(Code.CONFLICT, f"Only a failed run can be retried; this one is {run.state}.")
    lock_lane(tx, access, run.key)
    attachments = tuple(
        NewAttachment(name=kept.name, mime_type=kept.mime_type, content=kept.content)
        for kept in record_store.attachments_by_id(tx, access, run.attached())
    )
    message = Message(text=run.text, provenance=run.source(), attachments=attachments, original=run.original)
    envelope = Envelope(
        key=run.session_key,
        message=message,
        channel=run.channel,
        task_id=run.task_id,
        timeout_seconds=run.timeout_ms // 1000,
        parent_run_id=run.parent_run_id,
        retried_from=run.id,
        label=run.label,
    )
    return deliver(tx, access, envelope, rules)
