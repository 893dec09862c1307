"""One message, followed from outside: accepted, answered, streamed, and explained afterwards."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.harness.process import RunningServer, Start, reaching, servers_in
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, calls, text


def events_of(stream: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yield the bodies of a stream's events as they arrive."""
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_a_message_is_accepted_answered_streamed_and_explained(
    running: RunningServer, client: httpx.Client, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {})), text("The report is written."))
    with client.stream("GET", "/api/stream", params={"sessionKey": "agent:main:hook:report"}) as refused:
        assert refused.status_code == 404, "a lane without messages does not exist yet"
    with client.stream("GET", "/api/stream", params={"events": "run,session"}) as stream:
        events = events_of(stream)
        assert "seq" in next(events)
        accepted = client.post(
            "/api/runs", json={"sessionKey": "agent:main:hook:report", "message": "write the report"}
        )
        assert accepted.status_code == 202
        run_id = accepted.json()["runId"]
        assert accepted.json()["sessionKey"] == "agent:main:hook:report"
        seen = []
        for event in events:
            seen.append(event)
            if event["name"] == "run.completed":
                break
    assert [event["name"] for event in seen] == ["run.queued", "run.started", "session.opened", "run.completed"]
    assert all(event["sessionKey"] == "agent:main:hook:report" for event in seen)
    assert seen[-1]["data"]["reply"] == "The report is written."
    run = client.get(f"/api/runs/{run_id}").json()["run"]
    assert (run["state"], run["deliverySessionKey"]) == ("completed", "agent:main:hook:report:v1")
    assert run["toolsCalled"] == ["session_status"]
    history = client.get("/api/sessions/agent:main:hook:report/history").json()["messages"]
    assert [message["role"] for message in history if message["role"] != "toolCall"] == ["user", "assistant"]
    receipt = client.get(f"/api/runs/{run_id}/receipt", params={"body": 1}).json()
    assert [step["body"].encode() for step in receipt["steps"]] == [request.body for request in gateway.requests]


def test_the_same_stream_goes_on_where_it_was_cut(
    running: RunningServer, client: httpx.Client, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    run_id = client.post("/api/runs", json={"message": "one"}).json()["runId"]
    client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 20})
    with client.stream("GET", "/api/stream", params={"events": "run", "lastEventId": "0"}) as stream:
        events = events_of(stream)
        newest = next(events)["seq"]
        first = next(events)
    assert first["name"] == "run.queued"
    assert first["seq"] < newest
    with client.stream(
        "GET", "/api/stream", params={"events": "run"}, headers={"Last-Event-ID": str(first["seq"])}
    ) as stream:
        events = events_of(stream)
        next(events)
        assert next(events)["name"] == "run.started"


def test_a_chat_receives_its_reply_in_pieces_and_once_whole(running: RunningServer, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(text("Once ", gate, "upon a time."))
    address = running.url.replace("http://", "ws://") + "/ws/chat"
    with connect(address, subprotocols=[Subprotocol(f"bearer.{running.token}")]) as socket:
        socket.send(json.dumps({"type": "bind", "sessionId": "chat-0001", "clientInstanceId": "tab-1"}))
        line = {"type": "message", "sessionId": "chat-0001", "clientInstanceId": "tab-1", "text": "a story"}
        socket.send(json.dumps(line))
        frames: list[dict[str, Any]] = []
        while not frames or frames[-1]["type"] != "assistant_done":
            frames.append(json.loads(socket.recv(20)))
            if frames[-1]["type"] == "assistant_chunk":
                gate.open()
    assert all(frame["sessionId"] == "chat-0001" for frame in frames)
    assert "".join(frame["text"] for frame in frames if frame["type"] == "assistant_chunk") == "Once upon a time."
    assert frames[-1]["text"] == "Once upon a time."


@requirement("P.engine.two")
def test_two_halves_of_a_server_share_one_postgresql(
    tmp_path: Path, postgres_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("From the other half.")
    environment = {**reaching(gateway), "CARREL_STORAGE__URL": postgres_url}
    with servers_in(tmp_path) as start:
        api = start("--role", "api", **environment)
        worker = start("--role", "worker", **environment)
        with api.client() as client:
            run_ids = [
                client.post("/api/runs", json={"message": "hello", "sessionKey": f"agent:main:cli:lane-{number:04}"})
                for number in range(8)
            ]
            for accepted in run_ids:
                waited = client.get(f"/api/runs/{accepted.json()['runId']}/wait", params={"timeoutSeconds": 20}).json()
                assert (waited["status"], waited["reply"]) == ("ok", "From the other half.")
        assert worker.stop() == 0
        assert api.stop() == 0


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_without_a_model_everything_answers(start: Start, request: pytest.FixtureRequest, store: str) -> None:
    environment = {"CARREL_STORAGE__URL": request.getfixturevalue("postgres_url")} if store == "postgresql" else {}
    running = start(**environment)
    ended = running.carrel("send", "main", "status", "--wait", "20")
    assert ended.code == 0, ended.err
    assert "sessionKey: main" in ended.out
