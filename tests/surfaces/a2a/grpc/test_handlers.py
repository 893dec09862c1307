"""A2A over gRPC with the official Python client, and who may use it."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
from a2a.client import Client
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

from carrel.kernel.limits import A2A_LEVELS_MAX
from carrel.kernel.settings import A2aPushSettings, A2aSettings, AuthSettings
from tests.requirements.mark import requirement
from tests.surfaces.a2a.grpc_server import (
    WAIT_SECONDS_MAX,
    GrpcServer,
    bearer,
    error_of,
    open_grpc_server,
    send_request,
)

HOOK = "https://hooks.example/a2a"


@pytest.fixture
async def grpc_server(surface_url: str) -> AsyncIterator[GrpcServer]:
    push = A2aPushSettings(allow_private_addresses=True)
    async with open_grpc_server(surface_url, A2aSettings(push=push)) as opened:
        yield opened


@pytest.fixture
async def caller(grpc_server: GrpcServer) -> AsyncIterator[Client]:
    async with grpc_server.client() as opened:
        yield opened


async def sent(caller: Client, request: SendMessageRequest) -> Task:
    """Send a message and return the task afterwards."""
    events = [event async for event in caller.send_message(request)]
    return await caller.get_task(GetTaskRequest(id=first_task(events).id))


def first_task(events: list[StreamResponse]) -> Task:
    """Return the task that a stream begins with."""
    assert events[0].WhichOneof("payload") == "task"
    return events[0].task


def states(events: list[StreamResponse]) -> list[str]:
    """Return a stream in short, without its first event."""
    return [
        TaskState.Name(event.status_update.status.state).removeprefix("TASK_STATE_")
        if event.WhichOneof("payload") == "status_update"
        else event.artifact_update.artifact.artifact_id
        for event in events[1:]
    ]


async def test_the_client_finds_the_port_on_the_card_and_works_on_either_store(store_url: str) -> None:
    async with open_grpc_server(store_url) as grpc_server, grpc_server.client(streaming=False) as caller:
        (event,) = [event async for event in caller.send_message(send_request("hello", "m-1"))]
        assert event.task.status.state == TaskState.TASK_STATE_COMPLETED
        assert [part.text for artifact in event.task.artifacts for part in artifact.parts] == ["echo: hello"]
        again = await caller.get_task(GetTaskRequest(id=event.task.id))
        assert again == event.task
        assert again.metadata["generation"] == 4


@requirement("S1.stream.send")
async def test_the_client_streams_a_task_from_start_to_end(caller: Client) -> None:
    events = [event async for event in caller.send_message(send_request("hello", "m-1"))]
    assert first_task(events).status.state == TaskState.TASK_STATE_SUBMITTED
    assert states(events) == ["WORKING", "result", "COMPLETED"]
    assert events[2].artifact_update.artifact.parts[0].text == "echo: hello"


@requirement("S1.stream.interrupted", "S1.send.continue")
async def test_a_stream_ends_at_a_question_and_the_answer_continues_the_task(caller: Client) -> None:
    asked = await sent(caller, send_request("ask Which one?", "m-1"))
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert asked.status.message.parts[0].text == "Which one?"
    events = [event async for event in caller.send_message(send_request("the red one", "m-2", task=asked))]
    assert first_task(events).id == asked.id
    assert states(events)[-1] == "COMPLETED"


@requirement("S1.list.filters", "S1.list.artifacts")
async def test_the_client_lists_its_tasks_by_state_and_page(caller: Client) -> None:
    for n in range(3):
        await sent(caller, send_request(f"hello {n}", f"m-{n}"))
    await sent(caller, send_request("fail", "m-fail"))
    done = ListTasksRequest(status=TaskState.TASK_STATE_COMPLETED, page_size=2, history_length=0)
    first = await caller.list_tasks(done)
    assert (len(first.tasks), first.total_size, first.page_size) == (2, 3, 2)
    assert not any(task.artifacts or task.history for task in first.tasks)
    done.page_token, done.include_artifacts = first.next_page_token, True
    second = await caller.list_tasks(done)
    assert [task.artifacts[0].parts[0].text for task in second.tasks] == ["echo: hello 0"]
    assert second.next_page_token == ""


@requirement("S1.cancel.working", "S1.cancel.terminal")
async def test_the_client_can_cancel_a_working_task_once(grpc_server: GrpcServer, caller: Client) -> None:
    (event,) = await first_event(caller, send_request("hold here", "m-1", return_immediately=True))
    await grpc_server.opened.agent.reached("here")
    cancelled = await caller.cancel_task(CancelTaskRequest(id=event.task.id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
    with pytest.raises(TaskNotCancelableError):
        await caller.cancel_task(CancelTaskRequest(id=event.task.id))


async def first_event(caller: Client, request: SendMessageRequest) -> list[StreamResponse]:
    """Return the first event."""
    async for event in caller.send_message(request):
        return [event]
    raise AssertionError("nothing came")


@requirement("S1.stream.subscribe", "S1.stream.terminal")
async def test_the_client_can_subscribe_again_until_the_task_has_ended(grpc_server: GrpcServer, caller: Client) -> None:
    (event,) = await first_event(caller, send_request("hold here", "m-1"))
    await grpc_server.opened.agent.reached("here")

    streams = [caller.subscribe(SubscribeToTaskRequest(id=event.task.id)) for _ in range(2)]
    begun = [await anext(stream) for stream in streams]
    assert [first.task.id for first in begun] == [event.task.id] * 2
    grpc_server.opened.agent.release("here")
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        one, other = [[update async for update in stream] for stream in streams]
    assert one == other
    assert states(one)[-1] == "COMPLETED"
    with pytest.raises(UnsupportedOperationError):
        await anext(caller.subscribe(SubscribeToTaskRequest(id=event.task.id)))


async def test_a_subscription_resumes_after_the_last_event_id(grpc_server: GrpcServer) -> None:
    async with grpc_server.calls() as calls:
        asked = await calls.SendMessage(send_request("ask Which?", "m-1"), metadata=grpc_server.owner)
        last = bearer(grpc_server.opened.owner, last_event_id="1")
        following = calls.SubscribeToTask(SubscribeToTaskRequest(id=asked.task.id), metadata=last)
        events = [event async for event in following]
        assert first_task(events).status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert states(events) == ["WORKING", "INPUT_REQUIRED"]


@requirement("S1.push.config")
async def test_the_client_creates_reads_lists_and_deletes_push_configs(caller: Client) -> None:
    task = await sent(caller, send_request("ask Which?", "m-1"))
    expected = TaskPushNotificationConfig(task_id=task.id, id="hook-1", url=HOOK, token="secret")
    created = await caller.create_task_push_notification_config(expected)
    assert (created.id, created.task_id, created.url, created.token) == ("hook-1", task.id, HOOK, "secret")
    read = await caller.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=task.id, id="hook-1")
    )
    assert read == created
    everything = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    assert list((await caller.list_task_push_notification_configs(everything)).configs) == [created]
    for _ in range(2):
        await caller.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="hook-1")
        )
    assert not (await caller.list_task_push_notification_configs(everything)).configs


async def test_the_client_reads_the_extended_card_with_the_port_and_the_agent(
    grpc_server: GrpcServer, caller: Client
) -> None:
    card = await caller.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert "session_status" in [skill.id for skill in card.skills]
    port = next(one for one in card.supported_interfaces if one.protocol_binding == "GRPC")
    assert (port.url, port.protocol_version, port.tenant) == (grpc_server.address, "1.0", "main")
    assert card.supported_interfaces[0].url == f"{grpc_server.opened.url}/a2a/main"


async def test_the_deepest_message_that_can_be_sent_can_be_read_and_listed(grpc_server: GrpcServer) -> None:
    request = send_request("hello", "m-1")
    value = request.message.parts.add().data
    # Four levels are above it: the request, the message, its parts and the part.
    for _ in range(A2A_LEVELS_MAX - 4):
        value = value.list_value.values.add()
    value.number_value = 7
    async with grpc_server.calls() as calls:
        task = (await calls.SendMessage(request, metadata=grpc_server.owner)).task
        assert task.history[0].parts[1] == request.message.parts[1]
        found = await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)
        assert found.tasks[0].history[0].parts[1] == request.message.parts[1]
        value.list_value.values.add()
        request.message.message_id = "m-2"
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.SendMessage(request, metadata=grpc_server.owner)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@requirement("S1.wire.card")
async def test_the_card_names_the_port_on_the_host_that_the_caller_used(grpc_server: GrpcServer) -> None:
    port = grpc_server.address.partition(":")[2]
    async with grpc_server.opened.client() as anybody:
        for host, shown in (("[::1]:8787", f"[::1]:{port}"), ("agents.example", f"agents.example:{port}")):
            answer = await anybody.get("/.well-known/agent-card.json", headers={"Host": host})
            found = {one["protocolBinding"]: one for one in answer.json()["supportedInterfaces"]}
            expected = {"url": shown, "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "main"}
            assert found["GRPC"] == expected
        old = await anybody.get("/.well-known/agent-card.json", headers={"A2A-Version": "0.3"})
        assert [one["transport"] for one in old.json()["additionalInterfaces"]] == ["HTTP+JSON"]


async def test_the_tenant_is_the_agent_and_defaults_to_the_default_agent(grpc_server: GrpcServer) -> None:
    async with grpc_server.opened.client() as owner, grpc_server.calls() as calls:
        assert (await owner.post("/api/agents", json={"id": "helen"})).status_code == 201
        request = send_request("hello", "m-1")
        request.tenant = "helen"
        task = (await calls.SendMessage(request, metadata=grpc_server.owner)).task
        assert str(task.metadata["sessionKey"]).startswith("agent:helen:a2a:")
        found = await calls.ListTasks(ListTasksRequest(tenant="helen"), metadata=grpc_server.owner)
        assert [one.id for one in found.tasks] == [task.id]
        assert not (await calls.ListTasks(ListTasksRequest(), metadata=grpc_server.owner)).tasks
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.GetTask(GetTaskRequest(id=task.id), metadata=grpc_server.owner)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        only_main = await grpc_server.opened.token(owner, kind="client", agentIds=["main"])
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.ListTasks(ListTasksRequest(tenant="helen"), metadata=bearer(only_main))
        assert error_of(refused.value) == ("NOT_FOUND", [{"reason": "NOT_FOUND", "domain": "carrel"}])


@requirement("S1.x.owner")
async def test_a_task_of_another_caller_looks_missing(grpc_server: GrpcServer, caller: Client) -> None:
    task = await sent(caller, send_request("hello", "m-1"))
    async with grpc_server.opened.client() as owner:
        token = await grpc_server.opened.token(owner, kind="client", agentIds=["main"])
    async with grpc_server.client(token) as other:
        assert not (await other.list_tasks(ListTasksRequest())).tasks
        words = set()
        for task_id in (task.id, "run_unknown"):
            for act in (other.get_task(GetTaskRequest(id=task_id)), other.cancel_task(CancelTaskRequest(id=task_id))):
                with pytest.raises(TaskNotFoundError) as refused:
                    await act
                words.add(str(refused.value))
            with pytest.raises(TaskNotFoundError) as refused:
                await anext(other.subscribe(SubscribeToTaskRequest(id=task_id)))
            words.add(str(refused.value))
        assert len(words) == 1


async def test_a_token_may_be_in_either_header(grpc_server: GrpcServer) -> None:
    async with grpc_server.calls() as calls:
        named = (("x-clawboard-token", grpc_server.opened.owner),)
        assert (await calls.ListTasks(ListTasksRequest(), metadata=named)).total_size == 0


async def test_loopback_calls_may_need_no_token_but_forwarded_ones_do(surface_url: str) -> None:
    async with (
        open_grpc_server(surface_url, auth=AuthSettings(mode="loopback")) as grpc_server,
        grpc_server.calls() as calls,
    ):
        assert (await calls.ListTasks(ListTasksRequest())).total_size == 0
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.ListTasks(ListTasksRequest(), metadata=(("x-forwarded-for", "127.0.0.1"),))
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
