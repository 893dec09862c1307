"""How much of a store a context reads over HTTP: no more of a large board than of a small one."""

from collections.abc import Callable
from typing import TypeVar

import httpx

from carrel.storage import Database, LongTx, Tx
from tests.context.test_store import Counted
from tests.harness.engine import until_found
from tests.harness.server import open_http_server
from tests.harness.wrapped_database import WrappedDatabase
from tests.requirements.mark import requirement

T = TypeVar("T")
SESSION = "discord-1"
SENT_AT_ONCE = 200


class CountingDatabase(WrappedDatabase):
    """Counts the rows that are read."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.rows = 0

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self.db.read(lambda tx: self._counted(work, tx))

    async def long_read(
        self, work: Callable[[LongTx], T], *, seconds_max: float = 30, urgent: bool = True, feed: bool = True
    ) -> T:
        return await self.db.long_read(
            lambda tx: self._counted(work, tx), seconds_max=seconds_max, urgent=urgent, feed=feed
        )

    def _counted(self, work: Callable[..., T], tx: Tx) -> T:
        counted = Counted(tx)
        found = work(counted)
        self.rows += counted.rows
        return found


async def send(client: httpx.AsyncClient, first: int, last: int) -> None:
    """Send lines of one session, of which only the first says anything of a valve."""
    source = {"sessionKey": SESSION, "channel": "discord"}
    lines = [
        {"type": "conversation", "content": f"Line {at} is about sheep." if at else "The left valve leaks.",
         "agentId": "user", "topicId": "boiler", "source": source | {"messageId": str(at)}}
        for at in range(first, last)
    ]  # fmt: skip
    for at in range(0, len(lines), SENT_AT_ONCE):
        (await client.post("/api/ingest", json={"entries": lines[at : at + SENT_AT_ONCE]})).raise_for_status()


async def stored(client: httpx.AsyncClient, number: int) -> None:
    """Wait until a line is stored; they are stored in their order."""

    async def newest() -> list[str]:
        answer = await client.get("/api/log", params={"sessionKey": SESSION, "limit": 1})
        return [log["content"] for log in answer.json()["logs"]]

    await until_found(newest, lambda lines: lines and lines[0].startswith(f"Line {number} "))


@requirement("S4.accept")
async def test_ten_times_the_entries_are_not_more_rows_for_a_context(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url) as server, server.client() as client:
        counting = CountingDatabase(server.db.db)  # type: ignore[attr-defined]
        server.db.db = counting  # type: ignore[attr-defined]
        (await client.post("/api/topics", json={"id": "boiler", "name": "Boiler"})).raise_for_status()

        async def rows(mode: str) -> int:
            """Return how many rows a call reads once the index is in memory."""
            query = {"sessionKey": SESSION, "q": "Which valve leaks?", "mode": mode}
            before = 0
            for _ in range(2):
                before = counting.rows
                block = (await client.get("/api/context", params=query)).raise_for_status().json()["block"]
                assert "about sheep" in block
            return counting.rows - before

        costs: list[dict[str, int]] = []
        for first, last in ((0, 400), (400, 4_000)):
            if costs:
                server.start()
            await send(client, first, last)
            await stored(client, last - 1)
            await server.indexed()
            # Nothing but the call itself reads any more.
            await server.kill()
            costs.append({mode: await rows(mode) for mode in ("cheap", "auto", "full", "patient")})
        assert costs[1] == costs[0]
