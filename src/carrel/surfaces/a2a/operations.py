"""Every operation of A2A by its name, in 1.0 terms: requests in the protocol's own types, answers in its JSON."""

from collections.abc import Awaitable, Callable
from typing import Any

import a2a.types as wire
from google.protobuf.message import Message as WireType
from msgspec import Struct

from carrel.runs import Run
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.cards import card_of
from carrel.surfaces.a2a.errors import NO_EXTENDED_CARD, PUSH_NOT_SUPPORTED, A2aError
from carrel.surfaces.a2a.send import own_run
from carrel.surfaces.a2a.task_view import Json
from carrel.surfaces.a2a.tasks import Frames, Tasks
from carrel.surfaces.a2a.webhooks import add_webhook, check_address, list_webhooks, read_webhook, remove_webhook
from carrel.surfaces.http.house import House


class Operations:
    """What A2A can be asked for, whatever binding and version it came by."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.tasks = Tasks(house)

    async def send(self, caller: Caller, request: wire.SendMessageRequest) -> Json:
        """SendMessage: always answered with a task."""
        return {"task": await self.tasks.send(caller, request)}

    async def stream(self, caller: Caller, request: wire.SendMessageRequest, _after: int | None) -> Frames:
        """SendStreamingMessage."""
        return await self.tasks.stream(caller, request)

    async def get(self, caller: Caller, request: wire.GetTaskRequest) -> Json:
        """GetTask."""
        return await self.tasks.get(caller, request)

    async def list(self, caller: Caller, request: wire.ListTasksRequest) -> Json:
        """ListTasks."""
        return await self.tasks.list(caller, request)

    async def cancel(self, caller: Caller, request: wire.CancelTaskRequest) -> Json:
        """CancelTask."""
        return await self.tasks.cancel(caller, request)

    async def subscribe(self, caller: Caller, request: wire.SubscribeToTaskRequest, after: int | None) -> Frames:
        """SubscribeToTask."""
        return await self.tasks.subscribe(caller, request, after)

    async def create_webhook(self, caller: Caller, request: wire.TaskPushNotificationConfig) -> Json:
        """CreateTaskPushNotificationConfig."""
        self._require_push()
        await check_address(request.url, self._house.settings.a2a.push)
        return await self._write(caller, request.task_id, lambda tx, run: add_webhook(tx, caller.access, run, request))

    async def get_webhook(self, caller: Caller, request: wire.GetTaskPushNotificationConfigRequest) -> Json:
        """GetTaskPushNotificationConfig."""
        self._require_push()
        return await self._read(
            caller, request.task_id, lambda tx, run: read_webhook(tx, caller.access, run, request.id)
        )

    async def list_webhooks(self, caller: Caller, request: wire.ListTaskPushNotificationConfigsRequest) -> Json:
        """ListTaskPushNotificationConfigs."""
        self._require_push()
        size, token = request.page_size, request.page_token
        return await self._read(
            caller,
            request.task_id,
            lambda tx, run: list_webhooks(tx, caller.access, run, page_size=size, page_token=token),
        )

    async def delete_webhook(self, caller: Caller, request: wire.DeleteTaskPushNotificationConfigRequest) -> Json:
        """DeleteTaskPushNotificationConfig; nothing to delete is no error."""
        self._require_push()
        return await self._write(
            caller, request.task_id, lambda tx, run: remove_webhook(tx, caller.access, run, request.id)
        )

    async def extended_card(self, caller: Caller, _request: wire.GetExtendedAgentCardRequest) -> Json:
        """GetExtendedAgentCard."""
        if not self._house.settings.a2a.extended_card:
            raise A2aError(NO_EXTENDED_CARD, "This agent has no extended card.")
        return card_of(self._house, caller.agent, caller.base_url, extended=True)

    async def _read(self, caller: Caller, task_id: str, work: Callable[[Tx, Run], Json]) -> Json:
        return await self._house.db.read(lambda tx: work(tx, own_run(tx, caller, task_id)))

    async def _write(self, caller: Caller, task_id: str, work: Callable[[Tx, Run], Json]) -> Json:
        return await self._house.db.write(lambda tx: work(tx, own_run(tx, caller, task_id)))

    def _require_push(self) -> None:
        if not self._house.settings.a2a.push.enabled:
            raise A2aError(PUSH_NOT_SUPPORTED, "This server sends no push notifications; its card says so.")


class Operation(Struct, frozen=True):
    """One operation: the type of its request and how it is done; a stream takes a place to begin behind as well."""

    request: type[WireType]
    act: Callable[..., Awaitable[Any]]
    streams: bool = False


OPERATIONS: dict[str, Operation] = {
    "SendMessage": Operation(wire.SendMessageRequest, Operations.send),
    "SendStreamingMessage": Operation(wire.SendMessageRequest, Operations.stream, streams=True),
    "GetTask": Operation(wire.GetTaskRequest, Operations.get),
    "ListTasks": Operation(wire.ListTasksRequest, Operations.list),
    "CancelTask": Operation(wire.CancelTaskRequest, Operations.cancel),
    "SubscribeToTask": Operation(wire.SubscribeToTaskRequest, Operations.subscribe, streams=True),
    "CreateTaskPushNotificationConfig": Operation(wire.TaskPushNotificationConfig, Operations.create_webhook),
    "GetTaskPushNotificationConfig": Operation(wire.GetTaskPushNotificationConfigRequest, Operations.get_webhook),
    "ListTaskPushNotificationConfigs": Operation(wire.ListTaskPushNotificationConfigsRequest, Operations.list_webhooks),
    "DeleteTaskPushNotificationConfig": Operation(
        wire.DeleteTaskPushNotificationConfigRequest, Operations.delete_webhook
    ),
    "GetExtendedAgentCard": Operation(wire.GetExtendedAgentCardRequest, Operations.extended_card),
}
