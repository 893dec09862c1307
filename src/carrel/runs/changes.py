"""A run's changes: the event in the feed and the calls of observers, all in the transaction of the change."""

from typing import Any

import msgspec
from msgspec import Struct

from carrel.journal import About, append_event
from carrel.kernel import METRICS, Access, Envelope
from carrel.runs.model import MOVES, SETTLED, SETTLED_STATES, Claim, Run
from carrel.runs.store import change_of
from carrel.storage import Tx

_encode = msgspec.json.Encoder().encode


class RunChanged(Struct, frozen=True):
    """A run has entered a state. `change` numbers it if changes of this run are followed by number."""

    run: Claim
    state: str
    change: int | None

    @property
    def ended(self) -> bool:
        """Whether the run has ended with it."""
        return not MOVES[self.state]


class RunRetried(Struct, frozen=True):
    """The message of a failed run was delivered again, as another run."""

    run: Run
    again: Run


class Delivering(Struct, frozen=True):
    """A message is about to be queued. Nothing is written yet, so an observer may still refuse it."""

    access: Access
    envelope: Envelope


class LaneStopped(Struct, frozen=True):
    """Everything in a lane was cancelled."""

    access: Access
    key: str


def about_run(run: Claim) -> About:
    """Return what a run's events are about."""
    key = run.session_key
    return About(
        key=run.key,
        conversation=key.conversation,
        generation=run.generation,
        run_id=run.id,
        task_id=run.task_id,
        agent_id=run.agent_id,
    )


def publish_change(tx: Tx, run: Claim, name: str, *, state: str, reason: str | None = None, **more: Any) -> None:
    """Append a run's event and call the observers, in the transaction of the change."""
    body = {
        "state": state,
        "reason": reason,
        "attempt": run.attempt,
        "provenance": msgspec.Raw(run.provenance.encode()),
        **more,
    }
    # Changes are followed by number only for A2A runs and runs of plan tasks; the others save the query.
    is_followed = run.provenance_kind == "a2a" or run.task_id is not None
    change = change_of(tx, run) if is_followed else None
    append_event(tx, run.access, name, about_run(run), _encode(body).decode(), change=change)
    tx.publish(RunChanged(run, state, change))
    if state in SETTLED_STATES:
        tx.wake(SETTLED)


def count_end(run: Claim, state: str, reason: str | None, now: int) -> None:
    """Count an ended run and measure how long it took."""
    METRICS.count("runs.ended.count", run.account_id, state=state, reason=reason or "")
    if reason == "dead_letter":
        METRICS.count("runs.dead_letter.count", run.account_id)
    if run.started_at is not None:
        METRICS.observe(
            "runs.duration.seconds", run.account_id, (now - run.started_at) / 1000, provenance=run.provenance_kind
        )
