"""Where a session is: its topic and its task, first of all."""

from carrel.context import SeenEntries
from carrel.context.model import LOCATION
from carrel.topics import set_task_digest
from tests.context.test_builder import MAIN
from tests.context.whiteboard import Whiteboard, section
from tests.requirements.mark import requirement


@requirement("S4.context.place", "S4.digest.shown", "S4.context.layers")
async def test_a_board_session_is_told_first_where_it_is(board: Whiteboard) -> None:
    await board.topic("Launch", digest="We launch in May. " * 20)
    await board.task("Write copy", topic_id="launch")
    found = await board.build("clawboard:task:launch:write-copy", "ok")
    topic, task = section(found, LOCATION)
    assert topic.startswith("- Topic: Launch (launch): We launch in May.")
    assert len(topic) <= len("- Topic: Launch (launch): ") + 140
    assert task == "- Task: Write copy (write-copy) [inbox]"
    assert found.block.index(LOCATION) < found.block.index("We launch")
    assert found.layers[0] == "A:board_session"
    elsewhere = await board.build(MAIN, "ok")
    assert not section(elsewhere, LOCATION)


@requirement("A.once")
async def test_the_digest_of_a_runs_task_says_only_what_the_run_is_not_told_anyway(board: Whiteboard) -> None:
    task = await board.task("Write copy")
    digest = "Decided: we print on green paper.\nLast answer: The copy is nearly ready."
    await board.db.write(lambda tx: set_task_digest(tx, board.access, task.id, digest))
    shown = SeenEntries(texts={"ent_1": "The copy is nearly ready."})
    (line,) = section(await board.build(f"agent:main:task:{task.id}", "ok", form="run", shown=shown), LOCATION)
    assert line.endswith("Decided: we print on green paper.")
    assert section(await board.build(f"agent:main:task:{task.id}", digest, form="run", shown=shown), LOCATION) == []
