"""Streams over gRPC: how they end, and that they leave nothing behind."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from a2a.types import ListTasksRequest, SubscribeToTaskRequest, TaskState

from carrel.records import Artifact, insert_artifact
from carrel.runs import count_change, publish_change, run_by_id
from carrel.storage import Tx
from tests.harness.elapsing import Elapsing
from tests.requirements.mark import requirement
from tests.surfaces.a2a.grpc_server import (
    WAIT_SECONDS_MAX,
    GrpcServer,
    bearer,
    error_of,
    open_grpc_server,
    send_request,
)


@pytest.fixture
async def calls(grpc_server: GrpcServer) -> AsyncIterator[Any]:
    # A window that grows with the connection would hold everything that a client does not read.
    options = ("grpc.max_receive_message_length", -1), ("grpc.http2.bdp_probe", 0)
    async with grpc_server.calls(*options) as methods:
        yield methods


def text_part(artifact_id: str, seq: int, text: str, change: int) -> Artifact:
    """Return an artifact with one text part."""
    return Artifact(
        artifact_id=artifact_id,
        seq=seq,
        name=None,
        media_type=None,
        filename=None,
        kind="text",
        content=text,
        added_at=0,
        change=change,
    )


async def held(grpc_server: GrpcServer, calls: Any, name: str) -> str:
    """Return the id of a task that works until the name is released."""
    request = send_request(f"hold {name}", f"m-{name}", return_immediately=True)
    task = (await calls.SendMessage(request, metadata=grpc_server.owner)).task
    await grpc_server.opened.agent.reached(name)
    return str(task.id)


def followers() -> set[asyncio.Task[Any]]:
    """Return the streams that this process is sending."""
    return {one for one in asyncio.all_tasks() if "GrpcHandlers._send_all" in str(one.get_coro())}


async def gone(streams: set[asyncio.Task[Any]]) -> None:
    """Wait until they have ended."""
    assert streams
    _, still = await asyncio.wait(streams, timeout=WAIT_SECONDS_MAX)
    assert not still


async def ended(call: Any) -> grpc.aio.AioRpcError:
    """Read a stream to its end and return the error that ended it."""
    try:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while await call.read() is not grpc.aio.EOF:
                pass
    except grpc.aio.AioRpcError as error:
        return error
    raise AssertionError("the stream ended well")


async def test_a_cancelled_stream_ends_and_its_task_goes_on(grpc_server: GrpcServer, calls: Any) -> None:
    task_id = await held(grpc_server, calls, "it")
    request = SubscribeToTaskRequest(id=task_id)
    call = calls.SubscribeToTask(request, metadata=grpc_server.owner)
    await call.read()
    given_up = followers()
    other = calls.SubscribeToTask(request, metadata=grpc_server.owner)
    await other.read()
    call.cancel()
    await gone(given_up)
    grpc_server.opened.agent.release("it")
    events = [await other.read() for _ in range(2)]
    assert events[1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert await other.read() is grpc.aio.EOF


async def test_a_stream_ends_with_its_deadline(grpc_server: GrpcServer, calls: Any) -> None:
    request = SubscribeToTaskRequest(id=await held(grpc_server, calls, "it"))
    call = calls.SubscribeToTask(request, metadata=grpc_server.owner, timeout=3)
    await call.read()
    streams = followers()
    assert (await ended(call)).code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await gone(streams)


async def test_a_caller_that_cancels_a_blocking_send_finds_its_task_later(grpc_server: GrpcServer, calls: Any) -> None:
    call = calls.SendMessage(send_request("hold it", "m-1"), metadata=grpc_server.owner)
    sending = asyncio.ensure_future(call)
    await grpc_server.opened.agent.reached("it")
    call.cancel()
    await asyncio.wait({sending}, timeout=WAIT_SECONDS_MAX)
    assert sending.cancelled()
    grpc_server.opened.agent.release("it")
    again = (await calls.SendMessage(send_request("hold it", "m-1"), metadata=grpc_server.owner)).task
    assert again.status.state == TaskState.TASK_STATE_COMPLETED
    assert (await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)).total_size == 1


async def test_streams_end_with_a_retry_delay_when_the_server_stops(surface_url: str) -> None:
    async with open_grpc_server(surface_url) as grpc_server, grpc_server.calls() as calls:
        request = SubscribeToTaskRequest(id=await held(grpc_server, calls, "it"))
        streams = [calls.SubscribeToTask(request, metadata=grpc_server.owner) for _ in range(3)]
        for call in streams:
            await call.read()
        grpc_server.opened.services.closing.set()
        for call in streams:
            code, details = error_of(await ended(call))
            assert (code, details) == (
                "UNAVAILABLE",
                [{"reason": "UNAVAILABLE", "domain": "carrel"}, {"retryDelay": "5s"}],
            )


@requirement("I.revoke")
async def test_the_stream_of_a_revoked_token_ends(grpc_server: GrpcServer, calls: Any) -> None:
    async with grpc_server.opened.client() as owner:
        made = (await owner.post("/api/tokens", json={"kind": "client", "name": "x", "agentIds": ["main"]})).json()
        metadata = bearer(made["secret"])
        request = send_request("hold it", "m-1", return_immediately=True)
        task = (await calls.SendMessage(request, metadata=metadata)).task
        call = calls.SubscribeToTask(SubscribeToTaskRequest(id=task.id), metadata=metadata)
        await call.read()
        assert (await owner.delete(f"/api/tokens/{made['token']['id']}")).status_code == 204
    assert error_of(await ended(call)) == ("UNAUTHENTICATED", [{"reason": "UNAUTHENTICATED", "domain": "carrel"}])


@requirement("S4.x.feed.slow")
async def test_a_client_that_does_not_read_blocks_nobody_and_can_subscribe_again(
    grpc_server: GrpcServer, calls: Any, elapsing: Elapsing
) -> None:
    task_id = await held(grpc_server, calls, "it")
    request = SubscribeToTaskRequest(id=task_id)
    call = calls.SubscribeToTask(request, metadata=grpc_server.owner)
    first = await call.read()
    access = await grpc_server.opened.access_of()

    def fill(tx: Tx) -> None:
        run = run_by_id(tx, access, task_id)
        assert run is not None
        for seq in range(1, 101):
            part = text_part(f"a-{seq}", seq, "x" * 100_000, count_change(tx, run))
            insert_artifact(tx, access, task_id, part)
            publish_change(
                tx, run, "run.artifact", state="running", artifactId=part.artifact_id, append=False, part=seq
            )

    async def others_are_served() -> None:
        assert (await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)).total_size == 1

    async def given_up() -> None:
        while followers():
            await elapsing.pass_by(1, others_are_served)

    await grpc_server.opened.db.write(fill)
    await given_up()
    error = await ended(call)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    generation = str(int(first.task.metadata["generation"]))
    again = calls.SubscribeToTask(request, metadata=grpc_server.owner)
    while not followers():
        await others_are_served()
    # The call ends even if the client never reads the first update, which has all the artifacts.
    await given_up()
    assert (await ended(again)).code() is grpc.StatusCode.UNAVAILABLE
    again = calls.SubscribeToTask(request, metadata=bearer(grpc_server.opened.owner, last_event_id=generation))
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        parts = [(await again.read()).artifact_update.artifact.artifact_id for _ in range(101)][1:]
    assert parts == [f"a-{seq}" for seq in range(1, 101)]
    again.cancel()


async def test_calls_are_counted_by_method_and_code(grpc_server: GrpcServer, calls: Any) -> None:
    await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)
    with pytest.raises(grpc.aio.AioRpcError):
        await calls.ListTasks(ListTasksRequest())
    async with grpc_server.opened.client() as owner:
        rows = (await owner.get("/api/metrics")).json()["metrics"]
    counted = {
        row["labels"]["status"]: row["value"]
        for row in rows
        if row["name"] == "http.requests.count" and row["labels"]["route"] == "/lf.a2a.v1.A2AService/ListTasks"
    }
    assert counted.keys() >= {"OK", "UNAUTHENTICATED"}
