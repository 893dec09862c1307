"""The horizon on PostgreSQL: the number up to which no open transaction of ours can still add a row.

Numbers are drawn before they are committed, so a reader that trusts the newest one misses a slower neighbour. Every
write therefore holds, from before its first number until it has ended, an advisory lock that names a number below all
that it will draw. A reader takes the newest number first and looks at these locks next: whoever has drawn up to that
number and is not seen holding a lock has ended. Transactions of other programs hold no such lock and delay nobody.
"""

import threading

from carrel.storage.statements import Statements

# The upper 16 bits of our advisory locks; the 48 below are the number.
_MARK = 0x4341
_FIRST = _MARK << 48
# A plain SELECT of `last_value` may see a value that was written ahead and that nobody has drawn; the function may not.
_NEWEST = "COALESCE(pg_sequence_last_value('ticks'), 0)"
NEWEST = f"SELECT {_NEWEST}"
_LOWEST_HELD = (
    f"SELECT min((classid::bigint << 32 | objid::bigint) - {_FIRST}) FROM pg_locks WHERE locktype = 'advisory' "
    f"AND objsubid = 1 AND classid::bigint >> 16 = {_MARK} "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# How every write begins. Its lock is shared, so it waits for nobody, and it is released after the commit is visible.
BEGIN = ("BEGIN", f"SELECT pg_advisory_xact_lock_shared({_FIRST} + {_NEWEST})")


class Horizon:
    """The horizon as one server knows it; it never goes back, since what is settled stays settled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # As far as it is known.
        self.settled = 0

    def look(self, statements: Statements) -> int:
        """Return the horizon now; rows are read afterwards, by a statement that sees what was committed until then."""
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
