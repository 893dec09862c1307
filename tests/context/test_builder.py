"""What a context shows: the place of its session, what is worked on, what was said, and what is found."""

import asyncio
from typing import Any

import pytest
from msgspec import structs

from carrel.board import BoardQuery, board_search, settle_accounts
from carrel.context import ContextLimits
from carrel.context.model import (
    LOCATION,
    NOTES,
    RECALLED_LOGS,
    RECALLED_TASKS,
    RECALLED_TOPICS,
    ROUTING,
    TIMELINE,
    WORKING_TASKS,
    WORKING_TOPICS,
)
from carrel.kernel import SessionKey, ToolVisibility, iso
from carrel.kernel.settings import ContextSettings, Settings
from carrel.search import Search
from carrel.topics import set_task_digest
from tests.context.whiteboard import Whiteboard, contexts_with, hindered_search, open_whiteboard, section, undated
from tests.harness.elapsing import Elapsing
from tests.harness.engine import within
from tests.requirements.mark import requirement

BUCKET = "discord-1|thread:7"
MAIN = "agent:main:main"


@requirement("S4.context.full", "S4.context.cheap", "S4.context.data", "S4.x.budget.sections")
async def test_full_adds_what_is_found_and_cheap_finds_nothing(board: Whiteboard) -> None:
    await board.topic("Harbour lights", digest="Lamps for the pier.")
    await board.task("Order harbour lamps", topic_id="harbour-lights")
    said = await board.log("the harbour lamps must be green", "somewhere", topic_id="harbour-lights")
    await board.note("harbour lamps come from Hamburg", topic_id="harbour-lights", related_id=said.id)
    question = "which harbour lamps?"
    found = await board.build("another program", question, mode="full")
    assert found.layers == ("B:semantic",)
    assert [line.id for line in found.of(RECALLED_TOPICS)] == ["harbour-lights"]
    assert section(found, RECALLED_TOPICS) == ["- Harbour lights (harbour-lights): Lamps for the pier."]
    assert [line.id for line in found.of(RECALLED_TASKS)] == ["order-harbour-lamps"]
    today = (iso(said.created_at) or "")[:10]
    assert section(found, NOTES) == [f"- {today} user: harbour lamps come from Hamburg"]
    assert section(found, RECALLED_LOGS) == [f"- {today} user: the harbour lamps must be green"]
    assert found.block.index(NOTES) < found.block.index(RECALLED_LOGS)
    assert all(0 < (line.score or 0) <= 1 and line.reason for line in found.lines)
    assert found.block.split("\n")[1:3] == [f"Current user intent: {question}", "Mode: full"]
    assert (await board.build(MAIN, question)).layers == ("B:semantic",)
    assert "B:semantic" not in (await board.build(MAIN, question, mode="cheap")).layers
    assert "B:semantic" not in (await board.build(MAIN, "", mode="full")).layers
    shown = frozenset({said.id})
    assert not section(await board.build(MAIN, question, shown=shown), RECALLED_LOGS)


async def test_the_entry_of_a_question_is_neither_in_the_timeline_nor_recalled(board: Whiteboard) -> None:
    await board.log("The harbour lamps are green", BUCKET)
    question = await board.log("Which colour have the harbour lamps?", BUCKET, idempotency_key="asked")
    asked: dict[str, Any] = {"mode": "full", "limits": ContextLimits(timeline=1)}
    plain = await board.build(BUCKET, question.content, **asked)
    assert undated(section(plain, TIMELINE)) == [f"- user: {question.content}"]
    found = await board.build(BUCKET, question.content, without_keys=("asked", "unknown"), **asked)
    assert undated(section(found, TIMELINE)) == ["- user: The harbour lamps are green"]
    assert question.id not in {line.id for line in found.lines}


