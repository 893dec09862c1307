"""Ends that a call asks for: kept with the run at once, so that no crash loses them, until the run has come to one.

A call of the turn itself stands in the journal already. One from outside comes in the middle of a step, and is written
down in the very transaction in which the run comes to what it asked for.
"""

from typing import Any

import msgspec
from msgspec import Struct, structs

from carrel.journal import NewEntry, append_entry, json_text
from carrel.kernel import Access, Code, Provenance, Refusal
from carrel.runs import store
from carrel.runs.model import Cancelled, Claim, Failed, NeedsInput, Outcome
from carrel.storage import Tx

_SPOKEN = Provenance(kind="internal_system")


class OutsideCall(Struct, frozen=True, kw_only=True):
    """A call that was made from outside of the turn: what it was made with, and how it was answered."""

    name: str
    arguments: str
    result: str


class WantedEnd(Struct, frozen=True, kw_only=True):
    """How a run is to end its turn; `said` is what its agent said beside a call from outside, which is no reply."""

    outcome: NeedsInput | Failed
    call: OutsideCall | None = None
    said: str = ""


_decode = msgspec.json.Decoder(WantedEnd).decode


def wanted_end(kept: str | None) -> WantedEnd | None:
    """The end as a run's row holds it."""
    return None if kept is None else _decode(kept)


def want_end(tx: Tx, access: Access, run_id: str, end: WantedEnd) -> None:
    """Ask for a run's end from outside of its turn; refused when its turn ends already."""
    if not store.want_end(tx, access, run_id, json_text(end)):
        raise Refusal(
            Code.CONFLICT, "This turn ends already: a question was asked, the request was declined, or it is stopped."
        )


def keep_end(tx: Tx, run: Claim, end: WantedEnd) -> None:
    """Keep the end of a turn that holds its run, in place of what is known of it."""
    store.keep_end(tx, run.access, run.id, json_text(end))


def come_to(tx: Tx, run: Claim, end: WantedEnd, brought: Outcome) -> Outcome:
    """The end that was asked for in place of what the turn brought, with a call from outside written down.

    A run that has used up its time ends by that: whoever asked did not return in time.
    """
    if isinstance(brought, Cancelled) or (isinstance(brought, Failed) and brought.reason == "timeout"):
        return brought
    if end.call is not None:
        _write_down(tx, run, end, end.call)
    return structs.replace(end.outcome, usage=brought.usage)


def _write_down(tx: Tx, claim: Claim, end: WantedEnd, call: OutsideCall) -> None:
    """Write the entries that the turn would have written, had the call been its own."""
    named: dict[str, Any] = {"callId": tx.new_id("call"), "name": call.name}
    made = named | {"arguments": call.arguments} | ({"said": end.said} if end.said else {})
    entries = [("toolCall", f"Tool call: {call.name}", made), ("toolResult", call.result, named)]
    if isinstance(end.outcome, NeedsInput):
        entries.append(("assistant", end.outcome.question, {"question": True}))
    run = store.run_by_id(tx, claim.access, claim.id)
    assert run is not None, "its claim was found to hold"
    for role, content, details in entries:
        append_entry(
            tx,
            run.access,
            NewEntry(
                type="conversation" if role == "assistant" else "action",
                role=role,
                content=content,
                details=details,
                author=run.agent_id,
                provenance=_SPOKEN,
                key=run.key,
                session_id=run.session_id,
                run_id=run.id,
                agent_id=run.agent_id,
                channel=run.channel,
                task_id=run.task_id,
                author_kind="agent",
            ),
        )
