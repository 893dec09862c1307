"""The topics and tasks that are worked on."""

from carrel.context import ContextLimits
from carrel.context.model import (
    WORKING_TASKS,
    WORKING_TOPICS,
)
from carrel.kernel import MS_PER_DAY
from tests.context.test_builder import BUCKET, MAIN
from tests.context.whiteboard import Whiteboard
from tests.requirements.mark import requirement

_EARLIER = "UPDATE tasks SET updated_at = updated_at - 1 WHERE account_id = :account AND id = 'older-work'"


@requirement("S4.context.working.topics")
async def test_working_topics_are_pinned_or_of_this_session_and_neither_archived_nor_snoozed(board: Whiteboard) -> None:
    for name in ("Said", "Routed", "Other", "Gone"):
        await board.topic(name)
    await board.topic("Pinned", pinned=True)
    await board.topic("Put away", pinned=True, status="archived")
    await board.topic("Asleep", pinned=True, status="snoozed")
    await board.topic("Later", pinned=True, snoozed_until=2**45)
    await board.topic("Awake", pinned=True, status="snoozed", snoozed_until=1)
    await board.log("we speak of it", BUCKET, topic_id="said")
    await board.log("and of this, which is pinned", BUCKET, topic_id="pinned")
    await board.route(BUCKET, "pinned", anchor="and there")
    await board.route(BUCKET, "routed", anchor="send it there")
    found = await board.build(BUCKET)
    assert [line.id for line in found.of(WORKING_TOPICS)] == ["awake", "pinned", "routed", "said"]
    assert [line.reason for line in found.of(WORKING_TOPICS)][1:] == [
        "pinned", "messages of this session go there", "named in this session",
    ]  # fmt: skip


@requirement("S4.context.working.tasks", "S4.x.working.recent")
async def test_working_tasks_are_pressing_ones_by_due_date_and_priority(board: Whiteboard) -> None:
    now = await board.db.read(lambda tx: tx.now)
    owned = {"assigned_user_ids": ("owners",)}
    await board.topic("Hidden", status="archived")
    await board.task("Of hidden", topic_id="hidden", pinned=True)
    await board.task("Idle")
    await board.task("Sleeping", pinned=True, snoozed_until=now + MS_PER_DAY)
    await board.task("Much later", due_date=now + 7 * MS_PER_DAY + MS_PER_DAY // 24)
    await board.task("Urgent", priority=2)
    await board.task("Due soon", due_date=now + 7 * MS_PER_DAY)
    await board.task("Older work", status="in_progress", **owned)
    await board.task("Newer work", status="in_progress", **owned)
    await board.task("Stuck", status="blocked", blocked_reason="no paint", priority=1, **owned)
    await board.task("Pinned idle", pinned=True)
    # Both may have been created in the same millisecond.
    await board.db.write(lambda tx: tx.run(_EARLIER, board.access))
    found = await board.build(MAIN)
    assert [line.id for line in found.of(WORKING_TASKS)] == [
        "pinned-idle", "due-soon", "stuck", "urgent", "newer-work", "older-work",
    ]  # fmt: skip
    reasons = [line.reason.split(" 2")[0] for line in found.of(WORKING_TASKS)]
    assert reasons == ["pinned", "due", "blocked", "priority", "in progress", "in progress"]
    fewer = await board.build(MAIN, limits=ContextLimits(working_set=2))
    assert [line.id for line in fewer.of(WORKING_TASKS)] == ["pinned-idle", "due-soon"]
