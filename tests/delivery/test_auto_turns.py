"""The turns of ticks: what they are shown, what they may do with their task, and how they end without a model."""

from functools import partial
from typing import Any

from carrel.board import NewLog, record
from carrel.goals import PlannedTask, add_goal_task, make_goal
from carrel.journal import entries_of_session
from carrel.kernel import SessionKey
from carrel.kernel.settings import RunsSettings, Settings
from carrel.loops import allow_loop
from carrel.memory import NewMemory, Scope, keep
from carrel.modes import AutoRun, NewAutoRun, start_auto, stop_auto
from carrel.modes.auto.store import auto_run_by_id
from carrel.sessions import open_session_of
from carrel.work import Task, assign_task, readable_task
from tests.delivery.tasks import make_task
from tests.harness.engine import until_found
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, Request, ScriptedGateway, calls, text

CHAT = SessionKey.of("main", "web:conversation-1")
OTHER = SessionKey.of("main", "web:conversation-2")


async def start(server: Server, key: SessionKey = CHAT, **more: Any) -> AutoRun:
    """Start an auto run that ticks as often as possible."""
    new = NewAutoRun(key=key, **{"interval_seconds": 1} | more)
    return await server.db.write(lambda tx: start_auto(tx, server.access, new, server.rules))


async def stop(server: Server, auto: AutoRun) -> None:
    """Stop an auto run."""
    await server.db.write(lambda tx: stop_auto(tx, server.access, auto_run_id=auto.id))


async def ended(server: Server, auto: AutoRun) -> AutoRun:
    """Return an auto run once it has ended."""
    return await until(server, auto, lambda found: found.ended_at is not None)


async def until(server: Server, auto: AutoRun, holds: Any) -> AutoRun:
    """Return an auto run once something holds of it."""
    found: list[AutoRun] = []

    def look(tx: Any) -> bool:
        found[:] = [one for one in [auto_run_by_id(tx, auto.access, auto.id)] if one is not None]
        return bool(holds(found[0]))

    await server.until(look)
    return found[0]


async def task_of(server: Server, auto: AutoRun) -> Task:
    """Return the task of an auto run."""
    return (await server.read(lambda tx: readable_task(tx, server.access, auto.task_id)))[0]


def words(request: Request) -> list[str]:
    """The last part of every message of a request."""
    return [item["content"][-1]["text"] for item in request.json["input"] if item.get("type") == "message"]


async def test_without_a_model_an_auto_run_works_on_its_task_and_ends(store_url: str) -> None:
    async with open_server(store_url) as server:
        auto = await start(server, text="Tidy up")
        over = await ended(server, auto)
        assert (over.status, over.reason, over.tick_count) == ("completed", "task_done", 2)
        assert (await task_of(server, auto)).status == "done"
        session = await server.read(lambda tx: open_session_of(tx, server.access, str(CHAT)))
        assert session is not None
        entries = await server.read(lambda tx: entries_of_session(tx, server.access, session.id, limit=50))
        said = [entry.content for entry in entries if entry.role in ("assistant", "system")]
        assert "I have taken this task up." in said[0]
        assert "marked it as done" in said[1]
        assert said[2] == f"Auto run {auto.id} has ended: task {auto.task_id} is done."


@requirement("S3.auto.transcript")
async def test_a_tick_is_shown_its_own_earlier_ticks_and_the_chat_but_no_other_auto_run(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("The owl is white."))
    await server.ask("What colour is the owl?", "web:conversation-1")
    heard: dict[str, list[Request]] = {"Alpha": [], "Beta": []}

    def rule(request: Request) -> Any:
        name = next(name for name in heard if f": {name}" in words(request)[-1])
        heard[name].append(request)
        return text(f"{name} has said {len(heard[name])}.")

    gateway.rule = rule
    alpha, beta = await start(server, text="Alpha"), await start(server, text="Beta")
    for auto in (alpha, beta):
        await until(server, auto, lambda found: found.tick_count >= 3)
        await stop(server, auto)
    for name, other in (("Alpha", "Beta"), ("Beta", "Alpha")):
        for n, request in enumerate(heard[name]):
            shown = "\n".join(words(request))
            assert "The owl is white." in shown
            assert other not in shown
            assert [f"{name} has said {m}." in shown for m in range(1, n + 1)] == [True] * n
    gateway.rule = None
    for auto in (alpha, beta):
        await ended(server, auto)
    gateway.script(text("Both."))
    await server.ask("Who spoke?", "web:conversation-1")
    shown = "\n".join(words(gateway.requests[-1]))
    assert "Alpha has said 1." in shown
    assert "Beta has said 1." in shown, "people see everything that was said in their session"


