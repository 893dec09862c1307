"""The horizon on PostgreSQL: the number up to which no open transaction of ours can still add a row.

Numbers are drawn before they are committed, so a reader that trusts the newest one misses slower transactions. Every
write therefore holds an advisory lock, from before its first number until it ends, whose key is below every number that
it will draw. A reader takes the newest number first and looks at these locks next: a write that drew a number up to it
and holds no lock any more has ended. Transactions of other programs hold no such lock and delay nobody.
"""

import threading

from carrel.storage.statements import Statements

# The upper 16 bits of our advisory locks; the 48 below are the number.
_MARK = 0x4341
_FIRST = _MARK << 48
# A plain SELECT of `last_value` may see a value that was logged ahead but not drawn; the function does not.
_NEWEST = "COALESCE(pg_sequence_last_value('ticks'), 0)"
NEWEST = f"SELECT {_NEWEST}"
_LOWEST_HELD = (
    f"SELECT min((classid::bigint << 32 | objid::bigint) - {_FIRST}) FROM pg_locks WHERE locktype = 'advisory' "
    f"AND objsubid = 1 AND classid::bigint >> 16 = {_MARK} "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# How every write begins. The lock is shared, so nobody waits for it, and it is released once the commit is visible.
BEGIN = ("BEGIN", f"SELECT pg_advisory_xact_lock_shared({_FIRST} + {_NEWEST})")


class Horizon:
    """The horizon as one server knows it; it never goes back, since settled numbers stay settled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The newest horizon known.
        self.settled = 0

    def look(self, statements: Statements) -> int:
        """Return the horizon now; read rows afterwards, in a statement that sees everything committed by then."""
        newest = _value(statements, NEWEST)
        # The order matters: a write that begins between these statements draws numbers above the newest one.
        if newest is not None and newest > self.settled:
            held = _value(statements, _LOWEST_HELD)
            with self._lock:
                self.settled = max(self.settled, newest if held is None else min(newest, held))
        return self.settled


def _value(statements: Statements, sql: str) -> int | None:
    value: int | None = statements.rows(statements.execute(sql, {}))[0][0]
    return value
