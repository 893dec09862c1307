"""The invariants of plan mode, auto runs, goals and memory hold for any sequence of events."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.harness.blank_stores import BlankDatabases
from tests.invariants.engines import on_postgresql
from tests.invariants.test_lanes_and_generations import QUIET
from tests.invariants.worlds import Worlds
from tests.requirements.mark import requirement


@requirement("S3.inv.1", "S3.inv.2", "S3.inv.3", "S3.inv.4", "S3.inv.5", "S3.inv.6")
@pytest.mark.timeout(300)
def test_no_sequence_of_events_lets_a_session_change_or_read_another() -> None:
    run_state_machine_as_test(
        Worlds,
        settings=settings(max_examples=20, stateful_step_count=20, suppress_health_check=QUIET),
    )


@pytest.mark.timeout(300)
def test_no_sequence_of_events_lets_a_session_change_or_read_another_on_postgresql(
    blank_databases: BlankDatabases,
) -> None:
    run_state_machine_as_test(
        on_postgresql(Worlds, blank_databases),
        settings=settings(max_examples=3, stateful_step_count=15, suppress_health_check=QUIET),
    )
