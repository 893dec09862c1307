"""The operations on tasks, in the protocol's own types, for every binding and version.

A list has pages, newest change first, with an opaque page token and the total number.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from typing import Annotated

import a2a.types as wire
import msgspec
from a2a.types import ListTasksRequest, TaskState
from msgspec import Meta, structs

from carrel.goals import Objectives
from carrel.journal import talk_of_runs
from carrel.kernel import limits
from carrel.monitoring import CallerRunFilter, Phase, count_caller_runs, newest_caller_runs
from carrel.runs import Run, cancel
from carrel.storage import FEED, Database, Tx
from carrel.surfaces.a2a.caller import Caller, lane_of_context, own_run
from carrel.surfaces.a2a.errors import TASK_NOT_CANCELABLE, UNSUPPORTED_OPERATION, A2aError, invalid_params
from carrel.surfaces.a2a.messages import check_message
from carrel.surfaces.a2a.opt.hints import Hints, read_hints
from carrel.surfaces.a2a.opt.methods import objectives_of
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.push_configs import add_push_config, check_push_url
from carrel.surfaces.a2a.requests import HistoryScope
from carrel.surfaces.a2a.send_message import BY_CALLER, send_message
from carrel.surfaces.a2a.task_json import Detail, dated_history, task_json, tasks_json
from carrel.surfaces.a2a.task_stream import UpdateStream, follow_task
from carrel.surfaces.http.services import Services
from carrel.work import Task

_SCOPE = "metadata.historyScope"
_PUSH_CONFIG = "configuration.taskPushNotificationConfig."
# The inverse of `task_json.state_of`.
_PHASES: dict[int, Phase] = {
    TaskState.TASK_STATE_SUBMITTED: "submitted",
    TaskState.TASK_STATE_WORKING: "working",
    TaskState.TASK_STATE_INPUT_REQUIRED: "waiting",
    TaskState.TASK_STATE_AUTH_REQUIRED: "waiting_auth",
    TaskState.TASK_STATE_COMPLETED: "completed",
    TaskState.TASK_STATE_CANCELED: "cancelled",
    TaskState.TASK_STATE_REJECTED: "rejected",
    TaskState.TASK_STATE_FAILED: "failed",
}
# A page ends at a time and a run id. The token is not signed: a forged one can only name another position.
_Position = tuple[Annotated[int, Meta(ge=0, lt=2**53)], Annotated[str, Meta(pattern=r"^run_[a-z0-9]{1,60}$")]]


class Tasks:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._totals = Totals(services.db)

    async def send(self, caller: Caller, request: wire.SendMessageRequest) -> Json:
        """SendMessage: return the task once it has ended or asks for something, or at once if requested."""
        detail = _detail(request.configuration, prefix="configuration.")
        hints = read_hints(caller, request)
        run = await self._accept(caller, request, hints)
        if not request.configuration.return_immediately and not run.settled:
            seconds = self._services.settings.a2a.blocking_wait_seconds
            run = await self._services.wait_for_run(caller.access, run.id, seconds)
        return {"task": await self._read(structs.replace(caller, scope=hints.scope), run.id, detail)}

    async def send_streaming(
        self, caller: Caller, request: wire.SendMessageRequest, _after: int | None
    ) -> UpdateStream:
        """SendStreamingMessage: stream the accepted task, then every change until it ends or asks for something."""
        self._require_streaming()
        detail = _detail(request.configuration, prefix="configuration.")
        run = await self._accept(caller, request, read_hints(caller, request))
        return follow_task(self._services, caller, run, detail, after=run.changes, until_settled=True)

    async def get(self, caller: Caller, request: wire.GetTaskRequest) -> Json:
        """GetTask."""
        return await self._read(caller, request.id, _detail(request))

    async def list(self, caller: Caller, request: wire.ListTasksRequest) -> Json:
        """ListTasks: return a page of the caller's tasks with this agent, newest change first."""
        if caller.scope != "task":
            raise invalid_params("metadata.historyScope", "In a list, each task has only its own history.")
        # Up to a hundred tasks with all their files would be too large; GetTask returns the files.
        detail = structs.replace(_detail(request, artifacts=request.include_artifacts), files=False)
        size, before, run_filter = _size(request), _position(request.page_token), _filter(caller, request)
        version = self._totals.bell.version

        def work(tx: Tx) -> Json:
            found = newest_caller_runs(tx, caller.access, run_filter, before=before, limit=size + 1)
            page = found[:size]
            last = msgspec.json.encode((page[-1].updated_at, page[-1].id)) if len(found) > size else b""
            return {
                "tasks": tasks_json(tx, caller.access, page, detail),
                "nextPageToken": urlsafe_b64encode(last).decode().rstrip("="),
                "pageSize": size,
                "totalSize": self._totals.count(tx, caller, run_filter, version),
            }

        return await self._services.db.read(work)

    async def cancel(self, caller: Caller, request: wire.CancelTaskRequest) -> Json:
        """CancelTask: a running task gets a few seconds to stop."""

        def work(tx: Tx) -> Run:
            cancelled = cancel(tx, caller.access, own_run(tx, caller, request.id).id, BY_CALLER)
            if cancelled is None:
                raise A2aError(TASK_NOT_CANCELABLE, "This task has already ended.")
            return cancelled

        run = await self._services.db.write(work)
        if not run.ended:
            await self._services.wait_for_run(caller.access, run.id, limits.STOP_SECONDS_MAX)
        return await self._read(caller, run.id, Detail())

    async def subscribe(self, caller: Caller, request: wire.SubscribeToTaskRequest, after: int | None) -> UpdateStream:
        """SubscribeToTask: stream a task that has not ended, then every change after `after`, or from now on."""
        self._require_streaming()
        run = await self._services.db.read(lambda tx: own_run(tx, caller, request.id))
        if run.ended:
            raise A2aError(UNSUPPORTED_OPERATION, "This task has ended and will not change; read it with GetTask.")
        last = run.changes if after is None else min(after, run.changes)
        return follow_task(self._services, caller, run, Detail(), after=last, until_settled=False)

    async def _accept(self, caller: Caller, request: wire.SendMessageRequest, hints: Hints) -> Run:
        self._services.refuse_when_draining()
        check_message(request.message)
        push_config = await self._push_config(request)

        def work(tx: Tx) -> Run:
            # The transaction may be retried, and `send_message` fills in fields of the request.
            copy = wire.SendMessageRequest()
            copy.CopyFrom(request)
            objectives = objectives_of(tx, caller, self._services)
            run = send_message(tx, caller, copy, self._services.rules, hints, objectives)
            _require_scope(objectives, caller, run, hints.scope)
            if push_config is not None:
                # For a new task from its first change, for an answer from that answer on.
                after = run.changes - 1 if copy.message.task_id else 0
                add_push_config(tx, caller, run, push_config, after=after, prefix=_PUSH_CONFIG)
            return run

        return await self._services.db.write(work)

    async def _push_config(self, request: wire.SendMessageRequest) -> wire.TaskPushNotificationConfig | None:
        """Return the push notification config that comes with the message, with its URL checked."""
        if not request.configuration.HasField("task_push_notification_config"):
            return None
        config = request.configuration.task_push_notification_config
        await check_push_url(config.url, self._services.settings.a2a.push, field=f"{_PUSH_CONFIG}url")
        return config

    async def _read(self, caller: Caller, task_id: str, detail: Detail) -> Json:
        def work(tx: Tx) -> Json:
            run = own_run(tx, caller, task_id)
            return _scoped_task(tx, caller, objectives_of(tx, caller, self._services), run, detail)

        # A wider history may be long.
        return await (self._services.db.read if caller.scope == "task" else self._services.db.long_read)(work)

    def _require_streaming(self) -> None:
        if not self._services.settings.a2a.streaming:
            raise A2aError(UNSUPPORTED_OPERATION, "This server does not stream, as its agent card says.")


