"""What must reach a lane that did not say it, and what a person does to share a chat."""

from typing import Any

import pytest

from tests.isolation.asgi import Json
from tests.isolation.marks import Origin
from tests.isolation.readers import look_around
from tests.isolation.steps import chat_of, talk
from tests.isolation.world import OPEN_SPACE, Side, World
from tests.requirements.mark import requirement

WIDE = {"maxChars": 12_000, "mode": "patient", "workingSetLimit": 40}


@pytest.fixture(autouse=True)
def looking(world: World) -> None:
    world.look = look_around


async def context_of(side: Side, who: str, key: str, question: str) -> Json:
    """Return what the context of a lane holds, without the question."""
    query = {"sessionKey": key, "q": question, **WIDE}
    answer = await side.callers[who].client.get("/api/context", query)
    assert answer.status == 200, answer.text
    data: Json = answer.json()["data"]
    return data


def shown_as(data: Json, kind: str) -> list[Any]:
    """Return the parts of a context in which a kind of kept thing belongs."""
    recalled, working = data.get("semantic", {}), data["workingSet"]
    parts = {
        "note": [recalled.get("notes")],
        "task title": [working["tasks"], recalled.get("tasks")],
        "topic name": [working["topics"], recalled.get("topics")],
        "promoted fact": [data["memory"]],
    }
    return parts[kind]


async def kept_things(side: Side) -> dict[str, str]:
    """Let Ann keep one of everything; return their texts by kind."""
    made: dict[str, str] = {}

    def new(kind: str) -> str:
        made[kind] = side.text(Origin(side.slug, kind, by="ann", space=OPEN_SPACE, kept=True))
        return made[kind]

    key = chat_of(side, "ann", ("writer",))
    await talk(side, "ann", key)
    await side.do("ann", "/api/topics", {"id": "topic-one", "name": new("topic name"), "spaceId": OPEN_SPACE})
    await side.do("ann", "/api/notes", {"content": new("note"), "spaceId": OPEN_SPACE})
    await side.do("ann", "/api/tasks", {"id": "task-one", "title": new("task title"), "spaceId": OPEN_SPACE})
    fact: dict[str, Any] = {"scope": "session:web:chat-of-ann", "type": "fact", "agentId": "writer"}
    kept = await side.do("ann", "/api/memory", fact | {"content": new("promoted fact")})
    await side.do("ann", f"/api/memory/{kept['item']['id']}/promote", {"reason": "all should know"})
    return made


@requirement("I.kept.travels")
async def test_what_is_kept_reaches_the_chat_of_another_person_with_another_agent(world: World) -> None:
    side = world.sides[0]
    made = await kept_things(side)
    key = chat_of(side, "bob", ("main",))
    await talk(side, "bob", key)
    await world.catch_up()
    for kind, text in made.items():
        data = await context_of(side, "bob", key, text)
        (mark,) = world.marks.found(text)
        assert mark in world.marks.found(str(shown_as(data, kind))), kind
        assert all(item["reason"] for item in data["items"]), kind


@requirement("I.recall.space", "I.person.shares")
async def test_a_chat_is_found_by_others_while_its_person_has_it_on_the_board(world: World) -> None:
    side = world.sides[0]
    anns, bobs = chat_of(side, "ann", ("main",)), chat_of(side, "bob", ("main",))
    await talk(side, "ann", anns)
    await talk(side, "bob", bobs)
    (said,) = (mark for mark, origin in world.marks.origins.items() if origin.kind == "message" and origin.lane == anns)
    found: list[bool] = []
    for recall in (None, "space", "own"):
        if recall is not None:
            changed = await side.do("ann", f"/api/sessions/{anns}", {"recall": recall}, "PATCH")
            assert changed is not None, world.refused
        await world.catch_up()
        answer = await side.callers["bob"].client.get("/api/search", {"q": "fence printer shelves", "limitLogs": 320})
        found.append(said in world.marks.found(answer.text))
    assert found == [False, True, False]
