"""Digests: when they are renewed, by whom, from what, and that nobody else notices."""

import asyncio
import threading
from typing import Any

import pytest

from carrel.board import LogChange, change_entry, delete_entry, routes_of, sort_again
from carrel.journal import Entry, delete_transcript, events_after
from carrel.kernel.settings import ClassifierSettings, DigestsSettings
from carrel.storage import Tx
from carrel.work import TaskChange, change_task, reopen_task, visible_changes
from carrel.work.changes import SeenChanges
from tests.board.classifier.test_duty import asked_for, obliging, with_model
from tests.board.places import Board, open_board
from tests.harness.engine import MAIN, SECONDS_MAX, within
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, http_error, text

MINUTE = 60


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


async def changes(board: Board, after: int) -> SeenChanges:
    """Return what has changed on the board after a number."""
    return await board.db.read(lambda tx: visible_changes(tx, board.access, after, limit=100))


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
    assert found == "Last message: Which green for the fence?\nLast answer (reported): Moss green."
    assert at is not None
    assert updated_at == changed_at < at
    found, _, updated_at = await digest(board, paint)
    assert found == "Last message: Two coats, please"
    assert updated_at == task_changed_at
    assert sorted(await renewed(board), key=str) == sorted([(fence, None), (None, paint)], key=str)


async def test_whoever_follows_the_changes_gets_new_and_removed_digests(board: Board) -> None:
    fence = await board.topic("Garden fence")
    paint = await board.task("Paint it", topic_id=fence)
    await board.send("Which green for the fence?", f"clawboard:topic:{fence}")
    coats = await board.send("Two coats, please", f"clawboard:task:{fence}:{paint}")
    seen = await changes(board, 0)
    await board.sort()
    seen = await changes(board, seen.page.seq)
    assert [topic.digest for topic in seen.topics] == ["Last message: Which green for the fence?"]
    assert [task.digest for task in seen.tasks] == ["Last message: Two coats, please"]
    await board.db.write(lambda tx: delete_entry(tx, board.access, coats.id))
    seen = await changes(board, seen.page.seq)
    assert [(task.id, task.digest) for task in seen.tasks] == [(paint, None)]


@requirement("S4.digest.interval")
async def test_a_digest_is_renewed_at_most_every_fifteen_minutes_and_two_in_a_turn(board: Board) -> None:
    topics = [await board.topic(f"Topic {n}") for n in range(3)]
    for topic_id in topics:
        await board.send("primer", f"clawboard:topic:{topic_id}")
    await board.sort()
    assert len(await renewed(board)) == 2
    await board.sort(turns=3)
    assert len(await renewed(board)) == 3
    await board.send("varnish", f"clawboard:topic:{topics[0]}")
    board.engine.advance(13 * MINUTE)
    await board.sort()
    assert len(await renewed(board)) == 3
    board.engine.advance(2 * MINUTE)
    await board.sort(turns=2)
    assert len(await renewed(board)) == 4
    assert (await digest(board, topics[0]))[0] == "Last message: varnish\nBefore: primer"
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
    await board.send("primer", key)
    classifier = await with_model(board, gateway, lambda _: text("digest", before=gate))
    async with asyncio.TaskGroup() as group:
        group.create_task(board.sort(classifier))
        await gate.reached()
        await board.send("varnish", key)
        gate.open()
    board.engine.advance(16 * MINUTE)
    await board.sort(turns=2)
    assert (await digest(board, fence))[0] == "Last message: varnish\nBefore: primer"


async def test_a_note_that_is_written_beside_a_digest_is_told_by_the_next(
    board: Board, gateway: ScriptedGateway
) -> None:
    fence, gate = await board.topic("Garden fence"), Gate()
    await board.send("primer", f"clawboard:topic:{fence}")
    classifier = await with_model(board, gateway, lambda _: text("digest", before=gate))
    async with asyncio.TaskGroup() as group:
        group.create_task(board.sort(classifier))
        await gate.reached()
        # It has its place at once: nobody sorts it, and so nobody asks for a digest because of it.
        await board.send("varnish", type="note", topic_id=fence)
        gate.open()
    assert (await digest(board, fence))[0] == "digest"
    board.engine.advance(16 * MINUTE)
    await board.sort()
    assert "varnish" in ((await digest(board, fence))[0] or "")


async def test_no_digests_are_written_where_the_settings_allow_none(board: Board) -> None:
    fence = await board.topic("Garden fence")
    await board.send("primer", f"clawboard:topic:{fence}")
    duty = board.classifier(digests=DigestsSettings(per_cycle=0))
    await board.sort(duty, turns=2)
    assert (await digest(board, fence))[0] is None
    assert await board.db.read(duty.next_due) is None, "a digest that nobody writes is no reason for a turn"
    assert await board.db.write(lambda tx: duty.take(tx, 10)) == []


async def quoting(board: Board) -> tuple[str, str, Entry]:
    """A topic and a task with digests that quote a password, and the entry of the topic that has it."""
    fence = await board.topic("Garden fence")
    paint = await board.task("Paint it", topic_id=fence)
    secret = await board.send("My password is swordfish", f"clawboard:topic:{fence}")
    await board.send("Which green?", f"clawboard:topic:{fence}")
    await board.send("The task's is sawfish", f"clawboard:task:{fence}:{paint}")
    await board.sort()
    assert "swordfish" in ((await digest(board, fence))[0] or "")
    assert "sawfish" in ((await digest(board, paint))[0] or "")
    return fence, paint, secret


