"""Whether an agent hears a run about a task is decided before a session is opened and before anything is sent."""

import sqlite3
from contextlib import closing
from functools import partial

from carrel.runs import Run
from carrel.work import assign_task, move_task
from tests.delivery.tasks import assign, change, lane, make_task, post
from tests.harness.server import Server, gateways_to, open_server
from tests.memory.places import counted
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, text


async def sessions(server: Server) -> int:
    """How many sessions there are."""
    sql = "SELECT count(*) FROM sessions WHERE account_id = :account"
    row = await server.read(lambda tx: tx.one(sql, account=server.access.account_id))
    assert row is not None
    return int(row[0])


async def waiting(server: Server, task_id: str) -> Run:
    """Assign the writer while nobody works, and return the run that waits for it."""
    await server.db.write(lambda tx: assign_task(tx, server.access, task_id, server.rules, agent_ids=("writer",)))
    return (await server.runs(lane(server, "writer", task_id)))[-1]


@requirement("S0.x.policy.first")
async def test_a_run_that_its_agent_may_no_longer_hear_ends_by_policy_and_opens_no_session(
    store_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        await server.make_agent("writer")
        task_id = await make_task(server)
        run = await waiting(server, task_id)
        taken_off = partial(assign_task, task_id=task_id, rules=server.rules, agent_ids=("writer",), remove=True)
        await server.db.write(lambda tx: taken_off(tx, server.access))
        server.start()
        run = await server.settled(run)
        assert (run.state, run.reason, run.session_id) == ("cancelled", "policy", None)
        assert await sessions(server) == 0
    assert gateway.requests == []


@requirement("S0.x.policy.first")
async def test_an_update_about_a_task_that_came_to_rest_is_not_heard(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(text("I begin."))
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        await server.make_agent("writer")
        task_id = await make_task(server)
        await assign(server, task_id, "writer")
        await server.kill()
        posted = await post(server, task_id, "one more thing")
        await change(server, task_id, status="blocked", blocked_reason="No data.")
        server.start()
        run = await server.settled(next(one.run_id for one in posted.notified if one.run_id is not None))
        assert (run.state, run.reason, run.session_id) == ("cancelled", "policy", None)
        assert await sessions(server) == 1
    assert len(gateway.requests) == 1


@requirement("S0.archived.never")
async def test_a_run_addressed_to_an_archived_task_opens_no_session(store_url: str, gateway: ScriptedGateway) -> None:
    async with open_server(store_url, gateways_to(gateway)) as server:
        await server.make_agent("writer")
        task_id = await make_task(server)
        await server.db.write(lambda tx: move_task(tx, server.access, task_id, "archived", server.rules))
        run = await server.ask("are you there?", f"task:{task_id}", agent="writer")
        assert (run.state, run.reason, run.session_id) == ("cancelled", "task_archived", None)
        assert await sessions(server) == 0
    assert gateway.requests == []


@requirement("S0.isolation.mismatch", "S3.metric.mismatch")
async def test_a_run_whose_task_is_not_in_its_account_fails_before_anything_is_sent(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(sqlite_url, gateways_to(gateway), working=False) as server:
        await server.make_agent("writer")
        other = await server.another_account("acme")
        task_id = await make_task(server, "A secret plan")
        run = await waiting(server, task_id)

        # Only a fault could do this: a connection with foreign keys would refuse it.
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as faulty, faulty:
            faulty.execute("UPDATE tasks SET account_id = ? WHERE id = ?", (other.account_id, task_id))
        before = counted("routing.session_mismatch.blocked.count")
        server.start()
        run = await server.settled(run)
        assert (run.state, run.reason, run.error_code) == ("failed", "account_mismatch", "account_mismatch")
        assert counted("routing.session_mismatch.blocked.count") == before + 1
        assert run.session_id is None
        assert await sessions(server) == 0
    assert gateway.requests == []
