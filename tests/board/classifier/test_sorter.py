"""Where entries end up: locks, lineage, spaces and continuity, without a model."""

from typing import Any

import pytest
from msgspec import UNSET

from carrel.board import backlog, routes_of
from carrel.journal import Entry, NewEntry, append_entry
from carrel.kernel import Provenance, SessionKey, limits
from carrel.sessions import NewChild, insert_child, insert_lane, lane_of
from carrel.storage import Tx
from tests.board.places import Board
from tests.harness.engine import MAIN, lane_key
from tests.requirements.mark import requirement

BUCKET = "discord-4711"


def how(entry: Entry) -> tuple[str, str | None]:
    """Return how an entry ended."""
    return entry.classification, entry.classification_error


@requirement("S4.flow.classify")
async def test_an_entry_gets_a_topic_and_a_summary(board: Board) -> None:
    topic_id = await board.topic("Garden fence")
    asked = await board.send("Please paint the garden fence green. It must be done by May.", BUCKET)
    told = await board.send("I have ordered the paint.", BUCKET, agent_id="main")
    await board.sort()
    for entry in (asked, told):
        found = await board.entry(entry)
        assert (how(found), found.topic_id, found.task_id) == (("classified", None), topic_id, None)
    assert (await board.entry(asked)).summary == "Please paint the garden fence green."
    assert (await board.entry(told)).classification_attempts == 1


@requirement("S4.alloc.task.lock")
async def test_entries_of_a_tasks_key_get_exactly_that_task_whatever_they_say(board: Board) -> None:
    home = await board.space("Home")
    fence, roof = await board.topic("Garden fence", space_id=home), await board.topic("Roof")
    paint, tiles = await board.task("Paint it", topic_id=fence), await board.task("Buy tiles", topic_id=roof)
    lane = SessionKey.of("main", f"task:{paint}")
    said = [
        await board.send("new topic: buy tiles for the roof", f"clawboard:task:{fence}:{paint}"),
        await board.send("I buy tiles for the roof", f"clawboard:task:{fence}:{paint}", agent_id="main"),
        await spoken(board, "TODO: buy tiles for the roof", key=str(lane)),
        await spoken(board, "TODO: something by a timer", key=str(lane), kind="cron"),
    ]
    await board.sort()
    assert [await placed(board, entry) for entry in said] == [(fence, paint, home)] * 4
    assert tiles not in [route.task_id for route in await routes(board, str(lane))]


@requirement("S4.alloc.topic.lock")
async def test_entries_of_a_topics_key_get_that_topic_and_a_task_only_inside_it(board: Board) -> None:
    fence, roof = await board.topic("Garden fence"), await board.topic("Roof tiles")
    paint = await board.task("Paint the fence green", topic_id=fence)
    await board.task("Buy roof tiles", topic_id=roof)
    key = f"clawboard:topic:{fence}"
    elsewhere = await board.send("buy roof tiles for the roof", key)
    inside = await board.send("paint the fence green, please", key)
    answer = await board.send("It is green.", key, agent_id="main")
    terse = await board.send("yes", key)
    made = await board.send("TODO: sand the gate", f"agent:main:topic:{fence}")
    in_lane = await spoken(board, "buy roof tiles for the roof", key=f"agent:main:topic:{fence}")
    await board.sort()
    assert await placed(board, elsewhere) == (fence, None, None)
    assert await placed(board, in_lane) == (fence, None, None)
    assert [await placed(board, entry) for entry in (inside, answer, terse)] == [(fence, paint, None)] * 3
    topic_id, task_id, _ = await placed(board, made)
    assert topic_id == fence
    assert task_id not in (None, paint)


@requirement("S4.alloc.lineage")
async def test_what_descends_from_no_persons_request_is_not_allocated(board: Board) -> None:
    await board.topic("Garden fence")
    said = [
        await spoken(board, "paint the garden fence", key=str(MAIN), kind=kind, author=author)
        for kind, author in (("cron", "system"), ("auto", "main"), ("notification", "main"), ("inter_session", "bob"))
    ]
    said.append(await board.send("the garden fence is green", "discord-1", agent_id="main"))
    said.append(await board.send("The garden fence", "discord-2", type="system", agent_id="main"))
    await board.sort()
    assert {how(await board.entry(entry)) for entry in said} == {("failed", "unallocated")}
    assert {await placed(board, entry) for entry in said} == {(None, None, None)}
    assert await routes(board, str(MAIN)) == []


