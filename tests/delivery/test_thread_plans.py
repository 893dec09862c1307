"""Building a request costs the same however long the thread is: every read of it goes along an index."""

from itertools import cycle

import pytest

from carrel.journal import NewEntry, append_entry, entries_of_task
from carrel.kernel import Provenance
from carrel.storage import Row, Tx
from carrel.storage.database import InAccount
from tests.delivery.tasks import assign, make_task, notify
from tests.harness.server import Server, gateways_to, open_server
from tests.harness.wrapped_transaction import WrappedTransaction
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, text


class Explained(Exception):
    """The plan of a statement, instead of its rows."""


class Explaining(WrappedTransaction):
    """A transaction that explains the first statement it is given."""

    def __init__(self, tx: Tx, explain: str) -> None:
        super().__init__(tx)
        self._explain = explain

    def all(self, sql: str, access: InAccount | None = None, /, **values: object) -> list[Row]:
        raise Explained("\n".join(str(row) for row in super().all(f"{self._explain} {sql}", access, **values)))


@requirement("S0.isolation.thread", "S0.input.compact")
@pytest.mark.parametrize("before", [None, 2_000])
async def test_a_thread_is_read_along_its_index_from_the_newest_on(
    store_url: str, gateway: ScriptedGateway, before: int | None
) -> None:
    gateway.rule = lambda request: text("Good.")
    async with open_server(store_url, gateways_to(gateway)) as server:
        await server.make_agent("writer")
        task_id = await make_task(server)
        await assign(server, task_id, "writer")
        others = [await make_task(server, "Another") for _ in range(9)]
        await server.db.write(lambda tx: fill(tx, server, [task_id, *others], 3_000))
        if server.db.engine == "postgresql":
            await server.db.write(lambda tx: tx.run("ANALYZE entries"))
        explain = "EXPLAIN QUERY PLAN" if server.db.engine == "sqlite" else "EXPLAIN"

        def plan(tx: Tx) -> str:
            try:
                entries_of_task(Explaining(tx, explain), server.access, task_id, "thread", limit=5, before=before)
            except Explained as explained:
                return str(explained)
            raise AssertionError("nothing was read")

        found = await server.read(plan)
        assert "entries_by_task" in found, found
        assert not any(word in found for word in ("TEMP B-TREE", "Sort", "Seq Scan", "SCAN ")), found
        await notify(server, task_id, "@writer and now?")
    assert len(gateway.requests[-1].body) < 60_000


def fill(tx: Tx, server: Server, task_ids: list[str], count: int) -> None:
    """Write many messages into threads."""
    for number, task_id in zip(range(count), cycle(task_ids), strict=False):
        entry = NewEntry(
            type="conversation", role="user", content=f"line {number}", author="user",
            provenance=Provenance(kind="external_user"), task_id=task_id, task_view="thread",
        )  # fmt: skip
        append_entry(tx, server.access, entry)
