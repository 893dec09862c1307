"""The official Python client, as it is, against a running server: both bindings, both versions."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
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

pytestmark = pytest.mark.anyio

WAIT_SECONDS = 20.0
WAYS = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")]
NEW_WAYS = [way for way in WAYS if way[1] == "1.0"]


@dataclass
class FoundSession:
    """A running server and the gates that hold what is said to be held."""

    server: RunningServer
    gates: dict[str, Gate]

    def answer(self, request: Request) -> Answer:
        """Echo; `hold <name>` waits for the gate of that name."""
        said = request.json["input"][-1]["content"][-1]["text"]
        return text(f"echo: {said}", before=self.gates.get(said.removeprefix("hold ")))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FoundSession]:
    with ScriptedGateway() as gateway, servers_in(tmp_path_factory.mktemp("carrel")) as start:
        made = FoundSession(start(**reaching(gateway)), {})
        gateway.rule = made.answer
        yield made


@pytest.fixture(params=WAYS, ids=" ".join)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    """How the client speaks."""
    chosen: tuple[str, str] = request.param
    return chosen


@pytest.fixture
async def talking(place: FoundSession, way: tuple[str, str]) -> AsyncIterator[Client]:
    """A client that streams what it sends."""
    async with client_of(place, way, streaming=True) as client:
        yield client


@pytest.fixture
async def waiting(place: FoundSession, way: tuple[str, str]) -> AsyncIterator[Client]:
    """A client that waits for the end of what it sends."""
    async with client_of(place, way, streaming=False) as client:
        yield client


@asynccontextmanager
async def client_of(place: FoundSession, way: tuple[str, str], *, streaming: bool) -> AsyncIterator[Client]:
    """A client made from the server's own card, with nothing left on it but the way it is to take."""
    headers = {"Authorization": f"Bearer {place.server.token}"}
    async with httpx.AsyncClient(headers=headers, timeout=WAIT_SECONDS) as http:
        card: AgentCard = await A2ACardResolver(http, place.server.url).get_agent_card()
        kept = [one for one in card.supported_interfaces if (one.protocol_binding, one.protocol_version) == way]
        assert kept, f"the card does not offer {way}"
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[way[0]])
        yield ClientFactory(config).create(card)


def saying(what: str, message_id: str, *, task: Task | None = None, at_once: bool = False) -> SendMessageRequest:
    """The request that says it."""
    message = Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=what)])
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=at_once))


async def sent(client: Client, request: SendMessageRequest) -> Task:
    """The task that came of it."""
    events = [event async for event in client.send_message(request)]
    assert len(events) == 1
    return events[0].task


def names(events: list[StreamResponse]) -> list[str]:
    """What a stream told, in short: the kind of every event and the state it told of."""
    told = []
    for event in events:
        kind = event.WhichOneof("payload")
        assert kind is not None
        status = {"task": event.task.status, "status_update": event.status_update.status}.get(kind)
        told.append(f"{kind} {TaskState.Name(status.state)[11:].lower()}" if status is not None else kind)
    return told


@requirement("S1.wire.versions", "S1.send.blocking", "S1.get")
async def test_the_client_sends_and_reads_what_came_of_it(waiting: Client, way: tuple[str, str]) -> None:
    task = await sent(waiting, saying("hello", f"send {way}"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert [part.text for artifact in task.artifacts for part in artifact.parts] == ["echo: hello"]
    again = await waiting.get_task(GetTaskRequest(id=task.id))
    assert (again.id, again.context_id, again.status.state) == (task.id, task.context_id, task.status.state)
    assert next(part.text for message in again.history for part in message.parts) == "hello"


@requirement("S1.stream.send")
async def test_the_client_streams_a_task_from_its_beginning_to_its_end(talking: Client, way: tuple[str, str]) -> None:
    events = [event async for event in talking.send_message(saying("hello", f"stream {way}"))]
    told = names(events)
    assert told[0] in ("task submitted", "task working")
    assert told[-2:] == ["artifact_update", "status_update completed"]
    assert events[-2].artifact_update.artifact.parts[0].text == "echo: hello"


@requirement("S1.list.filters")
@pytest.mark.parametrize("way", NEW_WAYS, ids=" ".join, indirect=True)
async def test_the_client_lists_the_tasks_of_a_context_page_by_page(waiting: Client, way: tuple[str, str]) -> None:
    first = await sent(waiting, saying("one", f"list one {way}"))
    later = SendMessageRequest()
    later.CopyFrom(saying("two", f"list two {way}"))
    later.message.context_id = first.context_id
    second = await sent(waiting, later)
    page = await waiting.list_tasks(ListTasksRequest(context_id=first.context_id, page_size=1))
    assert ([task.id for task in page.tasks], page.total_size) == ([second.id], 2)
    rest = await waiting.list_tasks(
        ListTasksRequest(context_id=first.context_id, page_size=1, page_token=page.next_page_token)
    )
    assert ([task.id for task in rest.tasks], rest.next_page_token) == ([first.id], "")


@requirement("S1.send.immediate", "S1.cancel.working", "S1.cancel.terminal")
async def test_the_client_cancels_what_is_being_worked_on(
    place: FoundSession, waiting: Client, way: tuple[str, str]
) -> None:
    name = f"cancelled {way}"
    gate = place.gates[name] = Gate()
    task = await sent(waiting, saying(f"hold {name}", f"cancel {way}", at_once=True))
    await gate.reached()
    cancelled = await waiting.cancel_task(CancelTaskRequest(id=task.id))
    assert (cancelled.id, cancelled.status.state) == (task.id, TaskState.TASK_STATE_CANCELED)
    with pytest.raises(TaskNotCancelableError):
        await waiting.cancel_task(CancelTaskRequest(id=task.id))


@requirement("S1.stream.subscribe", "S1.stream.terminal")
async def test_the_client_comes_back_to_a_task_and_hears_the_rest(
    place: FoundSession, waiting: Client, talking: Client, way: tuple[str, str]
) -> None:
    name = f"resubscribed {way}"
    gate = place.gates[name] = Gate()
    task = await sent(waiting, saying(f"hold {name}", f"resubscribe {way}", at_once=True))
    await gate.reached()
    events = []
    async for event in talking.subscribe(SubscribeToTaskRequest(id=task.id)):
        events.append(event)
        gate.open()
    assert names(events) == ["task working", "artifact_update", "status_update completed"]
    with pytest.raises(UnsupportedOperationError):
        _ = [event async for event in talking.subscribe(SubscribeToTaskRequest(id=task.id))]


@requirement("S1.wire.errors")
async def test_the_client_is_told_in_its_own_terms_what_is_not_there(waiting: Client) -> None:
    with pytest.raises(TaskNotFoundError):
        await waiting.get_task(GetTaskRequest(id="run_unknown"))
