"""Digests: when they are renewed, by whom, from what, and that nobody else notices."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from carrel.journal import events_after
from carrel.kernel.settings import DigestsSettings
from carrel.work import TaskChange, change_task, reopen_task
from tests.board.places import Board, open_board
from tests.board.test_convergence import asked_for, obliging, with_model
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, http_error, text

pytestmark = pytest.mark.anyio
MINUTE = 60


@pytest.fixture
async def board(store_url: str) -> AsyncIterator[Board]:
    async with open_board(store_url) as opened:
        yield opened


async def digest(board: Board, item_id: str) -> tuple[str | None, int | None, int]:
    """Return the digest of a topic or task, when it was renewed, and when the rest was last changed."""
    table = "topics" if item_id.startswith("topic") else "tasks"
    sql = f"SELECT digest, digest_updated_at, updated_at FROM {table} WHERE account_id = :account AND id = :id"
    row = await board.db.read(lambda tx: tx.one(sql, board.access, id=item_id))
    assert row is not None
    return row[0], row[1], row[2]


async def renewed(board: Board) -> list[Any]:
    """Return what the feed says about digests."""
    events = await board.db.read(lambda tx: events_after(tx, board.access, 0, limit=1_000))
    return [(event.topic_id, event.task_id) for event in events if event.name == "digest.updated"]


@requirement("S4.digest.fields", "S4.digest.quiet")
async def test_a_digest_tells_how_a_topic_stands_and_changes_nothing_else(board: Board) -> None:
    fence = await board.topic("Garden fence")
    paint = await board.task("Paint it", topic_id=fence)
    _, _, changed_at = await digest(board, fence)
    _, _, task_changed_at = await digest(board, paint)
    board.engine.advance(MINUTE)
    await board.send("Which green for the fence?", f"clawboard:topic:{fence}")
    await board.send("Moss green.", f"clawboard:topic:{fence}", agent_id="main")
    await board.send("Two coats, please", f"clawboard:task:{fence}:{paint}")
    await board.sort()
    found, at, updated_at = await digest(board, fence)
    assert found == "Last message: Which green for the fence?\nLast answer: Moss green."
    assert at is not None
    assert updated_at == changed_at < at
    found, _, updated_at = await digest(board, paint)
    assert found == "Last message: Two coats, please"
    assert updated_at == task_changed_at
    assert sorted(await renewed(board), key=str) == sorted([(fence, None), (None, paint)], key=str)


@requirement("S4.digest.interval")
async def test_a_digest_is_renewed_at_most_every_fifteen_minutes_and_two_in_a_turn(board: Board) -> None:
    topics = [await board.topic(f"Topic {n}") for n in range(3)]
    for topic_id in topics:
        await board.send("first", f"clawboard:topic:{topic_id}")
    await board.sort()
    assert len(await renewed(board)) == 2
    await board.sort(turns=3)
    assert len(await renewed(board)) == 3
    await board.send("second", f"clawboard:topic:{topics[0]}")
    board.engine.advance(13 * MINUTE)
    await board.sort()
    assert len(await renewed(board)) == 3
    board.engine.advance(2 * MINUTE)
    await board.sort(turns=2)
    assert len(await renewed(board)) == 4
    assert (await digest(board, topics[0]))[0] == "Last message: second\nBefore: first"
    board.engine.advance(60 * MINUTE)
    await board.sort()
    assert len(await renewed(board)) == 4


@requirement("S4.digest.fallback")
async def test_a_model_writes_digests_where_there_is_one_and_rules_where_it_fails(
    board: Board, gateway: ScriptedGateway
) -> None:  # fmt: skip
    first, second = await board.topic("Garden fence"), await board.topic("Roof")
    said = f"clawboard:topic:{first}", f"clawboard:topic:{second}"

    def rule(request: Request) -> Answer:
        if ":digest:" not in request.headers["x-openclaw-session-key"]:
            return obliging(request)
        return text("The fence is to be green.") if "Garden" in asked_for(request) else http_error(503)

    for key in said:
        await board.send("Paint it green", key)
    await board.sort(await with_model(board, gateway, rule))
    assert (await digest(board, first))[0] == "The fence is to be green."
    assert (await digest(board, second))[0] == "Last message: Paint it green"
    assert all("x-openclaw-agent-id" not in request.headers for request in gateway.requests)


async def test_a_model_that_goes_on_and_on_is_cut(board: Board, gateway: ScriptedGateway) -> None:
    fence = await board.topic("Garden fence")
    await board.send("Paint it green", f"clawboard:topic:{fence}")
    await board.sort(await with_model(board, gateway, lambda _: text("word " * 9_000)))
    assert len((await digest(board, fence))[0] or "") <= DigestsSettings().chars_max


async def test_the_digest_of_a_topic_says_nothing_of_its_tasks(board: Board, gateway: ScriptedGateway) -> None:
    fence = await board.topic("Garden fence")
    paint = await board.task("Paint it", topic_id=fence)
    await board.send("The paint costs 4711", f"clawboard:task:{fence}:{paint}")
    await board.send("A general remark", f"clawboard:topic:{fence}")
    await board.sort(await with_model(board, gateway, lambda _: text("")))
    assert (await digest(board, fence))[0] == "Last message: A general remark"
    about_topic = [one for one in gateway.requests if fence in one.headers["x-openclaw-session-key"]]
    assert about_topic
    assert not [one for one in about_topic if "4711" in asked_for(one) or "Paint it" in asked_for(one)]


async def test_the_digest_of_a_reopened_task_begins_anew(board: Board) -> None:
    fence = await board.topic("Garden fence")
    paint = await board.task("Paint it", topic_id=fence)
    key = f"clawboard:task:{fence}:{paint}"
    await board.send("The old colour was red", key)
    await board.sort(turns=2)
    done = TaskChange(status="done")
    await board.db.write(lambda tx: change_task(tx, board.access, paint, done, board.engine.rules))
    await board.db.write(lambda tx: reopen_task(tx, board.access, paint))
    assert (await digest(board, paint))[0] is None
    await board.send("The new colour is green", key)
    await board.sort(turns=2)
    assert (await digest(board, paint))[0] == "Last message: The new colour is green"


async def test_what_is_said_while_a_digest_is_written_is_told_by_the_next(
    board: Board, gateway: ScriptedGateway
) -> None:
    fence = await board.topic("Garden fence")
    key, gate = f"clawboard:topic:{fence}", Gate()
    await board.send("first", key)
    classifier = await with_model(board, gateway, lambda _: text("digest", before=gate))
    async with asyncio.TaskGroup() as group:
        group.create_task(board.sort(classifier))
        await gate.reached()
        await board.send("second", key)
        gate.open()
    board.engine.advance(16 * MINUTE)
    await board.sort(turns=2)
    assert (await digest(board, fence))[0] == "Last message: second\nBefore: first"


async def test_no_digests_are_written_where_the_settings_allow_none(board: Board) -> None:
    fence = await board.topic("Garden fence")
    await board.send("first", f"clawboard:topic:{fence}")
    await board.sort(board.classifier(digests=DigestsSettings(per_cycle=0)), turns=2)
    assert (await digest(board, fence))[0] is None
