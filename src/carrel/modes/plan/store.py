"""The SQL of plan mode. The row of a session is written last in a transaction: nothing is locked after it."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.sessions import OfSession
from carrel.storage import FLAG, Table, Tx


class PlanState(OfSession, Struct, frozen=True, kw_only=True):
    """Whether a session is in plan mode, and its active plan; if it never was, there is no time of change."""

    key: str
    enabled: bool = False
    active_plan_id: str | None = None
    updated_at: int | None = None


_TABLE = Table("plan_modes", PlanState, key=("account_id", "key"), codecs={"enabled": FLAG})
_OF_SESSION = "WHERE account_id = :account AND key = :key"


def state_of(tx: Tx, access: Access, key: str) -> PlanState | None:
    """Return the state of a session; None if plan mode was never switched on there."""
    return _TABLE.row(tx.one(f"{_TABLE.select} {_OF_SESSION}", access, key=key))


def states_of(tx: Tx, access: Access, keys: Iterable[str]) -> dict[str, PlanState]:
    """Return the existing states of several sessions, by key."""
    return {state.key: state for state in _TABLE.among(tx, access, "key", keys)}


def switch_on(tx: Tx, access: Access, key: str) -> bool:
    """Switch plan mode on; False if it was on already, and then nothing changes."""
    sql = (
        "INSERT INTO plan_modes (account_id, key, enabled, updated_at) VALUES (:account, :key, 1, :now) "
        "ON CONFLICT (account_id, key) DO UPDATE SET enabled = 1, updated_at = :now WHERE plan_modes.enabled = 0"
    )
    return tx.run(sql, access, key=key, now=tx.now) == 1


def replace_state(tx: Tx, access: Access, before: PlanState, after: PlanState) -> bool:
    """Replace a state that was read; False if it has changed since, and then nothing changes."""
    sql = (
        "UPDATE plan_modes SET enabled = :enabled, active_plan_id = :active_plan_id, updated_at = :updated_at "
        f"{_OF_SESSION} AND enabled = :was_enabled AND coalesce(active_plan_id, '') = :was_active"
    )
    seen = {"was_enabled": int(before.enabled), "was_active": before.active_plan_id or ""}
    return tx.run(sql, access, **_TABLE.values(after), **seen) == 1


def set_active_plan(tx: Tx, access: Access, key: str, plan_id: str) -> bool:
    """Set the active plan of a session in plan mode; False if it is not in plan mode."""
    sql = f"UPDATE plan_modes SET active_plan_id = :plan_id, updated_at = :now {_OF_SESSION} AND enabled = 1"
    return tx.run(sql, access, key=key, plan_id=plan_id, now=tx.now) == 1


def count_planning(tx: Tx, access: Access) -> int:
    return tx.value("SELECT count(*) FROM plan_modes WHERE account_id = :account AND enabled = 1", access) or 0
