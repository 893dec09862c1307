"""The transactions of a turn: each carries the run's claim and writes one step, one answer or one tool call.

What a step needs was read and built before; a transaction only checks that it still holds, and writes it.
"""

from hashlib import sha256
from logging import getLogger

from msgspec import Struct, structs

from carrel.access import mint_run_token
from carrel.budgets import BudgetRules, check_budgets, note_spending
from carrel.context import Context
from carrel.delivery.agent_actions import LOST, close_actions
from carrel.delivery.approvals import APPROVAL, ASKS, decision_on, end_overtaken, must_be_asked, question_of
from carrel.delivery.call_arguments import forget_arguments, keep_arguments, kept_output
from carrel.delivery.context_store import insert_context
from carrel.delivery.extraction import keep_facts
from carrel.delivery.request import Request
from carrel.delivery.silence import NO_REPLY_NOTE, is_silent
from carrel.delivery.snapshot import BUILTIN, Snapshot
from carrel.delivery.store import StepRow, answer_step, insert_first_step, insert_step, step_of, update_step
from carrel.delivery.transcript import call_key, joined_message, new_message, rounds_of, view_of_reply, write
from carrel.gateway import ACT_KINDS, Step, StepAnswer
from carrel.journal import Entry, append_entry, append_event, json_text
from carrel.kernel import clip
from carrel.kernel.limits import ERROR_CHARS_MAX, TOOL_CALLS_PER_ROUND_MAX
from carrel.loops import Trace, note_answer
from carrel.records import insert_attachment
from carrel.runs import (
    Claim,
    Completed,
    Failed,
    NeedsInput,
    Outcome,
    RequestedEnd,
    about_run,
    bind_session,
    fence,
    open_actions,
    replace_requested_end,
    take_up,
)
from carrel.sessions import close_generation, open_generation, open_session_of
from carrel.storage import Tx
from carrel.tools import (
    Preparation,
    Result,
    call_tool,
    finish_waiting,
    lock_caller,
    names_in,
    refuse_call,
    workspace_of,
)
from carrel.usage import count_last_step, count_run, count_step
from carrel.work import admit, is_reopened_since
from carrel.workspaces import Workspace

NO_BUDGETS = BudgetRules()
_log = getLogger("carrel.delivery")
_TOO_MANY_ROUNDS = "tool_rounds_exceeded"
# Begins the note of a run whose model was not given all of its files; the names of the others follow.
LEFT_OUT_NOTE = "left_out: "


class StaleRequest(Exception):
    """The request must be built again: the run's session is another one now, or its task was reopened since."""


class SentRequest(Struct, frozen=True):
    """A step that was written down and is about to be sent."""

    step: Step
    n: int
    snapshot: Snapshot
    request: Request
    sent_at: int
    # Whether there are budgets that the step counts for.
    limited: bool


def prepare(
    tx: Tx, claim: Claim, snapshot: Snapshot, request: Request, token: str, rules: BudgetRules = NO_BUDGETS, *,
    limited: bool = True,
) -> SentRequest | Outcome:  # fmt: skip
    """Write the step that is about to be sent, and before the first one the run's message; or return how the run ends.

    `token` is the run's, if this attempt has already sent one. `limited` says whether there are budgets to check, if
    the run is not counted here. UsedUp is raised if a budget has nothing left.
    """
    if snapshot.unheard:
        refused = admit(tx, snapshot.run)
        if refused is not None:
            fence(tx, claim)
            return refused
        _prefetch_first_step(tx, claim, snapshot, request.model)
        # Counted first, because its answer is waited for; what is written below is then sent with the commit.
        limited = count_run(tx, claim, request.model) or rules.any
    end = _write_message(tx, claim, snapshot, request)
    if end is not None:
        return end.outcome
    n = _write_step(tx, claim, snapshot, request)
    if snapshot.connection.settings.run_tokens and not token and snapshot.extras.replays is None:
        token = mint_run_token(tx, snapshot.access, snapshot.agent.id, claim.id)
    if limited:
        check_budgets(tx, claim, rules, begins=snapshot.unheard)
    return SentRequest(_step(snapshot, request, token), n, snapshot, request, tx.now, limited)


