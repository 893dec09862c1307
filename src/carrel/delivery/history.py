"""What a request shows of earlier runs in the session: what was said, and what the agent did with its tools. Pure."""

from typing import Any

import msgspec
from msgspec import structs

from carrel.delivery.approvals import is_about_approval
from carrel.delivery.senders import SENDER
from carrel.exchanges import visible_reply
from carrel.journal import Entry
from carrel.kernel import clip
from carrel.kernel.limits import EARLIER_ARGUMENTS_CHARS_MAX, EARLIER_RESULT_CHARS_MAX

NO_LONGER_SHOWN = "[This result is no longer shown.]"
_Step = tuple[str | None, Any]
_CUT = "… [the rest is no longer shown]"


def remembered(earlier: list[Entry], *, with_calls: bool) -> list[Entry]:
    """Return the entries of earlier runs that are worth their place, oldest first.

    Silent replies are left out, and the heartbeats in which nothing was done. Results follow the calls of their step,
    whenever they came; all of a step share the number of its first call.
    """
    steps = _complete_steps(earlier) if with_calls else {}
    busy = {entry.run_id for entry in earlier if entry.role != "user" and not _is_silent(entry)}
    shown: list[Entry] = []
    for entry in earlier:
        if entry.role == "toolCall":
            shown += steps.pop(_step_of(entry), [])
        elif entry.provenance.kind == "heartbeat" and entry.run_id not in busy:
            continue
        elif entry.role != "toolResult" and not is_about_approval(entry) and not _is_silent(entry):
            shown.append(entry)
    return shown


def newest_within(earlier: list[Entry], chars_max: int, *, results_max: int) -> list[Entry]:
    """Return the newest entries that fit, oldest first; a call whose result does not fit is shown alone.

    The results of tools take at most `results_max` characters.
    """
    kept: list[Entry] = []
    left, results_left = chars_max, results_max
    for entry in reversed(earlier):
        if entry.role == "toolResult":
            results_left -= len(entry.content)
            entry = entry if results_left >= 0 else structs.replace(entry, content=NO_LONGER_SHOWN)
        # An empty entry counts too: once nothing is left, nothing more is shown.
        left -= max(1, chars_of(entry))
        if left < 0:
            break
        kept.append(entry)
    return _with_their_calls(kept[::-1])


def chars_of(entry: Entry) -> int:
    """Return how many characters of a request an entry takes."""
    details = entry.details or {}
    if entry.role == "toolCall":
        return len(details["arguments"])
    # A message may be headed by a line with its author.
    return len(entry.content) + len(details.get(SENDER, ""))


def _is_silent(entry: Entry) -> bool:
    return entry.role == "assistant" and visible_reply(entry.content) is None


def _step_of(entry: Entry) -> _Step:
    return entry.run_id, (entry.details or {}).get("step")


def _call_id(entry: Entry) -> str:
    return str((entry.details or {})["callId"])


def _complete_steps(earlier: list[Entry]) -> dict[_Step, list[Entry]]:
    """Return the calls that have a result, followed by their results, by run and step."""
    results = {(_step_of(entry), _call_id(entry)): entry for entry in earlier if entry.role == "toolResult"}
    pairs: dict[_Step, list[tuple[Entry, Entry]]] = {}
    for call in earlier:
        result = results.get((_step_of(call), _call_id(call))) if call.role == "toolCall" else None
        if result is not None:
            pairs.setdefault(_step_of(call), []).append(_pair(call, result))
    return {step: _in_order(made) for step, made in pairs.items()}


def _in_order(made: list[tuple[Entry, Entry]]) -> list[Entry]:
    calls, results = zip(*made, strict=True)
    return [structs.replace(entry, seq=calls[0].seq) for entry in (*calls, *results)]


def _pair(call: Entry, result: Entry) -> tuple[Entry, Entry]:
    """Return a call and its result under a new id: models reuse the ids of calls from run to run."""
    details = call.details or {}
    call_id = {"callId": f"call_{call.seq}"}
    arguments = details["arguments"]
    if len(arguments) > EARLIER_ARGUMENTS_CHARS_MAX:
        beginning = clip(arguments, EARLIER_ARGUMENTS_CHARS_MAX)
        arguments = msgspec.json.encode({"beginning": beginning}).decode()
    content = result.content + (_CUT if len(result.content) >= EARLIER_RESULT_CHARS_MAX else "")
    return (
        structs.replace(call, details=details | call_id | {"arguments": arguments}),
        # Its files and the parts of its output were shown only in its own run.
        structs.replace(result, content=content, details=call_id, attachment_ids=()),
    )


def _with_their_calls(kept: list[Entry]) -> list[Entry]:
    """Return the entries, dropping results whose call did not fit."""
    calls = {_call_id(entry) for entry in kept if entry.role == "toolCall"}
    return [entry for entry in kept if entry.role != "toolResult" or _call_id(entry) in calls]
