"""How turns of coding agents end when they do not end well: cancelled, hanging, flooding, dying, speaking rubbish."""

import asyncio
from pathlib import Path

import pytest

from carrel.kernel.limits import ACP_IDLE_SECONDS, ACP_MESSAGES_MAX
from tests.gateway.acp.agents import coding_server, open_ear, until_ended
from tests.harness.elapsing import Elapsing
from tests.requirements.mark import requirement


@requirement("P.acp.cancel")
async def test_cancelling_the_run_cancels_the_turn_of_the_agent_and_its_session_goes_on(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        run = await server.send("say Working; wait; say Never")
        await ear.until("waits")
        await server.cancel(run)
        assert (await server.settled(run)).state == "cancelled"
        await ear.until("cancelled")
        assert (await server.ask("say Still here")).reply == "Still here"
        assert len(ear.said("new")) == 1


@requirement("P.acp.cancel", "P.acp.end")
async def test_an_agent_that_does_not_stop_is_ended_with_all_that_it_started(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elapsing: Elapsing
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path, "deaf", "with a child") as server:
        run = await server.send("wait")
        await ear.until("waits")
        deaf = ear.pids
        await server.cancel(run)
        await ear.until("cancelled")
        elapsing.advance(60)
        assert (await server.settled(run)).state == "cancelled"
        assert (await server.ask("say Hello")).reply == "Hello"
        assert ear.said("load") == ["s1"]
        await asyncio.to_thread(until_ended, deaf)


@requirement("P.acp.cancel")
async def test_a_turn_that_takes_too_long_is_ended_and_not_begun_again(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elapsing: Elapsing
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path, timeout_seconds=600) as server:
        run = await server.send("begin Build it; wait")
        await ear.until("waits")
        elapsing.advance(601)
        run = await server.settled(run)
        assert (run.state, run.error_code, run.attempt) == ("failed", "gateway_timeout", 1)
        assert run.error_message is not None
        assert "gateway.default.timeout_seconds" in run.error_message
        assert len(ear.said("prompt")) == 1
        result = (await server.entries(run))[-1]
        assert (result.role, "it took too long" in result.content) == ("toolResult", True)


@requirement("P.acp.interrupted", "P.acp.load")
async def test_an_agent_that_dies_in_its_turn_is_started_again_and_told_so(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        run = await server.ask("do edit Mend a.py; begin Run tests; die")
        assert (run.state, run.error_code) == ("failed", "agent_died")
        assert run.error_message == (
            'The coding agent of gateway "default" ended during its turn: The program ended with exit code 3. '
            "Its last output: I fell over."
        )
        assert run.attempt > 1
        assert ear.said("load") == ["s1"] * (run.attempt - 1)
        note, message = ear.said("prompt")[1]
        assert message == "do edit Mend a.py; begin Run tests; die"
        assert note == (
            "Carrel was interrupted while you worked on the message below, so a part of it may be done.\n"
            "What is known of your work on it:\n"
            "- Mend a.py: done\n"
            "- Run tests: not known to have succeeded\n"
            "Look at the state of the workspace first, do not repeat what is done, and go on from there."
        )


@requirement("P.acp.limits")
async def test_an_agent_that_floods_is_ended_and_not_asked_again(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        run = await server.ask("flood")
        assert (run.state, run.error_code, run.attempt) == ("failed", "agent_died", 1)
        assert run.error_message is not None
        assert f"more than {ACP_MESSAGES_MAX} unsolicited messages" in run.error_message
        await asyncio.to_thread(until_ended, ear.pids)


@requirement("P.acp.limits")
async def test_a_line_without_an_end_ends_the_agent(sqlite_url: str, tmp_path: Path) -> None:
    async with coding_server(sqlite_url, tmp_path, env=()) as server:
        run = await server.ask("line")
        assert (run.state, run.error_code) == ("failed", "agent_died")
        assert run.error_message is not None
        assert "a message of more than 16777216 bytes" in run.error_message


@requirement("P.acp.rubbish")
async def test_rubbish_is_passed_over(sqlite_url: str, tmp_path: Path) -> None:
    async with coding_server(sqlite_url, tmp_path, "prints first", env=()) as server:
        run = await server.ask("say Sense.; rubbish; say  And sense.")
        assert (run.state, run.reply) == ("completed", "Sense. And sense.")


@requirement("P.acp.rubbish", "P.acp.health")
@pytest.mark.parametrize(
    ("manner", "code", "said"),
    [
        ("speaks rubbish", "gateway_unavailable", "It does not speak the Agent Client Protocol."),
        ("of another version", "gateway_unavailable", "It speaks version 99 of the protocol, not 1."),
        ("dies at once", "gateway_unavailable", "Its last output: I cannot even start."),
        ("needs a login", "gateway_unauthorized", "Sign in with the agent's own command"),
    ],
)
async def test_an_agent_that_cannot_begin_says_why(
    sqlite_url: str, tmp_path: Path, manner: str, code: str, said: str
) -> None:
    async with coding_server(sqlite_url, tmp_path, manner, env=()) as server:
        run = await server.ask("say Hello")
        assert (run.state, run.error_code) == ("failed", code)
        assert run.error_message is not None
        assert said in run.error_message
        assert said in str((await server.services.configuration.troubles())["default"])


@requirement("P.acp.limits")
async def test_an_agent_that_does_not_get_ready_is_not_waited_for(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elapsing: Elapsing
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path, "never ready") as server:
        run = await server.send("say Hello")
        await ear.until("initialize")
        elapsing.advance(61)
        await ear.until("initialize", 2)
        assert "It did not get ready within 60 seconds." in str((await server.run(run)).last_fault)


@requirement("P.acp.ends")
@pytest.mark.parametrize(
    ("does", "state", "reply", "code"),
    [
        ("say Half; stop max_tokens", "completed", "Half", None),
        ("say Half; stop max_turn_requests", "completed", "Half", None),
        ("say I will not; stop refusal", "failed", None, "model_refused"),
        ("stop cancelled", "failed", None, "agent_cancelled"),
        ("stop for no reason", "failed", None, "agent_failed"),
        ("do edit It", "completed", "[The coding agent ended its turn without a message.]", None),
        ("say Half; fail the disk is full", "failed", None, "agent_failed"),
    ],
)
async def test_the_reason_for_which_a_turn_stops_is_the_outcome(
    sqlite_url: str, tmp_path: Path, does: str, state: str, reply: str | None, code: str | None
) -> None:
    async with coding_server(sqlite_url, tmp_path, env=()) as server:
        run = await server.ask(does)
        assert (run.state, run.reply, run.error_code) == (state, reply, code)
        assert "disk" not in does or "the disk is full" in str(run.error_message)


@requirement("P.acp.load")
async def test_a_program_with_nothing_to_do_is_ended_and_its_session_loaded_again(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elapsing: Elapsing
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        await server.ask("say One")
        elapsing.advance(ACP_IDLE_SECONDS + 1)
        await ear.until("input ended")
        assert (await server.ask("say Two")).reply == "Two"
        assert (ear.said("load"), ear.said("prompt")[-1]) == (["s1"], ["say Two"])


@requirement("P.acp.load")
async def test_an_agent_that_cannot_load_its_session_is_told_what_was_said(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear:
        async with coding_server(sqlite_url, tmp_path, "forgetful") as server:
            await server.ask("say One")
        async with coding_server(sqlite_url, tmp_path, "forgetful") as server:
            assert (await server.ask("say Two")).reply == "Two"
            told = "What was said in this conversation before:\n\nUser: say One\n\nYou: One"
            assert ear.said("prompt")[-1] == [told, "say Two"]
            assert ear.said("load") == []
