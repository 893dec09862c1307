"""The table of A2A's operations, which every binding uses."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from a2a.types import a2a_pb2
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from msgspec import Struct

from carrel.surfaces.a2a.agent_card import extended_card
from carrel.surfaces.a2a.push_configs import PushConfigs
from carrel.surfaces.a2a.tasks import Tasks
from carrel.surfaces.http.services import Services


class Operation(Struct, frozen=True):
    """One operation: the type of its request and the function that takes the caller and the request.

    A streaming one takes the number of the last change that the client has seen as well.
    """

    request: type[Message]
    perform: Callable[..., Awaitable[Any]]
    streams: bool = False


Operations = Mapping[str, Operation]


# Every operation of A2A 1.0, as the protocol's own definition has it.
SERVICE = a2a_pb2.DESCRIPTOR.services_by_name["A2AService"]
METHODS = SERVICE.methods_by_name


def operations_of(services: Services) -> Operations:
    """Return every operation by its name in A2A 1.0; results are JSON of 1.0."""
    tasks, push = Tasks(services), PushConfigs(services)
    performed: dict[str, Callable[..., Awaitable[Any]]] = {
        "SendMessage": tasks.send,
        "SendStreamingMessage": tasks.send_streaming,
        "GetTask": tasks.get,
        "ListTasks": tasks.list,
        "CancelTask": tasks.cancel,
        "SubscribeToTask": tasks.subscribe,
        "CreateTaskPushNotificationConfig": push.create,
        "GetTaskPushNotificationConfig": push.get,
        "ListTaskPushNotificationConfigs": push.list,
        "DeleteTaskPushNotificationConfig": push.delete,
        "GetExtendedAgentCard": partial(extended_card, services),
    }
    return {
        name: Operation(GetMessageClass(METHODS[name].input_type), perform, METHODS[name].server_streaming)
        for name, perform in performed.items()
    }
