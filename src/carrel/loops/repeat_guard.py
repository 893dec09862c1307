"""Checks for loops: before each step of a turn, and when a run that agents caused is answered.

A held session goes on when people allow it or send it a message; a stop clears its trace.
"""

from msgspec import structs

from carrel.agents import agent_by_id
from carrel.journal import Entry
from carrel.kernel import MS_PER_HOUR, Access, Code, Refusal
from carrel.kernel.limits import HELD_LOOK_HOURS
from carrel.loops.model import HELD_FOR, LOOP, Trace, is_caused, loop_in
from carrel.loops.store import drop_trace, keep_trace, read_trace
from carrel.monitoring import notify_people
from carrel.notifications import NewNotification
from carrel.runs import Failed, LaneStopped, Run, RunChanged, release_held, run_by_id
from carrel.storage import Database, Tx

_ASK = "it goes on when somebody lets it, or sends it a message"


def needs_trace(run: Run) -> bool:
    """Return whether earlier work of its session counts: if nobody asked for the run, or it was held."""
    return is_caused(run) or run.error_code == LOOP


def find_loop(trace: Trace, run: Run, own: list[Entry]) -> str | None:
    """Return, in words, what the session repeats before a run takes its next step; None if it may go on."""
    if trace.asked_at is not None and is_caused(run):
        return trace.reason
    return loop_in(trace.after_calls(own), run)


def hold_loop(tx: Tx, run: Run, found: str) -> Failed:
    """Return why and until when a run has to wait, in the transaction that holds it; ask people, once."""
    trace = read_trace(tx, run.access, run)
    text = _ask(tx, run, trace, found) if trace.asked_at is None else _text(tx, run, found)
    until = tx.now + HELD_LOOK_HOURS * MS_PER_HOUR
    return Failed(code=LOOP, message=text, reason=LOOP, held_for=HELD_FOR, held_until=until)


def note_answer(tx: Tx, run: Run, trace: Trace, own: list[Entry], answer: str) -> None:
    """Record the answer of a run that agents caused, and ask people if too many brought nothing new."""
    if not is_caused(run):
        return
    after = trace.after_calls(own).after_answer(run, answer)
    found = loop_in(after, run)
    if found is None:
        keep_trace(tx, run.access, run.key, after)
    else:
        _ask(tx, run, after, found)


def _ask(tx: Tx, run: Run, trace: Trace, found: str) -> str:
    """Record that people were asked, and ask them; return the text of the question."""
    asked = structs.replace(trace, run_id=run.id, asked_at=tx.now, reason=found)
    keep_trace(tx, run.access, run.key, asked)
    text = _text(tx, run, found)
    title = f"Does agent {_name(tx, run)} go round in circles?"
    new = NewNotification(type="loop", title=title, body=text, key=run.key, run_id=run.id)
    notify_people(tx, run.access, [run], new)
    return text


def _text(tx: Tx, run: Run, found: str) -> str:
    return f"Agent {_name(tx, run)} has {found}; {_ASK}."


def _name(tx: Tx, run: Run) -> str:
    agent = agent_by_id(tx, run.access, run.agent_id)
    return agent.name if agent is not None else run.agent_id


def allow_loop(tx: Tx, access: Access, run: Run) -> Run:
    """Let the session of a held run go on: what it did before no longer counts."""
    if run.state != "queued" or run.held_for != HELD_FOR:
        raise Refusal(Code.CONFLICT, "This run is not held for a loop: there is nothing to allow.")
    _go_on(tx, access, run)
    return run_by_id(tx, access, run.id) or run


def _go_on(tx: Tx, access: Access, run: Run) -> None:
    """Release held runs in the session of a run; nothing that was done before counts again."""
    if release_held(tx, access, HELD_FOR, key=run.key):
        keep_trace(tx, access, run.key, read_trace(tx, access, run).allowed(tx.tick()))


def observe_runs(db: Database) -> None:
    """Register the observers of messages to held sessions, and of stopped sessions."""
    db.observe(RunChanged, _hear_person)
    db.observe(LaneStopped, lambda tx, stopped: drop_trace(tx, stopped.access, stopped.key))


def _hear_person(tx: Tx, changed: RunChanged) -> None:
    """Release a session into which a person sent a message; only a run that waits behind another can be that."""
    run = changed.run
    if changed.state == "queued" and isinstance(run, Run) and run.due_at is None and not is_caused(run):
        _go_on(tx, run.access, run)