@requirement("S4.alloc.space")
async def test_an_entry_is_sorted_into_its_own_space_and_into_no_other(board: Board) -> None:
    home, work = await board.space("Home"), await board.space("Work")
    there = await board.topic("Garden fence", space_id=home)
    tagged = await board.topic("Garden fence and gate", space_id=home, tags=("work",))
    at_work = await board.send("Paint the garden fence and gate", BUCKET, space_id=work)
    nowhere = await board.send("Paint the garden fence and gate", "other")
    at_home = await board.send("Paint the garden fence", "third", space_id=home)
    terse = await board.send("yes", "third", space_id=work)
    await board.sort()
    assert await placed(board, at_home) == (there, None, home)
    for entry, space_id in ((at_work, work), (nowhere, "space-default"), (terse, work)):
        topic_id, _, _ = await placed(board, entry)
        assert topic_id not in (None, there, tagged)
        assert await space_of(board, topic_id) == space_id


async def test_an_answer_in_another_space_than_its_question_does_not_follow_it(board: Board) -> None:
    home = await board.space("Home")
    await board.send("Paint the garden fence", BUCKET)
    answer = await board.send("Done.", BUCKET, agent_id="main", space_id=home)
    await board.sort()
    assert how(await board.entry(answer)) == ("failed", "unallocated")


@requirement("S4.alloc.continuity")
async def test_a_terse_message_goes_to_the_topic_and_task_its_session_used_last(board: Board) -> None:
    fence, roof = await board.topic("Garden fence"), await board.topic("Roof")
    paint = await board.task("Paint the fence green", topic_id=fence)
    await board.send("paint the fence green", BUCKET)
    await board.send("repair the roof", "elsewhere")
    await board.sort()
    terse = await board.send("yes, do it", BUCKET)
    unknown = await board.send("yes, do it", "brand-new")
    await board.sort()
    assert await placed(board, terse) == (fence, paint, None)
    topic_id, _, _ = await placed(board, unknown)
    assert topic_id not in (None, fence, roof)
    assert [route.topic_id for route in await routes(board, BUCKET)] == [fence, fence]


async def test_of_two_topics_that_fit_alike_the_one_that_is_not_snoozed_is_chosen(board: Board) -> None:
    awake = await board.topic("Garden fence")
    board.engine.advance(1)
    await board.topic("Garden fence", status="snoozed")
    said = await board.send("Paint the garden fence", BUCKET)
    await board.sort()
    assert (await placed(board, said))[0] == awake


async def test_small_talk_has_one_topic_for_each_space(board: Board) -> None:
    home = await board.space("Home")
    said = [await board.send("Hello!", "a"), await board.send("Good morning", "b"), await board.send("Thanks", "c")]
    other = await board.send("Hello!", "d", space_id=home)
    await board.sort()
    topics = {(await placed(board, entry))[0] for entry in said}
    assert len(topics) == 1
    assert (await placed(board, other))[0] not in topics


async def test_a_new_topic_says_that_the_classifier_made_it_and_is_used_again(board: Board) -> None:
    first = await board.send("Plan a trip to Lisbon in spring", "a")
    await board.sort()
    again = await board.send("Which hotel for the trip to Lisbon?", "b")
    await board.sort()
    topic_id, _, _ = await placed(board, first)
    assert (await placed(board, again))[0] == topic_id
    sql = "SELECT name, created_by, space_id FROM topics WHERE account_id = :account"
    assert await board.db.read(lambda tx: tx.all(sql, board.access)) == [
        ("Plan a trip to Lisbon in spring", "classifier", "space-default")
    ]


async def test_a_task_that_is_asked_for_outright_is_made_once(board: Board) -> None:
    fence = await board.topic("Garden fence")
    first = await board.send("TODO: paint the garden fence", BUCKET)
    second = await board.send("todo: paint the garden fence!", BUCKET)
    await board.sort()
    topic_id, task_id, _ = await placed(board, first)
    assert topic_id == fence
    assert (await placed(board, second))[1] == task_id
    sql = "SELECT title, created_by, status FROM tasks WHERE account_id = :account"
    assert await board.db.read(lambda tx: tx.all(sql, board.access)) == [
        ("Paint the garden fence", "classifier", "inbox")
    ]


@requirement("S4.alloc.subagent", "S4.alloc.nofallback")
async def test_a_sub_agents_entries_follow_their_own_link_and_no_other(board: Board) -> None:
    fence = await board.topic("Garden fence")
    asked = await board.engine.say(MAIN, "Paint the garden fence")
    await spoken(board, "Paint the garden fence", key=str(MAIN), run_id=asked.id)
    child, stranger = (SessionKey.of("main", f"subagent:{name}") for name in ("child", "stranger"))
    spawned = await board.engine.say(child, "Buy paint", kind="spawn", parent_run_id=asked.id)
    await board.engine.say(stranger, "Buy paint for the garden fence", kind="spawn")
    mine = [
        await spoken(board, "Buy paint", key=str(child), kind="spawn", run_id=spawned.id),
        await spoken(board, "Bought.", key=str(child), role="assistant", author="main", run_id=spawned.id),
        await spoken(board, "And brushes", key=str(child)),
    ]
    others = [
        await spoken(board, "Paint the garden fence", key=str(stranger), kind="spawn"),
        await spoken(board, "Paint the garden fence", key=str(stranger)),
        await board.send("Paint the garden fence", "agent:bob:subagent:4711"),
    ]
    explicit = await board.send("Buy it", "agent:bob:subagent:12", source={"board_scope_topic_id": fence})
    await board.sort()
    assert [await placed(board, entry) for entry in mine] == [(fence, None, None)] * 3
    assert [how(await board.entry(entry)) for entry in others] == [("failed", "unallocated")] * 3
    assert (await placed(board, explicit))[0] == fence


