"""Auto runs: start, list and stop agents that work by themselves on a task or through a goal of a session."""

from typing import Annotated

from msgspec import Meta

from carrel.kernel import PEOPLE, Access, SessionKey, not_found
from carrel.kernel.limits import AUTO_INTERVAL_SECONDS_MAX, CLIENT_ID_CHARS_MAX, LIST_ROWS_MAX
from carrel.modes import AutoShape, NewAutoRun, auto_runs_of_session, auto_shape, find_auto_run, start_auto, stop_auto
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, In, NoQuery, Out, endpoint
from carrel.surfaces.api.fields import Text
from carrel.surfaces.api.session_ids import SessionId, refused_by_name, required

Name = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX)]


class AutoRunsQuery(In, frozen=True, kw_only=True):
    """Which session's auto runs; with `includeEnded` also those that have ended."""

    session_id: SessionId | None = None
    include_ended: bool = False


class AutoStart(In, frozen=True, kw_only=True):
    """What to work on: a goal, a task, or a task that is made from a text; a new task without any of them."""

    session_id: SessionId | None = None
    goal_id: Name | None = None
    task_id: Name | None = None
    text: Text | None = None
    interval_seconds: Annotated[int, Meta(ge=1, le=AUTO_INTERVAL_SECONDS_MAX)] | None = None


class AutoStop(In, frozen=True, kw_only=True):
    """Which auto runs to stop: one, or all of a session."""

    session_id: SessionId | None = None
    run_id: Name | None = None


class AutoRunList(Out, frozen=True, kw_only=True):
    """The auto runs of a session, newest first."""

    session_id: str
    runs: list[AutoShape]


class OneAutoRun(Out, frozen=True, kw_only=True):
    """One auto run."""

    run: AutoShape


class AutoStopped(Out, frozen=True, kw_only=True):
    """The auto runs that were stopped; no tick of theirs starts any more."""

    stopped: list[str]


@endpoint("GET", "/api/auto/runs", answers={200: AutoRunList}, query=AutoRunsQuery)
async def list_auto_runs(call: Call[None, AutoRunsQuery]) -> AutoRunList:
    """List the auto runs of a session, newest first."""
    reference = required(call.query.session_id)

    def work(tx: Tx, access: Access) -> AutoRunList:
        key = _session(tx, access, reference)
        found = auto_runs_of_session(tx, access, key, ended=call.query.include_ended, limit=LIST_ROWS_MAX)
        return AutoRunList(session_id=key.conversation, runs=[auto_shape(auto) for auto in found])

    return await call.read(work)


@endpoint("POST", "/api/auto/start", answers={201: OneAutoRun}, who=PEOPLE, body=AutoStart, creates=True)
async def start_auto_run(call: Call[AutoStart, NoQuery]) -> OneAutoRun:
    """Let a session's agent work by itself, one tick after another, until its task or goal is done."""
    call.house.refuse_when_draining()
    body = call.body
    reference = required(body.session_id)

    def work(tx: Tx, access: Access) -> OneAutoRun:
        new = NewAutoRun(
            key=_session(tx, access, reference),
            goal_id=body.goal_id,
            task_id=body.task_id,
            text=body.text,
            interval_seconds=body.interval_seconds,
        )
        return call.promise(tx, OneAutoRun(run=auto_shape(start_auto(tx, access, new, call.house.rules))))

    return await call.write(work)


@endpoint("POST", "/api/auto/stop", answers={200: AutoStopped}, who=PEOPLE, body=AutoStop)
async def stop_auto_runs(call: Call[AutoStop, NoQuery]) -> AutoStopped:
    """Stop an auto run, or all of a session; one whose tick is working stops with it."""
    body = call.body

    def work(tx: Tx, access: Access) -> AutoStopped:
        if body.run_id is None:
            return AutoStopped(stopped=stop_auto(tx, access, key=_session(tx, access, required(body.session_id))))
        found = find_auto_run(tx, access, body.run_id)
        if body.session_id is not None and found.session_key != _session(tx, access, body.session_id):
            raise not_found("auto run")
        return AutoStopped(stopped=stop_auto(tx, access, auto_run_id=found.id))

    return await call.write(work)


@endpoint("GET", "/api/auto/runs/{id}", answers={200: OneAutoRun})
async def show_auto_run(call: Call[None, NoQuery]) -> OneAutoRun:
    """Get an auto run."""
    return await call.read(lambda tx, access: OneAutoRun(run=auto_shape(find_auto_run(tx, access, call.path("id")))))


def _session(tx: Tx, access: Access, reference: str) -> SessionKey:
    with refused_by_name():
        return find_session(tx, access, reference).key