@requirement("S4.context.auto.board", "S4.context.auto.low")
async def test_a_word_of_agreement_recalls_in_a_board_session_alone_and_within_its_topic(board: Whiteboard) -> None:
    for name in ("Launch", "Other"):
        await board.topic(name)
        await board.log("yes, go ahead with it", "somewhere", topic_id=name.lower())
    inside = await board.build("clawboard:topic:launch", "yes")
    assert [line.scope for line in inside.of(RECALLED_LOGS)] == ["launch"]
    assert not section(await board.build(MAIN, "yes"), RECALLED_LOGS)


@requirement("S4.context.scoped", "S4.space.infer.where")
async def test_nothing_outside_the_spaces_of_a_session_is_shown(board: Whiteboard) -> None:
    home, secret = await board.space("Home"), await board.space("Secret")
    for space, word in ((home, "home"), (secret, "secret")):
        await board.topic(f"{word} topic", space_id=space, pinned=True)
        await board.task(f"{word} task", space_id=space, pinned=True)
        await board.log(f"the {word} lantern", BUCKET, space_id=space)
        await board.note(f"a {word} lantern note", topic_id=f"{word}-topic")
    await board.log("back home", BUCKET, space_id=home)
    everywhere = [
        await board.build(BUCKET, "which lantern topic task?", mode="full", **more)
        for more in ({"space_id": home}, {"allowed_space_ids": (home,)}, {})
    ]
    for found in everywhere:
        assert "secret" not in found.block.lower()
        assert not any("secret" in str(line).lower() for line in found.lines)
        assert {"A:working_set", "A:timeline", "B:semantic"} <= set(found.layers)
    inferred = everywhere[-1].scope
    assert (inferred.source, inferred.resolved_from) == (home, "entries")
    unscoped = await board.build(None, "which lantern topic task?", mode="full")
    assert "secret" in unscoped.block


@requirement("S4.digest.shown", "S4.context.layers")
async def test_every_line_of_a_topic_or_task_has_its_digest_clipped_and_the_layers_follow_the_block(
    board: Whiteboard,
) -> None:
    long = "lantern " * 40
    for name in ("Pinned lantern", "Another lantern"):
        await board.topic(name, digest=long, pinned=True)
    await board.topic("Found lantern", digest=long)
    for title, more in (("Pressing lantern", {"pinned": True}), ("Quiet lantern", {})):
        task = await board.task(title, topic_id="found-lantern", **more)
        await board.db.write(lambda tx, task=task: set_task_digest(tx, board.access, task.id, long))  # type: ignore[misc]
    key = "clawboard:topic:pinned-lantern"
    await board.log("which lantern?", key)
    await board.route("agent:main:topic:pinned-lantern", "pinned-lantern")
    limits = ContextLimits(max_chars=12_000)
    found = await board.build(key, "which lantern is it?", mode="patient", limits=limits)
    widths = {"topic": 140, "task": 120}
    lines = [line for line in found.lines if line.kind in widths and line.section != ROUTING]
    sections = {LOCATION, WORKING_TOPICS, WORKING_TASKS, RECALLED_TOPICS, RECALLED_TASKS}
    assert {line.section for line in lines} == sections
    for line in lines:
        if line.kind == "task":
            assert "lantern lantern" not in line.line, "the digest of a task is for the lanes of that task"
            continue
        digest = line.line.split(": ")[-1]
        assert len(digest) == widths[line.kind], line
        assert digest.endswith("…")
    assert found.layers == ("A:board_session", "A:working_set", "A:routing_memory", "A:timeline", "B:semantic")
    places = [found.block.index(name) for name in (LOCATION, WORKING_TOPICS, ROUTING, TIMELINE, RECALLED_TOPICS)]
    assert places == sorted(places)


