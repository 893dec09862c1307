"""Why a run is not moving, or how it ended: sentences for people, with what they can do about it."""

from msgspec import UNSET, Struct, UnsetType

from carrel.agents import agent_by_id
from carrel.kernel import Access, SessionKey, iso
from carrel.runs import UNLIMITED, Concurrency, Run, Shortage, lane_head, queue_position, shortage_of
from carrel.storage import Tx

_WORKER_GRACE_MS = 1_000
_SLOT = "waiting_slot"
# By reason: why a run ended.
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


class Reason(Struct, frozen=True, kw_only=True, rename="camel"):
    """One reason, since when it holds, the actions that would change it, and the run and session it is about.

    The reason `lane_busy` is about the run that holds the lane.
    """

    code: str
    text: str
    since: str | None
    actions: list[str]
    run_id: str | UnsetType = UNSET
    session_key: str | UnsetType = UNSET


class Why(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a run is moving, and if not, why."""

    moving: bool
    reasons: list[Reason]


def explain(tx: Tx, access: Access, run: Run, limits: Concurrency = UNLIMITED) -> Why:
    """Explain why a run is not moving; `limits` are the server's concurrency limits."""
    reasons: list[Reason] = []
    agent = agent_by_id(tx, access, run.agent_id)
    if agent is not None and not agent.enabled and not run.ended:
        text = f"Agent {agent.name} is disabled."
        reasons.append(_reason(run, "agent_disabled", text, agent.updated_at, "enable the agent"))
    if run.state == "waiting":
        reasons.append(_waiting(run))
    elif run.state == "queued":
        reasons += _queued(tx, access, run, limits)
    elif run.state == "running" and (run.lease_until or 0) <= tx.now:
        text = "The worker of this run is gone; the run returns to its lane within seconds."
        reasons.append(_reason(run, "no_worker", text, run.lease_until, "wait", "cancel"))
    elif run.ended:
        reasons.append(_reason(run, "done", _ending(run), run.ended_at, *_remedies(run)))
    return Why(moving=not reasons, reasons=reasons)


def _ending(run: Run) -> str:
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


def _remedies(run: Run) -> list[str]:
    if run.state == "failed":
        remedy = "enable the agent" if run.reason == "agent_disabled" else _REMEDIES.get(run.error_code or "")
        return [remedy, "retry"] if remedy else ["retry"]
    return ["send the message again"] if run.state == "cancelled" else []


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _waiting(run: Run) -> Reason:
    if run.waiting_for == "tool_output":
        text = run.question or "The client that sent this message must run a function and return its output."
        return _reason(run, "waiting_input", text, run.updated_at, "cancel")
    code = {"input": "waiting_input", "auth": "waiting_auth"}.get(run.waiting_for or "", "waiting_approval")
    asks = "This run is waiting for approval" if code == "waiting_approval" else "The agent asked"
    return _reason(run, code, f"{asks}: {run.question or 'no question was given'}", run.updated_at, "answer", "cancel")


def _queued(tx: Tx, access: Access, run: Run, limits: Concurrency) -> list[Reason]:
    if run.due_at is not None and run.due_at > tx.now and run.held_for is not None:
        return [_held(run)]
    if run.due_at is not None and run.due_at > tx.now:
        return [_retrying(run, tx.now)]
    if run.due_at is not None:
        if (shortage := shortage_of(tx, access, run, limits)) is not None:
            return [_without_slot(tx, access, run, shortage)]
        since = max(run.due_at, run.updated_at)
        if tx.now - since < _WORKER_GRACE_MS:
            return []
        text = "This run is next, but no worker has a free slot."
        return [_reason(run, "no_worker", text, since, "wait", "raise runs.concurrency")]
    head = lane_head(tx, access, run.key) or run
    position, busy = queue_position(tx, run), _busy(tx, access, head, limits)
    text = f"This run is number {position} in the queue of {SessionKey.stored(run.key)}; {busy}."
    held_since = head.started_at if head.state == "running" else run.created_at
    return [_reason(head, "lane_busy", text, held_since, "wait", "cancel")]


def _without_slot(tx: Tx, access: Access, run: Run, shortage: Shortage) -> Reason:
    setting = f"gateway.{shortage.gateway}.concurrency" if shortage.gateway else "the agent's concurrency"
    text = f"This run waits for a slot {_where(tx, access, run, shortage)}."
    return _reason(run, _SLOT, text, run.due_at, "wait", f"raise {setting}", "cancel")


def _where(tx: Tx, access: Access, run: Run, shortage: Shortage) -> str:
    agent = agent_by_id(tx, access, run.agent_id)
    of = f"at gateway {shortage.gateway}" if shortage.gateway else f"of agent {agent.name if agent else run.agent_id}"
    return f"{of} ({shortage.limit} of {shortage.limit} in use)"


def _busy(tx: Tx, access: Access, head: Run, limits: Concurrency) -> str:
    if head.state == "running":
        return f"run {head.id} is running"
    if (head.due_at or 0) <= tx.now and (shortage := shortage_of(tx, access, head, limits)) is not None:
        return f"run {head.id} waits for a slot {_where(tx, access, head, shortage)}"
    if head.held_for is not None:
        return f"run {head.id} is waiting: {head.error_message or 'a budget is used up.'}".rstrip(".")
    waits_for = "its next attempt" if head.unreachable_since is None else "its gateway, which does not answer"
    return f"run {head.id} is waiting for {waits_for}"


def _held(run: Run) -> Reason:
    if run.error_code == "loop_suspected":
        text = run.error_message or "The agent goes round in circles."
        return _reason(run, "loop_suspected", text, run.failed_at, "let it go on", "stop the session", "cancel")
    text = run.error_message or "A budget is used up."
    return _reason(run, "budget_used_up", text, run.failed_at, "wait", "raise the budget", "allow it once", "cancel")


def _retrying(run: Run, now: int) -> Reason:
    fault = run.last_fault
    text = "The next attempt starts soon." if fault is None else fault.told(now)
    code = "waiting_retry" if run.unreachable_since is None else "gateway_down"
    return _reason(run, code, text, run.unreachable_since or run.failed_at, "wait", "cancel")


def _reason(run: Run, code: str, text: str, since: int | None, *actions: str) -> Reason:
    return Reason(code=code, text=text, since=iso(since), run_id=run.id, session_key=run.key, actions=list(actions))
