"""Removing a lane with everything said in it: its runs, its transcript, its files, and the pointers to it."""

from carrel.journal import about_lane, append_event, attached_in_lane, delete_lane_entries, json_text
from carrel.kernel import METRICS, Access
from carrel.runs import lane_store, queue_store, task_store
from carrel.runs.stopping import stop_lane
from carrel.sessions import Lane, close_generation, delete_lane, leave_files, lock_lane, repair
from carrel.storage import Tx


def remove_lane(tx: Tx, access: Access, lane: Lane) -> str | None:
    """Cancel what lives in a lane and forget it all; the id of a run whose turn must end first, if there is one.

    Called again once that run rests, it finishes what it began. A lane that is gone by then is what was wanted.
    """
    held = lock_lane(tx, access, lane.key)
    if held is None:
        return None
    stop_lane(tx, access, lane.key, "stopped")
    running = queue_store.running_of_lane(tx, access, lane.key)
    if running is not None:
        return running.id
    close_generation(tx, access, lane.session_key, "deleted")
    repair(tx, access, lane)
    # What was heard is an entry's, also when its run is long pruned; what was never heard is only its run's.
    files = {*attached_in_lane(tx, access, lane.key), *lane_store.attached_to_runs(tx, access, lane.key)}
    delete_lane_entries(tx, access, lane.key)
    task_store.lane_forgotten(tx, access, lane.key)
    lane_store.delete_runs_of_lane(tx, access, lane.key)
    lane_store.delete_attachments(tx, access, files)
    leave_files(tx, access, held)
    delete_lane(tx, access, lane.key)
    METRICS.count("sessions.deleted.count", kind=lane.kind)
    body = {"generation": lane.generation, "resolution": None, "reason": "deleted"}
    append_event(
        tx, access, "session.deleted", about_lane(lane.session_key, generation=lane.generation), json_text(body)
    )
    return None
