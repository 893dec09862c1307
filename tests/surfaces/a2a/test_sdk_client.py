"""The official Python client, unmodified, against a running server: both HTTP bindings, both versions."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

from tests.harness.process import RunningServer, reaching, servers_in
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, text
from tests.surfaces.a2a.opt_calls import OPT

WAIT_SECONDS = 20.0
INTERFACES = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")]
NEW_INTERFACES = [interface for interface in INTERFACES if interface[1] == "1.0"]


@dataclass
class GatedServer:
    """A running server, and the gates at which its turns wait."""

    server: RunningServer
    gates: dict[str, Gate]

    def answer(self, request: Request) -> Answer:
        """Echo the message; `hold <name>` waits for the gate of that name."""
        sent = request.json["input"][-1]["content"][-1]["text"]
        return text(f"echo: {sent}", before=self.gates.get(sent.removeprefix("hold ")))


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedServer]:
    with ScriptedGateway() as gateway, servers_in(tmp_path_factory.mktemp("carrel")) as start:
        opened = GatedServer(start(**reaching(gateway)), {})
        gateway.rule = opened.answer
        yield opened


@pytest.fixture(params=INTERFACES, ids=" ".join)
def interface(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The binding and version that the client uses."""
    chosen: tuple[str, str] = request.param
    return chosen


@pytest.fixture
async def streaming_client(gated: GatedServer, interface: tuple[str, str]) -> AsyncIterator[Client]:
    """A client that streams."""
    async with client_of(gated, interface, streaming=True) as client:
        yield client


@pytest.fixture
async def waiting_client(gated: GatedServer, interface: tuple[str, str]) -> AsyncIterator[Client]:
    """A client that waits for the end of each task."""
    async with client_of(gated, interface, streaming=False) as client:
        yield client


@asynccontextmanager
async def client_of(gated: GatedServer, interface: tuple[str, str], *, streaming: bool) -> AsyncIterator[Client]:
    """Open a client from the server's own card, reduced to one interface."""
    headers = {"Authorization": f"Bearer {gated.server.token}"}
    async with httpx.AsyncClient(headers=headers, timeout=WAIT_SECONDS) as http:
        card: AgentCard = await A2ACardResolver(http, gated.server.url).get_agent_card()
        kept = [one for one in card.supported_interfaces if (one.protocol_binding, one.protocol_version) == interface]
        assert kept, f"the card does not offer {interface}"
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[interface[0]])
        yield ClientFactory(config).create(card)


def send_request(what: str, message_id: str, *, task: Task | None = None, at_once: bool = False) -> SendMessageRequest:
    """Return a request that sends a text."""
    message = Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=what)])
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=at_once))


async def sent(client: Client, request: SendMessageRequest) -> Task:
    """Send without streaming and return the task."""
    events = [event async for event in client.send_message(request)]
    assert len(events) == 1
    return events[0].task


def names(events: list[StreamResponse]) -> list[str]:
    """Return a stream in short: the kind of every event and the state in it."""
    short = []
    for event in events:
        kind = event.WhichOneof("payload")
        assert kind is not None
        status = {"task": event.task.status, "status_update": event.status_update.status}.get(kind)
        short.append(f"{kind} {TaskState.Name(status.state)[11:].lower()}" if status is not None else kind)
    return short


