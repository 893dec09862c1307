"""The rule that finds loops: what a session has done lately, and when that stops being new. Pure.

A call counts as new if it was not made before or has another result now; every answer after it counts too. So work
whose results differ is never taken for a loop, however long it is.
"""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct, structs

from carrel.journal import Entry
from carrel.kernel.limits import AUTO_SAME_MAX, LOOP_CYCLE_MAX, LOOP_SAME_MAX, LOOP_STALE_MAX, LOOP_TALK_RUNS_MAX
from carrel.runs import Run

# The error code of a held run, and the reason of one that could not be held.
LOOP = "loop_suspected"
# What held runs store as the reason; budgets have a name before the colon.
HELD_FOR = ":loop"
# The server's own machinery causes runs of these kinds; runs with a parent were caused by an agent.
_UNASKED = ("auto", "announce", "reply_back")
# Tools that only send messages: their results always differ and say nothing about progress.
_MESSAGES = frozenset({"sessions_send", "sessions_spawn"})


class Series(Struct, frozen=True):
    """Recent observations of one kind: hashes of the last few different ones, newest last."""

    seen: tuple[str, ...] = ()
    # How many times in a row it was exactly the same, and how many times in a row nothing was new.
    same: int = 0
    stale: int = 0

    def after(self, observed: str) -> "Series":
        """Return the series with one more observation."""
        is_same = self.seen[-1:] == (observed,)
        return Series(
            seen=(*(known for known in self.seen if known != observed), observed)[-LOOP_CYCLE_MAX:],
            same=self.same + 1 if is_same else 1,
            stale=self.stale + 1 if observed in self.seen else 0,
        )


class Trace(Struct, frozen=True, kw_only=True):
    """What a session has done since a person last asked it for something, or let it go on."""

    # The newest run in it, and the entry from which entries count.
    run_id: str = ""
    since_seq: int = 0
    calls: Series = Series()
    answers: Series = Series()
    # How many runs in a row agents have only talked.
    talk: int = 0
    # When people were asked whether it may go on, and why; it is held until they answer.
    asked_at: int | None = None
    reason: str | None = None

    def after_calls(self, entries: Iterable[Entry]) -> "Trace":
        """Return the trace with the calls of a run's entries; a person's message among them resets it."""
        trace, calls = self, dict[object, str]()
        for at, entry in enumerate(entries):
            if entry.seq and entry.seq <= self.since_seq:
                continue
            if entry.role == "user" and at:
                trace = Trace(run_id=self.run_id, since_seq=self.since_seq)
            details = entry.details or {}
            name, call = str(details.get("name")), (details.get("step"), details.get("callId"))
            if entry.role == "toolCall":
                calls[call] = str(details.get("arguments"))
            elif entry.role == "toolResult" and call in calls and name not in _MESSAGES:
                trace = trace._after_call(_hash(name, calls[call], entry.content))
        return trace

    def _after_call(self, observed: str) -> "Trace":
        if observed in self.calls.seen:
            return structs.replace(self, calls=self.calls.after(observed))
        return structs.replace(self, calls=self.calls.after(observed), answers=Series(), talk=0)

    def after_answer(self, run: Run, answer: str) -> "Trace":
        """Return the trace with the answer of a run, whose calls are in it already."""
        talk = self.talk + 1 if run.parent_run_id is not None else 0
        return structs.replace(self, run_id=run.id, answers=self.answers.after(_hash(answer)), talk=talk)

    def allowed(self, since_seq: int) -> "Trace":
        """Return the trace of a session that may go on: nothing older than an entry counts."""
        return Trace(run_id=self.run_id, since_seq=since_seq)


def is_caused(run: Run) -> bool:
    """Return whether agents or the server caused a run, and nobody outside asked for it."""
    return run.parent_run_id is not None or run.provenance_kind in _UNASKED


def loop_in(trace: Trace, run: Run) -> str | None:
    """Return in words what has been the same for too long; None while something is new."""
    same_max = AUTO_SAME_MAX if run.provenance_kind == "auto" else LOOP_SAME_MAX
    if trace.calls.same >= same_max:
        return f"made the same call with the same result {trace.calls.same} times in a row"
    if trace.calls.stale >= LOOP_STALE_MAX:
        return f"made {trace.calls.stale} calls in a row without any new result"
    if trace.answers.same >= same_max:
        return f"given the same answer {trace.answers.same} times in a row"
    if trace.answers.stale >= LOOP_STALE_MAX:
        return f"given {trace.answers.stale} answers in a row that it had given before"
    if trace.talk >= LOOP_TALK_RUNS_MAX:
        return f"answered other agents {trace.talk} times in a row without doing anything else"
    return None


def _hash(*observed: str) -> str:
    return sha256("\n".join(observed).encode()).hexdigest()[:16]
