"""Random worlds of sessions, and a second opinion on who may see what in them.

`python -m tests.tools.sights --cases 10000` compares the tools with that opinion; the suite does a share of it.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import Struct

from carrel.kernel import Access, Refusal, SessionKey
from carrel.kernel.settings import (
    AgentDefaultsSettings,
    AgentsSettings,
    SandboxDefaultsSettings,
    Settings,
    ToolsAgentToAgentSettings,
    ToolsSessionsSettings,
    ToolsSettings,
)
from carrel.runs import Rules
from carrel.sessions import Lane, Profile, agent_by_id, insert_lane, lane_of, make_agent
from carrel.storage import Tx
from carrel.tools import CATALOG, Surroundings, run_desk
from tests.engine import Engine, open_engine

Mode = Literal["self", "tree", "agent", "all"]
MODES: tuple[Mode, ...] = ("self", "tree", "agent", "all")


class Place(Struct, frozen=True):
    """A lane as the second opinion knows it."""

    key: str
    agent: str
    parent: str | None
    sandboxed: bool


class World(Struct, frozen=True):
    """Agents with their profiles, and lanes with their parents."""

    profiles: dict[str, Profile]
    places: dict[str, Place]


def rules_of(chance: random.Random) -> Settings:
    """Settings as an operator might choose them."""
    patterns = [(), ("*",), ("main",), ("main", "a*"), ("A1", "main"), ("b?",)]
    return Settings(
        tools=ToolsSettings(
            sessions=ToolsSessionsSettings(visibility=chance.choice(MODES)),
            agent_to_agent=ToolsAgentToAgentSettings(
                enabled=chance.random() < 0.6, allow=tuple(chance.choice(patterns))
            ),
        ),
        agents=AgentsSettings(
            defaults=AgentDefaultsSettings(
                sandbox=SandboxDefaultsSettings(session_tools_visibility=chance.choice(("spawned", "all")))
            )
        ),
    )


def sees(world: World, settings: Settings, caller: Place, target: Place) -> bool:
    """The rule once more, written down without looking at the code."""
    profile = world.profiles[caller.agent]
    mode = profile.visibility or settings.tools.sessions.visibility
    boxed = caller.sandboxed or profile.sandbox == "on"
    if boxed and settings.agents.defaults.sandbox.session_tools_visibility == "spawned" and mode != "self":
        mode = "tree"
    if target.key == caller.key:
        return True
    above, ancestors = target.parent, set()
    while above is not None and above not in ancestors:
        ancestors.add(above)
        above = world.places[above].parent
    if mode == "self":
        return False
    if caller.key in ancestors:
        return True
    if mode == "tree":
        return False
    if target.agent == caller.agent:
        return True
    rule = settings.tools.agent_to_agent
    named = [any(fnmatchcase(one, pattern.lower()) for pattern in rule.allow) for one in (caller.agent, target.agent)]
    return mode == "all" and rule.enabled and (not rule.allow or all(named))


def make_world(tx: Tx, access: Access, chance: random.Random) -> World:
    """A world of a few agents, each with lanes of every sort, some spawned from others."""
    profiles = {"main": Profile()}
    for name in chance.sample(["a1", "a2", "b1"], chance.randrange(4)):
        visibility: Any = chance.choice([None, None, *MODES])
        profile = Profile(visibility=visibility, sandbox="on" if chance.random() < 0.3 else "off")
        make_agent(tx, access, name, name, profile)
        profiles[name] = profile
    places: dict[str, Place] = {}
    for n in range(chance.randrange(3, 16)):
        agent = chance.choice(list(profiles))
        rest = chance.choice(["main", f"web:chat-{n:08d}", f"task:task_{n}", f"cron:tick{n}", f"subagent:u{n}"])
        parent = chance.choice(list(places)) if places and rest.startswith("subagent") else None
        key = SessionKey.of(agent, rest)
        if str(key) in places:
            continue
        insert_lane(tx, access, key, spawned_by=parent)
        boxed = chance.random() < 0.2
        if boxed:
            tx.run("UPDATE lanes SET sandboxed = 1 WHERE key = :key", key=str(key))
        places[str(key)] = Place(str(key), agent, parent, boxed)
    return World(profiles, places)


def ask(tx: Tx, engine: Engine, settings: Settings, lane: Lane, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a tool answers an agent at a lane; a refusal as its code."""
    agent = agent_by_id(tx, engine.access, lane.agent_id)
    assert agent is not None
    access = msgspec.structs.replace(engine.access, kind="agent", actor_id=agent.id, agent_id=agent.id)
    desk = run_desk(Surroundings(settings=settings, rules=Rules()), access, agent, lane, None, None)
    found = CATALOG.find(tool)
    try:
        return found.act(tx, desk, found.read_params(msgspec.json.encode(arguments).decode())).value
    except Refusal as refusal:
        return {"refused": str(refusal.code)}


def differences(tx: Tx, engine: Engine, world: World, settings: Settings, caller: Place) -> list[str]:
    """Where the tools and the second opinion differ for one caller."""
    lane = lane_of(tx, engine.access, SessionKey.stored(caller.key))
    assert lane is not None
    expected = {place.key for place in world.places.values() if sees(world, settings, caller, place)}
    main = f"agent:{caller.agent}:main"
    listed = ask(tx, engine, settings, lane, "sessions_list", {"limit": 200})
    shown = {main if row["key"] == "main" else row["key"] for row in listed["sessions"]}
    wrong = [] if shown == expected else [f"list: {sorted(shown ^ expected)}"]
    if listed["visibility"]["hidden"] != (len(expected) < len(world.places)):
        wrong.append("hidden")
    for key in world.places:
        for tool in ("sessions_history", "session_status"):
            answer = ask(tx, engine, settings, lane, tool, {"sessionKey": key})
            if (answer.get("refused") == "forbidden") == (key in expected) or "not_found" in answer.values():
                wrong.append(f"{tool} {key}: {answer}")
    return [f"{caller.key} with {settings.tools}: {what}" for what in wrong]


async def compare(url: str, seed: int, cases: int) -> list[str]:
    """Compare that many callers; what differs."""
    chance = random.Random(seed)
    async with open_engine(url) as engine:
        world = await engine.db.write(lambda tx: make_world(tx, engine.access, chance))
        callers = list(world.places.values())
        found: list[str] = []
        for _ in range(cases):
            settings, caller = rules_of(chance), chance.choice(callers)
            looks = partial(differences, engine=engine, world=world, settings=settings, caller=caller)
            found += await engine.db.read(looks)
        return found


def main() -> int:
    """Compare as many cases as were asked for, in worlds of a hundred each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    wanted = parser.parse_args()
    for at in range(0, wanted.cases, 100):
        with tempfile.TemporaryDirectory(prefix="carrel-sights-") as folder:
            wrong = asyncio.run(compare(f"sqlite:///{folder}/world.db", wanted.seed + at, min(100, wanted.cases - at)))
        if wrong:
            sys.stdout.write("\n".join([f"seed {wanted.seed + at}", *wrong[:20]]) + "\n")
            return 1
    sys.stdout.write(f"{wanted.cases} cases from seed {wanted.seed}: no difference\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
