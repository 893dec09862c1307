"""What was decided about routing."""

from carrel.context.model import (
    ROUTING,
)
from tests.context.test_builder import BUCKET
from tests.context.whiteboard import Whiteboard, section
from tests.requirements.mark import requirement


@requirement("S4.context.routing")
async def test_routing_memory_is_shown_newest_last_and_within_the_spaces_in_view(board: Whiteboard) -> None:
    secret = await board.space("Secret")
    await board.topic("Hidden", space_id=secret)
    await board.topic("Launch")
    await board.task("Write copy", topic_id="launch")
    await board.route(BUCKET, "launch", None, "first")
    await board.route(BUCKET, "hidden", None, "the code is swordfish")
    await board.route(BUCKET, "launch", "write-copy", "second\nline")
    found = await board.build(BUCKET, space_id="space-default")
    assert section(found, ROUTING) == ["- Launch: first", "- Launch > Write copy: second line"]
    assert "swordfish" not in found.block
    assert len(section(await board.build(BUCKET, space_id=secret, allowed_space_ids=(secret,)), ROUTING)) == 1