@requirement("S4.context.nonempty")
@pytest.mark.parametrize("size", [200, 2_200])
@pytest.mark.parametrize("what", ["topic", "task", "entry"])
async def test_whatever_alone_is_in_view_is_shown(small_board: Whiteboard, what: str, size: int) -> None:
    limits, long = ContextLimits(max_chars=size), ("Lantern " * 15).strip()
    nothing = await small_board.build(BUCKET, "what about " + "x" * 200, mode="patient", limits=limits)
    assert nothing.lines == ()
    match what:
        case "topic":
            await small_board.topic(long)
        case "task":
            await small_board.task(long)
        case _:
            await small_board.log(long, BUCKET)
    for mode, question in (("auto", ""), ("cheap", "ok"), ("patient", "what about " + "x" * 200)):
        found = await small_board.build(BUCKET, question, mode=mode, limits=limits)
        (line,) = found.lines
        assert "Lantern" in line.line
        assert line.line in found.block.split("\n")
        assert len(found.block) <= size


@requirement("S4.context.nonempty")
async def test_what_is_new_is_shown_only_where_nothing_else_is_and_only_what_someone_made(
    board: Whiteboard,
) -> None:
    await board.topic("Gossip", digest="Ann is leaving.", created_by="classifier")
    await board.topic("Asleep", status="archived")
    await board.task("Guess", created_by="classifier")
    assert (await board.build(BUCKET)).lines == ()
    await board.topic("Launch", digest="Ann is leaving.")
    await board.task("Write copy", topic_id="launch")
    await board.task("Buy a blanket", topic_id="asleep")
    found = await board.build(BUCKET)
    assert [section(found, name) for name in (WORKING_TOPICS, WORKING_TASKS)] == [
        ["- Launch (launch)"], ["- Write copy (write-copy) [inbox]"]
    ]  # fmt: skip
    assert {line.reason for line in found.lines} == {"changed last"}
    secret = await board.space("Secret")
    assert (await board.build(BUCKET, allowed_space_ids=(secret,))).lines == ()
    await board.log("hello", BUCKET)
    assert {line.section for line in (await board.build(BUCKET)).lines} == {TIMELINE}


@requirement("S4.context.lane.task")
async def test_the_lane_of_a_task_sees_nothing_of_another_task_unless_that_is_widened(sqlite_url: str) -> None:
    async def shown(reach: Any) -> tuple[str, Whiteboard]:
        async with open_whiteboard(sqlite_url, None, Settings(context=ContextSettings(task_lane=reach))) as board:
            if reach == "task":
                await board.topic("Launch", pinned=True)
                await board.task("Write copy", topic_id="launch", pinned=True)
                await board.task("Paint banner", topic_id="launch", pinned=True)
                await board.task("Elsewhere", pinned=True)
                await board.log("copy banner colours: our own", "a", task_id="write-copy")
                await board.log("copy banner colours: sibling", "b", task_id="paint-banner")
                await board.log("copy banner colours: stranger", "c", task_id="elsewhere")
                await board.note("copy banner colours: topic note", topic_id="launch")
                await board.note("copy banner colours: sibling note", topic_id="launch", task_id="paint-banner")
            else:
                await settle_accounts(board.db, "space")
            found = await board.build("agent:main:task:write-copy", "which copy banner colours?", mode="full")
            return found.block, board

    block, _ = await shown("task")
    assert "our own" in block
    assert "topic note" in block
    for foreign in ("sibling", "stranger", "Paint banner", "Elsewhere"):
        assert foreign not in block
    block, _ = await shown("topic")
    assert "sibling" in block
    assert "Paint banner" in block
    assert "stranger" not in block
    block, _ = await shown("space")
    assert "stranger" in block


