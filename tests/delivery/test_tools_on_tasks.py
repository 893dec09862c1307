"""What tools write on tasks during a turn: a model reads it in their results, and nothing between call and result."""

import pytest

from carrel.access import account_of
from carrel.journal import Entry, entries_of_task
from carrel.storage import Tx
from carrel.work import readable_task
from carrel.work.run_store import RUN_ENDS
from tests.delivery.tasks import assign, make_task, notify, set_account
from tests.gateway.dialects import KINDS
from tests.gateway.provider_view import read_request
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text


@requirement("A.tools.memory")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_result_follows_its_call_in_every_dialect(sqlite_url: str, kind: str) -> None:
    with KINDS[kind]() as gateway:
        async with open_server(sqlite_url, gateways_to(gateway, kind=kind)) as server:
            for name in ("writer", "critic"):
                await server.make_agent(name)
            task_id = await make_task(server)
            asked = {"taskId": task_id, "recipientSlugs": ["critic"], "message": "Is it right?"}
            made = [
                ("task_status", {"taskId": task_id, "status": "in_progress"}),
                ("task_update", {"taskId": task_id, "priority": 1}),
                ("response_request", asked),
            ]
            gateway.script(calls(*made), text("Here it is."), text("It is."), text("Thanks."))
            await assign(server, task_id, "writer")
    body = gateway.requests[1].body
    facts = read_request(kind, body)
    newest = [what for _, what, _ in facts][-6:]
    assert newest == ["call"] * 3 + ["output"] * 3
    assert [text for side, what, text in facts if (side, what) == ("context", "text")] == []
    assert b"Writer moved the task" not in body


def thread_of(tx: Tx, server: Server, task_id: str) -> list[Entry]:
    return entries_of_task(tx, server.access, task_id, "thread", limit=9)


@requirement("S0.fanout.thread")
async def test_what_a_tool_posts_in_a_thread_is_no_reply_of_its_run(server: Server, gateway: ScriptedGateway) -> None:
    for name in ("chief", "writer"):
        await server.make_agent(name)
    gateway.script(text("Begun."))
    task_id = await make_task(server)
    await assign(server, task_id, "writer")
    await set_account(server, orchestratorAgentId="chief")
    account = await server.read(lambda tx: account_of(tx, server.access))
    chat = str(account.settings["orchestratorChatTaskId"])
    told = {"taskId": task_id, "content": "The price is lower."}
    gateway.script(calls(("task_message", told)), text("NO_REPLY"), text("Noted."))
    await notify(server, chat, "The harvest was good; tell whom it concerns.")
    await server.until(lambda tx: [one.content for one in thread_of(tx, server, task_id)][-1:] == ["Noted."])
    await server.until(lambda tx: RUN_ENDS.next_due(tx) is None)
    (asked,) = await server.read(lambda tx: thread_of(tx, server, chat))
    task, _ = await server.read(lambda tx: readable_task(tx, server.access, chat))
    assert task.last_message_at == asked.created_at
