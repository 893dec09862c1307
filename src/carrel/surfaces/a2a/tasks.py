"""The operations on tasks, in the protocol's own types, for every binding and version."""

import a2a.types as wire
from msgspec import structs

from carrel.kernel.limits import STOP_SECONDS_MAX
from carrel.runs import Run, cancel
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller, own_run
from carrel.surfaces.a2a.errors import TASK_NOT_CANCELABLE, UNSUPPORTED_OPERATION, A2aError, invalid_params
from carrel.surfaces.a2a.messages import check_message
from carrel.surfaces.a2a.opt.hints import Hints, read_hints
from carrel.surfaces.a2a.opt.history import require_scope, scoped_task
from carrel.surfaces.a2a.opt.methods import objectives_of
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.push_configs import add_push_config, check_push_url
from carrel.surfaces.a2a.send_message import BY_CALLER, send_message
from carrel.surfaces.a2a.task_json import Detail
from carrel.surfaces.a2a.task_list import Totals, list_page
from carrel.surfaces.a2a.task_stream import UpdateStream, follow_task
from carrel.surfaces.http.house import House

_PUSH_CONFIG = "configuration.taskPushNotificationConfig."


class Tasks:
    """What a caller can do with tasks."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._totals = Totals(house.db)

    async def send(self, caller: Caller, request: wire.SendMessageRequest) -> Json:
        """SendMessage: return the task once it has ended or asks for something, or at once if requested."""
        detail = _detail(request.configuration, prefix="configuration.")
        hints = read_hints(caller, request)
        run = await self._accept(caller, request, hints)
        if not request.configuration.return_immediately and not run.settled:
            seconds = self._house.settings.a2a.blocking_wait_seconds
            run = await self._house.wait_for_run(caller.access, run.id, seconds)
        return {"task": await self._read(structs.replace(caller, scope=hints.scope), run.id, detail)}

    async def send_streaming(
        self, caller: Caller, request: wire.SendMessageRequest, _after: int | None
    ) -> UpdateStream:
        """SendStreamingMessage: stream the accepted task, then every change until it ends or asks for something."""
        self._require_streaming()
        detail = _detail(request.configuration, prefix="configuration.")
        run = await self._accept(caller, request, read_hints(caller, request))
        return follow_task(self._house, caller, run, detail, after=run.changes, until_settled=True)

    async def get(self, caller: Caller, request: wire.GetTaskRequest) -> Json:
        """GetTask."""
        return await self._read(caller, request.id, _detail(request))

    async def list(self, caller: Caller, request: wire.ListTasksRequest) -> Json:
        """ListTasks: return a page of the caller's tasks with this agent, newest change first."""
        if caller.scope != "task":
            raise invalid_params("metadata.historyScope", "In a list, each task has only its own history.")
        # Up to a hundred tasks with all their files would be too large; GetTask returns the files.
        detail = structs.replace(_detail(request, artifacts=request.include_artifacts), files=False)
        return await list_page(self._house.db, caller, request, detail, self._totals)

    async def cancel(self, caller: Caller, request: wire.CancelTaskRequest) -> Json:
        """CancelTask: a running task gets a few seconds to stop."""

        def work(tx: Tx) -> Run:
            cancelled = cancel(tx, caller.access, own_run(tx, caller, request.id).id, BY_CALLER)
            if cancelled is None:
                raise A2aError(TASK_NOT_CANCELABLE, "This task has already ended.")
            return cancelled

        run = await self._house.db.write(work)
        if not run.ended:
            await self._house.wait_for_run(caller.access, run.id, STOP_SECONDS_MAX)
        return await self._read(caller, run.id, Detail())

    async def subscribe(self, caller: Caller, request: wire.SubscribeToTaskRequest, after: int | None) -> UpdateStream:
        """SubscribeToTask: stream a task that has not ended, then every change after `after`, or from now on."""
        self._require_streaming()
        run = await self._house.db.read(lambda tx: own_run(tx, caller, request.id))
        if run.ended:
            raise A2aError(UNSUPPORTED_OPERATION, "This task has ended and will not change; read it with GetTask.")
        last = run.changes if after is None else min(after, run.changes)
        return follow_task(self._house, caller, run, Detail(), after=last, until_settled=False)

    async def _accept(self, caller: Caller, request: wire.SendMessageRequest, hints: Hints) -> Run:
        self._house.refuse_when_draining()
        check_message(request.message)
        push_config = await self._push_config(request)

        def work(tx: Tx) -> Run:
            # The transaction may be retried, and `send_message` fills in fields of the request.
            copy = wire.SendMessageRequest()
            copy.CopyFrom(request)
            objectives = objectives_of(tx, caller, self._house)
            run = send_message(tx, caller, copy, self._house.rules, hints, objectives)
            require_scope(objectives, caller, run, hints.scope)
            if push_config is not None:
                # For a new task from its first change, for an answer from that answer on.
                after = run.changes - 1 if copy.message.task_id else 0
                add_push_config(tx, caller, run, push_config, after=after, prefix=_PUSH_CONFIG)
            return run

        return await self._house.db.write(work)

    async def _push_config(self, request: wire.SendMessageRequest) -> wire.TaskPushNotificationConfig | None:
        """Return the push notification config that comes with the message, with its URL checked."""
        if not request.configuration.HasField("task_push_notification_config"):
            return None
        config = request.configuration.task_push_notification_config
        await check_push_url(config.url, self._house.settings.a2a.push, field=f"{_PUSH_CONFIG}url")
        return config

    async def _read(self, caller: Caller, task_id: str, detail: Detail) -> Json:
        def work(tx: Tx) -> Json:
            run = own_run(tx, caller, task_id)
            return scoped_task(tx, caller, objectives_of(tx, caller, self._house), run, detail)

        # A wider history may be long.
        return await (self._house.db.read if caller.scope == "task" else self._house.db.long_read)(work)

    def _require_streaming(self) -> None:
        if not self._house.settings.a2a.streaming:
            raise A2aError(UNSUPPORTED_OPERATION, "This server does not stream, as its agent card says.")


def _detail(request: object, *, artifacts: bool = True, prefix: str = "") -> Detail:
    """Return how much of the task the request asks for; `prefix` goes before the field's name in an error."""
    has = request.HasField("history_length")  # type: ignore[attr-defined]
    length: int | None = request.history_length if has else None  # type: ignore[attr-defined]
    if length is not None and length < 0:
        raise invalid_params(f"{prefix}historyLength", "historyLength must be 0 or more.")
    return Detail(history=length, artifacts=artifacts)
