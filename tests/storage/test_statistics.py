"""Statistics for PostgreSQL's planner, and plans that do not need them."""

import pytest

from carrel.kernel.limits import ANALYZED_ROWS_MIN, WRITES_PER_LOOK_AT_STATISTICS
from carrel.storage import Database, Tx
from carrel.storage.postgres import Statistics, connect
from carrel.storage.statements import Statements
from tests.harness.engine import opened

_ACCOUNT = "INSERT INTO accounts (id, slug, name, settings, created_at) VALUES ('a', 'a', 'a', '{}', 0)"
_PUT = "INSERT INTO followers (account_id, name, cursor, worker, updated_at) VALUES ('a', :name, 1, '', 0)"


async def furnish(db: Database, rows: int) -> None:
    def work(tx: Tx) -> None:
        tx.run(_ACCOUNT)
        tx.run_many(_PUT, [{"name": str(at)} for at in range(rows)])
        # Otherwise the server counts them a second later.
        tx.one("SELECT pg_stat_force_next_flush()")

    await db.write(work)


@pytest.mark.parametrize(("rows", "analyzed"), [(ANALYZED_ROWS_MIN - 1, []), (ANALYZED_ROWS_MIN, ["public.followers"])])
async def test_a_table_is_analyzed_once_when_it_has_enough_rows(
    postgres_url: str, rows: int, analyzed: list[str]
) -> None:
    async with opened(postgres_url) as db:
        await furnish(db, rows)
        with connect(postgres_url, "full") as connection:
            assert Statistics().gather(Statements(connection)) == analyzed
            assert Statistics().gather(Statements(connection)) == []


def test_statistics_are_looked_for_after_every_so_many_writes() -> None:
    statistics = Statistics()
    due = [at for at in range(1, 2 * WRITES_PER_LOOK_AT_STATISTICS + 1) if statistics.is_due()]
    assert due == [WRITES_PER_LOOK_AT_STATISTICS, 2 * WRITES_PER_LOOK_AT_STATISTICS]
