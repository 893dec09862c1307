"""The gRPC port of a real server: when it opens, what it needs, and that nothing is loaded when it is off."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from a2a.types import ListTasksRequest, Message, Part, Role, SendMessageRequest, TaskState
from a2a.types.a2a_pb2_grpc import A2AServiceStub

from tests.conformance.kits import free_port
from tests.harness.process import CARREL, Ended, RunningServer, Start, clean_environment, reaching
from tests.scripted_gateway import Gate, ScriptedGateway, text

WAIT_SECONDS = 20.0


def saying(what: str, message_id: str) -> SendMessageRequest:
    """Return a request with this message."""
    return SendMessageRequest(message=Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=what)]))


def calls(channel: grpc.Channel) -> Any:
    """Return the stub, which has no types."""
    return A2AServiceStub(channel)  # type: ignore[no-untyped-call]


def owner(server: RunningServer) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {server.token}"), ("a2a-version", "1.0"))


def serve(folder: Path, port: int, **environment: str) -> Ended:
    """Run a server that must fail to start; return how it ended."""
    done = subprocess.run(
        [str(CARREL), "serve", "--port", "0", "--data-dir", str(folder)],
        cwd=folder,
        env=clean_environment(folder, CARREL_A2A__GRPC_PORT=str(port), **environment),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_server_that_is_ready_answers_by_either_way(start: Start) -> None:
    port = free_port()
    server = start(CARREL_A2A__GRPC_PORT=str(port))
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        sent = calls(channel).SendMessage(saying("status", "m-1"), metadata=owner(server), timeout=WAIT_SECONDS)
    assert sent.task.status.state == TaskState.TASK_STATE_COMPLETED
    with server.client() as client:
        listed = client.get("/a2a/main/tasks").json()["tasks"]
        card = client.get("/.well-known/agent-card.json").json()
    assert [task["id"] for task in listed] == [sent.task.id]
    assert {"GRPC": f"127.0.0.1:{port}"}.items() <= {
        one["protocolBinding"]: one["url"] for one in card["supportedInterfaces"]
    }.items()


def test_a_server_that_stops_ends_the_streams_of_its_callers(start: Start) -> None:
    port, gate = free_port(), Gate()
    with ScriptedGateway() as gateway:
        gateway.rule = lambda _: text("late", before=gate)
        server = start(CARREL_A2A__GRPC_PORT=str(port), CARREL_SERVER__DRAIN_SECONDS="1", **reaching(gateway))
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stream = calls(channel).SendStreamingMessage(saying("hello", "m-1"), metadata=owner(server))
            assert next(stream).task.status.state == TaskState.TASK_STATE_SUBMITTED
            server.started.terminate()
            with pytest.raises(grpc.RpcError) as ended:
                list(stream)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        assert server.wait() == 0
        gate.open()
    assert not [line for line in server.log() if line["level"] == "error"]


def test_a_port_that_another_server_has_ends_the_start_with_a_sentence(start: Start, tmp_path: Path) -> None:
    port, other = free_port(), tmp_path / "other"
    start(CARREL_A2A__GRPC_PORT=str(port))
    other.mkdir()
    ended = serve(other, port)
    assert ended.code == 1
    assert f"Cannot listen on 127.0.0.1:{port} for gRPC" in ended.err
    assert len(ended.err.splitlines()) == 1
    assert "ready" not in ended.out


def test_a_missing_extra_ends_the_start_with_what_to_install(tmp_path: Path) -> None:
    # A machine without the extra, as far as imports can tell.
    absent = tmp_path / "absent"
    (absent / "grpc").mkdir(parents=True)
    (absent / "grpc" / "__init__.py").write_text("raise ModuleNotFoundError('no grpc here')\n")
    ended = serve(tmp_path, free_port(), PYTHONPATH=os.pathsep.join([str(absent), *sys.path]))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "a2a.grpc_port needs the gRPC extra: pip install 'carrel[grpc]'\n"


def test_a_port_without_a2a_is_not_opened(start: Start) -> None:
    port = free_port()
    start(CARREL_A2A__GRPC_PORT=str(port), CARREL_A2A__ENABLED="false")
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, pytest.raises(grpc.RpcError) as refused:
        calls(channel).ListTasks(ListTasksRequest(), timeout=WAIT_SECONDS)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


def test_nothing_of_grpc_is_imported_where_it_is_off(start: Start) -> None:
    server = start()
    with server.client() as client:
        assert client.get("/.well-known/agent-card.json").status_code == 200
    assert "cygrpc" not in Path(f"/proc/{server.started.pid}/maps").read_text()
