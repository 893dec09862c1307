"""The same board on SQLite and on PostgreSQL: full contexts asked in turn, and how fast each is indexed."""

import os
import random
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

import uvloop

from bench.context.board import ASKED, SETTINGS, ask, p50, wait_for_recall, wait_indexed, write_entries
from bench.figures import Figure, at_most, compared, tell
from bench.stores import POSTGRES, SQLITE, on_postgres
from tests.harness.process import RunningServer, clean_environment
from tests.postgres import PostgresServer

NAME = "context"
ENTRIES = int(os.environ.get("CARREL_BENCH_CONTEXT_STORES_ENTRIES", "20000"))


def measure(durability: str) -> list[Figure]:
    """Contexts and indexing on PostgreSQL, each against SQLite."""
    return on_postgres(NAME, durability, lambda server: _measure(server, durability))


def _measure(postgres: PostgresServer, durability: str) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="carrel-bench-context-") as name, ExitStack() as running:
        urls = {SQLITE: f"sqlite:///{name}/{SQLITE}/carrel.db", POSTGRES: postgres.create_database()}
        servers, rates = dict[str, RunningServer](), dict[str, float]()
        for store, url in urls.items():
            folder = Path(name, store)
            folder.mkdir()
            environment = clean_environment(folder, CARREL_STORAGE__URL=url, **SETTINGS)
            # The first start makes the account.
            RunningServer(folder, environment).close()
            uvloop.run(write_entries(url, durability, 0, ENTRIES))
            servers[store] = running.enter_context(closing(RunningServer(folder, environment)))
            rates[store] = wait_indexed(servers[store], ENTRIES)
        taken = _ask_in_turn(servers)
    where = f"among {ENTRIES:,} entries on {POSTGRES}"
    medians = [(p50(taken[POSTGRES]), p50(taken[SQLITE]))]
    indexed = [(rates[POSTGRES], rates[SQLITE])]
    return [
        compared(NAME, f"full context {where}, p50", "ms", medians, yardstick=f"on {SQLITE}", bar=at_most(2)),
        compared(NAME, f"indexing {where}", "entries/s", indexed, yardstick=f"on {SQLITE}"),
    ]


def _ask_in_turn(servers: dict[str, RunningServer]) -> dict[str, list[float]]:
    """How many milliseconds full contexts took on each store: a slow moment of the machine is one for both."""
    tell(f"context: {ASKED} contexts on each store")
    chance, taken = random.Random(1), {store: list[float]() for store in servers}
    with ExitStack() as opened:
        clients = {store: opened.enter_context(server.client()) for store, server in servers.items()}
        for client in clients.values():
            wait_for_recall(client)
        for store in [*clients] * ASKED:
            taken[store].append(ask(clients[store], chance, "full"))
    return taken
