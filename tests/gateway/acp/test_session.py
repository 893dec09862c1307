"""Sessions of coding agents: their workspaces and files, their accounts, and their programs."""

import sys
from pathlib import Path

import pytest

from carrel.kernel.settings import GatewaySettings
from tests.gateway.acp.agents import coder, coding_server, open_ear, settings_in
from tests.gateway.acp.test_acts import decide
from tests.gateway.acp.test_message import acts
from tests.harness.engine import until_found
from tests.harness.server import open_server
from tests.requirements.mark import requirement


@requirement("P.acp.session")
async def test_each_session_has_a_program_of_its_own_and_what_happens_to_one_is_nothing_to_the_others(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        held = await server.send("say One; hold; say Two")
        await ear.until("holds")
        assert (await server.ask("die", "hook:other")).error_code == "agent_died"
        assert (await server.ask("say Three", "hook:third")).reply == "Three"
        ear.let_go_of("holds")
        assert (await server.settled(held)).reply == "OneTwo"


@requirement("P.acp.session")
async def test_a_program_gets_the_variables_that_are_named_and_works_in_its_workspace(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIVEN", "this")
    monkeypatch.setenv("NOT_GIVEN", "that")
    async with coding_server(sqlite_url, tmp_path, env=("GIVEN",)) as server:
        folder = tmp_path / "workspaces" / server.access.account_id / "main"
        assert (await server.ask("environment")).reply == f"this None {folder}"


@requirement("P.acp.files")
async def test_files_are_read_and_written_in_the_workspace_only(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    async with coding_server(sqlite_url, tmp_path, env=()) as server:
        folder = tmp_path / "workspaces" / server.access.account_id / "main"
        assert (await server.ask(f"write {folder}/new/a.txt Hello")).reply == "written"
        assert (await server.ask(f"write {folder}/new/a.txt Hi")).reply == "written"
        assert (await server.ask(f"read {folder}/new/a.txt")).reply == '{"content": "Hi"}'
        (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
        (folder / "way").symlink_to(tmp_path)
        escapes = ("/etc/passwd", "a.txt", f"{folder}/../secret.txt", f"{folder}/link.txt", f"{folder}/way/secret.txt")
        for path in escapes:
            for asked in (f"read {path}", f"write {path} changed"):
                reply = (await server.ask(asked)).reply or ""
                assert "cannot be used" in reply, (asked, reply)
        assert (tmp_path / "secret.txt").read_text() == "secret"
        # Commands are the agent's own: it is not lent a terminal.
        assert (await server.ask("terminal")).reply == "-32601"


@requirement("P.acp.accounts")
async def test_an_account_that_is_not_named_gets_no_answer(sqlite_url: str, tmp_path: Path) -> None:
    gateways = {"default": coder(env=()), "all": coder(env=(), accounts=("*",))}
    async with open_server(sqlite_url, gateways, settings_in(tmp_path)) as server:
        other = await server.another_account("other")
        run = await server.settled(await server.send("say Hello", access=other))
        assert (run.state, run.error_code) == ("failed", "gateway_forbidden")
        assert run.error_message is not None
        assert "gateway.default.accounts" in run.error_message
        await server.make_agent("open", other, gateway="all")
        assert (await server.settled(await server.send("say Hello", agent="open", access=other))).reply == "Hello"


@requirement("P.acp.turn", "P.acp.permission", "P.acp.files")
async def test_an_agent_on_the_official_sdk_is_understood(sqlite_url: str, tmp_path: Path) -> None:
    program = Path(__file__).with_name("sdk_coder.py")
    gateway = GatewaySettings(kind="acp", command=sys.executable, args=(str(program),))
    async with open_server(sqlite_url, {"default": gateway}, settings_in(tmp_path)) as server:
        run = await server.ask("Buy milk")
        assert run.question == "May main edit a file? (acp__edit)\n- title: Write notes"
        run = await decide(server, run, approved=True)
        assert (run.state, run.reply) == ("completed", "It says: Buy milk")
        assert await acts(server, run) == [
            ("acp__edit", {"title": "Write notes"}),
            ("=", {"ok": True, "allowed": True}),
            ("acp__edit", {"title": "Write notes"}),
            ("=", {"ok": True}),
        ]


@requirement("P.acp.health")
async def test_a_command_that_is_not_there_is_reported_and_runs_wait_for_it(sqlite_url: str, tmp_path: Path) -> None:
    gateway = GatewaySettings(kind="acp", command=str(tmp_path / "missing"))
    async with open_server(sqlite_url, {"default": gateway}, settings_in(tmp_path)) as server:
        trouble = (await server.services.configuration.troubles())["default"]
        assert trouble is not None
        assert f"there is no command {tmp_path}/missing" in trouble
        run = await server.send("say Hello")
        waiting = await until_found(lambda: server.run(run), lambda one: one.unreachable_gateway is not None)
        assert (waiting.state, waiting.unreachable_gateway) == ("queued", "default")


@requirement("P.acp.health")
async def test_a_variable_that_is_not_set_is_named(sqlite_url: str, tmp_path: Path) -> None:
    async with coding_server(sqlite_url, tmp_path, env=("NOT_SET_ANYWHERE",)) as server:
        run = await server.ask("say Hello")
        assert (run.state, run.error_code) == ("failed", "gateway_misconfigured")
        assert "gateway.default.env names the environment variable NOT_SET_ANYWHERE" in str(run.error_message)
