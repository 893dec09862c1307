"""deliver(): every message to an agent becomes a queued run here, in one transaction, or is refused."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from carrel.agents import agent_enabled, may_address
from carrel.chats import require_valid_new_key
from carrel.journal import json_text
from carrel.kernel import (
    MS_PER_MINUTE,
    MS_PER_SECOND,
    Access,
    Code,
    Envelope,
    Refusal,
    SessionKey,
    check_message,
    not_found,
)
from carrel.kernel.settings import RunsSettings, SendPolicySettings
from carrel.records import attach
from carrel.runs import count_store, queue_store, store
from carrel.runs.changes import Delivering, publish_change
from carrel.runs.model import RUNS, Run
from carrel.runs.steering_messages import aim
from carrel.sessions import insert_lane, require_sending
from carrel.storage import Row, Tx
from carrel.visibility import may_see


class Rules(Struct, frozen=True, kw_only=True):
    """The settings that decide what may be delivered and how long a run may take."""

    runs: RunsSettings = RunsSettings()
    send_policy: SendPolicySettings = SendPolicySettings()
    a2a_timeout_minutes: float = 30
    # Whether messages about a task go to the task's own lane; else to the agent's main lane.
    task_scoped: bool = True

    def timeout_ms(self, envelope: Envelope) -> int:
        """Return how long the run may take; 0 means no limit."""
        if envelope.unlimited:
            return 0
        if envelope.timeout_seconds:
            return envelope.timeout_seconds * MS_PER_SECOND
        is_a2a = envelope.message.provenance.kind == "a2a"
        return int((self.a2a_timeout_minutes if is_a2a else self.runs.timeout_minutes) * 60_000)

    def patience_ms(self, envelope: Envelope) -> int | None:
        """Return how long the run waits for a gateway that does not answer; None for ever.

        0 means that the sender's time limit applies to this wait too.
        """
        if envelope.timeout_seconds:
            return 0
        hours = self.runs.unreachable_hours
        return max(1, int(hours * 60 * MS_PER_MINUTE)) if hours else None


def deliver(tx: Tx, access: Access, envelope: Envelope, rules: Rules) -> Run:
    """Queue an envelope in its lane. A message delivered twice by its sender is one run."""
    message = envelope.message
    if message.sender_id is not None:
        known = store.run_by_sender(tx, access, message.sender_id)
        if known is not None:
            return known
    check_message(message)
    if not may_address(access, envelope.key.agent):
        raise not_found("session")
    tx.publish(Delivering(access, envelope))
    position = _enter(tx, access, envelope, rules)
    run = _new_run(tx, access, envelope, rules, head=position == 0)
    queue_store.insert_run(tx, run)
    if envelope.extras is not None:
        store.keep_extras(tx, access, run.id, envelope.extras)
    if run.provenance_kind == "a2a":
        count_store.count_run(tx, access, run, 1)
    publish_change(tx, run, "run.queued", state="queued", queuePosition=max(1, position))
    if position == 0:
        tx.wake(RUNS)
    return run if envelope.steers is None else aim(tx, access, run, envelope.steers)


def reads_to_enter(tx: Tx, access: Access, key: SessionKey) -> tuple[Callable[[], object], ...]:
    """Return the reads with which `deliver` begins, for callers that prefetch them with their own: a lock, a number."""
    return (lambda: queue_store.hold_entry(tx, access, str(key)), tx.tick)


def _enter(tx: Tx, access: Access, envelope: Envelope, rules: Rules) -> int:
    """Count the run into its lane, creating the lane if needed; return the queue position, 0 for the head.

    A refusal has changed nothing yet, so the caller may catch it and go on in the same transaction.
    """
    key = str(envelope.key)
    tx.prefetch(*reads_to_enter(tx, access, envelope.key))
    entry = queue_store.hold_entry(tx, access, key) or _create_lane(tx, access, envelope, rules)
    depth, override, enabled, made_by = entry
    if not may_see(tx, access, envelope.key, made_by):
        raise not_found("session")
    _require_open(envelope, rules, enabled, override)
    # `depth` includes the running run, which is not in the queue.
    position = depth + 1 - queue_store.lane_is_busy(tx, access, key) if depth else 0
    if position > rules.runs.lane_queue_max:
        raise Refusal(
            Code.QUEUE_FULL,
            f"The queue of {envelope.key} is full (limit: {rules.runs.lane_queue_max}); try again later.",
            retry_after_seconds=5,
        )
    queue_store.enter_lane(tx, access, key, envelope.channel)
    return position


def _require_open(envelope: Envelope, rules: Rules, enabled: bool, override: str | None) -> None:
    """Refuse a message to a disabled agent, or one that the send policy denies."""
    if not enabled:
        raise Refusal(Code.FORBIDDEN, f"Agent {envelope.key.agent} is disabled; enable it first.")
    require_sending(rules.send_policy, envelope.key, envelope.channel, override)


def _create_lane(tx: Tx, access: Access, envelope: Envelope, rules: Rules) -> Row:
    """Create a lane and lock it, unless the message would be refused."""
    key = envelope.key
    enabled = agent_enabled(tx, access, key.agent)
    if enabled is None:
        raise not_found("agent")
    require_valid_new_key(key)
    _require_open(envelope, rules, enabled, None)
    insert_lane(tx, access, key)
    # The run's number was drawn before there was a lane to lock: runs with higher numbers may be in it by now.
    tx.invalidate()
    tx.prefetch(*reads_to_enter(tx, access, key))
    entry = queue_store.hold_entry(tx, access, str(key))
    if entry is None:
        # Another transaction had created the lane, and deleted it before we could lock it.
        raise Refusal(Code.CONFLICT, f"{key} was deleted a moment ago; try again.")
    return entry


def _limits(tx: Tx, access: Access, envelope: Envelope) -> dict[str, Any]:
    """What limits a run: the sender of its message and, if another run caused it, whoever caused that one."""
    parent = store.run_by_id(tx, access, envelope.parent_run_id) if envelope.parent_run_id is not None else None
    spaces = access.space_ids if parent is None else access.narrowed(parent.spaces)
    behalf = access.speaks_for or (None if parent is None else parent.behalf)
    return {"space_ids": None if "*" in spaces else json_text(spaces), "behalf": behalf}


def _new_run(tx: Tx, access: Access, envelope: Envelope, rules: Rules, *, head: bool) -> Run:
    message, run_id = envelope.message, tx.new_id("run")
    # The message's entry will have this id, so that it can be referred to before the turn starts.
    message_id = "ent_" + run_id.removeprefix("run_")
    attachments = attach(tx, access, message.attachments, message_id)
    return Run(
        account_id=access.account_id,
        id=run_id,
        key=str(envelope.key),
        agent_id=envelope.key.agent,
        seq=tx.tick(),
        state="queued",
        due_at=tx.now if head else None,
        attempts_max=rules.runs.attempts_max,
        timeout_ms=rules.timeout_ms(envelope),
        patience_ms=rules.patience_ms(envelope),
        unreachable_since=None,
        actor_id=access.actor_id,
        **_limits(tx, access, envelope),
        sender_id=message.sender_id,
        original=message.original,
        message_id=message_id,
        text=message.text,
        attachment_ids=json_text(attachments) if attachments else "[]",
        provenance=json_text(message.provenance),
        provenance_kind=message.provenance.kind,
        channel=envelope.channel,
        task_id=envelope.task_id or envelope.key.task_id,
        auto_run_id=envelope.auto_run_id,
        parent_run_id=envelope.parent_run_id,
        retried_from=envelope.retried_from,
        label=envelope.label,
        gateway=envelope.extras.gateway if envelope.extras is not None else None,
        created_at=tx.now,
        updated_at=tx.now,
        attempt=0,
        claim_no=0,
        deadline_at=None,
        generation=None,
        started_at=None,
    )
