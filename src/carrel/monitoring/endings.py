"""How a run ended: a sentence, and what a person can do next."""

from carrel.runs import Run

_REASONS = {
    "account_mismatch": "it belongs to another account",
    "agent_disabled": "its agent was disabled",
    "continued": "its program continued without it",
    "draining": "the server was stopping",
    "expired": "no answer came in time",
    "interrupted": "it was interrupted",
    "overtaken": "something else was said before its question was answered",
    "policy": "the send policy does not allow it",
    "stopped": "it was stopped",
    "task_archived": "its task was archived",
    "task_done": "its task is done",
    "timeout": "it took longer than its limit",
    "user_cancelled": "a user cancelled it",
}
_GATEWAY = "correct its gateway in the settings; `carrel doctor` checks them"
_LATER = "wait until the model's server takes requests again"
_REPHRASE = "write the message differently"
# By error code: what to do before the next attempt.
_REMEDIES = {
    "gateway_misconfigured": _GATEWAY,
    "gateway_not_found": _GATEWAY,
    "gateway_rate_limited": _LATER,
    "gateway_timeout": _GATEWAY,
    "gateway_unauthorized": _GATEWAY,
    "gateway_unavailable": _LATER,
    "gateway_unreachable": "start the model's server, or correct its gateway in the settings",
    "gateway_unreadable": _GATEWAY,
    "internal": "read the server's log",
    "model_refused": _REPHRASE,
    "rejected": _REPHRASE,
    "timeout": "ask for less in one message, or raise runs.timeout_minutes",
    "tool_rounds_exceeded": "ask for less in one message, or raise delivery.tool_rounds_max",
}


def ending_of(run: Run) -> str:
    """Return how a run ended, as a sentence."""
    if run.has_joined:
        return f"The message joined {run.steers}, which was at work and answers it."
    if run.state == "completed":
        return "The run completed." if run.reply else "The run completed without a reply."
    reason = _REASONS.get(run.reason or "", run.reason or "no reason was given")
    if run.state == "cancelled":
        return f"The run was cancelled: {reason}."
    if run.reason == "rejected":
        return f"The agent declined: {_sentence(run.error_message or 'no reason was given')}"
    attempts = f" after {run.attempt} attempts" if run.attempt > 1 else ""
    return f"The run failed{attempts}: {_sentence(run.error_message or reason)}"


def remedies_of(run: Run) -> list[str]:
    """Return what a person can do about a run that ended."""
    if run.state == "failed":
        remedy = "enable the agent" if run.reason == "agent_disabled" else _REMEDIES.get(run.error_code or "")
        return [remedy, "retry"] if remedy else ["retry"]
    return ["send the message again"] if run.state == "cancelled" else []


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
