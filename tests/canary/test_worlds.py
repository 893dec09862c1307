"""A seeded share of the worlds; `python -m tests.canary --worlds 2000` lives through more of them."""

import pytest

from tests.canary.checks import leaks
from tests.canary.world import try_world
from tests.requirements.mark import requirement

WORLDS = 30


@requirement("S0.session.pair.tasks", "S0.reopen.fresh", "S0.isolation.thread", "S0.isolation.overview")
@pytest.mark.parametrize("seed", range(WORLDS))
async def test_no_request_holds_text_of_another_account_task_or_of_before_a_reopening(seed: int) -> None:
    evidence, _ = await try_world(seed)
    assert leaks(evidence) == []


@requirement("S0.session.pair.tasks", "S0.reopen.fresh")
async def test_the_worlds_hold_on_postgresql_too(postgres_url: str) -> None:
    evidence, _ = await try_world(WORLDS, postgres_url)
    assert leaks(evidence) == []


async def test_the_share_of_worlds_sends_requests_from_every_kind_of_session() -> None:
    seen: set[str] = set()
    for seed in range(4):
        evidence, _ = await try_world(seed)
        seen |= {"task" if ":task:" in request.key else "base" for request in evidence.requests}
        seen |= {"reopened" for request in evidence.requests if evidence.epochs[request.place]}
    assert seen == {"task", "base", "reopened"}
