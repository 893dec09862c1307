"""Reading a world through every door, and holding what is seen against the model."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from tests.isolation.difference import Difference
from tests.isolation.facts import Agent, Facts, Person
from tests.isolation.life import live
from tests.isolation.marks import Origin
from tests.isolation.model import (
    Turn,
    why_hidden_from_agent,
    why_hidden_from_client,
    why_hidden_from_person,
    why_hidden_from_turn,
)
from tests.isolation.movement import judge_copies, judge_steering
from tests.isolation.readers import DOORS, EVERYTHING, FENCE, Door, Question, ask, kind_of, look_around, nothing
from tests.isolation.recorder import Look, Request
from tests.isolation.steps import AGENTS
from tests.isolation.world import OPEN_SPACE, Caller, Side, World, open_world

# What a run reads by name: lanes by the visibility rule, tasks by their spaces.
READING_TOOLS = (
    "sessions_list", "sessions_history", "session_status", "task_history", "task_load", "goal_list", "file_list",
    "file_read",
)  # fmt: skip


# What stands in the transcript of a chat, once its run has begun.
SAID = ("message", "reply")


async def try_world(seed: int, url: str | None = None) -> tuple[list[Difference], World]:
    """Live through the world of a seed; return the differences, and the world as it was."""
    async with open_world(seed, url) as world:
        world.look = look_around
        await live(world)
        return await differences(world), world


async def differences(world: World) -> list[Difference]:
    """Read everything and return each difference once."""
    await world.catch_up()
    await world.harvest()
    await raise_fences(world)
    found: dict[tuple[str, str, str], Difference] = {}
    hear(world)
    for side in world.sides:
        note(found, judge_copies(world, side))
        for steering in side.steerings:
            note(found, judge_steering(world, side, steering))
        for request in world.model.requests:
            # A replay sends what its person may read, which is judged with the replay itself.
            if request.account == side.slug and request.run_id not in side.replays:
                note(found, judge_request(world, side, request))
        for look in world.model.looks:
            if look.request.account == side.slug:
                note(found, judge_look(world, side, look))
        for caller, name, text in side.heard:
            note(found, judge_answer(world, side, caller, Door(name, nothing), Question(name), text))
        for caller in callers_of(world, side):
            async for one in read_all(world, side, caller):
                note(found, one)
        for caller in side.callers.values() if side is world.sides[0] else ():
            if caller.person is not None:
                note(found, await missing(world, side, caller))
    return list(found.values())


def note(found: dict[tuple[str, str, str], Difference], new: list[Difference]) -> None:
    """Keep those that are new: one for each reader, door and mark."""
    for one in new:
        found.setdefault((one.who, one.door, one.mark), one)


async def raise_fences(world: World) -> None:
    """Make the last event of each account one that everybody sees, where every stream can end."""
    for side in world.sides:
        body = {"id": "topic-fence", "name": "Fence", "spaceId": OPEN_SPACE, "description": FENCE}
        await side.do("owner", "/api/topics", body)


def callers_of(world: World, side: Side) -> list[Caller]:
    """Return who reads: one of each kind in the first account, and one person in its twin."""
    drawn = ["owner", "lim", "program", world.chance.choice(("ann", "bob")), f"agent {world.chance.choice(AGENTS)}"]
    names = drawn if side is world.sides[0] else [world.chance.choice(("ann", "bob"))]
    return [side.callers[name] for name in names]


async def read_all(world: World, side: Side, caller: Caller) -> AsyncIterator[list[Difference]]:
    """Read every door as one caller."""
    for door in DOORS:
        if kind_of(caller) not in door.who or (kind_of(caller) == "owner" and not door.concerns_owner):
            continue
        for question in door.ask(side):
            answer = await ask(caller.client, question)
            world.read.add(question.path)
            world.done[f"read {door.name} {answer.status // 100}"] += 1
            yield judge_answer(world, side, caller, door, question, answer.text)


def judge_answer(
    world: World, side: Side, caller: Caller, door: Door, asked: Question, text: str
) -> list[Difference]:  # fmt: skip
    """Hold an answer against the rule of its reader."""
    found: list[Difference] = []
    for mark in sorted(world.marks.found(text)):
        origin = world.marks.origins[mark]
        why = why_hidden(side, caller, door, asked, mark, origin)
        if why is not None:
            found.append(Difference(world.seed, caller.name, door.name, mark, origin, why, str(asked)))
    return found


def why_hidden(side: Side, caller: Caller, door: Door, asked: Question, mark: str, origin: Origin) -> str | None:
    """Return why somebody may not see a mark at a door, if they may not."""
    facts, now = side.facts, door.recalls or door.is_present
    if caller.program is not None:
        return why_hidden_from_client(facts, caller.program, origin)
    if caller.person is not None:
        why = why_hidden_from_person(facts, caller.person, mark, origin, now=now)
        # A name that no lane has is a program's own.
        if why is None and asked.lane is not None and not asked.lane.endswith("-other"):
            return why_hidden_from_turn(facts, Turn(asked.lane, cause=caller.person), mark, origin, now=now)
        return why
    assert caller.agent is not None
    home = Turn(f"agent:{caller.agent.name}:main")
    return why_hidden_at_door(facts, caller.agent, home, door, mark, origin)


def why_hidden_at_door(
    facts: Facts, agent: Agent, turn: Turn, door: Door, mark: str, origin: Origin
) -> str | None:  # fmt: skip
    """Return why an agent in a lane may not see a mark at a door, if it may not."""
    if not door.recalls:
        return why_hidden_from_agent(facts, agent, turn, mark, origin, now=door.is_present)
    return why_hidden_from_turn(facts, turn, mark, origin, now=True)


def hear(world: World) -> None:
    """Learn what tools have read in which lanes; whether they might is judged for itself."""
    for side in world.sides:
        for request in world.model.requests:
            if request.account == side.slug and request.run_id not in side.replays:
                for mark in world.marks.found(results_in(request.body)) - side.copied_to(request.key):
                    side.facts.heard.setdefault(mark, set()).add(request.key)


def judge_look(world: World, side: Side, look: Look) -> list[Difference]:
    """Hold what a run's own token was shown against the rules of the run and of its agent."""
    request = look.request
    cause = side.facts.people.get(side.causes.get(request.run_id, ""))
    turn, agent = Turn(request.key, request.task_id, cause), side.facts.agents[request.key.split(":")[1]]
    found: list[Difference] = []
    for door, asked, text in look.answers:
        for mark in sorted(world.marks.found(text)):
            origin = world.marks.origins[mark]
            why = why_hidden_at_door(side.facts, agent, turn, door, mark, origin)
            if why is not None:
                name = f"token of a run in {request.key}"
                found.append(Difference(world.seed, name, door.name, mark, origin, why, str(asked)))
    return found


