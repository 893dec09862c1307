"""Holding forks, replays and steering against the rules: who may, and what went along."""

from dataclasses import replace

from tests.isolation.copies import Copy
from tests.isolation.difference import Difference
from tests.isolation.marks import Origin
from tests.isolation.model import (
    Turn,
    why_closed_to_person,
    why_hidden_from_person,
    why_not_steered,
)
from tests.isolation.recorder import Request
from tests.isolation.steering import Steering
from tests.isolation.world import Side, World

SAID = ("message", "reply", "steering message")


def judge_copies(world: World, side: Side) -> list[Difference]:
    """Hold the forks and replays of an account against the rules, in their order: a copy may be copied again.

    What went along by right is in the chats of its makers from then on, and so known to them.
    """
    found: list[Difference] = []
    for copy in side.copies:
        judge = judge_fork if copy.kind == "fork" else judge_replay
        found += judge(world, side, copy)
        for mark in copy.marks if copy.lane is not None else ():
            if why_not_copied(world, side, copy, mark) is None:
                side.facts.copies.setdefault(mark, set()).add(copy.lane or "")
    return found


def why_not_copied(world: World, side: Side, copy: Copy, mark: str) -> str | None:
    """Return why a mark may not be in the chat that was made, if it may not: its maker may not read it."""
    origin, person = world.marks.origins[mark], side.facts.people[copy.who]
    if origin.lane == copy.lane:
        return None
    return why_hidden_from_person(side.facts, person, mark, origin)


def judge_fork(world: World, side: Side, copy: Copy) -> list[Difference]:
    """Return what a fork shows too much or too little of."""
    person = side.facts.people[copy.who]
    closed = why_closed_to_person(side.facts, person, copy.origin)
    if copy.lane is None:
        # A limited person is refused at an entry that is hidden from them.
        is_refused_by_right = closed is not None or "*" not in person.spaces or not copy.source
        return [] if is_refused_by_right else [_about(world, side, copy, "it may be forked")]
    found = [_about(world, side, copy, closed)] if closed is not None else []
    found += [_seen(world, copy, mark, "it was not said up to there") for mark in sorted(copy.marks - copy.source)]
    found += [
        _seen(world, copy, mark, why)
        for mark in sorted(copy.marks & copy.source)
        if (why := why_not_copied(world, side, copy, mark)) is not None
    ]
    wanted = {mark for mark in copy.source if _is_said_in(world, mark, copy.origin)} if "*" in person.spaces else set()
    return found + [_seen(world, copy, mark, "it must be in the fork") for mark in sorted(wanted - copy.marks)]


def _is_said_in(world: World, mark: str, key: str) -> bool:
    origin = world.marks.origins[mark]
    return origin.lane == key and origin.kind in SAID


def judge_replay(world: World, side: Side, copy: Copy) -> list[Difference]:
    """Return what a replay sends of what its person may not read, or that it was refused where they read all."""
    person, facts = side.facts.people[copy.who], side.facts
    hidden = {mark: why for mark in copy.source if (why := why_not_copied(world, side, copy, mark)) is not None}
    if copy.lane is None:
        is_sent = any(request.run_id == copy.origin for request in world.model.requests)
        is_theirs = person.is_owner or _is_own_chat(side, copy)
        return [_about(world, side, copy, "it may be replayed")] if is_sent and is_theirs and not hidden else []
    found = [_seen(world, copy, mark, why) for mark, why in sorted(hidden.items())]
    for request in world.model.requests:
        if request.run_id == copy.run_id:
            found += [
                Difference(world.seed, f"replay of {copy.who}", "request", mark, world.marks.origins[mark], why)
                for mark in sorted(world.marks.found(request.text))
                if (why := why_hidden_from_person(facts, person, mark, world.marks.origins[mark])) is not None
            ]
    return found


def _is_own_chat(side: Side, copy: Copy) -> bool:
    run = next((one for one in side.world.model.requests if one.run_id == copy.origin), None)
    is_cause = side.causes.get(copy.origin) == copy.who
    return run is not None and is_cause and side.lane(run.key).person == copy.who and run.task_id is None


def judge_steering(world: World, side: Side, steering: Steering) -> list[Difference]:
    """Return what whoever spoke into a run may not see of it, and whether they were let in by right."""
    facts, run, person = side.facts, steering.run, side.facts.people[steering.who]
    cause = side.causes.get(run.run_id)
    turn = Turn(run.key, run.task_id, facts.people.get(cause or ""))
    why, closed = why_not_steered(facts, person, turn), why_closed_to_person(facts, person, run.key)
    at = (steering.who, "steering", steering.mark, world.marks.origins[steering.mark])
    found: list[Difference] = []
    if steering.taken and closed is not None:
        found.append(Difference(world.seed, *at, closed))
    # Who caused a run of other runs is not known here; what is in its requests is judged all the same.
    if steering.joined and why is not None and cause is not None:
        found.append(Difference(world.seed, *at, why))
    if not steering.joined and why is None:
        found.append(Difference(world.seed, *at, "it may be said into the run"))
    heard = [one for one in world.model.requests if one.run_id == run.run_id and steering.mark in one.text]
    if steering.joined and not heard:
        found.append(Difference(world.seed, *at, "it must be heard at the next step"))
    for request in heard if steering.joined else ():
        found += _beyond(world, side, replace(turn, cause=person), request)
    return found


def _beyond(world: World, side: Side, turn: Turn, request: Request) -> list[Difference]:
    """What a request holds that whoever spoke into its run may not see."""
    assert turn.cause is not None
    return [
        Difference(world.seed, f"{turn.cause.name} in the run of {turn.lane}", "steered request", mark, origin, why)
        for mark in sorted(world.marks.found(request.text))
        for origin in [world.marks.origins[mark]]
        if (why := why_hidden_from_person(side.facts, turn.cause, mark, origin)) is not None
    ]


def _seen(world: World, copy: Copy, mark: str, why: str) -> Difference:
    return Difference(world.seed, copy.who, copy.kind, mark, world.marks.origins[mark], why, copy.origin)


def _about(world: World, side: Side, copy: Copy, why: str) -> Difference:
    return Difference(world.seed, copy.who, copy.kind, "", Origin(side.slug, copy.origin), why)
