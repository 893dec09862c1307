"""Statistics for PostgreSQL's planner: gathered as soon as a table is large enough, not a minute later.

Without them the planner considers all indexes that begin with the account equally good, and reads through all rows of
the account. Autovacuum gathers them too, but a new store may have thousands of rows by then.
"""

from itertools import count

from carrel.kernel.limits import ANALYZED_ROWS_MIN, WRITES_PER_LOOK_AT_STATISTICS
from carrel.storage.statements import Statements

_UNKNOWN = (
    "SELECT format('%I.%I', schemaname, relname) FROM pg_stat_user_tables WHERE last_analyze IS NULL "
    "AND last_autoanalyze IS NULL AND n_live_tup >= :rows"
)


class Statistics:
    """Decides when to look for tables without statistics, and gathers them."""

    def __init__(self) -> None:
        self._writes = count(1)

    def is_due(self) -> bool:
        """Count a write; True if it is time to look. Any thread may ask."""
        return not next(self._writes) % WRITES_PER_LOOK_AT_STATISTICS

    def gather(self, statements: Statements) -> list[str]:
        """Analyze tables that never were, outside a transaction; return which. Later, autovacuum does it."""
        found = statements.rows(statements.execute(_UNKNOWN, {"rows": ANALYZED_ROWS_MIN}))
        for (table,) in found:
            # Skip a table that somebody else is analyzing now.
            statements.execute(f"ANALYZE (SKIP_LOCKED) {table}", {})
        return [table for (table,) in found]
