"""The announce of a sub-agent: its run ends, it may add notes to its result, and the result goes to the requester.

The result is stored with the child's run; this module only delivers it. A delivery that fails is retried for a while
and then shown as undelivered, never dropped.
"""

from carrel.exchanges.conclusion import conclude, notify_if_session_ended, reset_attempts, retry_or_give_up
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.prompts import ANNOUNCE_SKIP, Outcome, announcement, notes_question, visible_reply
from carrel.exchanges.steps import Flow, deliver_step, provenance_of
from carrel.exchanges.store import awaits_child
from carrel.journal import NewEntry, append_entry, entries_of_run
from carrel.kernel import MS_PER_SECOND, Refusal
from carrel.kernel.limits import ANNOUNCE_SECONDS_MAX
from carrel.outbox import POSTED_CHANNELS, channel_of, keep_reply_address
from carrel.runs import Run, cancel, remove_lane, run_by_id
from carrel.sessions import Lane, lane_of, leave_files, open_generation
from carrel.storage import Tx

# The run's own limit counts from its start; this one also ends a step that never starts, or that asks for input.
_ANNOUNCE_MS = 2 * ANNOUNCE_SECONDS_MAX * MS_PER_SECOND


class SpawnFlow(Flow):
    """The steps of a spawn after the child's run."""

    def advance(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        """Take the next step; return the changed exchange."""
        match exchange.step:
            case "primary":
                return self._after_primary(tx, exchange, run)
            case "announce":
                return self._after_announce(tx, exchange, run)
            case _:
                return self._hand_over(tx, exchange)

    def clean_up(self, tx: Tx, exchange: Exchange) -> None:
        """Release the child's files, and delete the child if requested."""
        child = lane_of(tx, exchange.access, exchange.target)
        if child is None or awaits_child(tx, exchange.access, exchange.requester_key, exchange.target_key):
            # A failed run of the child may have been retried: clean up after the last result.
            return
        if exchange.cleanup == "delete" and exchange.state != "undelivered":
            remove_lane(tx, exchange.access, child)
        elif not self._settings.tools.sessions_spawn.attachments.retain_on_session_keep:
            leave_files(tx, exchange.access, child)

    def _after_primary(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if run is not None and not run.ended:
            return moved(exchange, due_at=None)
        outcome = _outcome(tx, exchange)
        if not _has_notes(outcome.run):
            return self._hand_over(tx, exchange)
        question, to, seconds = notes_question(outcome), exchange.target, ANNOUNCE_SECONDS_MAX
        try:
            asked = deliver_step(tx, self._rules, exchange, question, "announce", to=to, seconds_max=seconds)
        except Refusal:
            # The child no longer accepts messages: its result goes without notes.
            return self._hand_over(tx, exchange)
        return moved(exchange, step="announce", current_run_id=asked.id, due_at=tx.now + _ANNOUNCE_MS)

    def _after_announce(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if run is not None and not run.ended:
            stopped = cancel(tx, exchange.access, run.id, "expired")
            if stopped is not None and not stopped.ended:
                # Wait for the end of its turn, so that nothing runs in the child when it is cleaned up.
                return moved(exchange, due_at=tx.now + _ANNOUNCE_MS)
        notes = (run.reply or "").strip() if run is not None and run.state == "completed" else ""
        if notes == ANNOUNCE_SKIP:
            return conclude(tx, exchange, "skipped")
        return self._hand_over(tx, moved(exchange, last_reply=visible_reply(notes)))

    def _hand_over(self, tx: Tx, exchange: Exchange) -> Exchange:
        """Deliver the result to the requester's lane; it is then posted on the requester's channel."""
        if exchange.step != "handover":
            text = announcement(_outcome(tx, exchange))
            exchange = reset_attempts(tx, moved(exchange, step="handover", announcement=text, current_run_id=None))
        lane = lane_of(tx, exchange.access, exchange.requester)
        if lane is None:
            return conclude(tx, exchange, "undelivered", f"{exchange.requester_key} was deleted.")
        text = exchange.announcement or ""
        try:
            if exchange.wakes:
                woken = deliver_step(tx, self._rules, exchange, text, "announce", to=exchange.requester)
                if lane.chat_address is not None and lane.channel in POSTED_CHANNELS:
                    # People in the requester's chat are waiting for the result.
                    keep_reply_address(tx, woken.access, woken.id, *lane.chat_address)
            else:
                self._append(tx, exchange, text, lane)
        except Refusal as refusal:
            return retry_or_give_up(tx, exchange, refusal.message)
        notify_if_session_ended(tx, exchange)
        return reset_attempts(tx, moved(exchange, step="carry", due_at=tx.now, error=None))

    def _append(self, tx: Tx, exchange: Exchange, text: str, lane: Lane) -> None:
        """Append the result to the requester's session without starting a run."""
        session = open_generation(tx, exchange.access, exchange.requester)
        entry = NewEntry(
            type="conversation",
            role="user",
            content=text,
            author=exchange.target.agent,
            provenance=provenance_of(tx, exchange, "announce", to=exchange.requester),
            key=exchange.requester_key,
            session_id=session.id,
            agent_id=exchange.requester.agent,
            channel=channel_of(lane),
        )
        append_entry(tx, exchange.access, entry)


def _has_notes(child: Run) -> bool:
    """False for a cancelled child, which should stay quiet, and for one whose turn never started."""
    return child.state == "completed" or (child.state == "failed" and child.session_id is not None)


def _outcome(tx: Tx, exchange: Exchange) -> Outcome:
    run = run_by_id(tx, exchange.access, exchange.first_run_id)
    assert run is not None, "an exchange is deleted with its first run"
    result = visible_reply(run.reply)
    if result is None:
        results = (entry for entry in entries_of_run(tx, exchange.access, run.id) if entry.role == "toolResult")
        result = next((entry.content for entry in reversed(list(results))), "")
    return Outcome(run=run, result=result, notes=exchange.last_reply or "", is_kept=exchange.cleanup != "delete")
