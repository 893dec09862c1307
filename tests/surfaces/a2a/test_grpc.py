"""A2A over gRPC: what the official Python client can do on it, and who may."""

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
from tests.surfaces.a2a.grpc_house import WAIT_SECONDS_MAX, GrpcHouse, bearing, open_grpc_house, saying, told

pytestmark = pytest.mark.anyio

HOOK = "https://hooks.example/a2a"


@pytest.fixture
async def place(sqlite_url: str) -> AsyncIterator[GrpcHouse]:
    push = A2aPushSettings(allow_private_addresses=True)
    async with open_grpc_house(sqlite_url, A2aSettings(push=push)) as opened:
        yield opened


@pytest.fixture
async def client(place: GrpcHouse) -> AsyncIterator[Client]:
    async with place.client() as made:
        yield made


async def sent(client: Client, request: SendMessageRequest) -> Task:
    """The task that came of it at last."""
    events = [event async for event in client.send_message(request)]
    return await client.get_task(GetTaskRequest(id=first_task(events).id))


def first_task(events: list[StreamResponse]) -> Task:
    """The task that a stream begins with."""
    assert events[0].WhichOneof("payload") == "task"
    return events[0].task


def states(events: list[StreamResponse]) -> list[str]:
    """What a stream told behind its first event."""
    return [
        TaskState.Name(event.status_update.status.state).removeprefix("TASK_STATE_")
        if event.WhichOneof("payload") == "status_update"
        else event.artifact_update.artifact.artifact_id
        for event in events[1:]
    ]


async def test_the_client_finds_the_port_on_the_card_and_is_answered_on_either_store(store_url: str) -> None:
    async with open_grpc_house(store_url) as place, place.client(streaming=False) as client:
        (event,) = [event async for event in client.send_message(saying("hello", "m-1"))]
        assert event.task.status.state == TaskState.TASK_STATE_COMPLETED
        assert [part.text for artifact in event.task.artifacts for part in artifact.parts] == ["echo: hello"]
        again = await client.get_task(GetTaskRequest(id=event.task.id))
        assert again == event.task
        assert again.metadata["generation"] == 4


@requirement("S1.stream.send")
async def test_the_client_streams_a_task_from_its_beginning_to_its_end(client: Client) -> None:
    events = [event async for event in client.send_message(saying("hello", "m-1"))]
    assert first_task(events).status.state == TaskState.TASK_STATE_SUBMITTED
    assert states(events) == ["WORKING", "result", "COMPLETED"]
    assert events[2].artifact_update.artifact.parts[0].text == "echo: hello"


@requirement("S1.stream.interrupted", "S1.send.continue")
async def test_a_stream_ends_at_a_question_and_the_answer_continues_the_task(client: Client) -> None:
    asked = await sent(client, saying("ask Which one?", "m-1"))
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert asked.status.message.parts[0].text == "Which one?"
    events = [event async for event in client.send_message(saying("the red one", "m-2", task=asked))]
    assert first_task(events).id == asked.id
    assert states(events)[-1] == "COMPLETED"


@requirement("S1.list.filters", "S1.list.artifacts")
async def test_the_client_lists_its_tasks_by_state_page_by_page(client: Client) -> None:
    for n in range(3):
        await sent(client, saying(f"hello {n}", f"m-{n}"))
    await sent(client, saying("fail", "m-fail"))
    done = ListTasksRequest(status=TaskState.TASK_STATE_COMPLETED, page_size=2, history_length=0)
    first = await client.list_tasks(done)
    assert (len(first.tasks), first.total_size, first.page_size) == (2, 3, 2)
    assert not any(task.artifacts or task.history for task in first.tasks)
    done.page_token, done.include_artifacts = first.next_page_token, True
    second = await client.list_tasks(done)
    assert [task.artifacts[0].parts[0].text for task in second.tasks] == ["echo: hello 0"]
    assert second.next_page_token == ""


@requirement("S1.cancel.working", "S1.cancel.terminal")
async def test_the_client_cancels_a_task_that_is_worked_on_once(place: GrpcHouse, client: Client) -> None:
    (event,) = await _of(client, saying("hold here", "m-1", return_immediately=True))
    await place.opened.agent.reached("here")
    cancelled = await client.cancel_task(CancelTaskRequest(id=event.task.id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
    with pytest.raises(TaskNotCancelableError):
        await client.cancel_task(CancelTaskRequest(id=event.task.id))


async def _of(client: Client, request: SendMessageRequest) -> list[StreamResponse]:
    """The events up to the first one."""
    async for event in client.send_message(request):
        return [event]
    raise AssertionError("nothing came")


@requirement("S1.stream.subscribe", "S1.stream.terminal")
async def test_the_client_comes_back_to_a_task_until_it_has_ended(place: GrpcHouse, client: Client) -> None:
    (event,) = await _of(client, saying("hold here", "m-1"))
    await place.opened.agent.reached("here")

    streams = [client.subscribe(SubscribeToTaskRequest(id=event.task.id)) for _ in range(2)]
    begun = [await anext(stream) for stream in streams]
    assert [first.task.id for first in begun] == [event.task.id] * 2
    place.opened.agent.release("here")
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        one, other = [[update async for update in stream] for stream in streams]
    assert one == other
    assert states(one)[-1] == "COMPLETED"
    with pytest.raises(UnsupportedOperationError):
        await anext(client.subscribe(SubscribeToTaskRequest(id=event.task.id)))


async def test_a_follower_goes_on_behind_the_last_change_it_names(place: GrpcHouse) -> None:
    async with place.calls() as calls:
        asked = await calls.SendMessage(saying("ask Which?", "m-1"), metadata=place.owner)
        last = bearing(place.opened.owner, last_event_id="1")
        following = calls.SubscribeToTask(SubscribeToTaskRequest(id=asked.task.id), metadata=last)
        events = [event async for event in following]
        assert first_task(events).status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert states(events) == ["WORKING", "INPUT_REQUIRED"]


@requirement("S1.push.config")
async def test_the_client_makes_reads_lists_and_deletes_the_webhooks_of_a_task(client: Client) -> None:
    task = await sent(client, saying("ask Which?", "m-1"))
    wanted = TaskPushNotificationConfig(task_id=task.id, id="hook-1", url=HOOK, token="secret")
    made = await client.create_task_push_notification_config(wanted)
    assert (made.id, made.task_id, made.url, made.token) == ("hook-1", task.id, HOOK, "secret")
    read = await client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=task.id, id="hook-1")
    )
    assert read == made
    everything = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    assert list((await client.list_task_push_notification_configs(everything)).configs) == [made]
    for _ in range(2):
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="hook-1")
        )
    assert not (await client.list_task_push_notification_configs(everything)).configs


