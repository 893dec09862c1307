"""A few rounds of chaos on each store, and a proof that the checks see what they are there to see."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.clients import Follower, Said
from tests.chaos.gateway import ChaosGateway, Interval
from tests.chaos.promises import Evidence, violations
from tests.chaos.rounds import wreak
from tests.chaos.servers import Servers
from tests.chaos.trials import Report
from tests.requirements.mark import requirement

ROUNDS = 3
SEED = 20_260
CHAOS_SECONDS_MAX = 300


def _wreak(url: str | None) -> Report:
    return asyncio.run(wreak(url, ROUNDS, SEED, print))


@requirement("P.kill")
@pytest.mark.timeout(CHAOS_SECONDS_MAX)
def test_a_server_killed_at_any_moment_loses_no_message_and_repeats_no_write() -> None:
    report = _wreak(None)
    assert not report.broken, report
    assert report.accepted
    assert report.kills == ROUNDS


@requirement("P.kill", "P.engine.two")
@pytest.mark.timeout(CHAOS_SECONDS_MAX)
def test_two_servers_on_one_store_lose_nothing_and_never_work_on_a_lane_together(postgres_url: str) -> None:
    report = _wreak(postgres_url)
    assert not report.broken, report
    assert report.accepted
    assert report.kills >= ROUNDS


# One lane, two messages, the first with an artifact: (id, key, seq, text, state, reply, reason, error_code).
FINE = Evidence(
    runs=[
        ("run_a", "key", 1, "lane 0 write", "completed", "heard lane 0", None, None),
        ("run_b", "key", 3, "lane 1 plain", "failed", None, "interrupted", "interrupted"),
    ],
    events=[
        (1, "run.started", "key", "run_a", "{}"),
        (2, "run.completed", "key", "run_a", "{}"),
        (3, "run.started", "key", "run_b", "{}"),
        (4, "run.failed", "key", "run_b", "{}"),
    ],
    artifacts=[("run_a", "one")],
    heard=[("run_a", "user"), ("run_a", "assistant"), ("run_b", "user")],
    lanes=[("key", 0)],
)
ACCEPTED = {("lane", 0): "run_a", ("lane", 1): "run_b"}
REQUESTS = [Interval("lane", 0, 1.0, 2.0), Interval("lane", 1, 3.0, 4.0)]

Spoil = Callable[[Evidence], Evidence]
SPOILED: dict[str, Spoil] = {
    "is lost": lambda fine: replace(fine, runs=fine.runs[1:], artifacts=[]),
    "became 2 runs": lambda fine: replace(fine, runs=[*fine.runs, ("run_c", *fine.runs[0][1:])]),
    "nothing says why": lambda fine: replace(fine, runs=[fine.runs[0], (*fine.runs[1][:6], None, None)]),
    "is still running": lambda fine: replace(
        fine, runs=[fine.runs[0], (*fine.runs[1][:4], "running", None, None, None)]
    ),
    "was answered 'heard lane 1'": lambda fine: replace(
        fine, runs=[(*fine.runs[0][:5], "heard lane 1", None, None), fine.runs[1]]
    ),
    "while run_a was running": lambda fine: replace(
        fine, events=[fine.events[0], (2, "run.started", "key", "run_b", "{}"), *fine.events[1:2], fine.events[3]]
    ),
    "in the order [1, 0]": lambda fine: replace(fine, events=[*fine.events[2:], *fine.events[:2]]),
    "added the artifact one 2 times": lambda fine: replace(fine, artifacts=fine.artifacts * 2),
    "its artifact is not there": lambda fine: replace(fine, artifacts=[]),
    "has 2 entries of user": lambda fine: replace(fine, heard=[*fine.heard, ("run_b", "user")]),
    "counts 1 runs and holds 0": lambda fine: replace(fine, lanes=[("key", 1)]),
    "the follower missed [5]": lambda fine: replace(
        fine, events=[*fine.events, (5, "log.appended", "key", None, "{}")]
    ),
}


@pytest.fixture
def follower() -> Follower:
    """A follower that has seen the four events of the fine evidence."""
    with ChaosGateway(0) as gateway:
        followed = Follower(Servers(Path("nowhere"), None, gateway), "")
    followed.seen = [1, 2, 3, 4]
    return followed


def test_correct_evidence_shows_no_problem(follower: Follower) -> None:
    assert violations(Said(runs=ACCEPTED), FINE, REQUESTS, follower) == []


@pytest.mark.parametrize("complaint", SPOILED)
def test_a_broken_promise_is_reported(complaint: str, follower: Follower) -> None:
    broken = violations(Said(runs=ACCEPTED), SPOILED[complaint](FINE), REQUESTS, follower)
    assert any(complaint in sentence for sentence in broken), broken


def test_two_requests_at_once_for_one_lane_are_told(follower: Follower) -> None:
    overlapping = [REQUESTS[0], Interval("lane", 1, 1.5, 4.0)]
    assert violations(Said(runs=ACCEPTED), FINE, overlapping, follower)


def test_an_event_seen_twice_is_told(follower: Follower) -> None:
    follower.seen.append(4)
    assert violations(Said(runs=ACCEPTED), FINE, REQUESTS, follower)
