"""The server in its own process: first start, file lock, logs, drain, crash."""

import json
import os
import select
import stat
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.harness.process import CARREL, STOP_SECONDS, RunningServer, RunningUp, Start, clean_environment, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, calls, text


def say(server: RunningServer, message: str, **more: object) -> str:
    with server.client() as client:
        accepted = client.post("/api/runs", json={"message": message, **more})
    assert accepted.status_code == 202, accepted.text
    return str(accepted.json()["runId"])


def ended(server: RunningServer, run_id: str) -> dict[str, Any]:
    """Return the run once it has ended or waits."""
    with server.client() as client:
        client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 20})
        run: dict[str, Any] = client.get(f"/api/runs/{run_id}").json()["run"]
    return run


def test_the_first_start_makes_account_agent_and_a_token_for_the_owner_alone(start: Start, tmp_path: Path) -> None:
    server = start()
    kept = tmp_path / "owner_token"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_text() == server.token + "\n"
    assert server.token.startswith("crl_owner_")
    assert server.said == [f"dashboard {server.url}/#token={server.token}", f"ready {server.url}"]
    with server.client() as client:
        me = client.get("/api/auth/me").json()
        agents = client.get("/api/agents").json()["agents"]
        ready = client.get("/readyz").json()
    assert (me["account"]["slug"], me["actor"]["kind"]) == ("default", "owner")
    assert [agent["id"] for agent in agents] == ["main"]
    assert ready["status"] == "ready"


def test_a_browser_is_opened_without_the_token_in_its_arguments(start: Start, tmp_path: Path) -> None:
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\necho "$@" > {told}\n')
    browser.chmod(0o700)
    os.mkfifo(told)
    server = start("--open", BROWSER=f"{browser} %s")
    reader = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([reader], [], [], STOP_SECONDS)[0]
        address = os.read(reader, 4096).decode().strip()
    finally:
        os.close(reader)
    assert server.token not in address
    page = Path(address.removeprefix("file://"))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert f"{server.url}/#token={server.token}" in page.read_text()
    assert server.stop() == 0
    assert not page.exists()


def test_a_browser_that_does_not_return_holds_up_no_request(start: Start, tmp_path: Path) -> None:
    browser, told, held = tmp_path / "browser", tmp_path / "told", tmp_path / "held"
    browser.write_text(f"#!/bin/sh\necho open > {told}\nread line < {held}\n")
    browser.chmod(0o700)
    os.mkfifo(told)
    os.mkfifo(held)
    server = start("--open", BROWSER=f"{browser} %s")
    reader, writer = os.open(told, os.O_RDONLY | os.O_NONBLOCK), os.open(held, os.O_RDWR)
    try:
        assert select.select([reader], [], [], STOP_SECONDS)[0], "the browser is open"
        with server.client() as client:
            assert client.get("/healthz").status_code == 200
        assert server.stop() == 0
    finally:
        os.write(writer, b"\n")
        os.close(reader)
        os.close(writer)


def test_a_later_start_keeps_the_token_and_what_was_said(start: Start) -> None:
    first = start()
    run_id = say(first, "hello")
    assert ended(first, run_id)["state"] == "completed"
    assert first.stop() == 0
    second = start()
    assert second.token == first.token
    assert ended(second, run_id)["state"] == "completed"


def test_the_address_is_left_for_other_programs_while_the_server_runs(start: Start, tmp_path: Path) -> None:
    server = start()
    left = json.loads((tmp_path / "server.json").read_text())
    assert left == {"url": server.url, "pid": server.started.pid}
    assert server.stop() == 0
    assert not (tmp_path / "server.json").exists()


def test_up_starts_where_a_killed_server_has_left_its_address(tmp_path: Path) -> None:
    # The process id of the killed server is that of another program by now, as after a restart of the machine.
    left = {"url": "http://127.0.0.1:9", "pid": os.getpid()}
    (tmp_path / "server.json").write_text(json.dumps(left))
    server = RunningUp(tmp_path, clean_environment(tmp_path))
    with server.client() as client:
        assert client.get("/api/auth/me").status_code == 200
    assert server.stop() == 0
    server.close()