async def test_a_child_of_another_system_goes_where_the_question_went_for_which_it_was_spawned(board: Board) -> None:
    fence = await board.topic("Garden fence")
    await board.topic("Tax return")
    children = [f"openclaw:agent:main:subagent:{name}" for name in ("buyer", "stranger")]
    await board.send("Paint the garden fence", "discord-1")
    await board.send("Sub-agent spawned: buyer", "discord-1", type="action", agent_id="main",
                     raw=f'{{"childSessionKey": "{children[0]}"}}')  # fmt: skip
    await board.send("File the tax return", "discord-1")
    bought, strange = [await board.send("Bought.", child, agent_id="main") for child in children]
    await board.sort()
    assert (await placed(board, bought))[0] == fence
    assert how(await board.entry(strange)) == ("failed", "unallocated")


async def test_what_a_child_reports_goes_where_its_work_came_from(board: Board) -> None:
    fence = await board.topic("Garden fence")
    asked = await board.engine.say(MAIN, "Paint the garden fence")
    await spoken(board, "Paint the garden fence", key=str(MAIN), run_id=asked.id)
    child = SessionKey.of("main", "subagent:child")
    spawned = await board.engine.say(child, "Buy paint", kind="spawn", parent_run_id=asked.id)
    await spoken(board, "Buy paint", key=str(child), kind="spawn", run_id=spawned.id)
    told = await board.engine.say(MAIN, "It is bought", kind="announce", parent_run_id=spawned.id)
    report = await spoken(board, "It is bought", key=str(MAIN), kind="announce", author="main", run_id=told.id)
    await board.sort()
    assert (await placed(board, report))[0] == fence
    assert len(await routes(board, str(MAIN))) == 1


@requirement("S4.alloc.nofallback")
async def test_what_a_child_tells_a_session_that_did_not_spawn_it_has_no_place(board: Board) -> None:
    fence = await board.topic("Garden fence")
    asked = await board.engine.say(MAIN, "Paint the garden fence")
    await spoken(board, "Paint the garden fence", key=str(MAIN), run_id=asked.id)
    child = SessionKey.of("main", "subagent:child")
    await board.db.write(lambda tx: insert_child(tx, board.access, NewChild(key=child, spawned_by=MAIN)))
    await board.engine.say(child, "Buy paint", kind="spawn", parent_run_id=asked.id)
    report: dict[str, Any] = {"kind": "announce", "author": "main", "told_by": child}
    mine = await spoken(board, "It is bought", key=str(MAIN), **report)
    strange = await spoken(board, "It is bought", key=str(lane_key("other")), **report)
    await board.sort()
    assert (await placed(board, mine))[0] == fence
    assert how(await board.entry(strange)) == ("failed", "unallocated")


@requirement("S4.alloc.background")
async def test_timers_and_stray_tool_traces_leave_no_continuity(board: Board) -> None:
    fence = await board.topic("Garden fence")
    await board.send("Paint the garden fence", BUCKET)
    await board.sort()
    said = [
        await board.send("[cron:backup] nightly backup of the garden fence", BUCKET),
        await board.send("Tool result: 12 files", BUCKET, type="action", agent_id="main"),
        await board.send("HEARTBEAT_OK", BUCKET, agent_id="main"),
        await spoken(board, "check the backups", bucket=BUCKET, kind="cron", author="system"),
        await spoken(
            board, "Backups are fine.", bucket=BUCKET, role="assistant", author="main", kind="internal_system"
        ),
    ]
    await board.sort()
    assert {(await board.entry(entry)).classification for entry in said} == {"failed"}
    assert {(await placed(board, entry))[:2] for entry in said} == {(None, None)}
    assert [route.topic_id for route in await routes(board, BUCKET)] == [fence]


