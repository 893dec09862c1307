"""A state machine that keeps its store in a file, on PostgreSQL instead."""

from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from tests.harness.blank_stores import BlankDatabases


def on_postgresql(machine: type[RuleBasedStateMachine], databases: BlankDatabases) -> type[RuleBasedStateMachine]:
    """Return the machine with a blank database for each example; the machine asks `store_url` for it."""

    def store_url(self: Any) -> str:
        self.database_url = databases.take()
        return str(self.database_url)

    def teardown(self: Any) -> None:
        machine.teardown(self)
        databases.give_back(self.database_url)

    return type(f"{machine.__name__}OnPostgresql", (machine,), {"store_url": store_url, "teardown": teardown})
