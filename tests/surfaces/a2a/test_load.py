"""Many clients at once on a real server: nothing is lost, duplicated or reordered."""

from pathlib import Path

from bench.a2a.proofs import flood_faults, flooded, order_faults
from tests.harness.process import servers_in
from tests.requirements.mark import requirement

CLIENTS, MESSAGES, CONTEXTS, SEED = 16, 6, 4, 7


@requirement("S1.dispatch.fifo", "S1.dispatch.serial", "S1.queue.notreject", "S1.x.idempotent", "S1.x.order.kept")
async def test_nothing_is_lost_duplicated_or_reordered_when_clients_share_contexts(tmp_path: Path) -> None:
    with servers_in(tmp_path) as start:
        server = start()
        url = f"{server.url}/a2a/main"
        flood = await flooded(url, server.token, clients=CLIENTS, messages=MESSAGES, contexts=CONTEXTS, seed=SEED)
        assert len(set(flood.tasks.values())) == CLIENTS * MESSAGES
        assert await flood_faults(url, server.token, flood) == []
        assert server.stop() == 0
    assert await order_faults(tmp_path) == []