def _write_step(tx: Tx, claim: Claim, snapshot: Snapshot, request: Request) -> int:
    """Write the step and what goes with it; return its number."""
    access = snapshot.access
    insert = insert_first_step if snapshot.unheard else insert_step
    n = insert(tx, access, claim, _row(snapshot, request, tx.now))
    if snapshot.unheard:
        insert_context(tx, access, claim, request.context)
        _publish_context(tx, claim, request.context)
        if snapshot.connection.is_coding_agent:
            end_overtaken(tx, access, snapshot.run)
    if snapshot.at_gateway.lost_at is not None:
        close_actions(tx, snapshot, open_actions(snapshot.own), LOST)
    sent, run = _instructions(request), snapshot.run
    if not snapshot.unheard and (run.instructions_version, run.instructions_sha256) != tuple(sent.values()):
        bind_session(tx, claim, snapshot.session.id, snapshot.session.generation, **sent)
    return n


def _step(snapshot: Snapshot, request: Request, token: str) -> Step:
    connection = snapshot.connection
    # A model calls what it is shown; the built-in agent and coding agents are told names alone.
    calls_by_name = connection.is_coding_agent or connection.settings.kind == BUILTIN
    has_calls = calls_by_name and snapshot.extras.replays is None
    return Step(
        body=request.body,
        address=snapshot.address,
        agent_id=snapshot.agent.id,
        agent_slug=snapshot.agent.slug,
        run_token=token,
        message_at=request.message_at,
        is_request=request.is_request,
        lost_at=snapshot.at_gateway.lost_at,
        callable_tools=names_in(snapshot.toolset) if has_calls else frozenset(),
        workspace=_workspace(snapshot),
        remote_id=snapshot.at_gateway.remote_id,
        account=snapshot.account_slug,
    )


def _workspace(snapshot: Snapshot) -> Workspace | None:
    """Where a coding agent works; other agents have no folder of their own."""
    if not snapshot.connection.is_coding_agent:
        return None
    return workspace_of(snapshot.caller.services.settings, snapshot.access, snapshot.agent)


def _publish_context(tx: Tx, claim: Claim, context: Context) -> None:
    if context.block:
        told = {"mode": context.mode, "layers": context.layers, "chars": len(context.block)}
        degraded = {} if context.degraded is None else {"degraded": context.degraded}
        append_event(tx, claim.access, "context.injected", about_run(claim), json_text(told | degraded))


def _prefetch_first_step(tx: Tx, claim: Claim, snapshot: Snapshot, model: str) -> None:
    """Execute in one batch the statements whose answers the first step of a run waits for."""
    access, key = claim.access, snapshot.run.session_key
    # Opening and closing lock the lane, the fence locks the run: the lane comes first, as everywhere.
    tx.prefetch(
        lambda: open_generation(tx, access, key, snapshot.session),
        lambda: open_session_of(tx, access, snapshot.run.key),
        lambda: fence(tx, claim),
        tx.tick,
        lambda: count_run(tx, claim, model),
    )


def _write_message(tx: Tx, claim: Claim, snapshot: Snapshot, request: Request) -> RequestedEnd | None:
    """Write the run's message to the session it was read for; return the end requested meanwhile, if any."""
    if not snapshot.unheard:
        return fence(tx, claim)
    run, planned = snapshot.run, snapshot.session
    if run.starts_new_generation:
        close_generation(tx, claim.access, run.session_key, "rotated")
    session = open_generation(tx, claim.access, run.session_key, planned)
    if session.address != planned.address or session.id != planned.id:
        raise StaleRequest
    if snapshot.told is not None and is_reopened_since(tx, run, snapshot.told.reopened_seq):
        raise StaleRequest
    end = fence(tx, claim)
    sent = {} if end is not None else _instructions(request)
    bind_session(tx, claim, session.id, session.generation, **sent)
    append_entry(tx, claim.access, new_message(run, session, snapshot.told, snapshot.note))
    _log.info(
        "turn_started",
        extra={"run_id": run.id, "session_key": run.key, "session_id": session.id, "generation": session.generation}
        | {"session_resolution": session.resolution}
        | ({"label": run.label} if run.label else {}),
    )
    return end


def _instructions(request: Request) -> dict[str, str]:
    return {"version": request.instructions.version, "sha256": request.instructions.sha256}


def join(tx: Tx, claim: Claim, snapshot: Snapshot) -> None:
    """Write the messages that join a working run at its next step."""
    take_up(tx, claim, lambda message: joined_message(tx, message, snapshot.run, snapshot.lane))


