"""Two servers: an agent of the near one is backed by an agent of the far one over A2A."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.process import RunningServer, Start, reaching, servers_in
from tests.scripted_gateway import Gate, ScriptedGateway, calls, text


@pytest.fixture
def far(tmp_path: Path, gateway: ScriptedGateway) -> Iterator[RunningServer]:
    """The server that does the work, with the scripted model."""
    folder = tmp_path / "far"
    folder.mkdir()
    with servers_in(folder) as starting:
        yield starting(**reaching(gateway))


@pytest.fixture
def start_near(tmp_path: Path, far: RunningServer) -> Iterator[Start]:
    """Start the near server, always on the same folder."""
    folder = tmp_path / "near"
    folder.mkdir()
    prefix = "CARREL_GATEWAY__DEFAULT__"
    remote = {f"{prefix}KIND": "a2a", f"{prefix}BASE_URL": f"{far.url}/a2a/main", f"{prefix}API_KEY": far.token}
    with servers_in(folder) as starting:
        yield lambda **environment: starting(**remote, **environment)


@pytest.fixture
def near(start_near: Start) -> RunningServer:
    return start_near()


def far_runs(far: RunningServer) -> list[str]:
    """Return the states of the far server's runs, oldest first."""
    with far.client() as client:
        return [run["state"] for run in reversed(client.get("/api/runs").json()["runs"])]


def reply_of(near: RunningServer, run_id: str) -> str | None:
    """Return the reply of a run of the near server, however long the machine takes."""
    with near.client() as client:
        for _ in range(4):
            waited = client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 20}).json()
            if waited["status"] == "ok":
                reply: str = waited["reply"]
                return reply
    return None


def test_a_message_goes_through_both_servers_and_its_answer_comes_back(
    near: RunningServer, far: RunningServer, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Far away, all is well."), text("Still well."))
    assert near.carrel("send", "main", "how are you?", "--wait", "20").out == "Far away, all is well.\n"
    assert near.carrel("a2a", "send", near.url, "and now?").out == "Still well.\n"
    assert gateway.requests[0].json["input"][-1]["content"][-1]["text"] == "how are you?"
    assert far_runs(far) == ["completed", "completed"]


def test_a_session_of_the_near_server_is_one_session_of_the_far_one(
    near: RunningServer, far: RunningServer, gateway: ScriptedGateway
) -> None:
    gateway.script(text("One."), text("Two."), text("Elsewhere."))
    for session, words in (("first", "count"), ("first", "go on"), ("other", "count")):
        ended = near.carrel("send", f"agent:main:hook:{session}", words, "--wait", "20")
        assert ended.code == 0, ended.err
    keys = [request.headers["x-openclaw-session-key"] for request in gateway.requests]
    assert keys[0] == keys[1]
    assert keys[2] != keys[0]


def test_a_question_travels_to_the_person_and_the_answer_back(
    near: RunningServer, far: RunningServer, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("request_input", {"question": "Which colour?"})), text("Painted red."))
    asked = near.carrel("a2a", "send", near.url, "paint it")
    assert (asked.code, asked.out) == (0, "Which colour?\n")
    task = asked.err.rpartition("--task ")[2].split("`")[0]
    assert near.carrel("a2a", "send", near.url, "red", "--task", task).out == "Painted red.\n"
    assert far_runs(far) == ["completed"]


def test_files_and_refusals_travel_too(near: RunningServer, far: RunningServer, gateway: ScriptedGateway) -> None:
    content = base64.b64encode(b"hello").decode()
    kept = {"dataBase64": content, "filename": "greeting.txt", "mediaType": "text/plain"}
    gateway.script(calls(("artifact_add", kept), ("artifact_add", {"data": {"n": 1}})), text("Saved."))
    task = json.loads(near.carrel("a2a", "send", near.url, "save it", "--json").out)["task"]
    parts = [part for artifact in task["artifacts"] for part in artifact["parts"]]
    assert parts[0]["raw"] == content
    assert parts[0]["filename"] == "greeting.txt"
    assert parts[1]["data"] == {"n": 1}
    assert parts[2] == {"text": "Saved."}
    gateway.script(calls(("decline", {"reason": "Not my field."})))
    refused = near.carrel("a2a", "send", near.url, "juggle")
    assert refused.code == 1
    assert "The task was rejected: Not my field." in refused.err


def test_cancelling_in_the_near_server_cancels_in_the_far_one(
    near: RunningServer, far: RunningServer, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("never", before=gate))
    run = near.carrel("send", "main", "slowly").out.strip()
    gate.wait_reached()
    assert near.carrel("runs", "cancel", run).code == 0
    gateway.wait_for_disconnects(1)
    assert far_runs(far) == ["cancelled"]


def test_a_crash_of_the_near_server_makes_the_far_one_do_nothing_twice(
    start_near: Start, far: RunningServer, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("Done once.", before=gate))
    near = start_near()
    run = near.carrel("send", "main", "do it").out.strip()
    gate.wait_reached()
    near.kill()
    near = start_near()
    gate.open()
    assert reply_of(near, run) == "Done once."
    assert len(gateway.requests) == 1
    assert far_runs(far) == ["completed"]


def test_a_stop_of_the_near_server_calls_the_work_off_and_its_next_start_begins_it_anew(
    start_near: Start, far: RunningServer, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("never", before=gate), text("Done after all."))
    near = start_near(CARREL_SERVER__DRAIN_SECONDS="1")
    run = near.carrel("send", "main", "do it").out.strip()
    gate.wait_reached()
    near.stop()
    gateway.wait_for_disconnects(1)
    near = start_near()
    assert reply_of(near, run) == "Done after all."
    assert far_runs(far) == ["cancelled", "completed"]


def test_a_far_server_that_is_away_for_a_while_loses_nothing(
    start_near: Start, far: RunningServer, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    gateway.script(text("Back again."))
    near = start_near()
    port = far.url.rpartition(":")[2]
    far.stop()
    run = near.carrel("send", "main", "are you there?").out.strip()
    why = near.carrel("runs", "wait", run, "--timeout", "1")
    assert why.code == 5
    with servers_in(tmp_path / "far") as starting:
        starting("--port", port, **reaching(gateway))
        assert reply_of(near, run) == "Back again."
