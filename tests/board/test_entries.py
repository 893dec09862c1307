"""Changing and deleting entries: what a person decides, and what stays as it is."""

from typing import Any

import pytest

from carrel.board import LogChange, change_entry, delete_entry
from carrel.journal import Entry, NewEntry, append_entry
from carrel.kernel import Code, Provenance, Refusal
from tests.board.classifier.test_sorter import BUCKET, placed, spoken
from tests.board.places import Board
from tests.harness.engine import MAIN


async def change(board: Board, entry: Entry, **more: Any) -> Entry:
    return await board.db.write(lambda tx: change_entry(tx, board.access, entry.id, LogChange(**more)))


async def test_a_message_of_a_thread_stays_with_its_task(board: Board) -> None:
    fence = await board.topic("Garden fence")
    paint, other = [await board.task(title, topic_id=fence) for title in ("Paint it", "Mend it")]
    new = NewEntry(
        type="conversation", role="user", content="green", author="user", task_id=paint, topic_id=fence,
        task_view="thread", provenance=Provenance(kind="external_user"),
    )  # fmt: skip
    said = await board.db.write(lambda tx: append_entry(tx, board.access, new))
    for task_id in (other, None):
        with pytest.raises(Refusal) as refused:
            await change(board, said, task_id=task_id)
        assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "taskId")
    assert (await placed(board, said))[:2] == (fence, paint)
    assert (await change(board, said, task_id=paint, summary="colour")).summary == "colour"


async def test_an_entry_that_moves_to_another_topic_keeps_no_task_of_the_old_one(board: Board) -> None:
    fence, roof = await board.topic("Garden fence"), await board.topic("Roof")
    paint = await board.task("Paint it", topic_id=fence)
    said = await board.send("green", BUCKET, task_id=paint)
    assert (await change(board, said, topic_id=fence)).task_id == paint
    moved = await change(board, said, topic_id=roof)
    assert (moved.topic_id, moved.task_id) == (roof, None)


async def test_what_a_run_that_has_not_ended_said_is_not_deleted(board: Board) -> None:
    run = await board.engine.say(MAIN, "go on")
    held = await board.engine.take_one()
    await board.engine.start_turn(held)
    said = await spoken(board, "go on", key=str(MAIN), run_id=run.id)
    with pytest.raises(Refusal) as refused:
        await board.db.write(lambda tx: delete_entry(tx, board.access, said.id))
    assert refused.value.code == Code.CONFLICT
    await board.engine.end(held)
    await board.db.write(lambda tx: delete_entry(tx, board.access, said.id))
    with pytest.raises(Refusal):
        await change(board, said, summary="gone")
