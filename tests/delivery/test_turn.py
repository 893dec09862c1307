"""A turn may die between any two of its transactions; whoever takes it up goes on from what is stored."""

import json
from collections.abc import Callable
from typing import TypeVar

import pytest

from carrel.records import artifacts_of, tools_called
from carrel.runs import Claim, Outcome
from carrel.runs.claims import claim
from carrel.runs.leases import rescue_lost
from carrel.runs.outcomes import settle
from carrel.runs.queue_store import expire_leases
from carrel.storage import Database, Tx
from tests.harness.server import Server, gateways_to, open_server
from tests.harness.wrapped_database import WrappedDatabase
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, ScriptedGateway, calls, http_error, raw, text

T = TypeVar("T")
LEASE_MS = 60_000
# The transactions of a turn of three steps with two calls, and the one that ends its run.
WRITES = 9


class Died(Exception):
    """The worker is gone."""


class Mortal(WrappedDatabase):
    """A store whose worker dies before one of its transactions, or behind it when the answer is lost on the way."""

    death: type[BaseException] = Died

    def __init__(self, db: Database, writes: int, *, after: bool) -> None:
        super().__init__(db)
        self._left = writes
        self._after = after

    async def write(self, work: Callable[[Tx], T]) -> T:
        self._left -= 1
        if self._left < 0 and not self._after:
            raise self.death
        result = await super().write(work)
        if self._left < 0:
            raise self.death
        return result


async def take_up(server: Server) -> Claim | None:
    """Claim whatever is due, as the next worker would after the last one was lost."""

    def lost_and_found(tx: Tx) -> list[Claim]:
        expire_leases(tx)
        rescue_lost(tx)
        return claim(tx, "worker", LEASE_MS, 1)

    return next(iter(await server.db.write(lost_and_found)), None)


async def live_through(server: Server, deaths: list[tuple[int, bool]]) -> None:
    """Work until nothing is due; the first workers die, each after so many transactions."""
    while (held := await take_up(server)) is not None:
        writes, after = deaths.pop(0) if deaths else (1000, False)
        mortal = Mortal(server.db, writes, after=after)
        try:
            outcome = await server.turns_on(mortal).take(held)
            await mortal.write(settling(held, outcome))
        except Died:
            continue


def settling(held: Claim, outcome: Outcome) -> Callable[[Tx], None]:
    return lambda tx: settle(tx, held, outcome)


def three_steps(reads: bool) -> list[Answer]:
    tool = ("session_status", {}) if reads else ("artifact_add", {"text": "made"})
    return [calls(tool), calls(("session_status", {})), text("The end.")]


@requirement("S0.x.reply.identity")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES))
async def test_a_turn_that_only_read_is_taken_up_wherever_it_died(
    sqlite_url: str, gateway: ScriptedGateway, writes: int, after: bool
) -> None:
    # By what has been asked so far the model knows where it is, as a real one would.
    gateway.rule = lambda request: three_steps(reads=True)[len(made_calls(request.json["input"]))]
    async with open_server(sqlite_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        await live_through(server, [(writes, after)])
        ended, entries = await server.run(run), await server.entries(run)
    assert (ended.state, ended.reply) == ("completed", "The end.")
    assert [entry.role for entry in entries] == [
        "user", "toolCall", "toolResult", "toolCall", "toolResult", "assistant",
    ], "heard once, every call made once, answered once"  # fmt: skip


def made_calls(items: list[dict[str, str]]) -> list[dict[str, str]]:
    return [item for item in items if item["type"] == "function_call_output"]


@requirement("S0.x.tools.once")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES))
async def test_a_write_is_made_at_most_once_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, writes: int, after: bool
) -> None:
    gateway.rule = lambda request: three_steps(reads=False)[len(made_calls(request.json["input"]))]
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        await live_through(server, [(writes, after)])
        ended = await server.run(run)
        made = await server.read(lambda tx: artifacts_of(tx, server.access, run.id))
    assert len(made) == 1
    assert ended.state in ("completed", "failed")
    if ended.state == "failed":
        # It had changed something when its worker was lost: a person decides whether it is said again.
        assert ended.reason == "interrupted"


async def test_calls_left_open_by_a_dead_turn_are_made_before_the_next_step(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {}), ("session_status", {"sessionKey": "main"})), text("Idle."))
    async with open_server(sqlite_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        # Heard and asked, the answer kept, the first call made; the second is open.
        await live_through(server, [(3, False)])
        ended = await server.run(run)
    assert (ended.state, ended.reply, ended.attempt) == ("completed", "Idle.", 2)
    assert len(gateway.requests) == 2
    assert len(made_calls(gateway.requests[1].json["input"])) == 2


@requirement("S0.x.tools.once", "S0.x.poison")
async def test_a_retry_goes_on_from_the_calls_that_were_made(either_server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("artifact_add", {"text": "made"})), http_error(503), text("Done."))
    run = await either_server.ask("hello")
    made = await either_server.read(lambda tx: artifacts_of(tx, either_server.access, run.id))
    receipt = await either_server.receipt(run)
    assert (run.state, run.reply, run.attempt) == ("completed", "Done.", 2)
    assert len(made) == 1
    assert gateway.requests[2].json["input"] == gateway.requests[1].json["input"]
    assert [(step.n, step.attempt) for step in receipt.steps] == [(1, 1), (2, 1), (3, 2)]


async def test_call_ids_that_a_server_uses_again_in_every_step_do_not_collide(
    server: Server, gateway: ScriptedGateway
) -> None:
    def same_id(arguments: dict[str, str]) -> Answer:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "artifact_add"}
        body = {"id": "r", "object": "response", "status": "completed", "model": "m"}
        output = [{**item, "arguments": json.dumps(arguments)}]
        return raw_json({**body, "output": output})

    gateway.script(same_id({"text": "one"}), same_id({"text": "two"}), text("Both."))
    run = await server.ask("hello")
    made = await server.read(lambda tx: artifacts_of(tx, server.access, run.id))
    assert run.reply == "Both."
    assert [part.content for part in made] == ["one", "two"]
    assert await server.read(lambda tx: tools_called(tx, server.access, run.id)) == ["artifact_add"]


def raw_json(body: dict[str, object]) -> Answer:
    return raw(json.dumps(body).encode())


@requirement("S0.x.reply.identity")
async def test_the_answer_to_a_newer_message_is_not_taken_for_a_repetition(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Yes."), text("Yes."))
    one, two = await server.ask("is it so?"), await server.ask("is it really so?")
    assert (one.reply, two.reply) == ("Yes.", "Yes.")
    assert [[entry.role for entry in await server.entries(run)] for run in (one, two)] == [["user", "assistant"]] * 2


async def test_a_server_that_is_killed_in_the_middle_of_a_stream_goes_on_after_its_restart(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("Half ", gate, "an answer"), text("The whole answer."))
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        run = await server.send("hello")
        await gate.reached()
        await server.kill()
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        ended = await server.settled(run)
    assert (ended.reply, ended.attempt, ended.generation) == ("The whole answer.", 2, 1)
    assert gateway.requests[1].json["input"] == gateway.requests[0].json["input"]
