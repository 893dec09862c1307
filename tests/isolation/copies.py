"""Forks and replays: how people copy what they may read to chats of their own."""

from dataclasses import dataclass

from tests.isolation.asgi import Json
from tests.isolation.model import why_closed_to_person, why_hidden_from_person
from tests.isolation.recorder import Request
from tests.isolation.steps import PEOPLE, talk, who_of
from tests.isolation.world import Side


@dataclass(frozen=True)
class Copy:
    """A fork of a session, or a replay of a run, as somebody has asked for it.

    `origin` is the key of the session or the id of the run; `lane` is the chat that was made, None where it was
    refused. `source` has the marks that there were to copy, and `marks` those in the chat.
    """

    kind: str
    who: str
    origin: str
    lane: str | None
    source: frozenset[str]
    marks: frozenset[str] = frozenset()
    # Of a replay: its run.
    run_id: str | None = None


async def fork(side: Side) -> None:
    """Somebody forks a session, their own or not, whole or up to some entry, and goes on in it."""
    origins = side.world.marks.origins.values()
    lanes = sorted({one.lane for one in origins if one.lane in side.facts.lanes and one.account == side.slug})
    if not lanes:
        return
    who, key = who_of(side), side.chance.choice(lanes)
    messages = await messages_of(side, key)
    body = {}
    if messages and side.chance.random() < 0.7:
        at = side.chance.randrange(len(messages))
        body, messages = {"entryId": messages[at]["id"]}, messages[: at + 1]
    told = await side.do(who, f"/api/sessions/{key}/fork", body)
    source = await marks_in(side, messages)
    lane = None if told is None else told["sessionKey"]
    if lane is None:
        side.copies.append(Copy("fork", who, key, None, source))
        return
    side.lane(lane, person=who)
    side.copies.append(Copy("fork", who, key, lane, source, await in_chat(side, lane)))
    await talk(side, who, lane)


async def replay(side: Side) -> None:
    """Somebody replays a run, their own or not; most often they try one that shows what they may not read."""
    sent = {request.run_id: request for request in side.world.model.requests if request.account == side.slug}
    if not sent:
        return
    tried = [(who, run_id) for who in PEOPLE for run_id in sent]
    told_too_much = [(who, run_id) for who, run_id in tried if _shows_too_much(side, who, sent[run_id])]
    who, run_id = side.chance.choice(told_too_much if told_too_much and side.chance.random() < 0.6 else tried)
    source = frozenset(side.world.marks.found(sent[run_id].text))
    told = await side.do(who, f"/api/runs/{run_id}/replay", {})
    if told is None:
        side.copies.append(Copy("replay", who, run_id, None, source))
        return
    lane = told["sessionKey"]
    side.replays.add(told["runId"])
    side.lane(lane).person = who
    await side.world.settle()
    side.copies.append(Copy("replay", who, run_id, lane, source, await in_chat(side, lane), told["runId"]))


def _shows_too_much(side: Side, who: str, request: Request) -> bool:
    """Whether somebody may enter the lane of a request and may not read all that is in it."""
    person, origins = side.facts.people[who], side.world.marks.origins
    return why_closed_to_person(side.facts, person, request.key) is None and any(
        why_hidden_from_person(side.facts, person, mark, origins[mark]) is not None
        for mark in side.world.marks.found(request.text)
    )


async def in_chat(side: Side, key: str) -> frozenset[str]:
    """Return the marks that are in a chat and its name."""
    named = (await side.owner.get(f"/api/sessions/{key}")).text
    return await marks_in(side, await messages_of(side, key)) | side.world.marks.found(named)


async def messages_of(side: Side, key: str) -> list[Json]:
    """Return the transcript of a session, with what tools have done."""
    answer = await side.owner.get(f"/api/sessions/{key}/history", {"limit": 1000, "includeTools": 1})
    messages: list[Json] = answer.json().get("messages", [])
    return messages


async def marks_in(side: Side, messages: list[Json]) -> frozenset[str]:
    """Return the marks in messages and in their files."""
    files = [block["attachmentId"] for one in messages for block in one["content"] if block["type"] == "attachment"]
    held = [(await side.owner.get(f"/api/attachments/{file}")).text for file in files]
    return frozenset(side.world.marks.found("\n".join([str(messages), *held])))
