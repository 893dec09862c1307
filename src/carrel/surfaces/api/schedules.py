"""Schedules: messages sent to sessions, and goals and tasks worked on, at regular times."""

from carrel import modes
from carrel.kernel import PEOPLE, Access, Shape, not_found
from carrel.storage import Tx
from carrel.surfaces.api.cursors import paged_by_id
from carrel.surfaces.api.endpoint import Call, NoQuery, Page, endpoint
from carrel.surfaces.api.session_ids import OfSession, PageOfSession, SessionId, required, session_named


class ScheduleBody(modes.NewSchedule, frozen=True, kw_only=True):
    """A new schedule: which message, goal or task, in which session, and when."""

    session_id: SessionId | None = None


class SchedulePatch(modes.ScheduleChange, frozen=True, kw_only=True):
    """Changes of a schedule; fields left out stay as they are. A session that is named must be the schedule's own."""

    session_id: SessionId | None = None


class FiredSchedule(Shape, frozen=True, kw_only=True):
    """A schedule that has just fired, and the run it started."""

    schedule: modes.ScheduleShape
    run_id: str


@endpoint("GET", "/api/schedules", "schedules")
def list_schedules(call: Call[None, PageOfSession], tx: Tx, access: Access) -> Page[modes.ScheduleShape]:
    """List the schedules of a session, or of all sessions that the caller may see, oldest first."""
    reference = call.query.session_id
    key = None if reference is None else str(session_named(tx, access, required(reference)))

    def read(after: str | None, most: int) -> list[modes.Schedule]:
        if key is None:
            return modes.schedules_seen(tx, access, after=after or "", limit=most)
        return modes.schedules_of(tx, access, key, after=after or "", limit=most)

    return paged_by_id(call.query, read).shown(lambda found: [modes.schedule_shape(tx, schedule) for schedule in found])


@endpoint("POST", "/api/schedules", "schedule", who=PEOPLE, creates=True)
def create_schedule(call: Call[ScheduleBody, NoQuery], tx: Tx, access: Access) -> modes.ScheduleShape:
    """Schedule a message, or work on a goal or task, in a session by a cron expression."""
    session = str(session_named(tx, access, required(call.body.session_id)))
    return modes.schedule_shape(tx, modes.make_schedule(tx, access, session, call.body))


@endpoint("GET", "/api/schedules/{id}", "schedule")
def show_schedule(call: Call[None, OfSession], tx: Tx, access: Access) -> modes.ScheduleShape:
    """Get a schedule: when it fires next, and how its last run ended."""
    return modes.schedule_shape(tx, _found(tx, access, call.path("id"), call.query.session_id))


@endpoint("PATCH", "/api/schedules/{id}", "schedule", who=PEOPLE)
def patch_schedule(call: Call[SchedulePatch, NoQuery], tx: Tx, access: Access) -> modes.ScheduleShape:
    """Change a schedule; a new expression or time zone, and enabling it, compute the next time from now."""
    found = _found(tx, access, call.path("id"), call.body.session_id)
    return modes.schedule_shape(tx, modes.change_schedule(tx, access, found.id, call.body))


@endpoint("DELETE", "/api/schedules/{id}", who=PEOPLE)
def delete_schedule(call: Call[None, OfSession], tx: Tx, access: Access) -> None:
    """Delete a schedule; the messages it sent stay."""
    modes.remove_schedule(tx, access, _found(tx, access, call.path("id"), call.query.session_id).id)


@endpoint("POST", "/api/schedules/{id}/run", status=202, who=PEOPLE, creates=True, new_work=True)
def run_schedule(call: Call[None, OfSession], tx: Tx, access: Access) -> FiredSchedule:
    """Fire a schedule now; its next time stays as it was."""
    found = _found(tx, access, call.path("id"), call.query.session_id)
    schedule, run = modes.fire_now(tx, access, found.id, call.services.rules)
    return FiredSchedule(schedule=modes.schedule_shape(tx, schedule), run_id=run.id)


def _found(tx: Tx, access: Access, schedule_id: str, reference: str | None) -> modes.Schedule:
    found = modes.find_schedule(tx, access, schedule_id)
    if reference is not None and session_named(tx, access, reference) != found.session_key:
        raise not_found("schedule")
    return found