def _detail(request: object, *, artifacts: bool = True, prefix: str = "") -> Detail:
    """Return how much of the task the request asks for; `prefix` goes before the field's name in an error."""
    has = request.HasField("history_length")  # type: ignore[attr-defined]
    length: int | None = request.history_length if has else None  # type: ignore[attr-defined]
    if length is not None and length < 0:
        raise invalid_params(f"{prefix}historyLength", "historyLength must be 0 or more.")
    return Detail(history=length, artifacts=artifacts)


def _require_scope(objectives: Objectives, caller: Caller, run: Run, scope: HistoryScope) -> Task | None:
    """Return the plan task of a run, if its history can reach beyond the run; refuse a wider scope for other runs."""
    if scope == "task":
        return None
    if not caller.uses_opt:
        raise invalid_params(_SCOPE, "Only the extension OPT has histories of plans and objectives; activate it.")
    task = None if run.task_id is None else objectives.find_task(run.task_id)
    if task is None:
        raise invalid_params(_SCOPE, "This task belongs to no plan; link it to one, or ask for its own history.")
    return task


def _scoped_task(tx: Tx, caller: Caller, objectives: Objectives, run: Run, detail: Detail) -> Json:
    """Return a run as a task with the history scope that the caller asks for."""
    task = _require_scope(objectives, caller, run, caller.scope)
    shown = task_json(tx, caller.access, run, detail)
    if task is None or "history" not in shown:
        return shown
    runs = objectives.runs(task, whole_goal=caller.scope == "objective", limit=limits.A2A_SCOPE_RUNS_MAX)
    limit = limits.A2A_HISTORY_MESSAGES if detail.history is None else detail.history
    entries = talk_of_runs(tx, caller.access, [one.id for one in runs])
    # Without the bytes of files, which together could be too many.
    brief = Detail(files=False)
    dated = [line for one in runs for line in dated_history(tx, caller.access, one, entries.get(one.id, []), brief)]
    merged = [message for _, _, message in sorted(dated, key=lambda line: line[:2])]
    return shown | {"history": merged[-limit:]}


