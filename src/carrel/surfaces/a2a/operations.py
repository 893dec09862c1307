"""The table of A2A's operations, which every binding uses."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import a2a.types as wire
from google.protobuf.message import Message
from msgspec import Struct

from carrel.surfaces.a2a.agent_card import extended_card
from carrel.surfaces.a2a.push_configs import PushConfigs
from carrel.surfaces.a2a.tasks import Tasks
from carrel.surfaces.http.house import House


class Operation(Struct, frozen=True):
    """One operation: the type of its request and the function that takes the caller and the request.

    A streaming one takes the number of the last change that the client has seen as well.
    """

    request: type[Message]
    perform: Callable[..., Awaitable[Any]]
    streams: bool = False


Operations = Mapping[str, Operation]


def operations_of(house: House) -> Operations:
    """Return every operation by its name in A2A 1.0; results are JSON of 1.0."""
    tasks, push = Tasks(house), PushConfigs(house)
    return {
        "SendMessage": Operation(wire.SendMessageRequest, tasks.send),
        "SendStreamingMessage": Operation(wire.SendMessageRequest, tasks.send_streaming, streams=True),
        "GetTask": Operation(wire.GetTaskRequest, tasks.get),
        "ListTasks": Operation(wire.ListTasksRequest, tasks.list),
        "CancelTask": Operation(wire.CancelTaskRequest, tasks.cancel),
        "SubscribeToTask": Operation(wire.SubscribeToTaskRequest, tasks.subscribe, streams=True),
        "CreateTaskPushNotificationConfig": Operation(wire.TaskPushNotificationConfig, push.create),
        "GetTaskPushNotificationConfig": Operation(wire.GetTaskPushNotificationConfigRequest, push.get),
        "ListTaskPushNotificationConfigs": Operation(wire.ListTaskPushNotificationConfigsRequest, push.list),
        "DeleteTaskPushNotificationConfig": Operation(wire.DeleteTaskPushNotificationConfigRequest, push.delete),
        "GetExtendedAgentCard": Operation(wire.GetExtendedAgentCardRequest, partial(extended_card, house)),
    }