async def test_a_tick_recalls_what_its_task_is_about_and_not_what_its_own_message_says(
    server: Server, gateway: ScriptedGateway
) -> None:
    for content in ("Harbour lamps come from Hamburg", "The next step in a few lines: ask a person, then review"):
        note = NewLog(type="note", content=content)
        await server.db.write(lambda tx, note=note: record(tx, server.access, note))  # type: ignore[misc]
    await server.indexed()
    gateway.rule = lambda request: text("I have asked for a price.")
    auto = await start(server, text="Order lamps\nThey are for the harbour.")
    await until(server, auto, lambda found: found.tick_count >= 2)
    await stop(server, auto)
    (block,) = [shown for shown in words(gateway.requests[0]) if "CONTEXT_BEGIN" in shown]
    assert "Harbour lamps come from Hamburg" in block
    assert "ask a person" not in block
    assert "Order lamps" not in block, "the task heads the message already"


@requirement("S3.inv.2")
async def test_what_an_auto_run_says_never_reaches_another_session(server: Server, gateway: ScriptedGateway) -> None:
    said = iter(range(1000))
    gateway.rule = lambda request: text(f"CANARY-{next(said)}-{request.json['user']}")
    autos = [await start(server, key, text="Sing") for key in (CHAT, OTHER)]
    for auto in autos:
        await until(server, auto, lambda found: found.tick_count >= 3)
        await stop(server, auto)
    for key, other in ((CHAT, OTHER), (OTHER, CHAT)):
        own = [request for request in gateway.requests if str(key) in request.json["user"]]
        assert len(own) >= 2
        assert all(str(other) not in request.body.decode() for request in own)
        for auto in autos:
            await ended(server, auto)
        entries = await server.read(partial(_entries, server=server, key=key))
        assert entries
        assert not any(str(other) in entry.content for entry in entries)


def _entries(tx: Any, server: Server, key: SessionKey) -> list[Any]:
    session = open_session_of(tx, server.access, str(key))
    assert session is not None
    return entries_of_session(tx, server.access, session.id, limit=50)


@requirement("S3.auto.end")
async def test_a_tick_may_finish_its_own_task_by_way_of_review_though_its_agent_may_not_finish_others(
    server: Server, gateway: ScriptedGateway
) -> None:
    other = await make_task(server)
    await server.db.write(lambda tx: _give(tx, server, other))
    auto = await start(server, interval_seconds=3600, text="Write it")

    def move(task_id: str, status: str) -> Any:
        return calls(("task_status", {"taskId": task_id, "status": status}))

    own = auto.task_id
    gateway.script(
        move(own, "done"), move(own, "review"), move(own, "done"), move(other, "review"), move(other, "done")
    )
    gateway.script(text("Finished."))
    over = await ended(server, auto)
    assert over.status == "completed"
    results = [item["output"] for item in gateway.requests[-1].json["input"] if item["type"] == "function_call_output"]
    assert "only from review" in results[0]
    assert ['"status":"done"' in results[2], "may not mark tasks as done" in results[4]] == [True, True]
    assert "to review and then to done" in gateway.requests[0].json["instructions"]


def _give(tx: Any, server: Server, task_id: str) -> None:
    assign_task(tx, server.access, task_id, server.rules, agent_ids=("main",), quiet=True)


@requirement("S3.x.attempt.loop")
async def test_after_the_third_equal_call_with_an_equal_result_in_a_row_the_tick_is_held_before_its_next_step(
    server: Server, gateway: ScriptedGateway
) -> None:
    auto = await start(server, text="Look")
    look = calls(("session_status", {"sessionKey": "agent:main:nowhere"}))
    gateway.script(*(answer for n in range(3) for answer in (look, text(f"Looked {n} times."))))
    held = "SELECT error_message FROM runs WHERE held_for LIKE '%loop' AND auto_run_id = :auto"
    await server.until(lambda tx: tx.one(held, auto=auto.id) is not None)
    row = await server.read(lambda tx: tx.one(held, auto=auto.id))
    assert row is not None
    assert "made the same call with the same result 3 times in a row" in row[0]
    assert len(gateway.requests) == 5


