"""What a turn writes down: what it heard, what the gateway said, calls and their results; and how to read it again.

Everything is an entry of the run's own, written under its claim, so that a turn can be taken up where it broke off.
"""

from logging import getLogger
from typing import Any

from msgspec import structs

from carrel.delivery.approvals import APPROVAL, ASKS, decision_on, is_about_approval, must_be_asked, question_of
from carrel.delivery.call_arguments import forget_arguments, keep_arguments, kept_output
from carrel.delivery.snapshot import Snapshot
from carrel.delivery.store import answer_step
from carrel.gateway import StepAnswer
from carrel.journal import Entry, NewEntry, append_entry
from carrel.kernel import Provenance, clip
from carrel.kernel.limits import QUESTION_CHARS_MAX, TOOL_CALLS_PER_ROUND_MAX
from carrel.runs import (
    Claim,
    ClaimLost,
    Completed,
    Failed,
    NeedsInput,
    Outcome,
    Run,
    WantedEnd,
    bind_session,
    fence,
    is_senders,
    keep_end,
    run_by_id,
)
from carrel.sessions import Session, close_generation, open_generation, session_by_id
from carrel.storage import Tx
from carrel.tools import Readied, Result, call_tool, finish_waiting, hold_caller, refuse_call

_log = getLogger("carrel.delivery")
_SPOKEN = Provenance(kind="internal_system")
_TOO_MANY_ROUNDS = "tool_rounds_exceeded"


def hear(tx: Tx, claim: Claim) -> tuple[Run, Session]:
    """The run and the generation that hears it: opened at the run's first start, if none is, and told of it now."""
    run = run_by_id(tx, claim.access, claim.id)
    if run is None:
        raise ClaimLost(claim.id)
    if run.session_id is not None:
        fence(tx, claim)
        # Taken up again: it ends in the generation it began in, even if that was closed meanwhile.
        bound = session_by_id(tx, claim.access, run.session_id)
        assert bound is not None, "a generation with a run is never pruned"
        return run, bound
    # Opening and closing hold the lane, the fence the run: the lane comes first, as everywhere.
    if run.begins_afresh:
        close_generation(tx, claim.access, run.session_key, "rotated")
    session = open_generation(tx, claim.access, run.session_key)
    fence(tx, claim)
    _write_said(tx, claim, run, session)
    return run, session


def _write_said(tx: Tx, claim: Claim, run: Run, session: Session) -> None:
    bind_session(tx, claim, session.id, session.generation)
    said = NewEntry(
        id=run.message_id,
        type="conversation",
        role="user",
        content=run.text,
        author="user" if run.provenance_kind == "external_user" else run.actor_id,
        provenance=run.source(),
        key=run.key,
        session_id=session.id,
        run_id=run.id,
        agent_id=run.agent_id,
        message_id=run.sender_message,
        channel=run.channel,
        attachment_ids=run.attached(),
    )
    append_entry(tx, claim.access, said)
    _log.info(
        "turn_started",
        extra={"run_id": run.id, "session_key": run.key, "session_id": session.id, "generation": session.generation}
        | {"session_resolution": session.resolution},
    )


def hear_answer(
    tx: Tx, claim: Claim, snapshot: Snapshot, n: int, answer: StepAnswer, rounds_max: int
) -> Outcome | None:
    """Keep what the gateway said: the reply ends the turn, calls are written down before any of them is made."""
    end = fence(tx, claim)
    answer_step(tx, claim.access, claim.id, n, kept_output(answer.output))
    # PostgreSQL keeps no NUL in a text, and nobody needs one in a reply.
    text = answer.text.replace("\x00", "")
    if end is not None:
        # Asked for from outside while the step was under way: what comes with it is said beside that call.
        keep_end(tx, claim, structs.replace(end, said=text if text.strip() else ""))
        return end.outcome
    if not answer.calls:
        if not text.strip():
            return Completed(reply="", note=answer.incomplete_reason or "no_reply")
        _write(tx, snapshot, "assistant", text, None)
        return Completed(reply=text, note=answer.incomplete_reason)
    if _rounds(snapshot.own) >= rounds_max:
        message = f"The agent used all {rounds_max} rounds of tool calls without coming to an answer."
        return Failed(code=_TOO_MANY_ROUNDS, message=message)
    # What is said beside calls is no reply; it is kept with the first of them.
    said = {"said": text} if text.strip() else {}
    for call in answer.calls[:TOOL_CALLS_PER_ROUND_MAX]:
        arguments, files = keep_arguments(tx, snapshot.access, call)
        details = {"callId": call.call_id, "name": call.name, "arguments": arguments, "step": n} | said
        if call.name in snapshot.extras.function_names:
            details["sender"] = True
        _write(tx, snapshot, "toolCall", f"Tool call: {call.name}", details, files)
        said = {}
    return None


