"""A task that is reopened while an agent is still at work on it: nothing of the past enters what begins anew."""

from carrel.access import owner_of_default
from carrel.context import Context
from carrel.delivery.snapshot import Snapshot
from carrel.kernel import Access, SessionKey
from carrel.runs import Completed
from carrel.sessions import generations_of, open_session_of
from carrel.storage import Tx
from carrel.work import (
    NewTask,
    TaskChange,
    change_task,
    create_task,
    post_message,
    read_thread,
    readable_task,
    reopen_task,
)
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, text

OLD, NEW = "said before the reopening", "said after the reopening"


async def _open(server: Server, *agents: str) -> Access:
    for agent in ("writer", "checker"):
        await server.make_agent(agent)
    access = await server.read(owner_of_default)
    new = NewTask(id="report", title="Report", assigned_agent_ids=agents)
    await server.db.write(lambda tx: create_task(tx, access, new, server.rules))
    return access


async def _post(server: Server, access: Access, content: str) -> list[str]:
    """Post to the thread; return the runs that tell agents of it."""
    posted = await server.db.write(lambda tx: post_message(tx, access, "report", content, server.rules))
    return [told.run_id for told in posted.notified if told.run_id is not None]


async def _finish(server: Server, access: Access) -> None:
    await server.db.write(lambda tx: change_task(tx, access, "report", TaskChange(status="done"), server.rules))


async def _reopen(server: Server, access: Access) -> None:
    await server.db.write(lambda tx: reopen_task(tx, access, "report"))


async def _ends_handled(server: Server) -> None:
    def none_left(tx: Tx) -> bool:
        return tx.one("SELECT 1 FROM task_run_ends WHERE account_id = :account", server.access) is None

    await server.until(none_left)


@requirement("S0.close.running", "S0.reopen.fresh")
async def test_a_late_reply_from_before_a_reopening_is_for_people_and_not_for_agents(
    server: Server, gateway: ScriptedGateway
) -> None:
    gate = Gate()

    def answer(request: Request) -> Answer:
        # Not the run of its assignment, which may be shown the message as the newest of the thread.
        message = request.json["input"][-1]["content"][-1]["text"]
        is_writer = request.json["user"].startswith("agent:writer:") and "a question" in message
        return text(OLD, before=gate) if is_writer else text("Noted.")

    gateway.rule = answer
    access = await _open(server, "writer", "checker")
    (writing,) = await _post(server, access, "@writer a question")
    await gate.reached()
    await _finish(server, access)
    await _reopen(server, access)
    gate.open()
    assert (await server.settled(writing)).reply == OLD
    await _ends_handled(server)
    # It can be found by now, and is not recalled.
    await server.indexed()
    for run_id in await _post(server, access, f"@checker {NEW}"):
        await server.settled(run_id)

    thread = await server.read(lambda tx: read_thread(tx, access, "report", limit=10))
    assert OLD in [message.content for message in thread.messages]
    renewed = [request for request in gateway.requests if request.json["user"] == "agent:checker:task:report:v2"]
    assert renewed
    assert not any(OLD in request.body.decode() for request in renewed)


@requirement("S0.reopen.fresh")
async def test_a_request_that_was_built_before_the_reopening_is_built_again(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(sqlite_url, gateways_to(gateway), working=False) as server:
        access = await _open(server)
        await _post(server, access, OLD)
        owned = TaskChange(assigned_user_ids=("owners",))
        await server.db.write(lambda tx: change_task(tx, access, "report", owned, server.rules))
        await _finish(server, access)
        await _post(server, access, f"@writer {NEW}")
        gateway.script(text("Fresh."))

        async def reopen(_snapshot: Snapshot) -> Context:
            task = await server.read(lambda tx: readable_task(tx, access, "report")[0])
            if task.status == "done":
                await _reopen(server, access)
            return Context()

        turns = server.turns_on(server.db, gather=reopen)
        outcome = await turns.take(await server.take_one())
        assert isinstance(outcome, Completed)
        (request,) = gateway.requests
        assert OLD not in request.body.decode()


@requirement("S0.done.late", "S0.reopen.fresh")
async def test_a_run_heard_while_its_task_was_done_takes_its_session_with_it_though_the_task_was_reopened(
    server: Server, gateway: ScriptedGateway
) -> None:
    access, gate = await _open(server), Gate()
    gateway.script(text("Late.", before=gate), text("Fresh."))
    await server.db.write(
        lambda tx: change_task(tx, access, "report", TaskChange(assigned_user_ids=("owners",)), server.rules)
    )
    await _finish(server, access)
    (late,) = await _post(server, access, f"@writer {OLD}")
    await gate.reached()
    await _reopen(server, access)
    gate.open()
    await server.settled(late)
    (fresh,) = await _post(server, access, f"@writer {NEW}")
    assert (await server.settled(fresh)).generation == 2

    key = str(SessionKey.of("writer", "task:report"))
    found = await server.read(lambda tx: generations_of(tx, access, key))
    first, second = sorted(found, key=lambda session: session.generation)
    assert (first.closed_reason, second.closed_reason) == ("task_done", None)
    assert OLD not in gateway.requests[-1].body.decode()
    assert await server.read(lambda tx: open_session_of(tx, access, key)) == second
