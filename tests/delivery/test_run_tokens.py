"""The token a gateway is handed to act as a run: where it is sent, how long it lives, and that it is kept nowhere."""

import logging
from functools import partial

import pytest

from carrel.access import access_by_token, mint_run_token
from carrel.kernel import Access
from carrel.runs.pruner import prune
from carrel.storage import Tx
from tests.harness.engine import events_of_run
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, http_error, text

HEADER = "x-carrel-run-token"


def token_of(request: Request) -> str:
    return request.headers[HEADER]


async def holder(server: Server, secret: str) -> Access | None:
    return await server.read(lambda tx: access_by_token(tx, secret))


def count_tokens(tx: Tx) -> int:
    row = tx.one("SELECT count(*) FROM tokens WHERE kind = 'run'")
    return 0 if row is None else int(row[0])


async def test_every_step_of_an_attempt_brings_one_token_and_the_next_attempt_another(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(calls(("session_status", {})), http_error(503), text("Good.", before=gate))
    async with open_server(store_url, gateways_to(gateway, run_tokens=True)) as server:
        run = await server.send("hello")
        await gate.reached()
        first, same, other = (token_of(request) for request in gateway.requests)
        assert first == same
        assert first != other
        assert await holder(server, first) is None, "an attempt that is over has no token"
        held = await holder(server, other)
        assert held is not None
        assert (held.kind, held.run_id, held.agent_id) == ("run", run.id, "main")
        gate.open()
        assert (await server.settled(run)).reply == "Good."
        assert await holder(server, other) is None, "it ends with its run"


async def test_a_gateway_gets_a_token_only_where_its_settings_say_so(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Good."))
    await server.ask("hello")
    assert HEADER not in gateway.requests[0].headers
    assert await server.read(count_tokens) == 0


async def test_a_run_that_was_answered_gets_a_token_of_its_own_again(store_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("request_input", {"question": "Which?"})), text("Good."))
    async with open_server(store_url, gateways_to(gateway, run_tokens=True)) as server:
        run = await server.ask("hello")
        assert await holder(server, token_of(gateway.requests[0])) is not None, "a run that waits has not ended"
        await server.answer(run, "this")
        assert (await server.settled(run)).reply == "Good."
    assert token_of(gateway.requests[0]) != token_of(gateway.requests[1])


async def test_tokens_of_runs_that_have_ended_are_pruned_and_no_others(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(*(text("Good.") for _ in range(3)), text("Late.", before=gate))
    async with open_server(store_url, gateways_to(gateway, run_tokens=True)) as server:
        for _ in range(3):
            await server.ask("hello")
        held = await server.send("hold")
        await gate.reached()
        while await server.db.write(lambda tx: prune(tx, server.settings)):
            pass
        assert await server.read(count_tokens) == 1
        assert await holder(server, token_of(gateway.requests[-1])) is not None
        gate.open()
        await server.settled(held)


async def test_a_run_has_one_token_at_a_time(store_url: str, gateway: ScriptedGateway) -> None:
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        minted = partial(mint_run_token, access=server.access, agent_id="main", run_id=run.id)
        first, second = await server.db.write(minted), await server.db.write(minted)
        assert await holder(server, first) is None
        assert await holder(server, second) is not None
        assert await server.read(count_tokens) == 1


@requirement("S0.x.secrets")
@pytest.mark.parametrize("stream", [True, False])
async def test_the_token_is_in_no_receipt_entry_event_error_or_log_even_when_the_agent_repeats_it(
    sqlite_url: str, gateway: ScriptedGateway, caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    caplog.set_level(logging.DEBUG)

    def repeats(request: Request) -> Answer:
        token = token_of(request)
        match len(gateway.requests):
            case 1:
                return calls(("session_status", {"sessionKey": token}), said=f"I hold {token}")
            case 2:
                return text(f"curl -H 'Authorization: Bearer {token}'")
            case _:
                return http_error(400, f"what is {token}?", code=token)

    gateway.rule = repeats
    async with open_server(sqlite_url, gateways_to(gateway, run_tokens=True, stream=stream)) as server:
        good, failed = await server.ask("hello"), await server.ask("hello again")
        kept = [caplog.text]
        for run in (good, failed):
            kept.append(repr(await server.run(run)))
            kept.append(repr(await server.entries(run)))
            kept.append(repr(await server.receipt(run, with_body=True)))
            kept.append(repr(await server.read(partial(events_of_run, access=server.access, run_id=run.id))))
        rows = await server.read(lambda tx: tx.all("SELECT * FROM tokens") + tx.all("SELECT * FROM steps"))
    assert (good.state, good.reply, failed.state) == (
        "completed", "curl -H 'Authorization: Bearer [redacted]'", "failed",
    )  # fmt: skip
    kept.append(repr(rows))
    secrets = {token_of(request).rpartition("_")[2] for request in gateway.requests}
    assert len(secrets) == 2
    assert not [part for part in kept for secret in secrets if secret in part]
