"""A seeded share of the worlds; `python -m tests.isolation --worlds 2000` lives through more of them."""

import asyncio
import functools
import re

import pytest

from carrel.main.assembly import whole_document
from tests.isolation.checks import try_world
from tests.isolation.world import World
from tests.requirements.mark import requirement

WORLDS = 10
WORLDS_ON_POSTGRESQL = 2
# Reads that no world makes, each with the reason.
NOT_READ = {
    "/healthz": "of the server", "/readyz": "of the server", "/api/openapi.json": "of the server",
    "/api/settings": "of the server", "/api/models/servers": "of the server",
    "/v1/models": "names of agents", "/v1/models/{name}": "names of agents",
    "/api/accounts": "names of accounts", "/api/tokens": "owners only, names of tokens",
    "/api/commands": "of the server",
    "/api/hooks/in/deliveries/{id}": "worlds name no webhooks",
    "/api/agents/{id}/prompt": "standing text of an agent",
    "/a2a/{agent}/extendedAgentCard": "a card", "/a2a/{agent}/tasks/{id}": "the same as GetTask",
    "/a2a/{agent}/tasks/{id}:subscribe": "the same task, as a stream",
    "/a2a/{agent}/tasks/{id}/pushNotificationConfigs": "worlds register no webhooks",
    "/a2a/{agent}/tasks/{id}/pushNotificationConfigs/{webhook}": "worlds register no webhooks",
}  # fmt: skip


@requirement("I.said.lane", "I.said.person", "I.sorted.board", "I.digest.readers", "I.chain.lane", "I.run.both")
@requirement("I.recall.space", "I.person.shares")
@pytest.mark.parametrize("seed", range(WORLDS))
async def test_nobody_sees_what_the_rules_hide_and_everybody_sees_the_core(seed: int) -> None:
    found, _ = await try_world(seed)
    assert not found, "\n".join(map(str, found[:40]))


@requirement("I.said.lane", "I.said.person", "I.run.both")
@pytest.mark.parametrize("seed", range(WORLDS, WORLDS + WORLDS_ON_POSTGRESQL))
async def test_the_worlds_hold_on_postgresql_too(postgres_url: str, seed: int) -> None:
    found, _ = await try_world(seed, postgres_url)
    assert not found, "\n".join(map(str, found[:40]))


KINDS_OF_TEXT = {
    "message", "reply", "thread message", "task title", "topic name", "note", "session fact", "goal fact",
    "logged entry", "plan", "file", "file of a thread",
}  # fmt: skip
KINDS_OF_SESSION = {"main", "web", "task", "topic", "subagent"}
# Few worlds hold everything; some more are lived through when sub-agents or programs are rare in the first ones.
SHARE_MAX = 40


def _not_read(worlds: list[World]) -> set[str]:
    """Return the paths of the API that no world has read."""
    read = set[str]().union(*(world.read for world in worlds))
    paths = {path for path, methods in whole_document()["paths"].items() if "get" in methods}
    return {path for path in paths if not any(re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), one) for one in read)}


def _not_held(worlds: list[World]) -> set[str]:
    """Return the kinds of texts, sessions and doors that are in no world."""
    sides = [side for world in worlds for side in world.sides]
    held = {origin.kind for world in worlds for origin in world.marks.origins.values()}
    held |= {lane.key.split(":")[2] for side in sides for lane in side.facts.lanes.values()}
    held |= {name for side in sides for _, name, text in side.heard if text}
    held |= {"look of a run" for world in worlds if any(look.answers for look in world.model.looks)}
    return (KINDS_OF_TEXT | KINDS_OF_SESSION | {"websocket", "look of a run"}) - held


@functools.cache
def _share() -> list[World]:
    worlds: list[World] = []
    while len(worlds) < SHARE_MAX and (not worlds or _not_held(worlds) or _not_read(worlds) - set(NOT_READ)):
        worlds.append(asyncio.run(try_world(len(worlds)))[1])
    return worlds


def test_every_read_of_the_api_is_made_or_left_out_for_a_reason() -> None:
    assert _not_read(_share()) == set(NOT_READ)


def test_the_share_of_worlds_holds_every_kind_of_text_and_of_session() -> None:
    assert _not_held(_share()) == set()