def judge_request(world: World, side: Side, request: Request) -> list[Difference]:
    """Hold what a model was sent against the rule of its run."""
    cause = side.facts.people.get(side.causes.get(request.run_id, ""))
    turn = Turn(request.key, request.task_id, cause)
    agent = side.facts.agents[request.key.split(":")[1]]
    read, shown = parted(request.body)
    found: list[Difference] = []
    for text, what in ((shown, "request"), (read, "request, read by a tool")):
        for mark in sorted(world.marks.found(text)):
            origin = world.marks.origins[mark]
            if what == "request":
                why = why_hidden_from_turn(side.facts, turn, mark, origin)
            else:
                # What a tool has read makes nothing of it lawful.
                why = why_hidden_from_agent(replace(side.facts, heard={}), agent, turn, mark, origin)
            if why is not None:
                found.append(Difference(world.seed, f"run in {request.key}", what, mark, origin, why))
    return found


def results_in(body: dict[str, Any]) -> str:
    """Return what tools have answered a run."""
    items = body["input"] if isinstance(body["input"], list) else []
    told = [item for item in items if item.get("type") == "function_call_output"]
    return json.dumps(told, ensure_ascii=False)


def parted(body: dict[str, Any]) -> tuple[str, str]:
    """Return what a run read by name, and everything else that it was sent."""
    items = body["input"] if isinstance(body["input"], list) else []
    asked = {item["call_id"] for item in items if item.get("name") in READING_TOOLS}
    read = [item for item in items if item.get("type") == "function_call_output" and item["call_id"] in asked]
    rest = body | {"input": [item for item in items if item not in read] or body["input"]}
    return json.dumps(read, ensure_ascii=False), json.dumps(rest, ensure_ascii=False)


async def missing(world: World, side: Side, caller: Caller) -> list[Difference]:
    """Return what somebody must see and does not, so that a server that shows nothing does not pass."""
    person, origins, found = caller.person, world.marks.origins, list[Difference]()
    assert person is not None

    async def expect(door: str, question: Question, wanted: set[str]) -> None:
        seen = world.marks.found((await ask(caller.client, question)).text)
        world.done[f"expected {door}"] += len(wanted)
        found.extend(
            Difference(world.seed, person.name, door, mark, origins[mark], "it must be seen", str(question))
            for mark in sorted(wanted - seen)
        )

    visible = {
        mark: origin
        for mark, origin in origins.items()
        if origin.account == side.slug and why_hidden_from_person(side.facts, person, mark, origin) is None
    }
    for kind, path in (("note", "/api/notes"), ("task title", "/api/tasks")):
        query = {"limit": 1000 if kind == "note" else 500} | ({"includeArchived": 1} if kind != "note" else {})
        wanted = {mark for mark, origin in visible.items() if origin.kind == kind and _is_stored(person, origin)}
        await expect(kind, Question(path, query), wanted)
    for lane in [one for one in side.facts.lanes.values() if one.person == person.name and not one.was_reset]:
        subject = side.world.subjects[0]
        said = [mark for mark, origin in visible.items() if origin.lane == lane.key and origin.kind in SAID]
        await expect("own history", Question(f"/api/sessions/{lane.key}/history", {"limit": 1000}), set(said))
        wide = {"sessionKey": lane.key, "q": side.subject(), "timelineLimit": 40, "maxChars": 12_000}
        await expect("own recall", Question("/api/context", wide, lane=lane.key), set(said[-1:]))
        first = {mark for mark in said[-1:] if side.world.texts[mark].startswith(subject)}
        await expect("own search", Question("/api/search", {"q": subject, **EVERYTHING}), first)
    return found


def _is_stored(person: Person, origin: Origin) -> bool:
    """Whether it is a note or the title of a task, in a space that somebody sees."""
    is_there = origin.kind == "note" or origin.task is not None
    return is_there and ("*" in person.spaces or origin.space in person.spaces)
