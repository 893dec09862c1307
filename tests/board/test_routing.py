"""Routing memory: what is kept of where messages of a session went; and from which space a session sees the board."""

from typing import Any

from msgspec import structs

from carrel.board import infer_space, prune_routes, routes_of, visible_routes
from carrel.board.locations import remember_route
from carrel.journal import NewEntry, append_entry
from carrel.kernel import Provenance
from carrel.kernel.limits import ROUTE_ANCHOR_CHARS_MAX, ROUTES_MAX
from carrel.runs import remove_lane
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.topics import TopicChange, change_topic, remove_topic
from tests.board.places import Board
from tests.harness.engine import MAIN
from tests.requirements.mark import requirement

BUCKET = "discord-4711|thread:9"
DAY = 86_400


async def remember(
    board: Board, topic_id: str, task_id: str | None = None, *, key: str = BUCKET, anchor: str = ""
) -> None:  # fmt: skip
    await board.db.write(lambda tx: remember_route(tx, board.access, key, topic_id, task_id, anchor))


async def inferred(board: Board, key: str = BUCKET) -> Any:
    return await board.db.read(lambda tx: infer_space(tx, board.access, key))


async def routes(board: Board, key: str = BUCKET, **more: Any) -> Any:
    return await board.db.read(lambda tx: routes_of(tx, board.access, key, **more))


def scoped(space_id: str | None, *, in_space: str) -> NewEntry:
    """Return an entry whose source names a space other than its own."""
    source = None if space_id is None else {"boardScopeSpaceId": space_id}
    return NewEntry(
        type="conversation", role="user", content="hello", author="user", bucket=BUCKET, source=source,
        space_id=in_space, provenance=Provenance(kind="external_user"),
    )  # fmt: skip


async def test_the_newest_routes_are_kept_newest_last_with_the_names_of_now(board: Board) -> None:
    topic_id = await board.topic("Fence")
    task_id = await board.task("Paint it", topic_id=topic_id)
    for n in range(ROUTES_MAX + 3):
        await remember(board, topic_id, task_id, anchor=f"message\n{n}")
    await board.db.write(lambda tx: change_topic(tx, board.access, topic_id, TopicChange(name="Green fence")))
    found = await routes(board)
    assert [route.anchor for route in found] == [f"message {n}" for n in range(3, ROUTES_MAX + 3)]
    assert {(one.topic_name, one.task_title, one.space_id) for one in found} == {
        ("Green fence", "Paint it", "space-default")
    }
    assert [route.anchor for route in await routes(board, limit=1)] == [f"message {ROUTES_MAX + 2}"]
    sql = "SELECT count(*) FROM topic_routes WHERE account_id = :account"
    assert await board.db.read(lambda tx: tx.one(sql, board.access)) == (ROUTES_MAX,), "the others are gone"


async def test_of_a_long_message_only_the_beginning_is_kept(board: Board) -> None:
    await remember(board, await board.topic("Fence"), anchor="x" * (ROUTE_ANCHOR_CHARS_MAX + 1))
    (route,) = await routes(board)
    assert len(route.anchor) == ROUTE_ANCHOR_CHARS_MAX


async def test_routes_of_another_session_or_account_are_not_touched(board: Board) -> None:
    topic_id = await board.topic("Fence")
    other = await board.engine.another_account("other")
    await remember(board, topic_id)
    assert await routes(board, "discord-4711") == []
    assert await board.db.read(lambda tx: routes_of(tx, other, BUCKET)) == []
    assert await board.db.read(lambda tx: infer_space(tx, other, BUCKET)) is None


async def test_routes_go_with_their_topic_and_with_their_session(board: Board) -> None:
    first, second = await board.topic("Fence"), await board.topic("Roof")
    run = await board.engine.say(MAIN, "hello")
    await board.engine.cancel(run)
    await remember(board, first, key=str(MAIN))
    await remember(board, second, key=str(MAIN))
    await board.db.write(lambda tx: remove_topic(tx, board.access, second))
    assert [route.topic_id for route in await routes(board, str(MAIN))] == [first]

    def remove(tx: Tx) -> None:
        lane = lane_of(tx, board.access, MAIN)
        assert lane is not None
        remove_lane(tx, board.access, lane)

    await board.db.write(remove)
    assert await routes(board, str(MAIN)) == []


async def test_routes_of_sessions_that_are_quiet_for_long_are_forgotten(board: Board) -> None:
    topic_id = await board.topic("Fence")
    await remember(board, topic_id, key="old")
    await remember(board, topic_id, key="busy")
    board.engine.advance(80 * DAY)
    await remember(board, topic_id, key="busy")
    board.engine.advance(11 * DAY)
    assert await board.db.write(lambda tx: prune_routes(tx, board.access)) == 1
    assert (await routes(board, "old"), len(await routes(board, "busy"))) == ([], 2)


@requirement("S4.space.infer")
async def test_a_space_is_inferred_from_the_key_then_entries_then_routing(board: Board) -> None:
    home, work, garden = [await board.space(name) for name in ("Home", "Work", "Garden")]
    topic_id = await board.topic("Fence", space_id=home)
    assert await inferred(board) is None
    await remember(board, topic_id)
    assert await inferred(board) == (home, "routing")
    await board.send("hello", BUCKET, space_id=work)
    assert await inferred(board) == (work, "entries")
    await board.db.write(lambda tx: append_entry(tx, board.access, scoped(garden, in_space=work)))
    await board.db.write(lambda tx: append_entry(tx, board.access, scoped(None, in_space=home)))
    assert await inferred(board) == (garden, "entries")
    assert await inferred(board, f"clawboard:topic:{topic_id}") == (home, "boardKey")


@requirement("S4.x.default.noscope")
async def test_the_default_space_that_nobody_gave_says_nothing(board: Board) -> None:
    home = await board.space("Home")
    topic_id = await board.topic("Fence", space_id=home)
    task_id = await board.task("Paint it", topic_id=topic_id)
    for key in (BUCKET, f"clawboard:topic:{topic_id}"):
        await board.send("hello", key)
    assert await inferred(board) is None
    for key in (f"clawboard:task:{topic_id}:{task_id}", f"agent:main:task:{task_id}", f"agent:main:topic:{topic_id}"):
        assert await inferred(board, key) == (home, "boardKey")
    await remember(board, topic_id)
    assert await inferred(board) == (home, "routing")


@requirement("S4.x.routing.live")
async def test_a_session_known_by_routing_memory_alone_is_scoped_by_it(board: Board) -> None:
    home, work = await board.space("Home"), await board.space("Work")
    await remember(board, await board.topic("Invoices", space_id=work))
    await remember(board, await board.topic("Fence", space_id=home))
    assert await inferred(board) == (home, "routing")


async def test_a_key_of_something_that_does_not_exist_says_nothing(board: Board) -> None:
    for key in ("clawboard:topic:gone", "clawboard:task:gone:away", "agent:main:task:away", str(MAIN), "x" * 240):
        assert await inferred(board, key) is None


async def test_routes_are_shown_as_far_as_their_topics_are_visible(board: Board) -> None:
    home = await board.space("Home")
    await remember(board, await board.topic("Divorce papers", space_id=home), anchor="a secret")
    fence = await board.topic("Fence")
    await remember(board, fence)
    limited = structs.replace(board.access, kind="user", space_ids=("space-default",))
    named, found = await board.db.read(lambda tx: visible_routes(tx, limited, BUCKET))
    assert (named, [route.topic_id for route in found]) == (BUCKET, [fence])
    assert len((await board.db.read(lambda tx: visible_routes(tx, board.access, BUCKET)))[1]) == 2