@requirement("S3.x.attempt.loop")
async def test_after_the_third_equal_answer_in_a_row_the_next_tick_is_held_until_it_may_go_on(
    server: Server, gateway: ScriptedGateway
) -> None:
    auto = await start(server, text="Look")
    gateway.script(*(text(said) for said in ("same", "other", "same", "same", "same", "well")))
    held = "SELECT id FROM runs WHERE held_for LIKE '%loop' AND auto_run_id = :auto"
    # An auto run that nothing holds would go on for ever, and the test with it.
    await server.until(lambda tx: tx.one(held, auto=auto.id) is not None or len(gateway.requests) > 5)
    assert len(gateway.requests) == 5
    row = await server.read(lambda tx: tx.one(held, auto=auto.id))
    assert row is not None
    run = await server.run(row[0])
    await server.db.write(lambda tx: allow_loop(tx, server.access, run))
    assert (await server.settled(run)).reply == "well"


@requirement("S3.x.timeout.real")
async def test_the_time_of_a_tick_counts_from_its_start_and_ends_its_turn(
    store_url: str, gateway: ScriptedGateway
) -> None:
    settings = Settings(runs=RunsSettings(timeout_minutes=2 / 60))
    async with open_server(store_url, gateways_to(gateway), settings) as server:
        chat, tick = Gate(), Gate()
        gateway.script(text("Chatting.", before=chat), text("Never heard.", before=tick))
        talking = await server.send("Hello", "web:conversation-1", timeout_seconds=600)
        await chat.reached()
        auto = await start(server, interval_seconds=3600, text="Wait")
        waiting = await until(server, auto, lambda found: found.tick_run_id is not None)
        # As if it had waited for a second.
        sql = "UPDATE runs SET created_at = created_at - 1000 WHERE id = :id"
        await server.db.write(lambda tx: tx.run(sql, id=waiting.tick_run_id))
        chat.open()
        assert (await server.settled(talking)).state == "completed"
        begun = await until_found(lambda: server.run(waiting.tick_run_id or ""), lambda run: run.started_at)
        assert begun.started_at is not None
        assert begun.started_at >= begun.created_at + 1_000
        assert begun.deadline_at == begun.started_at + 2_000
        over = await ended(server, auto)
        run = await server.run(waiting.tick_run_id or "")
        assert (over.status, run.state, run.reason) == ("failed", "failed", "timeout")
        assert (run.ended_at or 0) >= begun.deadline_at
        tick.open()


@requirement("S3.scope.chain.goal", "S3.scope.chain.task")
async def test_a_goal_run_remembers_its_goal_and_a_task_run_on_the_same_task_does_not(
    server: Server, gateway: ScriptedGateway
) -> None:
    def furnish(tx: Any) -> tuple[str, str]:
        goal = make_goal(tx, server.access, CHAT, name="Paint it")
        task = add_goal_task(tx, server.access, goal, PlannedTask(title="Paint the goal"))
        goal_scope, session_scope = Scope.of_goal(CHAT.identity, goal.id), Scope.of_session(CHAT.identity)
        keep(tx, server.access, Scope.of_task(task.id), "", NewMemory(type="fact", content="Paint the task teal."))
        keep(tx, server.access, goal_scope, "main", NewMemory(type="fact", content="Paint the goal green."))
        keep(tx, server.access, session_scope, "main", NewMemory(type="fact", content="Paint the session red."))
        return goal.id, task.id

    goal_id, task_id = await server.db.write(furnish)
    gateway.script(text("By goal."), text("By task."))
    remembered = []
    ids: list[dict[str, Any]] = [{"goal_id": goal_id}, {"task_id": task_id}]
    for named in ids:
        auto = await start(server, interval_seconds=3600, **named)
        await until(server, auto, lambda found: found.tick_count == 1 and found.due_at is not None)
        await stop(server, auto)
        sent = gateway.requests[-1].body.decode()
        remembered.append([colour for colour in ("teal", "green", "red") if colour in sent])
    assert remembered == [["teal", "green", "red"], ["teal", "red"]]


async def test_a_tick_whose_task_was_finished_at_the_last_moment_is_not_sent(
    server: Server, gateway: ScriptedGateway
) -> None:
    chat = Gate()
    gateway.script(text("Chatting.", before=chat))
    talking = await server.send("Hello", "web:conversation-1")
    await chat.reached()
    auto = await start(server, text="Write it")
    waiting = await until(server, auto, lambda found: found.tick_run_id is not None)
    # As if it was done in a transaction that did not see the tick yet.
    sql = "UPDATE tasks SET status = 'done' WHERE id = :id"
    await server.db.write(lambda tx: tx.run(sql, id=auto.task_id))
    chat.open()
    await server.settled(talking)
    tick = await server.settled(waiting.tick_run_id or "")
    assert (tick.state, tick.reason) == ("cancelled", "task_done")
    assert (await ended(server, auto)).status == "completed"
    assert len(gateway.requests) == 1
