"""The context of a session before every run: one builder for runs and for whoever asks, and runs never wait for it."""

import asyncio
from functools import partial

import msgspec

from carrel.context import AROUND_CHARS, ContextLimits, SeenEntries
from carrel.delivery import ContextGatherer, contexts_of_runs, injections_of
from carrel.journal import events_after
from carrel.kernel import SessionKey
from carrel.kernel.settings import ContextSettings, DeliverySettings, Settings
from carrel.sessions import LaneChange, change_lane, close_generation
from carrel.work import move_task, reopen_task
from tests.context.whiteboard import contexts_with, hindered_search, open_whiteboard
from tests.harness.elapsing import Elapsing
from tests.harness.engine import within
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text

BEGIN, END = "[CARREL_CONTEXT_BEGIN]", "[CARREL_CONTEXT_END]"


def sent_block(gateway: ScriptedGateway) -> str:
    """Return the whole text of the newest request's context, with its markers."""
    items = [item for item in gateway.requests[-1].json["input"] if item.get("role") == "developer"]
    shown: str = items[0]["content"][0]["text"] if items else ""
    return shown


@requirement("S4.flow.inject", "S4.flow.one.path", "S4.context.injected.max")
async def test_a_run_is_shown_what_the_builder_gives_anybody_who_asks(store_url: str, gateway: ScriptedGateway) -> None:
    async with open_whiteboard(store_url, gateway) as board:
        server = board.server
        await board.topic("Launch", digest="We launch in May.", pinned=True)
        for n in range(40):
            await board.note(f"launch note {n} {'🚀' * 60}", topic_id="launch")
        gateway.script(text("Hello."), calls(("session_status", {})), text("In May."))
        first = await server.ask("hello there", "web:conversation-1")
        asked = await board.build(
            "agent:main:web:conversation-1",
            "when is the launch?",
            form="run",
            limits=ContextLimits(max_chars=2_200 - AROUND_CHARS),
            shown=SeenEntries.of(await server.entries(first)),
        )
        run = await server.ask("when is the launch?", "web:conversation-1")
        shown = sent_block(gateway)
        assert shown.startswith(f"{BEGIN}\n")
        assert shown.endswith(f"\n{END}")
        assert len(shown.encode("utf-16-le")) // 2 <= 2_200
        steps = (await server.receipt(run)).steps
        assert len(steps) == 2
        assert {step.context.block for step in steps} == {gateway.requests[-1].block}
        context = steps[0].context
        assert context.layers == ["A:working_set", "B:semantic"], "what was said is in the request already"
        assert context.block == asked.block
        assert context.omitted == asked.omitted
        assert [(item.id, item.reason, item.score) for item in context.items] == [
            (line.id, line.reason, line.score) for line in asked.lines
        ]
        assert [item["role"] for item in gateway.requests[-1].json["input"][:4]] == [
            "user", "assistant", "developer", "user",
        ]  # fmt: skip


