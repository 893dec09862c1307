"""What A2A over gRPC refuses: by which code, with which details, and before anything was done."""

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
from tests.surfaces.a2a.grpc_house import GrpcHouse, bearing, open_grpc_house, saying, told

pytestmark = pytest.mark.anyio

A2A = "a2a-protocol.org"
EXTENSION = "https://extensions.example/needed"


@pytest.fixture
async def place(sqlite_url: str) -> AsyncIterator[GrpcHouse]:
    async with open_grpc_house(sqlite_url) as opened:
        yield opened


@pytest.fixture
async def calls(place: GrpcHouse) -> AsyncIterator[Any]:
    async with place.calls() as methods:
        yield methods


async def refused(call: Any) -> tuple[str, list[dict[str, Any]]]:
    """The code and the details of a call that must be refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read() if isinstance(call, grpc.aio.UnaryStreamCall) else await call
    return told(caught.value)


def because(reason: str, domain: str = A2A, field: str = "") -> dict[str, Any]:
    """An ErrorInfo as JSON."""
    return {"reason": reason, "domain": domain} | ({"metadata": {"field": field}} if field else {})


async def test_every_method_of_the_protocol_exists_and_refuses_a_call_without_a_token(calls: Any) -> None:
    for method in DESCRIPTOR.services_by_name["A2AService"].methods:
        call = getattr(calls, method.name)(GetMessageClass(method.input_type)())
        assert await refused(call) == ("UNAUTHENTICATED", [because("UNAUTHENTICATED", "carrel")]), method.name


async def test_a_wrong_token_and_a_token_of_an_agent_are_refused(place: GrpcHouse, calls: Any) -> None:
    wrong = await refused(calls.ListTasks(ListTasksRequest(), metadata=bearing("crl_client_nobody_0")))
    assert wrong == ("UNAUTHENTICATED", [because("UNAUTHENTICATED", "carrel")])
    async with place.opened.client() as owner:
        agent = await place.opened.token(owner, kind="agent", agentId="main")
    denied = await refused(calls.ListTasks(ListTasksRequest(), metadata=bearing(agent)))
    assert denied == ("PERMISSION_DENIED", [because("FORBIDDEN", "carrel")])


async def test_wrong_tokens_are_counted_by_address_and_none_here(place: GrpcHouse, calls: Any) -> None:
    for _ in range(WRONG_TOKENS_PER_MINUTE_MAX + 1):
        assert (await refused(calls.ListTasks(ListTasksRequest(), metadata=bearing("wrong"))))[0] == "UNAUTHENTICATED"
    forwarded = bearing("wrong", x_forwarded_for="192.0.2.1")
    for _ in range(WRONG_TOKENS_PER_MINUTE_MAX):
        assert (await refused(calls.ListTasks(ListTasksRequest(), metadata=forwarded)))[0] == "UNAUTHENTICATED"
    code, details = await refused(calls.ListTasks(ListTasksRequest(), metadata=forwarded))
    assert (code, details) == ("RESOURCE_EXHAUSTED", [because("RATE_LIMITED", "carrel"), {"retryDelay": "60s"}])


async def test_two_different_tokens_are_one_too_many(place: GrpcHouse, calls: Any) -> None:
    both = bearing(place.opened.owner, x_clawboard_token=place.opened.other_owner)
    assert (await refused(calls.ListTasks(ListTasksRequest(), metadata=both)))[0] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("version", ["", " ", "1.0", "1.0.1"])
async def test_version_1_0_is_spoken_named_or_not(place: GrpcHouse, calls: Any, version: str) -> None:
    metadata = bearing(place.opened.owner, a2a_version=version)
    assert (await calls.ListTasks(ListTasksRequest(), metadata=metadata)).total_size == 0


@pytest.mark.parametrize("version", ["0.3", "0.3.0", "1.1", "99.0", "one"])
async def test_no_other_version_is_spoken_and_nothing_is_done(place: GrpcHouse, calls: Any, version: str) -> None:
    metadata = bearing(place.opened.owner, a2a_version=version)
    call = calls.SendMessage(saying("hello", "m-1"), metadata=metadata)
    assert await refused(call) == ("FAILED_PRECONDITION", [because("VERSION_NOT_SUPPORTED")])
    assert (await calls.ListTasks(ListTasksRequest(), metadata=place.owner)).total_size == 0


async def test_an_extension_that_is_required_must_be_declared_and_is_echoed(sqlite_url: str) -> None:
    settings = A2aSettings(required_extensions=(EXTENSION,))
    async with open_grpc_house(sqlite_url, settings) as place, place.calls() as calls:
        without = calls.ListTasks(ListTasksRequest(), metadata=place.owner)
        assert await refused(without) == ("FAILED_PRECONDITION", [because("EXTENSION_SUPPORT_REQUIRED")])
        declared = bearing(place.opened.owner, a2a_extensions=f"https://other.example, {EXTENSION}")
        call = calls.ListTasks(ListTasksRequest(), metadata=declared)
        await call
        assert dict(await call.initial_metadata()) == {"a2a-extensions": EXTENSION}


async def test_what_the_card_denies_is_refused(sqlite_url: str) -> None:
    settings = A2aSettings(streaming=False, extended_card=False, push=A2aPushSettings(enabled=False))
    async with open_grpc_house(sqlite_url, settings) as place, place.calls() as calls:
        hook = TaskPushNotificationConfig(task_id="run_1", url="https://hooks.example")
        for call, reason in (
            (calls.SendStreamingMessage(saying("hello", "m-1"), metadata=place.owner), "UNSUPPORTED_OPERATION"),
            (calls.SubscribeToTask(SubscribeToTaskRequest(id="run_1"), metadata=place.owner), "UNSUPPORTED_OPERATION"),
            (calls.CreateTaskPushNotificationConfig(hook, metadata=place.owner), "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            (
                calls.GetExtendedAgentCard(GetExtendedAgentCardRequest(), metadata=place.owner),
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            ),
        ):
            assert await refused(call) == ("FAILED_PRECONDITION", [because(reason)])


@requirement("S1.send.validate")
async def test_the_field_that_is_wrong_is_named(place: GrpcHouse, calls: Any) -> None:
    unknown_state = ListTasksRequest.FromString(b"\x18\x63")
    nothing_said = saying("hello", "m-1")
    del nothing_said.message.parts[:]
    for call, field in (
        (calls.SendMessage(SendMessageRequest(), metadata=place.owner), "message"),
        (calls.SendMessage(saying("hello", ""), metadata=place.owner), "message.messageId"),
        (calls.SendMessage(nothing_said, metadata=place.owner), "message.parts"),
        (calls.GetTask(GetTaskRequest(), metadata=place.owner), "id"),
        (calls.ListTasks(ListTasksRequest(page_size=0), metadata=place.owner), "pageSize"),
        (calls.ListTasks(unknown_state, metadata=place.owner), "status"),
        (calls.ListTasks(ListTasksRequest(page_token="x"), metadata=place.owner), "pageToken"),
    ):
        code, (first, second) = await refused(call)
        assert (code, first) == ("INVALID_ARGUMENT", because("INVALID_PARAMS", "carrel", field))
        assert [violation["field"] for violation in second["fieldViolations"]] == [field]


@pytest.mark.parametrize("raw", [b"\xff", b"\x12\x02\x0a\xff", b"\x0a\x01\xff"])
async def test_bytes_that_are_no_request_are_refused(place: GrpcHouse, raw: bytes) -> None:
    async with grpc.aio.insecure_channel(place.address) as channel:
        send: Any = channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage")
        stream: Any = channel.unary_stream("/lf.a2a.v1.A2AService/SendStreamingMessage")
        for method in (send, stream):
            code, details = await refused(method(raw, metadata=place.owner))
            assert (code, details[0]) == ("INVALID_ARGUMENT", because("INVALID_PARAMS", "carrel", "request"))


async def test_a_message_that_is_too_large_is_refused_and_one_that_just_fits_is_not(
    place: GrpcHouse, calls: Any
) -> None:
    fitting = CancelTaskRequest(id="x" * (BODY_BYTES_MAX - 100))
    assert (await refused(calls.CancelTask(fitting, metadata=place.owner)))[0] == "NOT_FOUND"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await calls.CancelTask(CancelTaskRequest(id="x" * (BODY_BYTES_MAX + 1)), metadata=place.owner)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@requirement("S1.queue.limit")
async def test_a_full_queue_is_told_with_a_time_to_come_back(sqlite_url: str) -> None:
    async with open_grpc_house(sqlite_url, runs=RunsSettings(lane_queue_max=1)) as place, place.calls() as calls:
        for n, text in enumerate(("hold here", "next")):
            request = saying(text, f"m-{n}", return_immediately=True)
            request.message.context_id = "c-1"
            await calls.SendMessage(request, metadata=place.owner)
            await place.opened.agent.reached("here")
        request = saying("one too many", "m-9")
        request.message.context_id = "c-1"
        code, details = await refused(calls.SendMessage(request, metadata=place.owner))
        assert (code, details[0]) == ("RESOURCE_EXHAUSTED", because("QUEUE_FULL", "carrel"))
        assert details[1].keys() == {"retryDelay"}
        assert (await calls.ListTasks(ListTasksRequest(), metadata=place.owner)).total_size == 2
        place.opened.agent.release("here")


async def test_nothing_new_is_taken_while_the_server_drains(place: GrpcHouse, calls: Any) -> None:
    place.opened.drain.set()
    code, details = await refused(calls.SendMessage(saying("hello", "m-1"), metadata=place.owner))
    assert (code, details[0]) == ("UNAVAILABLE", because("UNAVAILABLE", "carrel"))
    assert (await calls.ListTasks(ListTasksRequest(), metadata=place.owner)).total_size == 0


async def test_what_nothing_foresaw_is_our_fault_and_the_log_knows_it_by_the_id_of_the_call(
    place: GrpcHouse, calls: Any, caplog: pytest.LogCaptureFixture
) -> None:
    task = (await calls.SendMessage(saying("hello", "m-1"), metadata=place.owner)).task
    access = await place.opened.access_of()
    # No tool of ours keeps such a value.
    broken = Artifact("broken", 1, None, None, None, "data", "no JSON", 0, 1)
    await place.opened.db.write(lambda tx: insert_artifact(tx, access, task.id, broken))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await calls.GetTask(GetTaskRequest(id=task.id), metadata=place.owner)
    assert told(caught.value) == ("INTERNAL", [because("INTERNAL", "carrel")])
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
def test_an_address_is_read_from_how_grpc_names_a_peer(peer: str, address: str | None) -> None:
    assert address_of_peer(peer) == address
