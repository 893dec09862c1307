"""Counts what runs use, in the transaction that starts a run or stores the answer to a step."""

from carrel.kernel import Usage
from carrel.runs import Claim
from carrel.storage import Tx
from carrel.usage.model import Tally, tally_of
from carrel.usage.store import Spender, add_usage, add_usage_and_ask


def count_run(tx: Tx, run: Claim, model: str) -> bool:
    """Count the start of a run; return whether its account has budgets."""
    return add_usage_and_ask(tx, run.access, _spender(run, model), Tally(runs=1))


def count_step(tx: Tx, run: Claim, model: str, used: Usage, milliseconds: int) -> bool:
    """Count what a step used; return whether the account has budgets."""
    return add_usage_and_ask(tx, run.access, _spender(run, model), tally_of(used, milliseconds))


def count_last_step(tx: Tx, run: Claim, model: str, used: Usage, milliseconds: int) -> None:
    """Count what the step used that ends a run."""
    add_usage(tx, run.access, _spender(run, model), tally_of(used, milliseconds))


def _spender(run: Claim, model: str) -> Spender:
    task_id = run.task_id or run.session_key.task_id or ""
    return Spender(key=run.key, task_id=task_id, model=model, agent_id=run.agent_id)