async def test_a_runs_tool_calls_go_where_its_message_went(board: Board) -> None:
    fence = await board.topic("Garden fence")
    run = await board.engine.say(MAIN, "Paint the garden fence")
    await spoken(board, "Paint the garden fence", key=str(MAIN), run_id=run.id)
    calls = [
        await spoken(board, "{}", key=str(MAIN), run_id=run.id, type_="action", role=role, author="main")
        for role in ("toolCall", "toolResult")
    ]
    gone: dict[str, Any] = {"key": str(lane_key("x")), "run_id": "run_gone"}
    stray = await spoken(board, "{}", type_="action", role="toolCall", author="main", **gone)
    await board.sort()
    for call in calls:
        assert how(await board.entry(call)) == ("classified", "filtered_tool_activity")
        assert (await placed(board, call))[0] == fence
    assert how(await board.entry(stray)) == ("failed", "unallocated")


@requirement("S4.filter.history")
async def test_old_entries_pass_the_same_filters(board: Board) -> None:
    old = [
        await spoken(board, "HEARTBEAT_OK", key=str(MAIN), role="assistant", author="main"),
        await spoken(board, "anything", key=str(MAIN), channel="cron-event"),
        await spoken(board, "Tool call: ls", bucket=BUCKET, type_="action", role="toolCall", author="main"),
        await spoken(board, "[Subagent Context] you are", key="agent:main:subagent:1", kind="spawn"),
    ]
    await board.sort()
    assert [(await board.entry(entry)).classification_error for entry in old] == [
        "filtered_control_plane", "filtered_cron_event", "filtered_unanchored_tool_activity",
        "filtered_subagent_scaffold",
    ]  # fmt: skip


async def test_a_note_goes_with_its_entry_and_a_persons_own_note_by_its_words(board: Board) -> None:
    fence = await board.topic("Garden fence")
    asked = await board.send("Paint the garden fence", BUCKET)
    tied = await board.send("green, not blue", type="note", related_id=asked.id, agent_id="main")
    own = await board.send("The garden fence is 20 metres long", type="note")
    stray = await board.send("The garden fence is long", type="note", agent_id="main")
    await board.sort(turns=2)
    assert [(await placed(board, entry))[0] for entry in (tied, own, stray)] == [fence, fence, None]


async def test_what_a_person_has_put_somewhere_stays_there(board: Board) -> None:
    roof = await board.topic("Roof")
    await board.topic("Garden fence")
    given = await board.send("Paint the garden fence", BUCKET, topic_id=roof)
    await board.sort()
    assert (await placed(board, given))[0] == roof


async def test_what_was_said_in_a_topic_that_is_gone_goes_to_no_other(board: Board) -> None:
    await board.topic("Garden fence")
    said = [await board.send("Paint the garden fence", f"clawboard:{key}") for key in ("topic:gone", "task:gone:away")]
    await board.sort()
    assert {how(await board.entry(entry)) for entry in said} == {("failed", "unallocated")}


async def spoken(
    board: Board, text: str, *, kind: Any = "external_user", role: str = "user", author: str = "user",
    type_: str = "conversation", told_by: SessionKey | None = None, **more: Any,
) -> Entry:  # fmt: skip
    """Write an entry as lanes do; `told_by` is the session that a message comes from."""
    author_kind: Any = author if author in ("user", "system") else "agent"
    entry = NewEntry(
        type=type_, role=role, content=text, author=author, author_kind=author_kind,
        provenance=Provenance(kind=kind, source_session_key=str(told_by) if told_by else UNSET), **more,
    )  # fmt: skip

    def write(tx: Tx) -> Entry:
        if entry.key is not None and lane_of(tx, board.access, SessionKey.stored(entry.key)) is None:
            insert_lane(tx, board.access, SessionKey.stored(entry.key))
        return append_entry(tx, board.access, entry)

    return await board.db.write(write)


async def placed(board: Board, entry: Entry) -> tuple[Any, Any, Any]:
    """Return topic, task and space of an entry as it is now."""
    found = await board.entry(entry)
    return found.topic_id, found.task_id, found.space_id


async def routes(board: Board, key: str) -> Any:
    """Return the routes of a session."""
    return await board.db.read(lambda tx: routes_of(tx, board.access, key))


async def space_of(board: Board, topic_id: str) -> str:
    """Return the space of a topic."""
    sql = "SELECT space_id FROM topics WHERE account_id = :account AND id = :id"
    row = await board.db.read(lambda tx: tx.one(sql, board.access, id=topic_id))
    assert row is not None
    return str(row[0])


async def test_what_waits_is_counted_up_to_a_limit(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_COUNTED_MAX", 2)
    await board.send("The first", BUCKET)
    board.engine.advance(60)
    for text in ("The second", "The third"):
        await board.send(text, BUCKET)
    waits = await board.db.read(lambda tx: backlog(tx, board.access))
    assert (waits.pending, waits.oldest_pending_seconds) == (2, 60)
