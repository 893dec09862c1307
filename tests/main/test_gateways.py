"""Connecting a model over the API, as the dashboard does: from the address of a server to an answer."""

from pathlib import Path

import httpx
import pytest

from tests.harness.process import Start
from tests.requirements.mark import requirement
from tests.scripted_dialects import ScriptedChat
from tests.scripted_gateway import MODEL, http_error, text

pytestmark = pytest.mark.kinds("chat")

# What the server says to a probe, which asks for nothing.
PROBED = http_error(400, "messages is required")
SECRET = "sk-0123456789-secret"
FROM_AFAR = {"X-Forwarded-For": "203.0.113.7"}


def connect(client: httpx.Client, server: str, **more: str) -> httpx.Response:
    return client.post("/api/models/connect", json={"server": server, "model": MODEL, **more})


def test_a_server_is_probed_connected_and_answers_without_a_restart(start: Start, gateway: ScriptedChat) -> None:
    server = start()
    gateway.script(PROBED, PROBED, text("Here I am."))
    with server.client() as client:
        found = client.post("/api/models/probe", json={"server": gateway.base_url}).json()
        assert (found["kinds"], found["models"], found["problem"]) == (["chat"], [MODEL], None)
        assert "gateway.default.base_url" in connect(client, gateway.base_url).json()["changed"]
        run = client.post("/api/runs", json={"message": "hello"}).json()["runId"]
        waited = client.get(f"/api/runs/{run}/wait", params={"timeoutSeconds": 20}).json()
    assert waited["reply"] == "Here I am."


def test_a_key_is_kept_in_a_private_file_and_shown_nowhere(start: Start, gateway: ScriptedChat) -> None:
    server = start()
    gateway.script(PROBED, PROBED)
    with server.client() as client:
        connected = connect(client, gateway.base_url, key=SECRET)
        again = connect(client, gateway.base_url)
        shown = client.get("/api/settings").text
    assert (connected.status_code, again.json()["changed"]) == (200, []), "the key of this address is kept"
    kept = server.folder / "keys" / "default"
    assert (kept.read_text().strip(), kept.stat().st_mode & 0o077) == (SECRET, 0)
    written = (server.folder / "carrel.toml").read_text()
    assert SECRET not in written + connected.text + shown
    assert gateway.requests[-1].headers["authorization"] == f"Bearer {SECRET}"


def test_a_key_never_goes_to_another_address(start: Start, gateway: ScriptedChat) -> None:
    server = start()
    gateway.script(PROBED)
    with server.client() as client, ScriptedChat() as other:
        connect(client, gateway.base_url, key=SECRET).raise_for_status()
        other.script(PROBED)
        client.post("/api/models/probe", json={"server": other.base_url}).raise_for_status()
        assert SECRET not in str([request.headers for request in other.requests])


def test_from_another_machine_only_public_addresses_are_asked(start: Start, gateway: ScriptedChat) -> None:
    server = start()
    with server.client() as client:
        answer = client.post("/api/models/probe", json={"server": gateway.base_url}, headers=FROM_AFAR)
    error = answer.json()["error"]
    assert (answer.status_code, error["field"]) == (400, "server")
    assert "`carrel connect`" in error["message"]
    assert gateway.requests == []


def test_what_cannot_be_used_is_said_and_changes_nothing(start: Start) -> None:
    server = start()
    with server.client() as client:
        silent = client.post("/api/models/probe", json={"server": "http://127.0.0.1:9"}).json()
        misspelt = client.post("/api/models/probe", json={"server": "olama"}).json()
        refused = connect(client, "http://127.0.0.1:9")
    assert "127.0.0.1:9" in silent["problem"]
    assert "did you mean ollama?" in misspelt["error"]["message"]
    assert (refused.status_code, (server.folder / "carrel.toml").exists()) == (400, False)


def test_what_the_environment_sets_is_not_written_into_the_file(start: Start, gateway: ScriptedChat) -> None:
    server = start(CARREL_GATEWAY__DEFAULT__KIND="builtin")
    gateway.script(PROBED)
    with server.client() as client:
        refused = connect(client, gateway.base_url)
    assert (refused.status_code, "gateway.default.kind" in refused.json()["error"]["message"]) == (409, True)


@requirement("P.acp.settings", "P.acp.health")
def test_no_request_names_the_command_of_a_coding_agent_or_changes_one(
    start: Start, gateway: ScriptedChat, tmp_path: Path
) -> None:
    file = tmp_path / "carrel.toml"
    file.write_text(before := '[gateway.coder]\nkind = "acp"\ncommand = "no-such-agent"\n')
    server = start()
    gateway.script(PROBED, PROBED, PROBED)
    with server.client() as client:
        refused = [
            connect(client, gateway.base_url, kind="acp"),
            connect(client, gateway.base_url, command="sh"),
            connect(client, gateway.base_url, gateway="coder"),
            client.patch("/api/agents/main", json={"command": "sh"}),
        ]
        states = client.get("/api/health").json()["gateways"]
    assert [answer.status_code for answer in refused] == [400, 400, 409, 400]
    assert file.read_text() == before
    (coder,) = [one for one in states if one["name"] == "coder"]
    assert (coder["kind"], coder["status"]) == ("acp", "failed")
    assert "there is no command no-such-agent" in coder["lastError"]
