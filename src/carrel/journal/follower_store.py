"""The SQL of followers: how far each has come, and which worker holds its lease."""

from msgspec import Struct

from carrel.kernel import Access, system_access
from carrel.kernel.limits import WAITING_COUNTED_MAX
from carrel.storage import Tx

# A new follower of an account begins with the oldest kept event. One event is looked up, because for EXISTS PostgreSQL
# may join all of them.
_BEHIND = (
    "FROM accounts a LEFT JOIN followers f ON f.account_id = a.id AND f.name = :name "
    "WHERE (f.lease_until IS NULL OR f.lease_until <= :now) AND (SELECT e.seq FROM events e "
    "WHERE e.account_id = a.id AND e.seq > COALESCE(f.cursor, 0) ORDER BY e.seq LIMIT 1) <= :horizon"
)


class Position(Struct, frozen=True):
    """How far a follower has come in one account, held by one worker."""

    account_id: str
    name: str
    cursor: int
    worker: str

    @property
    def access(self) -> Access:
        return system_access(self.account_id)


def positions_behind(tx: Tx, name: str, worker: str, limit: int) -> list[Position]:
    """Return positions behind the settled events that no worker holds, for this worker to lease."""
    sql = f"SELECT a.id, COALESCE(f.cursor, 0) {_BEHIND} ORDER BY a.id LIMIT :limit"
    rows = tx.all(sql, name=name, now=tx.now, horizon=tx.horizon(), limit=limit)
    return [Position(account_id, name, cursor, worker) for account_id, cursor in rows]


def take_position(tx: Tx, access: Access, name: str, worker: str, lease_until: int) -> Position | None:
    """Lease a follower's position in an account; None if another worker was faster."""
    sql = (
        "INSERT INTO followers (account_id, name, cursor, worker, lease_until, updated_at) "
        "VALUES (:account, :name, 0, :worker, :lease_until, :now) ON CONFLICT (account_id, name) DO UPDATE "
        "SET worker = :worker, lease_until = :lease_until, updated_at = :now "
        "WHERE followers.lease_until IS NULL OR followers.lease_until <= :now RETURNING cursor"
    )
    row = tx.one(sql, access, name=name, worker=worker, lease_until=lease_until, now=tx.now)
    return None if row is None else Position(access.account_id, name, row[0], worker)


def advance_position(tx: Tx, access: Access, position: Position, cursor: int, lease_until: int | None) -> bool:
    """Advance a position and extend or end its lease; False, with nothing written, if the lease has expired."""
    sql = (
        "UPDATE followers SET cursor = :cursor, lease_until = :lease_until, updated_at = :now "
        "WHERE account_id = :account AND name = :name AND worker = :worker AND cursor = :before AND lease_until > :now"
    )
    held = {"name": position.name, "worker": position.worker, "before": position.cursor}
    return tx.run(sql, access, cursor=cursor, lease_until=lease_until, now=tx.now, **held) > 0


def move_position(tx: Tx, access: Access, position: Position, cursor: int) -> bool:
    """Advance an unleased position; False, with nothing written, if it was moved meanwhile."""
    sql = (
        "INSERT INTO followers (account_id, name, cursor, worker, updated_at) "
        "VALUES (:account, :name, :cursor, :worker, :now) ON CONFLICT (account_id, name) DO UPDATE "
        "SET cursor = :cursor, worker = :worker, lease_until = NULL, updated_at = :now WHERE followers.cursor = :before"
    )
    made = {"name": position.name, "worker": position.worker, "before": position.cursor}
    return tx.run(sql, access, cursor=cursor, now=tx.now, **made) > 0


def release_positions(tx: Tx, name: str) -> int:
    """End every lease of a follower: for the only server of a store at its start, when it holds none."""
    return tx.run("UPDATE followers SET lease_until = NULL WHERE name = :name AND lease_until IS NOT NULL", name=name)


def feed_is_late(tx: Tx, before: int) -> bool:
    """Return whether an event from before a moment is still held back by the horizon, or unhandled by a follower."""
    oldest = "SELECT e.at FROM events e WHERE e.account_id = {} AND e.seq > {} ORDER BY e.seq LIMIT 1"
    held_back = f"SELECT 1 FROM accounts a WHERE ({oldest.format('a.id', ':horizon')}) < :before"
    unhandled = f"SELECT 1 FROM followers f WHERE ({oldest.format('f.account_id', 'f.cursor')}) < :before"
    return tx.one(f"{held_back} UNION ALL {unhandled} LIMIT 1", horizon=tx.horizon(), before=before) is not None


def events_behind(tx: Tx, access: Access) -> dict[str, int]:
    """Return how many events, up to a limit, each follower of an account has not handled."""
    names = tx.all("SELECT f.name FROM followers f WHERE f.account_id = :account", access)
    return {name: oldest_unhandled(tx, access, name)[0] for (name,) in names}


def oldest_unhandled(tx: Tx, access: Access, name: str) -> tuple[int, int | None]:
    """Return how many events, up to a limit, a follower has not handled, and when the oldest was written."""
    cursor = "COALESCE((SELECT f.cursor FROM followers f WHERE f.account_id = :account AND f.name = :name), 0)"
    unhandled = f"FROM events WHERE account_id = :account AND seq > {cursor}"
    sql = (
        f"SELECT (SELECT count(*) FROM (SELECT 1 {unhandled} LIMIT :most) AS waiting), "
        f"(SELECT at {unhandled} ORDER BY seq LIMIT 1)"
    )
    row = tx.one(sql, access, name=name, most=WAITING_COUNTED_MAX)
    assert row is not None, "a count always has a row"
    return row[0], row[1]
