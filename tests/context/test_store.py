"""How much a context reads: no more in a large journal than in a small one."""

from collections.abc import Callable
from functools import partial
from typing import Any

import apsw

from carrel.context import ContextRequest
from carrel.context.builder import read_board
from carrel.journal import entries_by_id
from carrel.kernel import Access
from carrel.kernel.limits import CONTEXT_TIMELINE_ROWS_MAX
from carrel.kernel.settings import Settings
from carrel.storage import Tx
from tests.context.whiteboard import Whiteboard, open_whiteboard
from tests.requirements.mark import requirement

BUCKET = "discord-1"
# The last lines are tool calls, so that a timeline has to look further.
_TALK = """
INSERT INTO entries (account_id, seq, id, type, role, content, author, provenance, attachment_ids, created_at, bucket,
    topic_id)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :many)
SELECT :account, tick(), 'ent_' || n, CASE WHEN n > :many - 50 THEN 'action' ELSE 'conversation' END, 'user',
    'line ' || n, 'user', '{"kind":"external_user"}', '[]', n, 'discord-1', 'launch' FROM numbers
"""


def _talk(tx: Tx, access: Access, many: int) -> None:
    tx.run(_TALK, access, many=many)


class Counted:
    """Passes statements on and counts the rows that they return."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.rows = 0

    def all(self, sql: str, access: Access | None = None, /, **values: object) -> list[Any]:
        found = self._tx.all(sql, access, **values)
        self.rows += len(found)
        return found

    def one(self, sql: str, access: Access | None = None, /, **values: object) -> Any:
        found = self._tx.one(sql, access, **values)
        self.rows += found is not None
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)


async def counted(board: Whiteboard, work: Callable[[Counted], None]) -> tuple[int, int]:
    """Return how many rows were read, and how much work the database had with it."""
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        return False

    def stepped(tx: Any) -> int:
        # Its statements are asked how many instructions they took, a hundred at a time.
        connection: apsw.Connection = tx._tx._connection if hasattr(tx, "_tx") else tx._connection
        connection.set_progress_handler(step, 100)
        counting = Counted(tx)
        work(counting)
        return counting.rows

    return await board.db.long_read(stepped), steps


async def read(board: Whiteboard) -> tuple[int, int]:
    """Return what a context of the session costs."""

    def work(tx: Any) -> None:
        found = read_board(tx, board.access, ContextRequest(reference=BUCKET), Settings())
        assert len(found.lines) == 7

    return await counted(board, work)


async def look_up(board: Whiteboard) -> tuple[int, int]:
    """Return what it costs to look up what a search has found."""

    def work(tx: Any) -> None:
        assert len(entries_by_id(tx, board.access, [f"ent_{n}" for n in range(1, 25)])) == 24

    return await counted(board, work)


@requirement("S4.context.bounded")
async def test_a_thousand_times_the_entries_are_not_more_rows_or_work(sqlite_url: str) -> None:
    async with open_whiteboard(sqlite_url) as board:
        await board.server.kill()
        await board.topic("Launch")
        costs = []
        for many in (100, 100_000):
            await board.db.write(lambda tx: tx.run("DELETE FROM entries WHERE account_id = :account", board.access))
            await board.db.write(partial(_talk, access=board.access, many=many))
            costs.append(await read(board))
        (few, little), (many_rows, much) = costs
        assert many_rows == few < 40
        # A hundred entries are fewer than those that are looked at in a long session.
        assert much < little * CONTEXT_TIMELINE_ROWS_MAX / 100


@requirement("S4.context.bounded")
async def test_what_was_found_is_looked_up_without_walking_through_all_entries(sqlite_url: str) -> None:
    async with open_whiteboard(sqlite_url) as board:
        await board.server.kill()
        await board.topic("Launch")
        await board.db.write(partial(_talk, access=board.access, many=100))
        few = await look_up(board)
        await board.db.write(lambda tx: tx.run("DELETE FROM entries WHERE account_id = :account", board.access))
        await board.db.write(partial(_talk, access=board.access, many=100_000))
        assert (await look_up(board))[1] < 2 * few[1] + 20
