"""What a model thought before the calls of a run: some models must be shown it again while they make calls.

Reasoning stays within the run, and goes only to the kind of gateway that it came from, which knows its form.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from carrel.delivery.store import outputs_of
from carrel.gateway import Gateway
from carrel.journal import Entry
from carrel.kernel import Access
from carrel.storage import Tx

# Items of thought, by the number of the step and the id of the call that follows them.
Reasoning = Mapping[tuple[int | None, str | None], list[dict[str, Any]]]


def reasoning_of(tx: Tx, access: Access, own: list[Entry], gateway: Gateway, kind: str) -> Reasoning:
    """Return the reasoning before the calls among a run's entries."""
    # The untranslated body has no place for reasoning that every server accepts.
    calls = [entry for entry in own if entry.role == "toolCall"] if gateway.translates else []
    if not calls:
        return {}
    found: dict[tuple[int | None, str | None], list[dict[str, Any]]] = {}
    for n, output in outputs_of(tx, access, calls[0].run_id or "", kind):
        reasoning: list[dict[str, Any]] = []
        for item in msgspec.json.decode(output):
            if item.get("type") == "reasoning":
                reasoning.append(item)
            elif item.get("type") == "function_call":
                found[n, item["call_id"]], reasoning = reasoning, []
    return found


def reasoning_before(reasoning: Reasoning, call: Entry) -> list[dict[str, Any]]:
    """Return the reasoning before one call; none before anything else."""
    details = call.details or {}
    return reasoning.get((details.get("step"), details.get("callId")), []) if call.role == "toolCall" else []
