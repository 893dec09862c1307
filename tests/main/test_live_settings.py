"""Settings live beside the data: real servers and commands, started in one directory and used from another."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.harness.process import RunningServer, clean_environment
from tests.requirements.mark import requirement
from tests.scripted_dialects import ScriptedChat
from tests.scripted_gateway import http_error, text

pytestmark = pytest.mark.kinds("chat")

# What the server says to a probe, which asks for nothing.
PROBED = http_error(400, "messages is required")
WAIT_SECONDS = 20
StartIn = Callable[[Path], RunningServer]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / ".carrel"
    folder.mkdir()
    return folder


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    """Two directories that have nothing to do with the data."""
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    return folders


@pytest.fixture
def start_in(tmp_path: Path, data_dir: Path) -> Iterator[StartIn]:
    """Start servers of one data directory in any working directory, one after the other."""
    started: list[RunningServer] = []

    def start(cwd: Path) -> RunningServer:
        # Only runs ask the model anything.
        given = clean_environment(tmp_path, CARREL_CLASSIFIER__MODE="rules")
        started.append(RunningServer(data_dir, given, cwd=cwd))
        return started[-1]

    yield start
    for server in started:
        server.close()


def table(name: str, gateway: ScriptedChat, model_name: str = "m") -> str:
    return f'[gateway.{name}]\nkind = "chat"\nbase_url = "{gateway.base_url}"\nmodel = "{model_name}"\n'


def answer_of(client: httpx.Client, message: str, **more: str) -> dict[str, Any]:
    """Say something; the run once it has ended."""
    run = client.post("/api/runs", json={"message": message, **more}).json()["runId"]
    client.get(f"/api/runs/{run}/wait", params={"timeoutSeconds": WAIT_SECONDS}).raise_for_status()
    ended: dict[str, Any] = client.get(f"/api/runs/{run}").json()["run"]
    return ended


@requirement("T.settings.place")
def test_what_was_connected_in_one_directory_answers_a_server_that_is_started_in_another(
    data_dir: Path, directories: tuple[Path, Path], start_in: StartIn, gateway: ScriptedChat
) -> None:
    first, second = directories
    server = start_in(first)
    assert "No model is connected; the built-in agent answers." in server.carrel("status", cwd=second).err
    gateway.script(PROBED, text("Here I am."))
    connected = server.carrel("connect", gateway.base_url, cwd=second)
    assert (connected.code, connected.out) == (0, "Here I am.\n"), connected.err
    assert f"Wrote {data_dir}/carrel.toml." in connected.err
    server.stop()
    again = start_in(second)
    gateway.script(text("Still here."))
    with again.client() as client:
        assert answer_of(client, "hello")["reply"] == "Still here."
    shown = again.carrel("status", cwd=first)
    assert f"settings\t{data_dir}/carrel.toml" in shown.out
    assert "No model is connected" not in shown.err


@requirement("T.settings.place")
def test_an_agent_whose_gateway_is_missing_fails_with_that_reason_until_it_is_back(
    data_dir: Path, directories: tuple[Path, Path], start_in: StartIn, gateway: ScriptedChat
) -> None:
    first, second = directories
    both = table("default", gateway) + table("spare", gateway)
    (data_dir / "carrel.toml").write_text(both)
    server = start_in(first)
    with server.client() as client:
        client.post("/api/agents", json={"id": "writer", "gateway": "spare"}).raise_for_status()
        (data_dir / "carrel.toml").write_text(table("default", gateway))
        gone = client.post("/api/settings/reload").json()["changed"]
        assert gone == ["gateway.spare.kind", "gateway.spare.base_url", "gateway.spare.model"]
        failed = answer_of(client, "hello", agentId="writer")
        assert (failed["state"], failed["error"]["code"]) == ("failed", "gateway_not_configured")
        why = "Agent writer uses gateway.spare, which is not configured."
        assert failed["error"]["message"].startswith(why)
        told = server.carrel("send", "writer", "hello", "--wait", cwd=second)
        assert (told.code, why in told.err) == (1, True)
        assert gateway.requests == [], "nobody answered in its place"
        assert why in server.carrel("status", cwd=second).err
        assert f"warn  gateway.spare: {why}" in server.carrel("doctor", cwd=second).out
        (data_dir / "carrel.toml").write_text(both)
        client.post("/api/settings/reload").raise_for_status()
        gateway.script(text("Back again."))
        retried = client.post(f"/api/runs/{failed['id']}/retry").json()["runId"]
        waited = client.get(f"/api/runs/{retried}/wait", params={"timeoutSeconds": WAIT_SECONDS}).json()
    assert waited["reply"] == "Back again."


def test_the_file_of_the_working_directory_wins_and_is_named(
    data_dir: Path, directories: tuple[Path, Path], start_in: StartIn
) -> None:
    first, second = directories
    (data_dir / "carrel.toml").write_text("runs.attempts_max = 2\n")
    (first / "carrel.toml").write_text("runs.attempts_max = 3\n")
    server = start_in(first)
    named = f"The settings are read from {first}/carrel.toml, not from {data_dir}/carrel.toml."
    assert server.log_file.read_text().splitlines()[0] == named
    with server.client() as client:
        rows = {row["name"]: row["value"] for row in client.get("/api/settings").json()["settings"]}
    assert rows["runs.attempts_max"] == 3
    assert f"settings\t{first}/carrel.toml" in server.carrel("status", cwd=second).out
    assert f"warn  settings: {data_dir}/carrel.toml is not read; {first}/carrel.toml is" in (
        server.carrel("doctor", cwd=first).out
    )
    assert f"warn  settings: the running server reads {first}/carrel.toml" in server.carrel("doctor", cwd=second).out


def test_connect_writes_to_the_file_in_force_and_to_no_other(
    data_dir: Path, directories: tuple[Path, Path], start_in: StartIn, gateway: ScriptedChat
) -> None:
    first, second = directories
    (first / "carrel.toml").write_text("# mine\n")
    server = start_in(first)
    gateway.script(PROBED)
    refused = server.carrel("connect", gateway.base_url, cwd=second)
    assert (refused.code, f"reads its settings from {first}/carrel.toml, not from" in refused.err) == (1, True)
    assert not (data_dir / "carrel.toml").exists()
    gateway.script(PROBED, text("Hello."))
    connected = server.carrel("connect", gateway.base_url, cwd=first)
    assert (connected.code, connected.out) == (0, "Hello.\n"), connected.err
    assert f"Wrote {first}/carrel.toml." in connected.err
    assert (first / "carrel.toml").read_text().startswith("# mine\n\n[gateway.default]\n")


def test_doctor_without_a_server_says_that_no_model_is_connected(
    data_dir: Path, directories: tuple[Path, Path], start_in: StartIn, gateway: ScriptedChat
) -> None:
    server = start_in(directories[0])
    server.stop()
    found = json.loads(server.carrel("doctor", "--json", cwd=directories[1]).out)["findings"]
    (lacking,) = [one for one in found if one["what"] == "model"]
    assert lacking["state"] == "warn"
    assert lacking["found"] == "No model is connected; the built-in agent answers."
    assert lacking["advice"] == "Connect one with `carrel connect`."
    assert any(one["found"].startswith(f"{data_dir}/carrel.toml, which is not there yet; ") for one in found)
    (data_dir / "carrel.toml").write_text(table("other", gateway))
    assert "model: There is no gateway.default; the built-in" in server.carrel("doctor", cwd=directories[1]).out
