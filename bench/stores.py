"""The stores that a benchmark is measured on."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from bench.figures import Figure, skipped
from tests.postgres import PostgresMissing, PostgresServer, postgres_server

T = TypeVar("T")
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
STORES = {"sqlite": (SQLITE,), "postgresql": (POSTGRES,), "both": (SQLITE, POSTGRES)}


def on_postgres(benchmark: str, durability: str, measure: Callable[[PostgresServer], list[Figure]]) -> list[Figure]:
    """Measure on a PostgreSQL server made for it; where there is none, the figures say so."""
    try:
        with postgres_server(fsync=durability == "full") as server:
            return measure(server)
    except PostgresMissing as missing:
        return [skipped(benchmark, f"{benchmark} on {POSTGRES}", str(missing))]


def named_after(store: str, figures: list[Figure]) -> list[Figure]:
    """Return figures whose names say on which store they were measured."""
    return [structs.replace(figure, name=f"{figure.name}, on {store}") for figure in figures]