class Totals:
    """Caches the total number of tasks in each list until the feed changes.

    Counting reads every task and a page only its own: without the cache, long lists would get slow.
    """

    def __init__(self, db: Database) -> None:
        # Its version changes whenever a count may have changed; read it before counting.
        self.bell = db.bell(FEED)
        self._counts: OrderedDict[tuple[str, str, CallerRunFilter], tuple[int, int]] = OrderedDict()

    def count(self, tx: Tx, caller: Caller, run_filter: CallerRunFilter, version: int) -> int:
        name = (caller.access.account_id, caller.access.actor_id, run_filter)
        cached = self._counts.get(name)
        if cached is not None and cached[0] == version:
            return cached[1]
        total = count_caller_runs(tx, caller.access, run_filter)
        self._counts[name] = (version, total)
        if len(self._counts) > limits.A2A_TOTALS_KEPT_MAX:
            self._counts.popitem(last=False)
        return total


def _size(request: ListTasksRequest) -> int:
    if not request.HasField("page_size"):
        return limits.A2A_PAGE_TASKS
    if not 1 <= request.page_size <= limits.A2A_PAGE_TASKS_MAX:
        raise invalid_params("pageSize", f"pageSize must be between 1 and {limits.A2A_PAGE_TASKS_MAX}.")
    return int(request.page_size)


def _filter(caller: Caller, request: ListTasksRequest) -> CallerRunFilter:
    has_time, at = request.HasField("status_timestamp_after"), request.status_timestamp_after
    return CallerRunFilter(
        agent_id=caller.agent.id,
        key=str(lane_of_context(caller, request.context_id)) if request.context_id else None,
        phase=_PHASES.get(request.status),
        # Our times are in milliseconds, so round up.
        updated_from=at.seconds * 1000 + -(-at.nanos // 1_000_000) if has_time else None,
    )


def _position(token: str) -> _Position | None:
    if not token:
        return None
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        position: _Position = msgspec.json.decode(raw, type=_Position)
    except (ValueError, msgspec.MsgspecError) as error:
        raise invalid_params("pageToken", "pageToken is invalid; send the nextPageToken of the page before.") from error
    return position
