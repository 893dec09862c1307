"""Counts what runs use, in the transaction that starts a run or stores the answer to a step."""

from carrel.gateway import Usage
from carrel.runs import Claim
from carrel.storage import Tx
from carrel.usage.model import Tally, tally_of
from carrel.usage.store import add_usage


def count_run(tx: Tx, run: Claim, model: str) -> bool:
    """Count the start of a run; return whether its account has budgets."""
    return _add(tx, run, model, Tally(runs=1))


def count_step(tx: Tx, run: Claim, model: str, used: Usage, milliseconds: int) -> bool:
    """Count what a step used; return whether the account has budgets."""
    return _add(tx, run, model, tally_of(used, milliseconds))


def _add(tx: Tx, run: Claim, model: str, added: Tally) -> bool:
    task_id = run.task_id or run.session_key.task_id
    return add_usage(tx, run.access, key=run.key, agent_id=run.agent_id, task_id=task_id, model=model, added=added)
