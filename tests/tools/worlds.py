"""Random worlds for the session tools: agents, lanes with parents and generations, settings, references to lanes.

A world remembers what was put into it, so that no check has to read the store.
"""

import random
from typing import Any, Literal

from msgspec import Struct

from carrel.agents import Profile, make_agent, open_account
from carrel.kernel import Access, SessionKey, system_access
from carrel.kernel.settings import (
    AgentDefaultsSettings,
    AgentsSettings,
    SandboxDefaultsSettings,
    SendMatch,
    SendPolicySettings,
    SendRule,
    SessionsSettings,
    Settings,
    ToolsAgentToAgentSettings,
    ToolsSessionsSettings,
    ToolsSettings,
)
from carrel.sessions import NewChild, close_generation, insert_child, insert_lane, open_generation
from carrel.storage import Tx
from tests.harness.tasks import ensure_task

Mode = Literal["self", "tree", "agent", "all"]
MODES: tuple[Mode, ...] = ("self", "tree", "agent", "all")
ELSEWHERE = "elsewhere"
CHATS = ("chat-00000001", "chat-00000002")


class WorldLane(Struct, frozen=True, kw_only=True):
    """A lane as it was created; `channel` is the last one it was used on, `send_policy` its own override."""

    key: str
    agent: str
    parent: str | None = None
    sandboxed: bool = False
    channel: str | None = None
    send_policy: str | None = None
    # The ids of its generations, oldest first.
    sessions: tuple[str, ...] = ()


class World(Struct, frozen=True):
    """Agents with their profiles, lanes by their keys, and a session of another account."""

    profiles: dict[str, Profile]
    lanes: dict[str, WorldLane]
    foreign_session: str


def make_world(tx: Tx, access: Access, chance: random.Random) -> World:
    """Create a world of a few agents, each with lanes of every kind, some spawned from others."""
    profiles = {"main": Profile()}
    for name in chance.sample(["a1", "a2", "b1"], chance.randrange(4)):
        visibility: Any = chance.choice([None, None, *MODES])
        profile = Profile(visibility=visibility, sandbox="on" if chance.random() < 0.3 else "off")
        make_agent(tx, access, name, name, profile)
        profiles[name] = profile
    lanes: dict[str, WorldLane] = {}
    for n in range(chance.randrange(3, 16)):
        agent, rest = chance.choice(list(profiles)), _rest(n, chance)
        parent = chance.choice(list(lanes)) if lanes and rest.startswith("subagent") else None
        key = SessionKey.of(agent, rest)
        if str(key) not in lanes:
            lanes[str(key)] = _make_lane(tx, access, key, parent, chance)
    return World(profiles, lanes, _make_elsewhere(tx))


def _rest(n: int, chance: random.Random) -> str:
    # Some chats have the same name, on another channel or of another agent.
    chats = [f"web:{chance.choice(CHATS)}", f"cli:{chance.choice(CHATS)}", f"telegram:direct:{n}"]
    rooms = [f"telegram:group:{n}", f"whatsapp:channel:{n}"]
    others = ["main", f"task:task_{n}", f"cron:tick{n}", f"node-{n}"]
    return chance.choice([*chats, *rooms, *others, *[f"subagent:u{n}"] * 4])


def _make_lane(tx: Tx, access: Access, key: SessionKey, parent: str | None, chance: random.Random) -> WorldLane:
    if parent is None:
        insert_lane(tx, access, key)
    else:
        insert_child(tx, access, NewChild(key=key, spawned_by=SessionKey.stored(parent)))
    if key.task_id is not None:
        ensure_task(tx, access, key.task_id)
    sessions: list[str] = []
    for _ in range(chance.choice([0, 1, 1, 2])):
        close_generation(tx, access, key, "reset")
        sessions.append(open_generation(tx, access, key).id)
    if sessions and chance.random() < 0.3:
        close_generation(tx, access, key, "reset")
    lane = WorldLane(
        key=str(key),
        agent=key.agent,
        parent=parent,
        sandboxed=chance.random() < 0.2,
        channel=chance.choice([None, "web", "telegram"]) if key.rest == "main" else None,
        send_policy=chance.choice([None, None, None, "allow", "deny"]),
        sessions=tuple(sessions),
    )
    tx.run(
        "UPDATE lanes SET sandboxed = :sandboxed, last_channel = :channel, send_policy = :policy "
        "WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=lane.key,
        sandboxed=int(lane.sandboxed),
        channel=lane.channel,
        policy=lane.send_policy,
    )
    return lane


def _make_elsewhere(tx: Tx) -> str:
    account, _ = open_account(tx, ELSEWHERE, ELSEWHERE)
    access, key = system_access(account.id, account.slug), SessionKey.of("main", "cron:theirs")
    insert_lane(tx, access, key)
    return open_generation(tx, access, key).id


def random_settings(chance: random.Random) -> Settings:
    """Return settings as an operator might choose them."""
    patterns = [(), ("*",), ("main",), ("main", "a*"), ("A1", "main"), ("b?",)]
    return Settings(
        tools=ToolsSettings(
            sessions=ToolsSessionsSettings(visibility=chance.choice([*MODES, "all"])),
            agent_to_agent=ToolsAgentToAgentSettings(
                enabled=chance.random() < 0.6, allow=tuple(chance.choice(patterns))
            ),
        ),
        agents=AgentsSettings(
            defaults=AgentDefaultsSettings(
                sandbox=SandboxDefaultsSettings(session_tools_visibility=chance.choice(("spawned", "all")))
            )
        ),
        sessions=SessionsSettings(
            send_policy=SendPolicySettings(
                rules=tuple(_send_rule(chance) for _ in range(chance.choice([0, 0, 1, 2, 3, 4]))),
                default=chance.choice(("allow", "allow", "deny")),
            )
        ),
    )


def _send_rule(chance: random.Random) -> SendRule:
    match = SendMatch(
        channel=chance.choice(["", "", "", "web", "webchat", "telegram"]),
        chat_type=chance.choice(["", "", "", "direct", "group", "channel"]),
        key_prefix=chance.choice(["", "", "", "agent:main:", "agent:a", "task:", "cron:", "telegram:", "ses_"]),
    )
    return SendRule(action=chance.choice(("allow", "deny")), match=match)


def a_reference(world: World, caller: WorldLane, chance: random.Random) -> str:
    """Return a reference to a lane that exists or not, the caller's own or another."""
    lane = chance.choice(list(world.lanes.values()))
    rest = lane.key.split(":", 2)[2]
    agent = chance.choice(list(world.profiles))
    spellings = [
        *[lane.key] * 15,
        *lane.sessions,
        *[f"{lane.key}:v{n}" for n in (1, 2, 9)],
        f"{lane.key}:v1@default",
        f"{lane.key}:v1@{ELSEWHERE}",
        rest,
        *CHATS,
        f"agent:{agent}:{rest}",
        f"agent:{agent}:main",
        "main",
        "current",
        caller.key,
        "agent:nobody:main",
        "agent:main:nothing",
        "global",
        world.foreign_session,
        "ses_" + "0" * 26,
    ]
    return chance.choice(spellings)
