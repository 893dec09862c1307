"""Token usage of a run: summed over its steps, its failed attempts, and the turns before and after a question."""

from typing import Any

import msgspec
from msgspec import structs

from carrel.kernel import Usage
from carrel.runs import Completed, Failed, NeedsInput, Outcome, Run


def spent_before(run: Run) -> Usage:
    """Return the usage of the run before this attempt."""
    return msgspec.json.decode(run.usage, type=Usage) if run.usage else Usage()


def with_usage(outcome: Outcome, usage: Usage | None) -> Outcome:
    """Return the outcome with the usage that the run stores."""
    total = 0 if usage is None else usage.total_tokens or usage.input_tokens + usage.output_tokens
    if usage is None or not total or not isinstance(outcome, Completed | NeedsInput | Failed):
        return outcome
    spent: dict[str, Any] = msgspec.to_builtins(structs.replace(usage, total_tokens=total))
    if not usage.cached_tokens:
        del spent["cachedTokens"]
    return structs.replace(outcome, usage=spent)


def summed(one: Usage, other: Usage) -> Usage:
    """Return the sum; a cost that neither side reports stays unknown."""
    cost = None if one.cost_usd is None and other.cost_usd is None else (one.cost_usd or 0) + (other.cost_usd or 0)
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
        cost_usd=cost,
    )
