"""Retries: the backoff before the next attempt, and sending a failed run's message again on request."""

from carrel.kernel import MS_PER_SECOND, Access, Code, Envelope, Message, NewAttachment, Refusal
from carrel.kernel.limits import RETRY_BASE_SECONDS, RETRY_MAX_SECONDS
from carrel.records import attachments_by_id
from carrel.runs import store
from carrel.runs.changes import RunRetried
from carrel.runs.model import Run
from carrel.runs.queue import Rules, deliver
from carrel.sessions import lock_lane
from carrel.storage import Tx


def retry_delay_ms(attempt: int, draw: float) -> int:
    """Return how long to wait after a failed attempt: 5 s doubled each time, at most 300 s, full jitter."""
    bound = min(RETRY_MAX_SECONDS, RETRY_BASE_SECONDS * 2 ** max(0, attempt - 1))
    return 1 + int(bound * MS_PER_SECOND * draw)


def unreachable_delay_ms(waited_ms: int, draw: float) -> int:
    """Return the pause before an unreachable gateway is tried again: half the wait so far or longer, 2.5 to 300 s."""
    bound = min(RETRY_MAX_SECONDS * MS_PER_SECOND, max(RETRY_BASE_SECONDS * MS_PER_SECOND, waited_ms))
    return int(bound * (1 + draw) / 2)


def retry(tx: Tx, access: Access, run: Run, rules: Rules) -> Run:
    """Deliver a failed run's message again, as a new run of the same lane."""
    if run.state != "failed":
        raise Refusal(Code.CONFLICT, f"Only a failed run can be retried; this one is {run.state}.")
    if run.auto_run_id is not None:
        # Its auto run continues by itself; another tick would be one too many.
        raise Refusal(Code.CONFLICT, f"This run was a tick of {run.auto_run_id}; start an auto run again instead.")
    lock_lane(tx, access, run.key)
    attachments = tuple(
        NewAttachment(name=file.name, mime_type=file.mime_type, content=file.content)
        for file in attachments_by_id(tx, access, run.attached())
    )
    message = Message(text=run.text, provenance=run.source(), attachments=attachments, original=run.original)
    envelope = Envelope(
        key=run.session_key,
        message=message,
        channel=run.channel,
        task_id=run.task_id,
        timeout_seconds=run.timeout_ms // MS_PER_SECOND if run.patience_ms == 0 else 0,
        unlimited=run.timeout_ms == 0,
        parent_run_id=run.parent_run_id,
        retried_from=run.id,
        label=run.label,
        extras=store.extras_of(tx, access, run.id) if run.extras else None,
    )
    again = deliver(tx, access, envelope, rules)
    tx.publish(RunRetried(run, again))
    return again
