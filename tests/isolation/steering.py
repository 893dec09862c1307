"""Steering: people speak into runs that are at work, their own or not."""

import random
from dataclasses import dataclass

from tests.isolation.marks import Origin
from tests.isolation.recorder import Request
from tests.isolation.steps import PEOPLE
from tests.isolation.world import Side


@dataclass(frozen=True)
class Steering:
    """A message for a run at work: whether it was taken, and whether it joined the run or became one of its own."""

    who: str
    run: Request
    mark: str
    taken: bool
    joined: bool


async def steer(side: Side, run: Request, chance: random.Random) -> None:
    """Somebody says something into a run before its next step, by naming the run or its session."""
    who = chance.choice(PEOPLE)
    said = side.text(Origin(side.slug, "steering message", by=who))
    (mark,) = side.world.marks.found(said)
    if chance.random() < 0.5:
        told = await side.do(who, f"/api/runs/{run.run_id}/steer", {"message": said})
    else:
        told = await side.do(who, "/api/runs", {"sessionKey": run.key, "message": said, "steer": True})
    if told is not None:
        side.world.marks.origins[mark] = side.said_in(run.key, "steering message", by=who)
    joined = told is not None and told.get("steers") == run.run_id
    side.steerings.append(Steering(who, run, mark, told is not None, joined))
