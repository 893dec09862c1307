"""Ends that a tool call requests: stored with the run at once, so that a crash does not lose them.

A call made by the turn is already in the journal. A call from outside arrives in the middle of a step, so its entries
are written in the transaction that applies the requested end.
"""

from typing import Any

from msgspec import structs

from carrel.journal import append_entry, json_text
from carrel.kernel import Access, Code, Refusal
from carrel.runs import store
from carrel.runs.entries import agent_entry
from carrel.runs.model import Cancelled, Claim, ExternalCall, Failed, NeedsInput, Outcome, RequestedEnd
from carrel.storage import Tx


def request_end(tx: Tx, access: Access, run_id: str, end: RequestedEnd) -> None:
    """Request a run's end from outside its turn; refused when the turn is already ending."""
    if not store.want_end(tx, access, run_id, json_text(end)):
        raise Refusal(
            Code.CONFLICT,
            "This turn is already ending: a question was asked, the request was declined, or the run is being stopped.",
        )


def replace_requested_end(tx: Tx, run: Claim, end: RequestedEnd) -> None:
    """Store the end that a turn requests for its own run, replacing any stored before."""
    store.keep_end(tx, run.access, run.id, json_text(end))


def apply_requested_end(tx: Tx, run: Claim, end: RequestedEnd, actual: Outcome) -> Outcome:
    """Return the requested end instead of the turn's actual outcome, and journal the call from outside.

    A run that was cancelled or ran out of time keeps its actual outcome.
    """
    if isinstance(actual, Cancelled) or (isinstance(actual, Failed) and actual.reason == "timeout"):
        return actual
    if end.call is not None:
        _journal(tx, run, end, end.call)
    return structs.replace(end.outcome, usage=actual.usage)


def _journal(tx: Tx, claim: Claim, end: RequestedEnd, call: ExternalCall) -> None:
    """Append the entries that the turn would have written if it had made the call itself."""
    named: dict[str, Any] = {"callId": tx.new_id("call"), "name": call.name}
    made = named | {"arguments": call.arguments} | ({"said": end.said} if end.said else {})
    entries = [("toolCall", f"Tool call: {call.name}", made), ("toolResult", call.result, named)]
    if isinstance(end.outcome, NeedsInput):
        entries.append(("assistant", end.outcome.question, {"question": True}))
    run = store.run_by_id(tx, claim.access, claim.id)
    assert run is not None, "the claim was checked"
    for role, content, details in entries:
        view = run.question_view if role == "assistant" else None
        append_entry(tx, run.access, agent_entry(run, role, content, details, task_view=view))