async def anchors(board: Board, session_key: str) -> list[str]:
    """Return what routing memory quotes of a session."""
    return [route.anchor for route in await board.db.read(lambda tx: routes_of(tx, board.access, session_key))]


@requirement("S4.digest.fields")
async def test_a_deleted_message_lives_on_in_no_digest_and_in_no_route(board: Board) -> None:
    fence, paint, secret = await quoting(board)
    key, told = f"clawboard:topic:{fence}", len(await renewed(board))
    assert len(await anchors(board, key)) == 2
    _, _, changed_at = await digest(board, fence)
    board.engine.advance(1)
    await board.db.write(lambda tx: delete_entry(tx, board.access, secret.id))
    assert (await digest(board, fence))[0] is None
    assert await anchors(board, key) == ["Which green?"]
    assert (await renewed(board))[told:] == [(fence, None)]
    assert "sawfish" in ((await digest(board, paint))[0] or ""), "what does not quote it stays"
    await board.sort()
    found, _, updated_at = await digest(board, fence)
    assert (found, updated_at) == ("Last message: Which green?", changed_at)


async def test_a_transcript_that_is_deleted_lives_on_in_no_digest(board: Board) -> None:
    fence = await board.topic("Garden fence")
    await board.engine.say(MAIN, "a lane is opened")
    await board.send("swordfish", str(MAIN), topic_id=fence)
    await board.sort()
    assert "swordfish" in ((await digest(board, fence))[0] or "")
    await board.db.write(lambda tx: delete_transcript(tx, board.access, "key", str(MAIN)))
    assert (await digest(board, fence))[0] is None
    assert await anchors(board, str(MAIN)) == []


@pytest.mark.parametrize("change", [LogChange(content="My password is a secret"), LogChange(topic_id=None)])
async def test_what_a_person_rewords_or_takes_away_is_no_longer_quoted(board: Board, change: LogChange) -> None:
    fence, _, secret = await quoting(board)
    changed = await board.db.write(lambda tx: change_entry(tx, board.access, secret.id, change))
    assert (await digest(board, fence))[0] is None
    assert await anchors(board, f"clawboard:topic:{fence}") == ["Which green?"]
    if changed.content != secret.content:
        assert changed.summary == "My password is a secret"
    await board.sort()
    assert "swordfish" not in ((await digest(board, fence))[0] or "swordfish")


async def test_what_is_sorted_again_is_not_quoted_where_it_was(board: Board) -> None:
    fence = await board.topic("Garden fence")
    said = await board.send("swordfish for the garden fence", "s-1")
    await board.sort()
    assert (await board.entry(said)).topic_id == fence
    assert "swordfish" in ((await digest(board, fence))[0] or "")
    settings = ClassifierSettings()
    await board.db.write(lambda tx: sort_again(tx, board.access, settings, said.id, "bundle"))
    assert (await digest(board, fence))[0] is None


async def test_a_digest_of_what_is_deleted_meanwhile_is_not_written(board: Board, gateway: ScriptedGateway) -> None:
    fence, gate = await board.topic("Garden fence"), Gate()
    key = f"clawboard:topic:{fence}"
    secret = await board.send("swordfish", key)
    await board.send("Which green?", key)
    classifier = await with_model(board, gateway, lambda _: text("It is swordfish.", before=gate))
    async with asyncio.TaskGroup() as group:
        group.create_task(board.sort(classifier))
        await gate.reached()
        await board.db.write(lambda tx: delete_entry(tx, board.access, secret.id))
        gate.open()
    assert (await digest(board, fence))[0] is None
    await board.sort()
    assert (await digest(board, fence))[0] == "Last message: Which green?"


async def test_a_digest_waits_for_whoever_deletes_what_it_tells_of(
    postgres_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    """The entry is deleted in a transaction that is still open when the digest is written."""
    async with open_board(postgres_url) as board:
        fence, gate = await board.topic("Garden fence"), Gate()
        secret = await board.send("swordfish", f"clawboard:topic:{fence}")
        classifier = await with_model(board, gateway, lambda _: text("It is swordfish.", before=gate))
        deleted, may_commit = threading.Event(), threading.Event()

        def delete(tx: Tx) -> None:
            delete_entry(tx, board.access, secret.id)
            deleted.set()
            assert may_commit.wait(SECONDS_MAX)

        sorting = asyncio.ensure_future(board.sort(classifier))
        await gate.reached()
        deleting = asyncio.ensure_future(board.db.write(delete))
        assert await asyncio.to_thread(deleted.wait, SECONDS_MAX)
        gate.open()
        try:
            async with asyncio.timeout(SECONDS_MAX):
                while not await board.db.read(lambda tx: tx.one("SELECT 1 FROM pg_locks WHERE NOT granted")):
                    assert not sorting.done(), "it has not waited"
        finally:
            may_commit.set()
            await within(asyncio.gather(sorting, deleting))
        assert "swordfish" not in ((await digest(board, fence))[0] or "")