@requirement("S4.flow.inject")
async def test_an_injection_is_told_on_the_feed_in_the_run_and_by_agent(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_whiteboard(sqlite_url, gateway) as board:
        server = board.server
        gateway.rule = lambda request: text("Good.")
        first = await server.ask("hello", "hook:one")
        await board.topic("Launch", pinned=True)
        (seen,) = await board.db.read(lambda tx: injections_of(tx, server.access, ["main"]))
        assert (seen.last_injected_at, seen.runs_since) == (None, 1)
        second = await server.ask("hello again", "hook:one")
        events = await board.db.read(lambda tx: events_after(tx, server.access, 0, limit=1_000))
        told = [event for event in events if event.name == "context.injected"]
        assert [(event.run_id, event.key, event.agent_id) for event in told] == [
            (second.id, "agent:main:hook:one", "main")
        ]
        body = msgspec.json.decode(told[0].body)
        block = (await server.receipt(second)).steps[0].context.block
        assert body == {"mode": "auto", "layers": ["A:working_set"], "chars": len(block)}
        of_runs = await board.db.read(lambda tx: contexts_of_runs(tx, server.access, [first.id, second.id]))
        assert (of_runs[first.id].injected, of_runs[first.id].chars) == (False, 0)
        assert (of_runs[second.id].injected, of_runs[second.id].chars) == (True, len(block))
        (seen,) = await board.db.read(lambda tx: injections_of(tx, server.access, ["main"]))
        assert seen.last_injected_at is not None
        assert seen.runs_since == 0


@requirement("S4.flow.off")
async def test_with_augment_off_nothing_is_injected_and_runs_still_work(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    off = Settings(context=ContextSettings(augment=False))
    async with open_whiteboard(sqlite_url, gateway, off) as board:
        await board.topic("Launch", pinned=True)
        gateway.rule = lambda request: text("Good.")
        await board.server.ask("hello", "hook:one")
        run = await board.server.ask("when is the launch?", "hook:one")
        assert run.reply == "Good."
        assert sent_block(gateway) == ""
        assert (await board.server.receipt(run)).steps[0].context.block == ""


@requirement("S4.flow.besteffort")
async def test_a_run_goes_on_without_what_cannot_be_found_in_time_and_its_receipt_says_so(
    sqlite_url: str, gateway: ScriptedGateway, elapsing: Elapsing
) -> None:
    async def never() -> None:
        elapsing.advance(5)
        await asyncio.Event().wait()

    async with open_whiteboard(sqlite_url, gateway) as board:
        server = board.server
        await board.topic("Launch", pinned=True)
        await server.indexed()
        await server.kill()
        gateway.script(text("In May."))
        await server.send("when is the launch?")
        contexts = contexts_with(server, hindered_search(server, never), total_budget_ms=5_000)
        gather = ContextGatherer(server.db, contexts, server.services.settings.context).gather
        turns = server.turns_on(server.db, gather=gather)
        await within(turns.take(await server.take_one()))
        (run,) = await server.runs(SessionKey.of("main", "main"))
        context = (await server.receipt(run)).steps[0].context
        assert (context.degraded, context.layers) == ("timeout", ["A:working_set"])
        assert "Launch" in sent_block(gateway)


async def test_the_index_is_not_asked_on_a_board_on_which_nothing_is_but_the_chat_itself(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async def refused() -> None:
        raise AssertionError("there is nothing to find")

    async with open_whiteboard(sqlite_url, gateway) as board:
        server = board.server
        gateway.rule = lambda request: text("In May.")
        await server.ask("when is the launch?")
        await server.indexed()
        await server.kill()
        await server.send("and when is the launch party?")
        gather = ContextGatherer(
            server.db, contexts_with(server, hindered_search(server, refused)), server.services.settings.context
        ).gather
        await server.turns_on(server.db, gather=gather).take(await server.take_one())
        _, run = await server.runs(SessionKey.of("main", "main"))
        assert (await server.receipt(run)).steps[0].context.degraded is None


@requirement("S4.context.lane.session", "S4.context.lane.sandbox")
async def test_a_lane_recalls_the_board_only_where_that_was_chosen_and_private_talk_nowhere_else(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_whiteboard(sqlite_url, gateway) as board:
        gateway.rule = lambda request: text("Noted.")
        await board.topic("Harbour")
        await board.log("the harbour lantern is red", "agent:main:hook:other", topic_id="harbour")
        await board.server.ask("the private lantern is blue", "hook:other")
        await board.server.indexed()
        await board.server.ask("which lantern do we have?", "hook:mine")
        assert "lantern is red" not in sent_block(gateway), "a lane recalls itself"
        assert "lantern is blue" not in sent_block(gateway)
        mine = SessionKey.of("main", "hook:mine")
        await board.db.write(lambda tx: change_lane(tx, board.access, mine, LaneChange(recall="space")))
        await board.server.ask("which lantern do we have?", "hook:mine")
        assert "lantern is red" in sent_block(gateway)
        assert "lantern is blue" not in sent_block(gateway)
        await board.server.make_agent("boxed", sandbox="on", recall="space")
        await board.server.ask("which lantern do we have?", "hook:boxed", agent="boxed")
        assert "lantern is red" not in sent_block(gateway)


@requirement("S4.context.lane.task")
async def test_after_a_reopening_a_task_lane_recalls_only_what_came_after(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_whiteboard(sqlite_url, gateway) as board:
        server = board.server
        gateway.rule = lambda request: text("Noted.")
        await board.task("Paint", assigned_user_ids=("owners",), status="in_progress")
        await board.log("the old colour is red", "somewhere", task_id="paint")
        for status in ("review", "done"):
            await server.db.write(
                partial(move_task, access=server.access, task_id="paint", to=status, rules=server.rules)
            )
        await server.db.write(lambda tx: reopen_task(tx, server.access, "paint"))
        await board.log("the new colour is green", "somewhere", task_id="paint")
        await server.indexed()
        await server.ask("which colour is it?", "task:paint")
        assert "new colour is green" in sent_block(gateway)
        assert "old colour" not in gateway.requests[-1].body.decode()


async def test_a_session_that_begins_afresh_recalls_nothing_of_the_generation_before(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_whiteboard(sqlite_url, gateway) as board:
        server, key = board.server, SessionKey.of("main", "hook:one")
        gateway.rule = lambda request: text("Noted.")
        await server.ask("the lantern is blue", "hook:one")
        await server.indexed()
        await server.db.write(lambda tx: close_generation(tx, server.access, key, "reset"))
        await server.ask("which lantern do we have?", "hook:one")
        assert sent_block(gateway) == ""
        person = await board.build(str(key), "which lantern do we have?", mode="full")
        assert "the lantern is blue" not in person.block, "a person is shown what a run would be shown"


@requirement("S4.context.injected.max")
async def test_what_a_run_is_shown_has_no_more_characters_than_the_settings_allow(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    small = Settings(context=ContextSettings(max_chars=400))
    async with open_whiteboard(sqlite_url, gateway, small) as board:
        for n in range(6):
            await board.topic(f"Topic number {n}", pinned=True)
        gateway.script(text("Good."))
        await board.server.ask("hello")
        assert 350 < len(sent_block(gateway)) <= 400


@requirement("A.once")
async def test_a_small_history_is_not_repeated_in_the_block(sqlite_url: str, gateway: ScriptedGateway) -> None:
    small = Settings(delivery=DeliverySettings(history_chars_max=2_000, input_chars_max=2_000))
    async with open_whiteboard(sqlite_url, gateway, small) as board:
        gateway.rule = lambda request: text("Good.")
        await board.server.ask("The boat leaves at noon from the old harbour.", "hook:one")
        await board.server.ask("When does the boat leave?", "hook:one")
        said = [part["text"] for item in gateway.requests[-1].json["input"] for part in item["content"]]
    assert sum("old harbour" in each for each in said) == 1


@requirement("A.tools.memory")
async def test_words_of_control_are_not_in_the_block_before_they_are_sorted(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_whiteboard(sqlite_url, gateway) as board:
        gateway.script(text("REPLY_SKIP"), text("Good."))
        await board.server.ask("never mind", "hook:one")
        await board.server.ask("and now?", "hook:one")
    assert "REPLY_SKIP" not in str(gateway.requests[-1].json["input"])