@requirement("S4.context.scoped")
async def test_an_agent_is_told_of_the_task_that_it_works_on_outside_of_its_spaces(small_board: Whiteboard) -> None:
    board, lane = small_board, "agent:main:task:hidden-task"
    home, secret = await board.space("Home"), await board.space("Secret")
    await board.task("Hidden task", space_id=secret, assigned_agent_ids=("main",), pinned=True)
    await board.task("Another task", space_id=secret, pinned=True)
    await board.log("the lantern is green", "a", task_id="hidden-task")
    await board.log("the lantern is blue", "b", task_id="another-task")
    agent = structs.replace(board.access, kind="agent", actor_id="main", agent_id="main", space_ids=(home,))
    question = "which lantern is it for the hidden task?"
    for session, recalled in ((lane, True), (MAIN, False)):
        view = ToolVisibility(mode="agent", key=SessionKey.stored(session), rule="")
        agent = structs.replace(agent, view=view)
        block = (await board.build(session, question, agent, mode="full")).block
        assert "Hidden task" in block
        assert ("green" in block) == recalled, "what is said about a task is for the lanes of that task"
        assert "blue" not in block
        assert "Another task" not in block
    block = (await board.build(MAIN, question, agent, mode="full", space_id=home)).block
    assert "Hidden task" not in block
    assert "green" not in block


@requirement("S4.search.busy.context", "S4.flow.besteffort")
@pytest.mark.parametrize("limit", ["fetch_timeout_ms", "total_budget_ms"])
async def test_a_search_that_is_slow_leaves_layer_a_and_says_so(
    small_board: Whiteboard, elapsing: Elapsing, limit: str
) -> None:
    await small_board.topic("Launch", pinned=True)

    async def slow() -> None:
        elapsing.advance(5)
        await asyncio.Event().wait()

    search = hindered_search(small_board.server, slow)
    assert await degraded_by(small_board, search, **{limit: 5_000}) == "timeout"


@requirement("S4.search.busy.context", "S4.flow.besteffort")
async def test_a_search_that_is_busy_leaves_layer_a_and_says_so(small_board: Whiteboard) -> None:
    await small_board.topic("Launch", pinned=True)
    searching = asyncio.Event()

    async def endless() -> None:
        searching.set()
        await asyncio.Event().wait()

    search = hindered_search(small_board.server, endless)
    async with asyncio.TaskGroup() as group:
        other = group.create_task(board_search(small_board.db, search, small_board.access, BoardQuery(text="launch")))
        await within(searching.wait())
        assert await degraded_by(small_board, search) == "search_busy"
        other.cancel()


@requirement("S4.search.busy.context", "S4.flow.besteffort")
async def test_a_search_that_is_broken_leaves_layer_a_and_says_so(small_board: Whiteboard) -> None:
    await small_board.topic("Launch", pinned=True)

    async def broken() -> None:
        raise RuntimeError("no index")

    assert await degraded_by(small_board, hindered_search(small_board.server, broken)) == "semantic"


async def degraded_by(board: Whiteboard, search: Search, **limits: int) -> str | None:
    """What a context with such a search says is missing; layer A is there in any case."""
    builder = contexts_with(board.server, search, **limits)
    found = await within(board.build(MAIN, "which launch?", mode="full", contexts=builder))
    assert found.layers == ("A:working_set",)
    return found.degraded


@requirement("S4.context.cache")
async def test_an_equal_request_gets_an_equal_answer_until_something_changes(small_board: Whiteboard) -> None:
    board = small_board
    await board.topic("Launch", pinned=True)
    first, second = [await board.build(MAIN, "which launch?", mode="full") for _ in range(2)]
    assert first == second
    await board.topic("Landing", pinned=True)
    assert "Landing" in (await board.build(MAIN, "which launch?", mode="full")).block


@requirement("S4.search.stable")
async def test_a_search_answers_the_same_before_and_after_contexts_were_built(small_board: Whiteboard) -> None:
    board = small_board
    await board.topic("Launch", pinned=True)
    await board.log("the launch is in May", "somewhere", topic_id="launch")
    await board.server.indexed()
    query = BoardQuery(text="when is the launch?")
    services = board.server.services
    before = await board_search(board.db, services.search, board.access, query)
    for mode in ("full", "patient"):
        await board.build(MAIN, "when is the launch?", mode=mode)
    after = await board_search(board.db, services.search, board.access, query)
    assert before.topics
    assert before.logs
    assert (before.topics, before.logs) == (after.topics, after.logs)
