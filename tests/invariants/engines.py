"""A state machine that keeps its store in a file, on PostgreSQL instead."""

from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from tests.postgres import PostgresServer


def on_postgresql(machine: type[RuleBasedStateMachine], postgres: PostgresServer) -> type[RuleBasedStateMachine]:
    """Return the machine with a database of its own for each example; the machine asks `store_url` for it."""

    def store_url(self: Any) -> str:
        self.database_url = postgres.create_database()
        return str(self.database_url)

    def teardown(self: Any) -> None:
        machine.teardown(self)
        postgres.drop_database(self.database_url)

    return type(f"{machine.__name__}OnPostgresql", (machine,), {"store_url": store_url, "teardown": teardown})
