"""The invariants of lanes and generations hold for any sequence of events."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.harness.blank_stores import BlankDatabases
from tests.invariants.engines import on_postgresql
from tests.invariants.machine import Lanes
from tests.requirements.mark import requirement

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@requirement("S1.dispatch.serial", "S1.x.order.kept", "S0.session.unique")
def test_no_sequence_of_events_breaks_a_lane_or_a_generation() -> None:
    run_state_machine_as_test(
        Lanes,
        settings=settings(max_examples=60, stateful_step_count=50, suppress_health_check=QUIET),
    )


@pytest.mark.timeout(120)
def test_no_sequence_of_events_breaks_them_on_postgresql(blank_databases: BlankDatabases) -> None:
    run_state_machine_as_test(
        on_postgresql(Lanes, blank_databases),
        settings=settings(max_examples=5, stateful_step_count=20, suppress_health_check=QUIET),
    )