async def test_the_client_reads_the_extended_card_which_names_the_port_and_the_agent(
    place: GrpcHouse, client: Client
) -> None:
    card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert "session_status" in [skill.id for skill in card.skills]
    port = next(one for one in card.supported_interfaces if one.protocol_binding == "GRPC")
    assert (port.url, port.protocol_version, port.tenant) == (place.address, "1.0", "main")
    assert card.supported_interfaces[0].url == f"{place.opened.url}/a2a/main"


async def test_the_deepest_message_that_can_be_sent_can_be_read_and_listed(place: GrpcHouse) -> None:
    request = saying("hello", "m-1")
    value = request.message.parts.add().data
    # Above it are the request, its message, the parts and the part.
    for _ in range(A2A_LEVELS_MAX - 4):
        value = value.list_value.values.add()
    value.number_value = 7
    async with place.calls() as calls:
        task = (await calls.SendMessage(request, metadata=place.owner)).task
        assert task.history[0].parts[1] == request.message.parts[1]
        found = await calls.ListTasks(ListTasksRequest(), metadata=place.owner)
        assert found.tasks[0].history[0].parts[1] == request.message.parts[1]
        value.list_value.values.add()
        request.message.message_id = "m-2"
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.SendMessage(request, metadata=place.owner)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@requirement("S1.wire.card")
async def test_the_card_names_the_port_at_the_host_that_callers_use(place: GrpcHouse) -> None:
    port = place.address.partition(":")[2]
    async with place.opened.client() as anybody:
        for host, shown in (("[::1]:8787", f"[::1]:{port}"), ("agents.example", f"agents.example:{port}")):
            answer = await anybody.get("/.well-known/agent-card.json", headers={"Host": host})
            found = {one["protocolBinding"]: one for one in answer.json()["supportedInterfaces"]}
            wanted = {"url": shown, "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "main"}
            assert found["GRPC"] == wanted
        old = await anybody.get("/.well-known/agent-card.json", headers={"A2A-Version": "0.3"})
        assert [one["transport"] for one in old.json()["additionalInterfaces"]] == ["HTTP+JSON"]


async def test_the_tenant_is_the_agent_and_none_is_the_default_one(place: GrpcHouse) -> None:
    async with place.opened.client() as owner, place.calls() as calls:
        assert (await owner.post("/api/agents", json={"id": "helen"})).status_code == 201
        request = saying("hello", "m-1")
        request.tenant = "helen"
        task = (await calls.SendMessage(request, metadata=place.owner)).task
        assert str(task.metadata["sessionKey"]).startswith("agent:helen:a2a:")
        found = await calls.ListTasks(ListTasksRequest(tenant="helen"), metadata=place.owner)
        assert [one.id for one in found.tasks] == [task.id]
        assert not (await calls.ListTasks(ListTasksRequest(), metadata=place.owner)).tasks
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.GetTask(GetTaskRequest(id=task.id), metadata=place.owner)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        only_main = await place.opened.token(owner, kind="client", agentIds=["main"])
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.ListTasks(ListTasksRequest(tenant="helen"), metadata=bearing(only_main))
        assert told(refused.value) == ("NOT_FOUND", [{"reason": "NOT_FOUND", "domain": "carrel"}])


@requirement("S1.x.owner")
async def test_a_task_of_another_caller_is_as_missing_as_one_that_never_was(place: GrpcHouse, client: Client) -> None:
    task = await sent(client, saying("hello", "m-1"))
    async with place.opened.client() as owner:
        token = await place.opened.token(owner, kind="client", agentIds=["main"])
    async with place.client(token) as other:
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


async def test_a_token_may_stand_in_either_header(place: GrpcHouse) -> None:
    async with place.calls() as calls:
        named = (("x-clawboard-token", place.opened.owner),)
        assert (await calls.ListTasks(ListTasksRequest(), metadata=named)).total_size == 0


async def test_this_machine_needs_no_token_where_that_is_set_but_a_forwarded_call_does(sqlite_url: str) -> None:
    async with open_grpc_house(sqlite_url, auth=AuthSettings(mode="loopback")) as place, place.calls() as calls:
        assert (await calls.ListTasks(ListTasksRequest())).total_size == 0
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await calls.ListTasks(ListTasksRequest(), metadata=(("x-forwarded-for", "127.0.0.1"),))
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