def keep_sent(tx: Tx, claim: Claim, n: int, body: bytes) -> int:
    """Store the body that a translating gateway is about to send for a step; return the number of its step.

    What is sent a second time, such as a message under another id, is a step of its own.
    """
    fence(tx, claim)
    row = step_of(tx, claim.access, claim.id, n)
    sent = structs.replace(row, body=body.decode(), body_sha256=sha256(body).hexdigest(), sent_at=tx.now)
    if not row.body:
        update_step(tx, claim.access, claim, sent)
        return n
    return insert_step(tx, claim.access, claim, sent)


def _row(snapshot: Snapshot, request: Request, now: int) -> StepRow:
    body = b"" if snapshot.connection.gateway.translates else request.body
    return StepRow(
        # Numbered when it is inserted.
        n=0,
        attempt=snapshot.run.attempt,
        gateway=snapshot.connection.settings.kind,
        address=snapshot.address,
        model=request.model,
        instructions_version=request.instructions.version,
        instructions_sha256=request.instructions.sha256,
        body=body.decode(),
        body_sha256=sha256(body).hexdigest(),
        history_omitted=request.history_omitted,
        sent_at=now,
    )


def keep_answer(
    tx: Tx, claim: Claim, sent: SentRequest, n: int, answer: StepAnswer, rounds_max: int
) -> Outcome | list[Entry]:  # fmt: skip
    """Store the gateway's answer: a reply ends the turn, tool calls are stored before any is made."""
    tx.prefetch(lambda: fence(tx, claim), tx.tick)
    snapshot, end = sent.snapshot, fence(tx, claim)
    answer_step(tx, claim.access, claim.id, n, kept_output(answer.output))
    # PostgreSQL cannot store NUL in text.
    text = answer.text.replace("\x00", "")
    if end is not None:
        # A call from outside requested the end during this step; the step's text is kept with that call.
        replace_requested_end(tx, claim, structs.replace(end, said=text if text.strip() else ""))
        return end.outcome
    if not answer.calls:
        keep_facts(tx, snapshot)
        if is_silent(snapshot.run, text):
            return Completed(reply="", note=answer.incomplete_reason or NO_REPLY_NOTE)
        view = view_of_reply(snapshot.run)
        write(tx, snapshot.access, snapshot.run, snapshot.session, "assistant", text, task_view=view)
        return Completed(reply=text, note=answer.incomplete_reason or _left_out(answer))
    if rounds_of(snapshot.own) >= rounds_max:
        message = f"The agent used all {rounds_max} rounds of tool calls without coming to an answer."
        return Failed(code=_TOO_MANY_ROUNDS, message=message)
    return _write_calls(tx, snapshot, n, answer, text)


def count_answer(tx: Tx, claim: Claim, sent: SentRequest, answer: StepAnswer, rules: BudgetRules) -> bool:
    """Count the usage of an answer that was just stored; return whether there are budgets to check."""
    used = (sent.request.model, answer.usage, tx.now - sent.sent_at)
    limited = count_step(tx, claim, *used) or rules.any
    if limited:
        note_spending(tx, claim, rules)
    return limited


def keep_reply(
    tx: Tx, claim: Claim, sent: SentRequest, n: int, answer: StepAnswer, rules: BudgetRules, trace: Trace | None = None
) -> Outcome:  # fmt: skip
    """Store an answer without tool calls, count its usage, and add it to the session's trace."""
    kept = keep_answer(tx, claim, sent, n, answer, 0)
    count_last_step(tx, claim, sent.request.model, answer.usage, tx.now - sent.sent_at)
    if sent.limited:
        note_spending(tx, claim, rules)
    if trace is not None:
        note_answer(tx, sent.snapshot.run, trace, sent.snapshot.own, answer.text)
    assert not isinstance(kept, list), "no call was written"
    return kept


def _left_out(answer: StepAnswer) -> str | None:
    return clip(LEFT_OUT_NOTE + ", ".join(answer.left_out), ERROR_CHARS_MAX) if answer.left_out else None


