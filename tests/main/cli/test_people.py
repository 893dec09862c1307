"""Agents, people and their tokens at the command line, against a real server."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.process import CARREL, RunningServer, Start, reaching
from tests.harness.terminal import on_terminal
from tests.scripted_gateway import Gate, ScriptedGateway, text

OK, FAILED, USAGE, UNREACHABLE, NOT_ALLOWED = range(5)


@pytest.fixture
def server(start: Start, gateway: ScriptedGateway) -> RunningServer:
    gateway.rule = lambda _: text("Hello.")
    return start(**reaching(gateway))


def test_a_person_gets_a_token_that_acts_for_them(server: RunningServer) -> None:
    made = server.carrel("users", "create", "Ann Smith", "--email", "ann@example.org")
    assert (made.code, made.out[:4]) == (OK, "usr_")
    assert "carrel token create --user ann-smith" in made.err
    listed = server.carrel("users").out.split("\t")
    assert (listed[0], listed[1], listed[3]) == (made.out.strip(), "ann-smith", "ann@example.org")
    token = server.carrel("token", "create", "--user", "ann-smith").out.strip()
    assert token.startswith("crl_user_")
    me = json.loads(server.carrel("whoami", "--json", "--token", token).out)
    assert (me["actor"]["kind"], me["actor"]["id"], me["actor"]["name"]) == ("user", made.out.strip(), "Ann Smith")
    assert me["url"] == server.url
    assert "Ann Smith" in server.carrel("whoami", "--token", token).out


def test_a_person_is_changed_and_deleted_with_their_tokens_after_consent(server: RunningServer) -> None:
    assert server.carrel("users", "create", "Ann").code == OK
    token = server.carrel("token", "create", "user", "--user", "ann").out.strip()
    assert "owner" in server.carrel("users", "update", "ann", "--role", "owner").out
    assert server.carrel("users", "update", "ann").code == USAGE
    unknown = server.carrel("users", "delete", "anne", "--yes")
    assert (unknown.code, "did you mean ann?" in unknown.err) == (FAILED, True)
    unasked = server.carrel("users", "delete", "ann")
    assert (unasked.code, "--yes" in unasked.err) == (USAGE, True)
    assert server.carrel("whoami", "--token", token).code == OK
    assert server.carrel("users", "delete", "ann", "--yes").code == OK
    assert server.carrel("whoami", "--token", token).code == NOT_ALLOWED
    assert server.carrel("users").out == ""


def test_the_kind_of_a_token_is_named_or_clear_from_an_option(server: RunningServer) -> None:
    assert server.carrel("token", "create", "--agent", "main").out.startswith("crl_agent_")
    assert server.carrel("token", "create", "--agents", "main").out.startswith("crl_client_")
    assert server.carrel("token", "create").code == USAGE


def test_an_agent_is_deleted_only_with_consent_and_enabled_again(
    server: RunningServer, gateway: ScriptedGateway
) -> None:
    assert server.carrel("agents", "create", "writer").code == OK
    assert server.carrel("send", "writer", "hello", "--wait").code == OK
    gateway.rule = lambda _: text("Late.", before=Gate())
    assert server.carrel("send", "writer", "one").code == OK
    assert server.carrel("send", "writer", "two").code == OK
    unasked = server.carrel("agents", "delete", "writer")
    assert (unasked.code, "pass --yes" in unasked.err) == (USAGE, True)
    command = [str(CARREL), "agents", "delete", "writer", "--data-dir", str(server.folder)]
    question = "Disable writer, close 1 session and cancel 2 runs? [y/N]"
    with on_terminal(command, server.environment, server.folder) as asked:
        asked.wait_for(question)
        asked.type("n")
        assert asked.ended() == FAILED
        assert asked.lines == [f"{question} n", "Nothing was changed."]
    assert "\tdisabled\t" not in server.carrel("agents").out
    with on_terminal(command, server.environment, server.folder) as asked:
        asked.wait_for(question)
        asked.type("y")
        assert asked.ended() == OK
    assert asked.lines == [
        f"{question} y",
        "Disabled; closed 1 session and cancelled 2 runs; what it did stays.",
        "To enable it again: `carrel agents enable writer`",
    ]
    assert "\tdisabled\t" in server.carrel("agents").out
    gateway.rule = lambda _: text("Hello again.")
    assert server.carrel("send", "writer", "hello").code != OK
    assert server.carrel("agents", "enable", "writer").code == OK
    assert server.carrel("send", "writer", "hello", "--wait").out == "Hello again.\n"
    assert "closed 1 session" in server.carrel("agents", "delete", "writer", "--yes").out


def test_a_shell_takes_the_server_and_the_token_from_env(server: RunningServer, tmp_path: Path) -> None:
    words = f'eval "$({CARREL} env --data-dir {server.folder})"; echo "$CARREL_URL $CARREL_TOKEN"'
    told = subprocess.run(["sh", "-c", words], env=server.environment, capture_output=True, text=True, check=True)
    assert told.stdout == f"{server.url} {server.token}\n"
    assert json.loads(server.carrel("env", "--json").out) == {"CARREL_URL": server.url, "CARREL_TOKEN": server.token}
    refused = server.carrel("env", "--token", "crl_owner_1_x")
    assert (refused.code, refused.out) == (NOT_ALLOWED, "")


def test_a_revoked_owner_token_is_not_offered_and_can_be_renewed(start: Start) -> None:
    server = start()
    other = server.carrel("token", "create", "owner").out.strip()
    own_id = next(line for line in server.carrel("token", "list").out.splitlines() if line.endswith("\tOwner"))
    assert server.carrel("token", "revoke", own_id.split("\t")[0], "--token", other).code == OK
    for words in (("up",), ("open",)):
        shown = server.carrel(*words)
        assert (shown.out, "carrel token renew" in shown.err) == (f"{server.url}/\n", True)
    for words in (("status",), ("env",)):
        refused = server.carrel(*words)
        assert (refused.code, "carrel token renew" in refused.err) == (NOT_ALLOWED, True)
    assert "carrel token renew" in server.carrel("doctor").out
    assert server.carrel("status", "--token", other).code == OK
    running = server.carrel("token", "renew")
    assert (running.code, "stop it first" in running.err) == (FAILED, True)
    assert (server.folder / "owner_token").read_text().strip() == server.token
    server.stop()
    again = start()
    assert f"dashboard {again.url}/" in again.said
    assert [line["advice"] for line in again.log() if line["event"] == "owner_token_not_valid"]
    again.stop()
    assert again.carrel("token", "renew").code == OK
    renewed = start()
    assert f"dashboard {renewed.url}/#token={renewed.token}" in renewed.said
    assert renewed.token != server.token
    assert renewed.carrel("status").code == OK
    assert (renewed.folder / "owner_token").stat().st_mode & 0o777 == 0o600
