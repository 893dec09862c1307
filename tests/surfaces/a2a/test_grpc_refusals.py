"""What A2A over gRPC refuses, with which codes and details, and without side effects."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.types.a2a_pb2 import DESCRIPTOR
from google.protobuf.message_factory import GetMessageClass

from carrel.kernel.limits import BODY_BYTES_MAX, WRONG_TOKENS_PER_MINUTE_MAX
from carrel.kernel.settings import A2aPushSettings, A2aSettings, RunsSettings
from carrel.records import Artifact, insert_artifact
from carrel.surfaces.a2a.grpc.handlers import address_of_peer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.grpc_server import GrpcServer, bearer, error_of, open_grpc_server, send_request

A2A = "a2a-protocol.org"
EXTENSION = "https://extensions.example/needed"


@pytest.fixture
async def calls(grpc_server: GrpcServer) -> AsyncIterator[Any]:
    async with grpc_server.calls() as methods:
        yield methods


async def refused(call: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the code and details of a call that must be refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read() if isinstance(call, grpc.aio.UnaryStreamCall) else await call
    return error_of(caught.value)


def because(reason: str, domain: str = A2A, field: str = "") -> dict[str, Any]:
    """Return an ErrorInfo as JSON."""
    return {"reason": reason, "domain": domain} | ({"metadata": {"field": field}} if field else {})


async def test_every_method_of_the_protocol_exists_and_refuses_a_call_without_a_token(calls: Any) -> None:
    for method in DESCRIPTOR.services_by_name["A2AService"].methods:
        call = getattr(calls, method.name)(GetMessageClass(method.input_type)())
        assert await refused(call) == ("UNAUTHENTICATED", [because("UNAUTHENTICATED", "carrel")]), method.name


async def test_a_wrong_token_and_a_token_of_an_agent_are_refused(grpc_server: GrpcServer, calls: Any) -> None:
    wrong = await refused(calls.ListTasks(ListTasksRequest(), metadata=bearer("crl_client_nobody_0")))
    assert wrong == ("UNAUTHENTICATED", [because("UNAUTHENTICATED", "carrel")])
    async with grpc_server.opened.client() as owner:
        agent = await grpc_server.opened.token(owner, kind="agent", agentId="main")
    denied = await refused(calls.ListTasks(ListTasksRequest(), metadata=bearer(agent)))
    assert denied == ("PERMISSION_DENIED", [because("FORBIDDEN", "carrel")])


async def test_wrong_tokens_are_limited_by_address_but_not_for_loopback(grpc_server: GrpcServer, calls: Any) -> None:
    for _ in range(WRONG_TOKENS_PER_MINUTE_MAX + 1):
        assert (await refused(calls.ListTasks(ListTasksRequest(), metadata=bearer("wrong"))))[0] == "UNAUTHENTICATED"
    forwarded = bearer("wrong", x_forwarded_for="192.0.2.1")
    for _ in range(WRONG_TOKENS_PER_MINUTE_MAX):
        assert (await refused(calls.ListTasks(ListTasksRequest(), metadata=forwarded)))[0] == "UNAUTHENTICATED"
    code, details = await refused(calls.ListTasks(ListTasksRequest(), metadata=forwarded))
    assert (code, details) == ("RESOURCE_EXHAUSTED", [because("RATE_LIMITED", "carrel"), {"retryDelay": "60s"}])


async def test_two_different_tokens_in_one_call_are_refused(grpc_server: GrpcServer, calls: Any) -> None:
    both = bearer(grpc_server.opened.owner, x_clawboard_token=grpc_server.opened.other_owner)
    assert (await refused(calls.ListTasks(ListTasksRequest(), metadata=both)))[0] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("version", ["", " ", "1.0", "1.0.1"])
async def test_version_1_0_works_with_and_without_its_name(grpc_server: GrpcServer, calls: Any, version: str) -> None:
    metadata = bearer(grpc_server.opened.owner, a2a_version=version)
    assert (await calls.ListTasks(ListTasksRequest(), metadata=metadata)).total_size == 0


@pytest.mark.parametrize("version", ["0.3", "0.3.0", "1.1", "99.0", "one"])
async def test_other_versions_are_refused_without_side_effects(
    grpc_server: GrpcServer, calls: Any, version: str
) -> None:
    metadata = bearer(grpc_server.opened.owner, a2a_version=version)
    call = calls.SendMessage(send_request("hello", "m-1"), metadata=metadata)
    assert await refused(call) == ("FAILED_PRECONDITION", [because("VERSION_NOT_SUPPORTED")])
    assert (await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)).total_size == 0


async def test_a_required_extension_must_be_declared_and_is_echoed(surface_url: str) -> None:
    settings = A2aSettings(required_extensions=(EXTENSION,))
    async with open_grpc_server(surface_url, settings) as grpc_server, grpc_server.calls() as calls:
        without = calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)
        assert await refused(without) == ("FAILED_PRECONDITION", [because("EXTENSION_SUPPORT_REQUIRED")])
        declared = bearer(grpc_server.opened.owner, a2a_extensions=f"https://other.example, {EXTENSION}")
        call = calls.ListTasks(ListTasksRequest(), metadata=declared)
        await call
        assert dict(await call.initial_metadata()) == {"a2a-extensions": EXTENSION}


async def test_capabilities_that_the_card_lacks_are_refused(surface_url: str) -> None:
    settings = A2aSettings(streaming=False, extended_card=False, push=A2aPushSettings(enabled=False))
    async with open_grpc_server(surface_url, settings) as grpc_server, grpc_server.calls() as calls:
        hook = TaskPushNotificationConfig(task_id="run_1", url="https://hooks.example")
        for call, reason in (
            (
                calls.SendStreamingMessage(send_request("hello", "m-1"), metadata=grpc_server.owner),
                "UNSUPPORTED_OPERATION",
            ),
            (
                calls.SubscribeToTask(SubscribeToTaskRequest(id="run_1"), metadata=grpc_server.owner),
                "UNSUPPORTED_OPERATION",
            ),
            (
                calls.CreateTaskPushNotificationConfig(hook, metadata=grpc_server.owner),
                "PUSH_NOTIFICATION_NOT_SUPPORTED",
            ),
            (
                calls.GetExtendedAgentCard(GetExtendedAgentCardRequest(), metadata=grpc_server.owner),
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            ),
        ):
            assert await refused(call) == ("FAILED_PRECONDITION", [because(reason)])


@requirement("S1.send.validate")
async def test_errors_name_the_invalid_field(grpc_server: GrpcServer, calls: Any) -> None:
    unknown_state = ListTasksRequest.FromString(b"\x18\x63")
    nothing_said = send_request("hello", "m-1")
    del nothing_said.message.parts[:]
    for call, field in (
        (calls.SendMessage(SendMessageRequest(), metadata=grpc_server.owner), "message"),
        (calls.SendMessage(send_request("hello", ""), metadata=grpc_server.owner), "message.messageId"),
        (calls.SendMessage(nothing_said, metadata=grpc_server.owner), "message.parts"),
        (calls.GetTask(GetTaskRequest(), metadata=grpc_server.owner), "id"),
        (calls.ListTasks(ListTasksRequest(page_size=0), metadata=grpc_server.owner), "pageSize"),
        (calls.ListTasks(unknown_state, metadata=grpc_server.owner), "status"),
        (calls.ListTasks(ListTasksRequest(page_token="x"), metadata=grpc_server.owner), "pageToken"),
    ):
        code, (first, second) = await refused(call)
        assert (code, first) == ("INVALID_ARGUMENT", because("INVALID_PARAMS", "carrel", field))
        assert [violation["field"] for violation in second["fieldViolations"]] == [field]


@pytest.mark.parametrize("raw", [b"\xff", b"\x12\x02\x0a\xff", b"\x0a\x01\xff"])
async def test_invalid_protobuf_bytes_are_refused(grpc_server: GrpcServer, raw: bytes) -> None:
    async with grpc.aio.insecure_channel(grpc_server.address) as channel:
        send: Any = channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage")
        stream: Any = channel.unary_stream("/lf.a2a.v1.A2AService/SendStreamingMessage")
        for method in (send, stream):
            code, details = await refused(method(raw, metadata=grpc_server.owner))
            assert (code, details[0]) == ("INVALID_ARGUMENT", because("INVALID_PARAMS", "carrel", "request"))


async def test_a_message_over_the_size_limit_is_refused_and_one_at_the_limit_is_not(
    grpc_server: GrpcServer, calls: Any
) -> None:
    fitting = CancelTaskRequest(id="x" * (BODY_BYTES_MAX - 100))
    assert (await refused(calls.CancelTask(fitting, metadata=grpc_server.owner)))[0] == "NOT_FOUND"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await calls.CancelTask(CancelTaskRequest(id="x" * (BODY_BYTES_MAX + 1)), metadata=grpc_server.owner)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@requirement("S1.queue.limit")
async def test_a_full_queue_is_refused_with_a_retry_delay(surface_url: str) -> None:
    async with (
        open_grpc_server(surface_url, runs=RunsSettings(lane_queue_max=1)) as grpc_server,
        grpc_server.calls() as calls,
    ):
        for n, text in enumerate(("hold here", "next")):
            request = send_request(text, f"m-{n}", return_immediately=True)
            request.message.context_id = "c-1"
            await calls.SendMessage(request, metadata=grpc_server.owner)
            await grpc_server.opened.agent.reached("here")
        request = send_request("one too many", "m-9")
        request.message.context_id = "c-1"
        code, details = await refused(calls.SendMessage(request, metadata=grpc_server.owner))
        assert (code, details[0]) == ("RESOURCE_EXHAUSTED", because("QUEUE_FULL", "carrel"))
        assert details[1].keys() == {"retryDelay"}
        assert (await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)).total_size == 2
        grpc_server.opened.agent.release("here")


async def test_nothing_new_is_accepted_while_the_server_drains(grpc_server: GrpcServer, calls: Any) -> None:
    grpc_server.opened.drain.set()
    code, details = await refused(calls.SendMessage(send_request("hello", "m-1"), metadata=grpc_server.owner))
    assert (code, details[0]) == ("UNAVAILABLE", because("UNAVAILABLE", "carrel"))
    assert (await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)).total_size == 0


async def test_an_unexpected_error_is_internal_and_logged_with_the_request_id(
    grpc_server: GrpcServer, calls: Any, caplog: pytest.LogCaptureFixture
) -> None:
    task = (await calls.SendMessage(send_request("hello", "m-1"), metadata=grpc_server.owner)).task
    access = await grpc_server.opened.access_of()
    # No tool stores such a value.
    broken = Artifact("broken", 1, None, None, None, "data", "no JSON", 0, 1)
    await grpc_server.opened.db.write(lambda tx: insert_artifact(tx, access, task.id, broken))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await calls.GetTask(GetTaskRequest(id=task.id), metadata=grpc_server.owner)
    assert error_of(caught.value) == ("INTERNAL", [because("INTERNAL", "carrel")])
    (logged,) = [record for record in caplog.records if record.message == "request_failed"]
    assert logged.__dict__["request_id"] == dict(caught.value.trailing_metadata())["x-request-id"]
    assert logged.__dict__["route"] == "/lf.a2a.v1.A2AService/GetTask"


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.1:5000", "192.0.2.1"),
        ("ipv6:%5B::1%5D:5000", "::1"),
        ("ipv6:[2001:db8::7]:5000", "2001:db8::7"),
        ("unix:/tmp/socket", None),
        ("", None),
    ],
)
def test_the_address_is_read_from_a_grpc_peer_name(peer: str, address: str | None) -> None:
    assert address_of_peer(peer) == address
