"""A seeded part of the trial on each store, and a proof that its checks find what they should."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos.trials import Report
from tests.requirements.mark import requirement
from tests.spawns.checks import Evidence, violations
from tests.spawns.clients import Said, Spawned
from tests.spawns.trial import try_spawns

SPAWNS = 40
SEED = 20_261
TRIAL_SECONDS_MAX = 400


def _try(url: str | None) -> Report:
    return asyncio.run(try_spawns(url, SPAWNS, SEED, print))


@requirement("S2.x.result.kept", "S2.x.lane.recovers")
@pytest.mark.timeout(TRIAL_SECONDS_MAX)
def test_no_result_is_lost_when_children_fail_servers_die_and_lanes_are_deleted() -> None:
    report = _try(None)
    assert not report.broken, report
    assert report.accepted >= SPAWNS
    assert report.kills


@requirement("S2.x.result.kept", "S2.x.lane.recovers")
@pytest.mark.timeout(TRIAL_SECONDS_MAX)
def test_no_result_is_lost_between_two_servers(postgres_url: str) -> None:
    report = _try(postgres_url)
    assert not report.broken, report
    assert report.accepted >= SPAWNS
    assert report.kills


ONE = Spawned("lane", "child", "run_a", "plain", "noted", "keep", by_person=False)
FINE = Evidence(
    exchanges={"run_a": ("delivered", "carry", None, "Status: completed", "lane", "child")},
    announced=Counter({("lane", "child"): 1}),
    runs={"run_a": "completed"},
    lanes={"lane", "child"},
    leftovers=0,
)
Spoil = Callable[[Evidence], Evidence]


def _in_state(state: str, error: str | None = None) -> Spoil:
    return lambda fine: replace(
        fine, exchanges={"run_a": (state, "handover", error, None if error is None else "text", "lane", "child")}
    )


SPOILED: dict[str, Spoil] = {
    "is lost": lambda fine: replace(fine, exchanges={}),
    "is still open": _in_state("open"),
    "does not say why": _in_state("undelivered"),
    "though its lane is there": _in_state("undelivered", "refused"),
    "nobody said so": _in_state("skipped"),
    "is in its lane 0 times": lambda fine: replace(fine, announced=Counter()),
    "was announced 2 times": lambda fine: replace(fine, announced=Counter({("lane", "child"): 2})),
    "is still running": lambda fine: replace(fine, runs={"run_a": "running"}),
    "folders were left": lambda fine: replace(fine, leftovers=1),
}


def test_correct_evidence_shows_no_problem() -> None:
    assert violations(Said(spawned=[ONE]), FINE) == []


@pytest.mark.parametrize("complaint", SPOILED)
def test_a_broken_promise_is_reported(complaint: str) -> None:
    broken = violations(Said(spawned=[ONE]), SPOILED[complaint](FINE))
    assert any(complaint in sentence for sentence in broken), broken


def test_a_child_deleted_before_its_announce_is_reported() -> None:
    gone = replace(FINE, exchanges={}, announced=Counter(), lanes={"lane"})
    assert violations(Said(spawned=[replace(ONE, cleanup="delete")]), gone)
    announced = replace(gone, announced=Counter({("lane", "child"): 1}))
    assert not violations(Said(spawned=[replace(ONE, cleanup="delete")]), announced)
