"""Pages of a caller's tasks: newest change first, behind an opaque token, and how many there are in all."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from typing import Annotated

import msgspec
from a2a.types import ListTasksRequest, TaskState
from msgspec import Meta

from carrel.kernel.limits import A2A_PAGE_TASKS, A2A_PAGE_TASKS_MAX, A2A_TOTALS_KEPT_MAX
from carrel.runs import TaskFilter, count_tasks, newest_tasks
from carrel.storage import FEED, Database, Tx
from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.errors import wrong
from carrel.surfaces.a2a.send import lane_of_context
from carrel.surfaces.a2a.task_view import Json, Shown, render_all

# What a state is among our runs: the other side of `rendering.state_of`.
_CONDITIONS = {
    TaskState.TASK_STATE_SUBMITTED: "state = 'queued' AND attempt = 0",
    TaskState.TASK_STATE_WORKING: "(state = 'running' OR (state = 'queued' AND attempt > 0))",
    TaskState.TASK_STATE_INPUT_REQUIRED: "state = 'waiting' AND waiting_for <> 'auth'",
    TaskState.TASK_STATE_AUTH_REQUIRED: "state = 'waiting' AND waiting_for = 'auth'",
    TaskState.TASK_STATE_COMPLETED: "state = 'completed'",
    TaskState.TASK_STATE_CANCELED: "state = 'cancelled'",
    TaskState.TASK_STATE_REJECTED: "state = 'failed' AND reason = 'rejected'",
    TaskState.TASK_STATE_FAILED: "state = 'failed' AND (reason IS NULL OR reason <> 'rejected')",
}
# A moment and the id of a run; whoever makes a token of their own gets no further than to these.
_Place = tuple[Annotated[int, Meta(ge=0, lt=2**53)], Annotated[str, Meta(pattern=r"^run_[a-z0-9]{1,60}$")]]


class Totals:
    """How many tasks a list has in all, counted again only when something has happened since.

    Counting looks at every task, a page only at its own: without this a list would get slower as it gets longer.
    """

    def __init__(self, db: Database) -> None:
        self._bell = db.bell(FEED)
        self._known: OrderedDict[tuple[str, str, TaskFilter], tuple[int, int]] = OrderedDict()

    @property
    def version(self) -> int:
        """Changes whenever a count may have; to be taken before counting."""
        return self._bell.version

    def count(self, tx: Tx, caller: Caller, wanted: TaskFilter, version: int) -> int:
        """How many tasks there are."""
        name = (caller.access.account_id, caller.access.actor_id, wanted)
        known = self._known.get(name)
        if known is not None and known[0] == version:
            return known[1]
        total = count_tasks(tx, caller.access, wanted)
        self._known[name] = (version, total)
        if len(self._known) > A2A_TOTALS_KEPT_MAX:
            self._known.popitem(last=False)
        return total


async def list_page(db: Database, caller: Caller, request: ListTasksRequest, shown: Shown, totals: Totals) -> Json:
    """One page of what the request asks for."""
    size, before, wanted = _size(request), _place(request.page_token), _wanted(caller, request)
    version = totals.version

    def work(tx: Tx) -> Json:
        found = newest_tasks(tx, caller.access, wanted, before=before, limit=size + 1)
        page = found[:size]
        token = _token(page[-1].updated_at, page[-1].id) if len(found) > size else ""
        return {
            "tasks": render_all(tx, caller.access, page, shown),
            "nextPageToken": token,
            "pageSize": size,
            "totalSize": totals.count(tx, caller, wanted, version),
        }

    return await db.read(work)


def _size(request: ListTasksRequest) -> int:
    if not request.HasField("page_size"):
        return A2A_PAGE_TASKS
    if not 1 <= request.page_size <= A2A_PAGE_TASKS_MAX:
        raise wrong("pageSize", f"pageSize is 1 to {A2A_PAGE_TASKS_MAX}.")
    return int(request.page_size)


def _wanted(caller: Caller, request: ListTasksRequest) -> TaskFilter:
    return TaskFilter(
        agent_id=caller.agent.id,
        key=str(lane_of_context(caller, request.context_id)) if request.context_id else None,
        condition=_CONDITIONS.get(request.status),
        updated_from=_moment(request) if request.HasField("status_timestamp_after") else None,
    )


def _moment(request: ListTasksRequest) -> int:
    # Our moments have milliseconds: one within a millisecond is after its beginning.
    at = request.status_timestamp_after
    return int(at.seconds) * 1000 + -(-int(at.nanos) // 1_000_000)


def _token(updated_at: int, run_id: str) -> str:
    return urlsafe_b64encode(msgspec.json.encode((updated_at, run_id))).decode().rstrip("=")


def _place(token: str) -> _Place | None:
    if not token:
        return None
    try:
        place: _Place = msgspec.json.decode(urlsafe_b64decode(token + "=" * (-len(token) % 4)), type=_Place)
    except (ValueError, msgspec.MsgspecError) as error:
        raise wrong("pageToken", "This is no token of this list; take nextPageToken of the page before.") from error
    return place
