"""Agents, people and their tokens at the command line, against a real server."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.process import CARREL, RunningServer, Start
from tests.harness.terminal import on_terminal
from tests.scripted_gateway import Gate, ScriptedGateway, text

OK, FAILED, USAGE, UNREACHABLE, NOT_ALLOWED = range(5)


@pytest.fixture(autouse=True)
def greeting(gateway: ScriptedGateway) -> None:
    gateway.rule = lambda _: text("Hello.")


def test_a_person_gets_a_token_that_acts_for_them(running: RunningServer) -> None:
    made = running.carrel("users", "create", "Ann Smith", "--email", "ann@example.org")
    assert (made.code, made.out[:4]) == (OK, "usr_")
    assert "carrel token create --user ann-smith" in made.err
    listed = running.carrel("users").out.split("\t")
    assert (listed[0], listed[1], listed[3]) == (made.out.strip(), "ann-smith", "ann@example.org")
    token = running.carrel("token", "create", "--user", "ann-smith").out.strip()
    assert token.startswith("crl_user_")
    me = json.loads(running.carrel("whoami", "--json", "--token", token).out)
    assert (me["actor"]["kind"], me["actor"]["id"], me["actor"]["name"]) == ("user", made.out.strip(), "Ann Smith")
    assert me["url"] == running.url
    assert "Ann Smith" in running.carrel("whoami", "--token", token).out


def test_a_person_is_changed_and_deleted_with_their_tokens_after_consent(running: RunningServer) -> None:
    assert running.carrel("users", "create", "Ann").code == OK
    token = running.carrel("token", "create", "user", "--user", "ann").out.strip()
    assert "owner" in running.carrel("users", "update", "ann", "--role", "owner").out
    assert running.carrel("users", "update", "ann").code == USAGE
    unknown = running.carrel("users", "delete", "anne", "--yes")
    assert (unknown.code, "did you mean ann?" in unknown.err) == (FAILED, True)
    unasked = running.carrel("users", "delete", "ann")
    assert (unasked.code, "--yes" in unasked.err) == (USAGE, True)
    assert running.carrel("whoami", "--token", token).code == OK
    assert running.carrel("users", "delete", "ann", "--yes").code == OK
    assert running.carrel("whoami", "--token", token).code == NOT_ALLOWED
    assert running.carrel("users").out == ""


def test_the_kind_of_a_token_is_named_or_clear_from_an_option(running: RunningServer) -> None:
    assert running.carrel("token", "create", "--agent", "main").out.startswith("crl_agent_")
    assert running.carrel("token", "create", "--agents", "main").out.startswith("crl_client_")
    assert running.carrel("token", "create").code == USAGE


def test_an_agent_is_deleted_only_with_consent_and_enabled_again(
    running: RunningServer, gateway: ScriptedGateway
) -> None:
    assert running.carrel("agents", "create", "writer").code == OK
    assert running.carrel("send", "writer", "hello", "--wait").code == OK
    gateway.rule = lambda _: text("Late.", before=Gate())
    assert running.carrel("send", "writer", "one").code == OK
    assert running.carrel("send", "writer", "two").code == OK
    unasked = running.carrel("agents", "delete", "writer")
    assert (unasked.code, "pass --yes" in unasked.err) == (USAGE, True)
    command = [str(CARREL), "agents", "delete", "writer", "--data-dir", str(running.folder)]
    question = "Disable writer, close 1 session and cancel 2 runs? [y/N]"
    with on_terminal(command, running.environment, running.folder) as asked:
        asked.wait_for(question)
        asked.type("n")
        assert asked.ended() == FAILED
        assert asked.lines == [f"{question} n", "Nothing was changed."]
    assert "\tdisabled\t" not in running.carrel("agents").out
    with on_terminal(command, running.environment, running.folder) as asked:
        asked.wait_for(question)
        asked.type("y")
        assert asked.ended() == OK
    assert asked.lines == [
        f"{question} y",
        "Disabled; closed 1 session and cancelled 2 runs; what it did stays.",
        "To enable it again: `carrel agents enable writer`",
    ]
    assert "\tdisabled\t" in running.carrel("agents").out
    gateway.rule = lambda _: text("Hello again.")
    assert running.carrel("send", "writer", "hello").code != OK
    assert running.carrel("agents", "enable", "writer").code == OK
    assert running.carrel("send", "writer", "hello", "--wait").out == "Hello again.\n"
    assert "closed 1 session" in running.carrel("agents", "delete", "writer", "--yes").out


def test_a_shell_takes_the_server_and_the_token_from_env(running: RunningServer, tmp_path: Path) -> None:
    words = f'eval "$({CARREL} env --data-dir {running.folder})"; echo "$CARREL_URL $CARREL_TOKEN"'
    told = subprocess.run(["sh", "-c", words], env=running.environment, capture_output=True, text=True, check=True)
    assert told.stdout == f"{running.url} {running.token}\n"
    assert json.loads(running.carrel("env", "--json").out) == {"CARREL_URL": running.url, "CARREL_TOKEN": running.token}
    refused = running.carrel("env", "--token", "crl_owner_1_x")
    assert (refused.code, refused.out) == (NOT_ALLOWED, "")


def test_a_revoked_owner_token_is_not_offered_and_can_be_renewed(start: Start) -> None:
    running = start()
    other = running.carrel("token", "create", "owner").out.strip()
    own_id = next(line for line in running.carrel("token", "list").out.splitlines() if line.endswith("\tOwner"))
    assert running.carrel("token", "revoke", own_id.split("\t")[0], "--token", other).code == OK
    for words in (("up",), ("open",)):
        shown = running.carrel(*words)
        assert (shown.out, "carrel token renew" in shown.err) == (f"{running.url}/\n", True)
    for words in (("status",), ("env",)):
        refused = running.carrel(*words)
        assert (refused.code, "carrel token renew" in refused.err) == (NOT_ALLOWED, True)
    assert "carrel token renew" in running.carrel("doctor").out
    assert running.carrel("status", "--token", other).code == OK
    refused = running.carrel("token", "renew")
    assert (refused.code, "stop it first" in refused.err) == (FAILED, True)
    assert (running.folder / "owner_token").read_text().strip() == running.token
    running.stop()
    again = start()
    assert f"dashboard {again.url}/" in again.said
    assert [line["advice"] for line in again.log() if line["event"] == "owner_token_not_valid"]
    again.stop()
    assert again.carrel("token", "renew").code == OK
    renewed = start()
    assert f"dashboard {renewed.url}/#token={renewed.token}" in renewed.said
    assert renewed.token != running.token
    assert renewed.carrel("status").code == OK
    assert (renewed.folder / "owner_token").stat().st_mode & 0o777 == 0o600