def may_be_made(snapshot: Snapshot, call: Entry) -> bool:
    """True when a call needs no person's agreement, or has it."""
    if not must_be_asked(snapshot, call):
        return True
    decision = decision_on(snapshot.own, known_call(call))
    return decision is not None and bool((decision.details or {})[APPROVAL])


def act(
    tx: Tx, claim: Claim, snapshot: Snapshot, call: Entry, arguments: str, readied: Readied | None = None
) -> Result:  # fmt: skip
    """Make one call: effect, record and entry in one transaction. A person is asked first where one must agree."""
    hold_caller(tx, snapshot.caller, readied)
    wanted = fence(tx, claim)
    if wanted is not None:
        # The turn ends as was asked from outside; a call that is left open is made when the run goes on.
        return Result(value={}, ends=wanted.outcome)
    result = _act(tx, snapshot, call, arguments, readied)
    if result.ends is not None:
        keep_end(tx, claim, WantedEnd(outcome=result.ends))
    return result


def _act(tx: Tx, snapshot: Snapshot, call: Entry, arguments: str, readied: Readied | None) -> Result:
    details = call.details or {}
    known_as = known_call(call)
    if must_be_asked(snapshot, call):
        decision = decision_on(snapshot.own, known_as)
        if decision is None:
            asked = question_of(call)
            _write(tx, snapshot, "assistant", asked.question, {"question": True, ASKS: known_as})
            return Result(value={}, ends=asked)
        if not (decision.details or {})[APPROVAL]:
            text, result = refuse_call(tx, snapshot.caller, known_as, details["name"], decision.content)
            forget_arguments(tx, snapshot.access, call)
            _write_result(tx, snapshot, call, text, result)
            return result
    text, result = call_tool(tx, snapshot.toolset, snapshot.caller, known_as, details["name"], arguments, readied)
    forget_arguments(tx, snapshot.access, call)
    if result.wait is None:
        _write_result(tx, snapshot, call, text, result)
    return result


def finish(tx: Tx, claim: Claim, snapshot: Snapshot, call: Entry) -> Result:
    """Give a call that has waited for another run its result."""
    fence(tx, claim)
    text, result = finish_waiting(tx, snapshot.toolset, snapshot.caller, known_call(call))
    _write_result(tx, snapshot, call, text, result)
    return result


def known_call(call: Entry) -> str:
    """The name a call is known by: some servers number theirs anew in every step, so the step is part of it."""
    details = call.details or {}
    return f"{details['step']}:{details['callId']}"


def _write_result(tx: Tx, snapshot: Snapshot, call: Entry, text: str, result: Result) -> None:
    details = call.details or {}
    _write(
        tx,
        snapshot,
        "toolResult",
        text,
        {"callId": details["callId"], "name": details["name"], "step": details["step"]},
    )
    if isinstance(result.ends, NeedsInput):
        _write(tx, snapshot, "assistant", result.ends.question, {"question": True})


def senders_turn(calls: list[Entry]) -> NeedsInput:
    """The wait for whoever sent the message to make the calls of functions of its own."""
    names = ", ".join(dict.fromkeys((call.details or {})["name"] for call in calls))
    question = f"The program that sent this message is to call {names} and bring the output."
    return NeedsInput(question=clip(question, QUESTION_CHARS_MAX), waiting_for="tool_output")


def _write(
    tx: Tx, snapshot: Snapshot, role: str, content: str, details: dict[str, Any] | None, files: tuple[str, ...] = ()
) -> None:  # fmt: skip
    run = snapshot.run
    append_entry(
        tx,
        snapshot.access,
        NewEntry(
            type="conversation" if role == "assistant" else "action",
            role=role,
            content=content,
            details=details,
            author=snapshot.agent.id,
            provenance=_SPOKEN,
            key=run.key,
            session_id=snapshot.session.id,
            run_id=run.id,
            agent_id=snapshot.agent.id,
            channel=run.channel,
            attachment_ids=files,
        ),
    )


def given_reply(own: list[Entry]) -> str | None:
    """The reply this run has given already, if its end was lost; a question it asked is none."""
    newest = own[-1] if own else None
    if newest is not None and newest.role == "assistant" and not (newest.details or {}).get("question"):
        return newest.content
    return None


def _rounds(own: list[Entry]) -> int:
    """How many rounds of calls were made since somebody outside was last heard."""
    return len({(entry.details or {}).get("step") for entry in since_heard(own) if entry.role == "toolCall"})


def since_heard(own: list[Entry]) -> list[Entry]:
    """What a run did since it last heard something: its message, an answer, an output of its sender's functions."""
    heard = [at for at, entry in enumerate(own) if _is_from_outside(entry) and not is_about_approval(entry)]
    return own[heard[-1] + 1 :] if heard else own


def _is_from_outside(entry: Entry) -> bool:
    return entry.role == "user" or (entry.role == "toolResult" and is_senders(entry))