def _write_calls(tx: Tx, snapshot: Snapshot, n: int, answer: StepAnswer, text: str) -> list[Entry]:
    calls = []
    # Text beside tool calls is not a reply; it is kept with the first call.
    beside = {"said": text} if text.strip() else {}
    for call in answer.calls[:TOOL_CALLS_PER_ROUND_MAX]:
        arguments, files = keep_arguments(tx, snapshot.access, call)
        details = {"callId": call.call_id, "name": call.name, "arguments": arguments, "step": n} | beside
        if call.name in snapshot.extras.function_names:
            details["sender"] = True
        content = f"Tool call: {call.name}"
        calls.append(write(tx, snapshot.access, snapshot.run, snapshot.session, "toolCall", content, details, files))
        beside = {}
    return calls


def may_be_made(snapshot: Snapshot, call: Entry) -> bool:
    """True when a call needs no approval, or was approved."""
    if not _is_question(snapshot, call):
        return True
    decision = decision_on(snapshot.own, call_key(call))
    return decision is not None and bool((decision.details or {})[APPROVAL])


def make_call(
    tx: Tx, claim: Claim, snapshot: Snapshot, call: Entry, arguments: str, prepared: Preparation | None = None
) -> Result:  # fmt: skip
    """Make one tool call: effect, record and entry in one transaction. Where approval is needed, ask for it first."""
    lock_caller(tx, snapshot.caller, prepared)
    wanted = fence(tx, claim)
    if wanted is not None:
        # The turn ends as requested from outside; a call that is still open is made when the run goes on.
        return Result(value={}, ends=wanted.outcome)
    result = _approved_call(tx, snapshot, call, arguments, prepared)
    if result.ends is not None:
        replace_requested_end(tx, claim, RequestedEnd(outcome=result.ends))
    return result


def _is_question(snapshot: Snapshot, call: Entry) -> bool:
    """True when a person is asked first; never for what a coding agent may not do even with approval."""
    name = (call.details or {})["name"]
    return must_be_asked(snapshot.agent, call) and (name not in ACT_KINDS or name in names_in(snapshot.toolset))


def _approved_call(tx: Tx, snapshot: Snapshot, call: Entry, arguments: str, prepared: Preparation | None) -> Result:
    name, key = (call.details or {})["name"], call_key(call)
    if _is_question(snapshot, call):
        decision = decision_on(snapshot.own, key)
        if decision is None:
            asked = question_of(snapshot.agent, snapshot.catalog, call)
            details = {"question": True, ASKS: key}
            _write_question(tx, snapshot, asked.question, details)
            return Result(value={}, ends=asked)
        if not (decision.details or {})[APPROVAL]:
            return keep_result(tx, snapshot, call, *refuse_call(tx, snapshot.caller, key, name, decision.content))
    made = call_tool(tx, snapshot.toolset, snapshot.caller, key, name, arguments, prepared)
    return keep_result(tx, snapshot, call, *made)


def keep_result(tx: Tx, snapshot: Snapshot, call: Entry, text: str, result: Result) -> Result:
    """Write the result of a call that was made, unless it waits for another run; return it."""
    forget_arguments(tx, snapshot.access, call)
    if result.wait is None:
        _write_result(tx, snapshot, call, text, result)
    return result


def finish_call(tx: Tx, claim: Claim, snapshot: Snapshot, call: Entry) -> Result:
    """Write the result of a call that waited for another run."""
    fence(tx, claim)
    # The unfiltered catalog: what was begun is finished even if plan mode has hidden the tool since.
    text, result = finish_waiting(tx, snapshot.catalog, snapshot.caller, call_key(call))
    _write_result(tx, snapshot, call, text, result)
    return result


def _write_result(tx: Tx, snapshot: Snapshot, call: Entry, text: str, result: Result) -> None:
    """Write the entry with the result of a call, and the question if the call ends the turn with one."""
    details = {name: (call.details or {})[name] for name in ("callId", "name", "step")}
    files = tuple(insert_attachment(tx, snapshot.access, file) for file in result.files)
    write(tx, snapshot.access, snapshot.run, snapshot.session, "toolResult", text, details, files)
    if isinstance(result.ends, NeedsInput):
        _write_question(tx, snapshot, result.ends.question, {"question": True})


def _write_question(tx: Tx, snapshot: Snapshot, question: str, details: dict[str, object]) -> None:
    view = snapshot.run.question_view
    write(tx, snapshot.access, snapshot.run, snapshot.session, "assistant", question, details, task_view=view)
