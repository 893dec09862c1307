"""The session tools in random worlds, compared with a second opinion on what each must answer.

`python -m tests.tools.visibility_cases --cases 10000` compares the tools with that opinion; the suite runs some.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from functools import partial
from typing import Any

import msgspec

from carrel.agents import agent_by_id
from carrel.kernel import Refusal, SessionKey
from carrel.kernel.settings import Settings
from carrel.main.assembly import rules_of
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.tools import CATALOG, ToolServices, caller_at
from tests.harness.engine import Engine, open_engine
from tests.tools.second_opinion import Verdict, hidden_by, verdict_on
from tests.tools.worlds import World, WorldLane, a_reference, make_world, random_settings

CASES_OF_A_WORLD = 25
SENDS_OF_A_CASE = 4
TEXT = "is anybody there?"


def ask(
    tx: Tx, engine: Engine, settings: Settings, caller: WorldLane, tool: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return what a tool answers an agent in a lane; a refusal as its code."""
    lane = lane_of(tx, engine.access, SessionKey.stored(caller.key))
    agent = agent_by_id(tx, engine.access, caller.agent)
    assert lane is not None
    assert agent is not None
    access = msgspec.structs.replace(engine.access, kind="agent", actor_id=agent.id, agent_id=agent.id)
    tool_services = ToolServices(settings=settings, rules=rules_of(settings))
    made_by = caller_at(tx, tool_services, access, agent, lane)
    found = CATALOG.find(tool)
    try:
        return found.act(tx, made_by, found.read_params(msgspec.json.encode(arguments).decode())).value
    except Refusal as refusal:
        return {"status": "refused", "code": str(refusal.code), "error": refusal.message}


def looks(tx: Tx, engine: Engine, world: World, settings: Settings, caller: WorldLane) -> list[str]:
    """Return how the reading tools differ from the second opinion for one caller."""
    hidden = {key: hidden_by(world, settings, caller, lane) for key, lane in world.lanes.items()}
    expected = {key for key, rule in hidden.items() if rule is None}
    main = f"agent:{caller.agent}:main"
    listed = ask(tx, engine, settings, caller, "sessions_list", {"limit": 200})
    shown = {main if row["key"] == "main" else row["key"] for row in listed["sessions"]}
    wrong = [] if shown == expected else [f"list: {sorted(shown ^ expected)}"]
    if listed["visibility"]["hidden"] != (len(expected) < len(world.lanes)):
        wrong.append("hidden")
    for key, rule in hidden.items():
        for tool in ("sessions_history", "session_status"):
            answer = ask(tx, engine, settings, caller, tool, {"sessionKey": key})
            refused = answer.get("code") == "forbidden" and (rule or "") in answer["error"]
            if "code" in answer if rule is None else not refused:
                wrong.append(f"{tool} {key}: {answer}, expected {rule or 'to be seen'}")
    return wrong


def sends(
    tx: Tx, engine: Engine, world: World, settings: Settings, caller: WorldLane, reference: str
) -> tuple[str | None, list[str]]:
    """Send once as a caller; return the lane it reached, if any, and how the result differs from the second opinion."""
    expected = verdict_on(world, settings, caller, reference)
    before = _kept(tx)
    asked = {"sessionKey": reference, "message": TEXT, "timeoutSeconds": 0}
    answer = ask(tx, engine, settings, caller, "sessions_send", asked)
    new = {name: rows - before[name] for name, rows in _kept(tx).items()}
    told = f"sessions_send {reference}: {answer} and new {new}, expected {expected}"
    if expected.status == "accepted":
        is_right = answer["status"] == "accepted" and _went(new, world, answer["runId"], expected.key)
        return expected.key, [] if is_right else [told]
    return None, [] if _is_refused(answer, expected) and not any(new.values()) else [told]


def _kept(tx: Tx) -> dict[str, set[tuple[Any, ...]]]:
    """Return what a send may have stored."""
    return {
        "runs": set(tx.all("SELECT id, key, state, text FROM runs")),
        "exchanges": set(tx.all("SELECT first_run_id, target_key FROM exchanges")),
        "lanes": set(tx.all("SELECT key FROM lanes")),
        "sessions": set(tx.all("SELECT id FROM sessions")),
    }


def _went(new: dict[str, set[tuple[Any, ...]]], world: World, run_id: str, key: str) -> bool:
    """Return whether exactly one run was queued, in exactly that lane; no generation is opened before it starts."""
    return new == {
        "runs": {(run_id, key, "queued", TEXT)},
        "exchanges": {(run_id, key)},
        "lanes": set() if key in world.lanes else {(key,)},
        "sessions": set(),
    }


def _is_refused(answer: dict[str, Any], expected: Verdict) -> bool:
    given = (answer["status"], answer.get("code"))
    return given == (expected.status, expected.code) and expected.words in answer["error"]


async def compare(url: str, seed: int, cases: int) -> list[str]:
    """Compare that many callers in one world; return the differences."""
    chance = random.Random(seed)
    async with open_engine(url) as engine:
        world = await engine.db.write(lambda tx: make_world(tx, engine.access, chance))
        found: list[str] = []
        for _ in range(cases):
            settings, caller = random_settings(chance), chance.choice(list(world.lanes.values()))
            case: dict[str, Any] = {"engine": engine, "world": world, "settings": settings, "caller": caller}
            wrong = await engine.db.read(partial(looks, **case))
            for _ in range(SENDS_OF_A_CASE):
                reference = a_reference(world, caller, chance)
                went, differs = await engine.db.write(partial(sends, **case, reference=reference))
                wrong += differs
                if went is not None and went not in world.lanes:
                    # An agent's main lane is created by the first message to it.
                    world.lanes[went] = WorldLane(key=went, agent=went.split(":")[1])
            rules = (settings.tools.sessions, settings.tools.agent_to_agent, settings.sessions.send_policy)
            found += [f"{what}; from {caller} with {rules}" for what in wrong]
        return found


def main() -> int:
    """Compare as many cases as asked for, a few in each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    wanted = parser.parse_args()
    for at in range(0, wanted.cases, CASES_OF_A_WORLD):
        with tempfile.TemporaryDirectory(prefix="carrel-visibility-") as folder:
            cases = min(CASES_OF_A_WORLD, wanted.cases - at)
            wrong = asyncio.run(compare(f"sqlite:///{folder}/world.db", wanted.seed + at, cases))
        if wrong:
            sys.stdout.write("\n".join([f"seed {wanted.seed + at}", *wrong[:20]]) + "\n")
            return 1
    sent = wanted.cases * SENDS_OF_A_CASE
    sys.stdout.write(f"{wanted.cases} cases with {sent} sends from seed {wanted.seed}: no difference\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
