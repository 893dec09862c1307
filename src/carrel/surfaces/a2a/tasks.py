"""The operations of A2A on tasks, in the protocol's own types, whatever binding and version they came by."""

from collections.abc import AsyncGenerator

from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from msgspec import structs

from carrel.kernel.limits import STOP_SECONDS_MAX
from carrel.runs import SETTLED_STATES, Run, cancel
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.errors import PUSH_NOT_SUPPORTED, TASK_NOT_CANCELABLE, UNSUPPORTED_OPERATION, A2aError, wrong
from carrel.surfaces.a2a.messages import check_message
from carrel.surfaces.a2a.send import BY_CALLER, own_run, send
from carrel.surfaces.a2a.task_list import Totals, list_page
from carrel.surfaces.a2a.task_stream import follow
from carrel.surfaces.a2a.task_view import Json, Shown, Update, render
from carrel.surfaces.a2a.webhooks import add_webhook, check_address
from carrel.surfaces.http.house import House

_WEBHOOK = "configuration.taskPushNotificationConfig."
Frames = AsyncGenerator[Update | None, None]


class Tasks:
    """What a caller can do with tasks."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._totals = Totals(house.db)

    async def send(self, caller: Caller, request: SendMessageRequest) -> Json:
        """Say something; the task once it rests, or at once where that is asked for."""
        shown = _shown(request.configuration, where="configuration.")
        run = await self._accept(caller, request)
        if not request.configuration.return_immediately and run.state not in SETTLED_STATES:
            seconds = self._house.settings.a2a.blocking_wait_seconds
            run = await self._house.wait_for_run(caller.access, run.id, seconds)
        return await self._read(caller, run.id, shown)

    async def stream(self, caller: Caller, request: SendMessageRequest) -> Frames:
        """Say something and follow the task to its rest: the task as it was accepted, then every change."""
        self._require_streaming()
        shown = _shown(request.configuration, where="configuration.")
        run = await self._accept(caller, request)
        return follow(self._house, caller, run, shown, after=run.changes, until_rest=True)

    async def get(self, caller: Caller, request: GetTaskRequest) -> Json:
        """One task."""
        return await self._read(caller, request.id, _shown(request))

    async def list(self, caller: Caller, request: ListTasksRequest) -> Json:
        """A page of the caller's tasks with this agent, newest change first."""
        # A hundred tasks with the files that were sent to them would be no list any more; a task brings its own.
        shown = structs.replace(_shown(request, artifacts=request.include_artifacts), files=False)
        return await list_page(self._house.db, caller, request, shown, self._totals)

    async def cancel(self, caller: Caller, request: CancelTaskRequest) -> Json:
        """Stop a task; one that is worked on is given a few seconds to stop."""

        def work(tx: Tx) -> Run:
            run = own_run(tx, caller, request.id)
            cancelled = cancel(tx, caller.access, run.id, BY_CALLER)
            if cancelled is None:
                raise A2aError(TASK_NOT_CANCELABLE, "This task has already ended.")
            return cancelled

        run = await self._house.db.write(work)
        if not run.ended:
            await self._house.wait_for_run(caller.access, run.id, STOP_SECONDS_MAX)
        return await self._read(caller, run.id, Shown())

    async def subscribe(self, caller: Caller, request: SubscribeToTaskRequest, after: int | None = None) -> Frames:
        """Follow a task that lives: the task as it is, then every change behind `after`, else behind now."""
        self._require_streaming()
        run = await self._house.db.read(lambda tx: own_run(tx, caller, request.id))
        if run.ended:
            raise A2aError(UNSUPPORTED_OPERATION, "This task has ended and changes no more; read it with GetTask.")
        last = run.changes if after is None else min(after, run.changes)
        return follow(self._house, caller, run, Shown(), after=last, until_rest=False)

    async def _accept(self, caller: Caller, request: SendMessageRequest) -> Run:
        self._house.refuse_when_draining()
        check_message(request.message)
        webhook = await self._webhook(request)

        def work(tx: Tx) -> Run:
            # The work may be done again from the beginning, and `send` fills in what the message leaves out.
            own = SendMessageRequest()
            own.CopyFrom(request)
            run = send(tx, caller, own, self._house.rules)
            if webhook is not None:
                # With a new task from the beginning; with an answer from that answer on.
                after = run.changes - 1 if own.message.task_id else 0
                add_webhook(tx, caller.access, run, webhook, after=after, where=_WEBHOOK)
            return run

        return await self._house.db.write(work)

    async def _webhook(self, request: SendMessageRequest) -> TaskPushNotificationConfig | None:
        """The webhook that comes with the message, its address checked."""
        if not request.configuration.HasField("task_push_notification_config"):
            return None
        settings, config = self._house.settings.a2a.push, request.configuration.task_push_notification_config
        if not settings.enabled:
            raise A2aError(PUSH_NOT_SUPPORTED, "This server sends no push notifications; its card says so.")
        await check_address(config.url, settings, field=f"{_WEBHOOK}url")
        return config

    async def _read(self, caller: Caller, task_id: str, shown: Shown) -> Json:
        return await self._house.db.read(
            lambda tx: render(tx, caller.access, own_run(tx, caller, task_id), shown)
        )  # fmt: skip

    def _require_streaming(self) -> None:
        if not self._house.settings.a2a.streaming:
            raise A2aError(UNSUPPORTED_OPERATION, "This server does not stream; its card says so.")


def _shown(request: object, *, artifacts: bool = True, where: str = "") -> Shown:
    """How much of the task the request asks for; `where` is what stands before the field's name in a refusal."""
    has = request.HasField("history_length")  # type: ignore[attr-defined]
    length: int | None = request.history_length if has else None  # type: ignore[attr-defined]
    if length is not None and length < 0:
        raise wrong(f"{where}historyLength", "historyLength is 0 or more.")
    return Shown(history=length, artifacts=artifacts)
