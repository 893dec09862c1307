"""Auto runs: start, list and stop agents that work by themselves on a task or through a goal of a session."""

from msgspec import structs

from carrel.kernel import PEOPLE, Access, Shape, not_found
from carrel.kernel.fields import Id
from carrel.kernel.limits import LIST_ROWS_MAX
from carrel.modes import (
    AutoRunFields,
    AutoShape,
    NewAutoRun,
    auto_runs_of_session,
    auto_shape,
    find_auto_run,
    start_auto,
    stop_auto,
)
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.surfaces.api.session_ids import OfSession, SessionId, required, session_named


class AutoRunsQuery(OfSession, frozen=True, kw_only=True):
    """Which session's auto runs; with `includeEnded` also those that have ended."""

    include_ended: bool = False


class AutoStart(AutoRunFields, frozen=True, kw_only=True):
    """What to work on: a goal, a task, or a task that is made from a text; a new task without any of them."""

    session_id: SessionId | None = None


class AutoStop(OfSession, frozen=True, kw_only=True):
    """Which auto runs to stop: one, or all of a session."""

    run_id: Id | None = None


class AutoRunList(Shape, frozen=True, kw_only=True):
    """The auto runs of a session, newest first."""

    session_id: str
    runs: list[AutoShape]


@endpoint("GET", "/api/auto/runs")
def list_auto_runs(call: Call[None, AutoRunsQuery], tx: Tx, access: Access) -> AutoRunList:
    """List the auto runs of a session, newest first."""
    key = call.query.required_key(tx, access)
    found = auto_runs_of_session(tx, access, key, ended=call.query.include_ended, limit=LIST_ROWS_MAX)
    return AutoRunList(session_id=key.conversation, runs=[auto_shape(auto) for auto in found])


@endpoint("POST", "/api/auto/start", "run", who=PEOPLE, creates=True, new_work=True)
def start_auto_run(call: Call[AutoStart, NoQuery], tx: Tx, access: Access) -> AutoShape:
    """Let a session's agent work by itself, one tick after another, until its task or goal is done."""
    new = structs.asdict(call.body)
    key = session_named(tx, access, required(new.pop("session_id")))
    return auto_shape(start_auto(tx, access, NewAutoRun(key=key, **new), call.services.rules))


@endpoint("POST", "/api/auto/stop", "stopped", who=PEOPLE)
def stop_auto_runs(call: Call[AutoStop, NoQuery], tx: Tx, access: Access) -> list[str]:
    """Stop an auto run, or all of a session; one whose tick is working stops with it."""
    body = call.body
    if body.run_id is None:
        return stop_auto(tx, access, key=body.required_key(tx, access))
    found = find_auto_run(tx, access, body.run_id)
    if body.session_id is not None and found.session_key != session_named(tx, access, body.session_id):
        raise not_found("auto run")
    return stop_auto(tx, access, auto_run_id=found.id)


@endpoint("GET", "/api/auto/runs/{id}", "run")
def show_auto_run(call: Call[None, NoQuery], tx: Tx, access: Access) -> AutoShape:
    """Get an auto run."""
    return auto_shape(find_auto_run(tx, access, call.path("id")))
