"""The last lines of a session, and where its generations begin."""

from carrel.board import LogSource
from carrel.context import ContextLimits
from carrel.context.model import (
    TIMELINE,
)
from carrel.kernel import SessionKey
from carrel.runs import Rules
from carrel.sessions import close_generation
from carrel.storage import Tx
from carrel.work import TaskChange, change_task, reopen_task
from tests.context.test_builder import BUCKET, MAIN
from tests.context.whiteboard import Whiteboard, section, undated
from tests.requirements.mark import requirement


@requirement("S4.context.timeline", "S4.context.pending")
async def test_the_timeline_has_the_last_lines_oldest_first_each_clipped(board: Whiteboard) -> None:
    for n in range(8):
        await board.log(f"line {n} {'x' * 300}", BUCKET, agent_id="main" if n % 2 else None)
    await board.log("elsewhere", "another bucket")
    await board.log("Tool call: look", BUCKET, type="action", agent_id="main")
    await board.log("HEARTBEAT_OK", BUCKET)
    nightly = LogSource(session_key=BUCKET, channel="cron-event")
    await board.log("the nightly backup is done", agent_id="main", source=nightly)
    found = await board.build(BUCKET)
    lines = section(found, TIMELINE)
    said = [line.removeprefix("- ").partition(": line ") for line in undated(lines)]
    assert [text.split()[0] for _, _, text in said] == ["2", "3", "4", "5", "6", "7"]
    assert [speaker for speaker, _, _ in said][:2] == ["user", "assistant (reported)"]
    assert {len(line) for line in lines} == {160}
    assert not section(await board.build(BUCKET, with_pending=False), TIMELINE)
    assert not section(await board.build(BUCKET, limits=ContextLimits(timeline=0)), TIMELINE)


@requirement("S4.context.timeline")
async def test_what_is_posted_for_a_lane_belongs_to_its_open_generation_or_else_to_the_next(
    small_board: Whiteboard,
) -> None:
    board = small_board
    await board.log("before there was a lane", MAIN)
    await board.server.ask("hello")
    await board.log("while it is open", MAIN)
    lines = undated(section(await board.build(MAIN), TIMELINE))
    assert [lines[0], lines[-1]] == ["- user: before there was a lane", "- user: while it is open"]
    key = SessionKey.of("main", "main")
    await board.db.write(lambda tx: close_generation(tx, board.access, key, "reset"))
    assert section(await board.build(MAIN), TIMELINE) == []
    await board.log("between two generations", MAIN)
    assert undated(section(await board.build(MAIN), TIMELINE)) == ["- user: between two generations"]


async def test_a_generation_that_is_about_to_begin_has_heard_nothing(small_board: Whiteboard) -> None:
    board = small_board
    await board.log("before there was a lane", MAIN)
    await board.server.ask("hello")
    assert section(await board.build(MAIN), TIMELINE)
    assert section(await board.build(MAIN, session_id="ses_next"), TIMELINE) == []


async def test_the_timeline_of_a_reopened_task_begins_anew(board: Whiteboard) -> None:
    await board.topic("Launch")
    # No agent has a session of it, whose end would hide what was said before.
    await board.task("Write copy", topic_id="launch")
    key = "clawboard:task:launch:write-copy"
    await board.log("the old draft", key)

    def reopen(tx: Tx) -> None:
        change_task(tx, board.access, "write-copy", TaskChange(status="done"), Rules())
        reopen_task(tx, board.access, "write-copy")

    await board.db.write(reopen)
    await board.log("the new draft", key)
    assert undated(section(await board.build(key), TIMELINE)) == ["- user: the new draft"]
