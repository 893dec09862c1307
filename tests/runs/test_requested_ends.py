"""Ends that a call asks for: come to once, whoever called and wherever the turn died in between."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest

from carrel.records import artifacts_of, record_call
from carrel.runs import (
    Claim,
    Completed,
    ExternalCall,
    Failed,
    NeedsInput,
    Outcome,
    RequestedEnd,
    Rules,
    Run,
    cancel,
    request_end,
)
from carrel.runs.outcomes import settle
from carrel.storage import Database, Tx
from tests.delivery.test_turn import Mortal, live_through, take_up
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, calls, http_error, text

T = TypeVar("T")
ASKED = NeedsInput(question="Which?")
DECLINED = Failed(code="rejected", message="No.", reason="rejected")
# The transactions of a turn of one step: it is prepared, its answer is heard, the run is ended.
WRITES = 3


def ask_for(tx: Tx, server: Server, run: Run, outcome: NeedsInput | Failed) -> None:
    """What a call from outside does, after one that changed something."""
    record_call(tx, server.access, run.id, "outside:1", tool="artifact_add", effect="write", result="{}")
    call = ExternalCall(name="request_input", arguments='{"question":"Which?"}', result='{"ok":true}')
    request_end(tx, server.access, run.id, RequestedEnd(outcome=outcome, call=call))


async def ask_in_the_step(server: Server, run: Run, gate: Gate, outcome: NeedsInput | Failed) -> None:
    """Ask for the end while a step is under way."""
    await gate.reached()
    await server.db.write(partial(ask_for, server=server, run=run, outcome=outcome))
    gate.open()


async def asked_and_died(
    server: Server, gateway: ScriptedGateway, outcome: NeedsInput | Failed, deaths: list[tuple[int, bool]]
) -> Run:
    """A run of which an end was asked for in its one step, once nothing is due; its workers die as they are told."""
    gate = Gate()
    gateway.rule = lambda request: text("Beside it.", before=gate)
    run = await server.send("hello")
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(ask_in_the_step(server, run, gate, outcome))
        await live_through(server, deaths)
    return await server.run(run)


@requirement("S0.x.tools.once")
@pytest.mark.parametrize("outcome", [ASKED, DECLINED], ids=["asked", "declined"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES))
async def test_an_end_asked_for_from_outside_is_come_to_once_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, writes: int, after: bool, outcome: NeedsInput | Failed
) -> None:
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        ended = await asked_and_died(server, gateway, outcome, [(writes, after)])
        roles = [entry.role for entry in await server.entries(ended)]
    if outcome is ASKED:
        assert (ended.state, ended.question, ended.wanted_end) == ("waiting", "Which?", None)
        assert roles == ["user", "toolCall", "toolResult", "assistant"]
    else:
        assert (ended.state, ended.reason, ended.error_message) == ("failed", "rejected", "No.")
        assert roles == ["user", "toolCall", "toolResult"]
    assert len(gateway.requests) == 1, "once the end is wanted no step is sent any more"


@requirement("S0.x.tools.once")
async def test_an_end_asked_for_in_the_last_attempt_is_come_to_though_its_worker_was_lost(
    store_url: str, gateway: ScriptedGateway
) -> None:
    before_any_step = [(0, False)] * (Rules().runs.attempts_max - 1)
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        ended = await asked_and_died(server, gateway, ASKED, [*before_any_step, (1, False)])
    assert (ended.state, ended.question, ended.attempt) == ("waiting", "Which?", ended.attempts_max + 1)
    assert len(gateway.requests) == 1


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES + 1))
async def test_a_models_own_question_is_asked_once_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, writes: int, after: bool
) -> None:
    gateway.rule = lambda request: calls(("request_input", {"question": "Which?"}))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        await live_through(server, [(writes, after)])
        ended, entries = await server.run(run), await server.entries(run)
    assert (ended.state, ended.question) == ("waiting", "Which?")
    assert [entry.role for entry in entries] == ["user", "toolCall", "toolResult", "assistant"]


async def test_an_answered_question_is_not_asked_again_and_the_run_survives_a_crash_as_before(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("request_input", {"question": "Which?"})), text("Lost."), text("Good."))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        await live_through(server, [])
        await server.answer(run, "this")
        await live_through(server, [(1, False)])
        ended = await server.run(run)
    assert (ended.state, ended.reply) == ("completed", "Good."), "who only asked has changed nothing"


@pytest.mark.parametrize("fault", [400, 503])
async def test_a_step_that_fails_after_the_end_was_asked_for_is_followed_by_that_end(
    store_url: str, gateway: ScriptedGateway, fault: int
) -> None:
    gate = Gate()
    failing = http_error(fault)
    gateway.rule = lambda request: type(failing)(**{**failing.__dict__, "before": gate})
    async with open_server(store_url, gateways_to(gateway)) as server:
        run = await server.send("hello")
        await ask_in_the_step(server, run, gate, ASKED)
        ended = await server.settled(run)
    assert (ended.state, ended.question, ended.attempt) == ("waiting", "Which?", 1)
    assert len(gateway.requests) == 1


async def test_what_the_step_has_spent_is_kept_with_the_question(server: Server, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(text("Beside it.", before=gate))
    run = await server.send("hello")
    await ask_in_the_step(server, run, gate, ASKED)
    assert '"totalTokens":18' in ((await server.settled(run)).usage or "")


class Interrupting(Mortal):
    """A store in which an end is asked for behind one of its transactions."""

    def __init__(self, db: Database, writes: int, asks: Callable[[Tx], None]) -> None:
        super().__init__(db, 1000, after=False)
        self._until = writes
        self._asks = asks

    async def write(self, work: Callable[[Tx], T]) -> T:
        result = await super().write(work)
        self._until -= 1
        if self._until == 0:
            await super().write(self._asks)
        return result


async def test_calls_under_way_stop_where_an_end_is_asked_for_and_are_made_when_the_run_goes_on(
    store_url: str, gateway: ScriptedGateway
) -> None:
    adding = [("artifact_add", {"text": "one"}), ("artifact_add", {"text": "two"})]
    gateway.script(calls(*adding), text("Good."))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        held = await take_up(server)
        assert held is not None
        # The step is prepared, its answer is kept, the first of its calls is made.
        meddled = Interrupting(server.db, 3, partial(ask_for, server=server, run=run, outcome=ASKED))
        outcome = await server.turns_on(meddled).take(held)
        await server.db.write(lambda tx: settle(tx, held, outcome))
        made = await server.read(lambda tx: artifacts_of(tx, server.access, run.id))
        assert ((await server.run(run)).state, [part.content for part in made]) == ("waiting", ["one"])
        await server.answer(run, "this")
        await live_through(server, [])
        made = await server.read(lambda tx: artifacts_of(tx, server.access, run.id))
        assert ((await server.run(run)).reply, [part.content for part in made]) == ("Good.", ["one", "two"])


@pytest.mark.parametrize(
    ("brought", "state", "reason"),
    [
        (Completed(reply="Good."), "waiting", None),
        (Completed(reply="", note="no_reply"), "waiting", None),
        (Failed(code="internal", message="broken"), "waiting", None),
        (Failed(code="timeout", message="late", reason="timeout"), "failed", "timeout"),
    ],
)
async def test_an_end_that_comes_when_the_turn_is_over_still_counts_unless_its_time_was_up(
    store_url: str, gateway: ScriptedGateway, brought: Outcome, state: str, reason: str | None
) -> None:
    gateway.script(text("Good."))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        held = await heard(server)
        await server.db.write(partial(ask_for, server=server, run=run, outcome=ASKED))
        await server.db.write(lambda tx: settle(tx, held, brought))
        ended = await server.run(run)
    assert (ended.state, ended.reason) == (state, reason)


async def test_a_run_that_is_stopped_takes_no_end_and_comes_to_none(store_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(text("Good."))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        held = await heard(server)
        await server.db.write(partial(ask_for, server=server, run=run, outcome=ASKED))
        await server.db.write(lambda tx: cancel(tx, server.access, run.id, "user"))
        await server.db.write(lambda tx: settle(tx, held, Completed(reply="Good.")))
        ended = await server.run(run)
    assert (ended.state, ended.reason) == ("cancelled", "user")


async def heard(server: Server) -> Claim:
    """The claim of a run whose turn was taken and is not ended yet."""
    held = await take_up(server)
    assert held is not None
    await server.turns_on(server.db).take(held)
    return held
