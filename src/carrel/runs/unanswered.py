"""Calls of a sender's functions that get no output: their conversation has gone on without them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from carrel.journal import entries_of_run
from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import OUTPUT_WAITS_COMPARED_MAX
from carrel.runs import store
from carrel.runs.answers import is_sender_call, open_calls
from carrel.runs.cancellation import end_without_worker
from carrel.runs.model import CONTINUED, Run
from carrel.storage import Tx


def end_unanswered(tx: Tx, access: Access, key: SessionKey, made: Mapping[str, tuple[str, str]]) -> None:
    """End the caller's waits for outputs that will not come, after its new message to a lane.

    These are the waits of the same lane, and those whose calls the message itself repeats with their outputs: `made`
    has the name and arguments of each call by its id.
    """
    waits = store.waits_for_outputs(tx, access, key.agent, OUTPUT_WAITS_COMPARED_MAX)
    # Only the run is locked, as in a claim: a waiting run has no place in its lane. All in one order, by id.
    for seen in reversed(waits):
        if seen.key == str(key) or (made and _are_made(tx, access, seen, made)):
            run = store.hold_run(tx, access, seen.id)
            if run is not None and run.state == "waiting":
                end_without_worker(tx, run, "cancelled", CONTINUED)


def _are_made(tx: Tx, access: Access, run: Run, made: Mapping[str, tuple[str, str]]) -> bool:
    """Return whether all of a run's open calls are among those made; by more than ids, which some models reuse."""
    calls = [call.details or {} for call in open_calls(entries_of_run(tx, access, run.id)) if is_sender_call(call)]
    return bool(calls) and all(
        call["callId"] in made and _same(made[call["callId"]], (call["name"], call["arguments"])) for call in calls
    )


def _same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] == other[0] and _value(one[1]) == _value(other[1])


def _value(arguments: str) -> Any:
    """Return arguments as a value, because clients write the same JSON in other ways; text that is no JSON as it is."""
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
