"""The course of a spawn: the child ends, says a word about its result, and the result goes to who asked for it.

The result is with the child's run from its end on; everything here only carries it. What cannot be handed over is
offered again for a while and then shown as undelivered, never dropped.
"""

from carrel.exchanges.conclusion import conclude, offering, put_off, skipped
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.notifications import tell_if_session_ended
from carrel.exchanges.steps import provenance_of, say
from carrel.exchanges.store import awaits_child
from carrel.exchanges.subagent_prompts import Outcome, announcement, notes_question
from carrel.journal import NewEntry, append_entry, entries_of_run
from carrel.kernel import ANNOUNCE_SKIP, MS_PER_SECOND, Refusal, visible_reply
from carrel.kernel.limits import ANNOUNCE_SECONDS_MAX
from carrel.kernel.settings import Settings
from carrel.outbox import CARRIED, channel_of, keep_reply_address
from carrel.runs import Rules, Run, cancel, remove_lane, run_by_id
from carrel.sessions import Lane, lane_of, leave_files, open_generation
from carrel.storage import Tx

# The step's own limit counts from its start; this one also ends a step that nobody starts, or that asks back.
_ANNOUNCE_MS = 2 * ANNOUNCE_SECONDS_MAX * MS_PER_SECOND


class SubAgents:
    """How a spawn goes on after the child's run."""

    def __init__(self, settings: Settings, rules: Rules) -> None:
        self._settings = settings
        self._rules = rules

    def go_on(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        """Do what is next now that the current run has ended, or its time is up; the exchange as it is then."""
        match exchange.step:
            case "primary":
                return self._after_primary(tx, exchange, run)
            case "announce":
                return self._after_announce(tx, exchange, run)
            case _:
                return self._hand_over(tx, exchange)

    def concluded(self, tx: Tx, exchange: Exchange) -> None:
        """Let go of the child's files, and of the child where it was to go with its announce."""
        child = lane_of(tx, exchange.access, exchange.target)
        if child is None or awaits_child(tx, exchange.access, exchange.requester_key, exchange.target_key):
            # One that failed may have been told to try again: it goes with the last of its results.
            return
        if exchange.cleanup == "delete" and exchange.state != "undelivered":
            remove_lane(tx, exchange.access, child)
        elif not self._settings.tools.sessions_spawn.attachments.retain_on_session_keep:
            leave_files(tx, exchange.access, child)

    def _after_primary(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if run is not None and not run.ended:
            return moved(exchange, due_at=None)
        outcome = _outcome(tx, exchange)
        if not _has_something_to_say(outcome.run):
            return self._hand_over(tx, exchange)
        question, rules = notes_question(outcome), self._rules
        try:
            asked = say(tx, rules, exchange, question, "announce", to=exchange.target, seconds_max=ANNOUNCE_SECONDS_MAX)
        except Refusal:
            # The child can no longer be spoken to: its result goes without a word of it.
            return self._hand_over(tx, exchange)
        return moved(exchange, step="announce", current_run_id=asked.id, due_at=tx.now + _ANNOUNCE_MS)

    def _after_announce(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if run is not None and not run.ended:
            left = cancel(tx, exchange.access, run.id, "expired")
            if left is not None and not left.ended:
                # Its end is told to the exchange: nothing works in the child any more when the child is let go.
                return moved(exchange, due_at=tx.now + _ANNOUNCE_MS)
        said = (run.reply or "").strip() if run is not None and run.state == "completed" else ""
        if said == ANNOUNCE_SKIP:
            return skipped(tx, exchange)
        return self._hand_over(tx, moved(exchange, last_reply=visible_reply(said)))

    def _hand_over(self, tx: Tx, exchange: Exchange) -> Exchange:
        """Put the result into the requester's lane; it is then carried to the requester's channel."""
        if exchange.step != "handover":
            text = announcement(_outcome(tx, exchange))
            handing = moved(exchange, step="handover", announcement=text, current_run_id=None)
            exchange = offering(tx, handing)
        lane = lane_of(tx, exchange.access, exchange.requester)
        if lane is None:
            return conclude(tx, exchange, "undelivered", f"{exchange.requester_key} was deleted.")
        text = exchange.announcement or ""
        try:
            if exchange.wakes:
                woken = say(tx, self._rules, exchange, text, "announce", to=exchange.requester)
                _answer_there(tx, woken, lane)
            else:
                self._note(tx, exchange, text, lane)
        except Refusal as refusal:
            return put_off(tx, exchange, refusal.message)
        tell_if_session_ended(tx, exchange)
        return offering(tx, moved(exchange, step="carry", due_at=tx.now, error=None))

    def _note(self, tx: Tx, exchange: Exchange, text: str, lane: Lane) -> None:
        """Write the result down in the requester's session for whoever looks there; nobody is woken."""
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


def _has_something_to_say(child: Run) -> bool:
    """False for one that was cancelled: who stopped it wants it to be quiet; and for one that never heard its task."""
    return child.state == "completed" or (child.state == "failed" and child.session_id is not None)


def _answer_there(tx: Tx, woken: Run, lane: Lane) -> None:
    """Have what the requester says to a result said where it is talked with: people wait there for what it brings."""
    if lane.chat_address is not None and lane.channel in CARRIED:
        keep_reply_address(tx, woken.access, woken.id, *lane.chat_address)


def _outcome(tx: Tx, exchange: Exchange) -> Outcome:
    run = run_by_id(tx, exchange.access, exchange.first_run_id)
    assert run is not None, "an exchange is forgotten with its first run"
    result = visible_reply(run.reply)
    if result is None:
        results = (entry for entry in entries_of_run(tx, exchange.access, run.id) if entry.role == "toolResult")
        result = next((entry.content for entry in reversed(list(results))), "")
    return Outcome(run=run, result=result, notes=exchange.last_reply or "")