def test_a_second_server_on_the_same_file_is_refused(start: Start, tmp_path: Path) -> None:
    server = start()
    second = subprocess.run(
        [CARREL, "serve", "--port", "0", "--data-dir", str(tmp_path)],
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert second.returncode == 1
    assert "Another server is using" in second.stderr
    assert "Traceback" not in second.stderr
    with server.client() as client:
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("options", "environment", "code", "words"),
    [
        (["--role", "api"], {}, 1, "postgresql"),
        (["--host", "203.0.113.77"], {}, 1, "Cannot listen on 203.0.113.77"),
        ([], {"CARREL_SERVER__PROT": "9"}, 2, "CARREL_SERVER__PORT"),
        ([], {"CARREL_GATEWAY__DEFAULT__KIND": "responses"}, 2, "gateway.default.base_url"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_a_sentence(
    tmp_path: Path, options: list[str], environment: dict[str, str], code: int, words: str
) -> None:
    done = subprocess.run(
        [CARREL, "serve", "--port", "0", "--data-dir", str(tmp_path), *options],
        env=clean_environment(tmp_path, **environment),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "ready" not in done.stdout


@requirement("P.stop")
def test_a_drain_refuses_new_messages_lets_the_turn_end_and_exits_clean(start: Start, gateway: ScriptedGateway) -> None:
    server = start(**reaching(gateway))
    gate = Gate()
    gateway.script(text("Just in time.", before=gate))
    running = say(server, "hello")
    waiting = say(server, "and then?")
    gate.wait_reached()
    server.started.terminate()
    refused = _refused(server)
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "draining"
    gate.open()
    assert server.wait() == 0
    gateway.rule = lambda request: text("After the restart.")
    again = start(**reaching(gateway))
    assert ended(again, running)["reply"] == "Just in time."
    assert ended(again, waiting)["reply"] == "After the restart."


def _refused(server: RunningServer) -> httpx.Response:
    """Return the first refusal after the server has begun to stop; some messages may still be accepted before."""
    with server.client() as client:
        for number in range(1000):
            answer = client.post(
                "/api/runs", json={"message": "too late?", "sessionKey": f"agent:main:cli:late{number:05}"}
            )
            if answer.status_code != 202:
                return answer
    raise AssertionError("the server went on taking messages")


@requirement("P.stop")
def test_a_turn_that_outlasts_the_drain_is_left_to_the_next_start(start: Start, gateway: ScriptedGateway) -> None:
    server = start(**reaching(gateway), CARREL_SERVER__DRAIN_SECONDS="1")
    gate = Gate()
    gateway.script(text("never", before=gate))
    run_id = say(server, "hello")
    gate.wait_reached()
    assert server.stop() == 0
    gateway.wait_for_disconnects(1)
    gateway.script(text("Now."))
    again = start(**reaching(gateway))
    run = ended(again, run_id)
    assert (run["state"], run["reply"], run["attempt"]) == ("completed", "Now.", 2)


@requirement("P.stop")
def test_open_streams_and_sockets_do_not_hold_the_end_up(start: Start) -> None:
    server = start()
    address = server.url.replace("http://", "ws://") + "/ws/chat"
    with (
        server.client() as client,
        client.stream("GET", "/api/stream") as stream,
        connect(address, subprotocols=[Subprotocol(f"bearer.{server.token}")]) as socket,
    ):
        lines = stream.iter_lines()
        assert next(lines).startswith(("event: stream.ready", "id:", "data:"))
        socket.send(json.dumps({"type": "bind", "sessionId": "chat-0001", "clientInstanceId": "tab-1"}))
        assert json.loads(socket.recv(10))["sessionId"]
        assert server.stop() == 0


@requirement("P.kill")
def test_sudden_death_loses_no_accepted_message_and_repeats_no_write(start: Start, gateway: ScriptedGateway) -> None:
    server = start(**reaching(gateway))
    reading, writing = Gate(), Gate()
    gateway.script(
        text("never", before=reading),
        calls(("artifact_add", {"text": "made"})),
        text("never", before=writing),
    )
    read = say(server, "one", sessionKey="agent:main:cli:reader00")
    reading.wait_reached()
    wrote = say(server, "two", sessionKey="agent:main:cli:writer00")
    writing.wait_reached()
    queued = [say(server, f"number {number}", sessionKey="agent:main:cli:reader00") for number in range(5)]
    server.kill()
    gateway.rule = lambda request: text("Answered.")
    again = start(**reaching(gateway))
    assert [ended(again, run_id)["reply"] for run_id in (read, *queued)] == ["Answered."] * 6
    cut = ended(again, wrote)
    assert (cut["state"], cut["reason"]) == ("failed", "interrupted")
    assert cut["toolsCalled"] == ["artifact_add"]


@requirement("S0.x.secrets", "S0.log.resolution", "S0.log.instructions")
def test_logs_are_json_lines_on_stderr_without_any_credential(start: Start, gateway: ScriptedGateway) -> None:
    key = "sk-very-secret-key-0123456789"
    server = start(**reaching(gateway), CARREL_GATEWAY__DEFAULT__API_KEY=key, CARREL_LOG__LEVEL="debug")
    gateway.script(text("Good."))
    run = ended(server, say(server, "hello"))
    with httpx.Client(base_url=server.url) as stranger:
        stranger.get("/api/agents", headers={"Authorization": f"Bearer {server.token}x"})
        stranger.get("/api/agents", params={"token": server.token})
    assert server.stop() == 0
    lines = server.log()
    assert {"ts", "level", "event"} <= set(lines[0])
    (begun,) = [line for line in lines if line["event"] == "turn_started"]
    assert (begun["run_id"], begun["session_key"], begun["generation"]) == (run["id"], "agent:main:main", 1)
    assert begun["session_resolution"] == "base"
    (finished,) = [line for line in lines if line["event"] == "turn_finished"]
    assert finished["run_id"] == run["id"]
    assert finished["instruction_profile_version"] == run["deliveryInstructionProfileVersion"]
    assert finished["task_history_called"] is False
    whole = server.log_file.read_text()
    assert key not in whole
    assert server.token not in whole
    assert server.token.rpartition("_")[2] not in whole
    assert "ready" not in whole


def test_a_token_works_at_once_after_a_restart(start: Start) -> None:
    first = start()
    with first.client() as client:
        secret = client.post("/api/tokens", json={"kind": "agent", "name": "worker", "agentId": "main"}).json()[
            "secret"
        ]
    first.kill()
    second = start()
    with second.client(secret) as client:
        assert client.get("/api/auth/me").json()["actor"]["agentId"] == "main"


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "carrel.db").write_bytes(b"a letter to a friend\n" * 500)
    done = subprocess.run(
        [CARREL, "serve", "--port", "0", "--data-dir", str(tmp_path)],
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert f"Cannot use {tmp_path / 'carrel.db'} as a database" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "carrel.db").read_bytes() == b"a letter to a friend\n" * 500


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = subprocess.run(
        [CARREL, "serve", "--port", "0", "--data-dir", str(blocked / "inside")],
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert str(blocked / "inside") in done.stderr
    assert "Traceback" not in done.stderr
