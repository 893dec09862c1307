"""ListTasks: pages of a caller's tasks, newest change first, with an opaque page token and the total number."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from typing import Annotated

import msgspec
from a2a.types import ListTasksRequest, TaskState
from msgspec import Meta

from carrel.kernel.limits import A2A_PAGE_TASKS, A2A_PAGE_TASKS_MAX, A2A_TOTALS_KEPT_MAX
from carrel.monitoring import CallerRunFilter, Phase, count_caller_runs, newest_caller_runs
from carrel.storage import FEED, Database, Tx
from carrel.surfaces.a2a.caller import Caller, lane_of_context
from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.task_json import Detail, tasks_json

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


class Totals:
    """Caches the total number of tasks in each list until the feed changes.

    Counting reads every task and a page only its own: without the cache, long lists would get slow.
    """

    def __init__(self, db: Database) -> None:
        self._bell = db.bell(FEED)
        self._counts: OrderedDict[tuple[str, str, CallerRunFilter], tuple[int, int]] = OrderedDict()

    @property
    def version(self) -> int:
        """Changes whenever a count may have changed; read it before counting."""
        return self._bell.version

    def count(self, tx: Tx, caller: Caller, run_filter: CallerRunFilter, version: int) -> int:
        """Return the number of tasks that match."""
        name = (caller.access.account_id, caller.access.actor_id, run_filter)
        cached = self._counts.get(name)
        if cached is not None and cached[0] == version:
            return cached[1]
        total = count_caller_runs(tx, caller.access, run_filter)
        self._counts[name] = (version, total)
        if len(self._counts) > A2A_TOTALS_KEPT_MAX:
            self._counts.popitem(last=False)
        return total


async def list_page(db: Database, caller: Caller, request: ListTasksRequest, detail: Detail, totals: Totals) -> Json:
    """Return one page of the tasks that the request asks for."""
    size, before, run_filter = _size(request), _position(request.page_token), _filter(caller, request)
    version = totals.version

    def work(tx: Tx) -> Json:
        found = newest_caller_runs(tx, caller.access, run_filter, before=before, limit=size + 1)
        page = found[:size]
        last = msgspec.json.encode((page[-1].updated_at, page[-1].id)) if len(found) > size else b""
        return {
            "tasks": tasks_json(tx, caller.access, page, detail),
            "nextPageToken": urlsafe_b64encode(last).decode().rstrip("="),
            "pageSize": size,
            "totalSize": totals.count(tx, caller, run_filter, version),
        }

    return await db.read(work)


def _size(request: ListTasksRequest) -> int:
    if not request.HasField("page_size"):
        return A2A_PAGE_TASKS
    if not 1 <= request.page_size <= A2A_PAGE_TASKS_MAX:
        raise invalid_params("pageSize", f"pageSize must be between 1 and {A2A_PAGE_TASKS_MAX}.")
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
        padded = token + "=" * (-len(token) % 4)
        position: _Position = msgspec.json.decode(urlsafe_b64decode(padded), type=_Position)
    except (ValueError, msgspec.MsgspecError) as error:
        raise invalid_params("pageToken", "pageToken is invalid; send the nextPageToken of the page before.") from error
    return position