@requirement("S1.wire.versions", "S1.send.blocking", "S1.get")
async def test_the_client_sends_and_reads_the_task(waiting_client: Client, interface: tuple[str, str]) -> None:
    task = await sent(waiting_client, send_request("hello", f"send {interface}"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert [part.text for artifact in task.artifacts for part in artifact.parts] == ["echo: hello"]
    again = await waiting_client.get_task(GetTaskRequest(id=task.id))
    assert (again.id, again.context_id, again.status.state) == (task.id, task.context_id, task.status.state)
    assert next(part.text for message in again.history for part in message.parts) == "hello"


@requirement("S1.stream.send")
async def test_the_client_streams_a_task_from_start_to_end(
    streaming_client: Client, interface: tuple[str, str]
) -> None:
    events = [event async for event in streaming_client.send_message(send_request("hello", f"stream {interface}"))]
    short = names(events)
    assert short[0] in ("task submitted", "task working")
    assert short[-2:] == ["artifact_update", "status_update completed"]
    assert events[-2].artifact_update.artifact.parts[0].text == "echo: hello"


@requirement("S1.list.filters")
@pytest.mark.parametrize("interface", NEW_INTERFACES, ids=" ".join, indirect=True)
async def test_the_client_lists_the_tasks_of_a_context_in_pages(
    waiting_client: Client, interface: tuple[str, str]
) -> None:
    first = await sent(waiting_client, send_request("one", f"list one {interface}"))
    later = SendMessageRequest()
    later.CopyFrom(send_request("two", f"list two {interface}"))
    later.message.context_id = first.context_id
    second = await sent(waiting_client, later)
    page = await waiting_client.list_tasks(ListTasksRequest(context_id=first.context_id, page_size=1))
    assert ([task.id for task in page.tasks], page.total_size) == ([second.id], 2)
    rest = await waiting_client.list_tasks(
        ListTasksRequest(context_id=first.context_id, page_size=1, page_token=page.next_page_token)
    )
    assert ([task.id for task in rest.tasks], rest.next_page_token) == ([first.id], "")


@requirement("S1.send.immediate", "S1.cancel.working", "S1.cancel.terminal")
async def test_the_client_cancels_a_working_task(
    gated: GatedServer, waiting_client: Client, interface: tuple[str, str]
) -> None:
    name = f"cancelled {interface}"
    gate = gated.gates[name] = Gate()
    task = await sent(waiting_client, send_request(f"hold {name}", f"cancel {interface}", at_once=True))
    await gate.reached()
    cancelled = await waiting_client.cancel_task(CancelTaskRequest(id=task.id))
    assert (cancelled.id, cancelled.status.state) == (task.id, TaskState.TASK_STATE_CANCELED)
    with pytest.raises(TaskNotCancelableError):
        await waiting_client.cancel_task(CancelTaskRequest(id=task.id))


@requirement("S1.stream.subscribe", "S1.stream.terminal")
async def test_the_client_subscribes_to_a_task_and_gets_the_rest(
    gated: GatedServer, waiting_client: Client, streaming_client: Client, interface: tuple[str, str]
) -> None:
    name = f"resubscribed {interface}"
    gate = gated.gates[name] = Gate()
    task = await sent(waiting_client, send_request(f"hold {name}", f"resubscribe {interface}", at_once=True))
    await gate.reached()
    events = []
    async for event in streaming_client.subscribe(SubscribeToTaskRequest(id=task.id)):
        events.append(event)
        gate.open()
    assert names(events) == ["task working", "artifact_update", "status_update completed"]
    with pytest.raises(UnsupportedOperationError):
        _ = [event async for event in streaming_client.subscribe(SubscribeToTaskRequest(id=task.id))]


@requirement("S1.wire.errors")
async def test_the_client_gets_its_own_exception_for_a_missing_task(waiting_client: Client) -> None:
    with pytest.raises(TaskNotFoundError):
        await waiting_client.get_task(GetTaskRequest(id="run_unknown"))


@requirement("S1.opt.activate", "S1.opt.hint", "S1.opt.metadata")
@pytest.mark.parametrize("interface", NEW_INTERFACES, ids=" ".join, indirect=True)
async def test_the_client_activates_opt_for_one_message(waiting_client: Client, interface: tuple[str, str]) -> None:
    request = send_request("hello", f"opt {interface}")
    request.metadata["opt/v1/preferObjective"] = True
    activated = ClientCallContext(service_parameters=ServiceParametersFactory.create([with_a2a_extensions([OPT])]))
    events = [event async for event in waiting_client.send_message(request, context=activated)]
    task = events[0].task
    assert task.metadata["opt/v1/objectiveId"] == task.context_id
    assert (str(task.metadata["opt/v1/planId"])[:5], task.metadata["opt/v1/taskIndex"]) == ("plan_", 0)
    plain = await sent(waiting_client, send_request("hello", f"no opt {interface}"))
    assert "opt/v1/objectiveId" not in plain.metadata
