"""Deleting a lane with its runs and entries, and disabling an agent with all its pending work."""

from typing import Final

from msgspec import structs

from carrel.agents import Agent, change_agent, require_agent
from carrel.chats import repair_pointers
from carrel.journal import about_lane, append_event, attached_in, delete_transcript, json_text
from carrel.kernel import METRICS, Access, Code, Refusal
from carrel.kernel.limits import STOP_SECONDS_MAX
from carrel.notifications import OWNERS
from carrel.records import delete_attachments
from carrel.runs import count_store, queue_store, store
from carrel.runs.cancellation import stop_lane
from carrel.runs.watch import Watch
from carrel.sessions import Lane, LaneDeleted, close_generation, delete_lane, lanes_of_agent, leave_files, lock_lane
from carrel.storage import Database, Tx
from carrel.visibility import private_to

_DISABLED: Final = "agent_disabled"
# New messages may start new runs while the old ones stop.
_REMOVE_ATTEMPTS = 3


def remove_lane(tx: Tx, access: Access, lane: Lane) -> str | None:
    """Cancel a lane's runs and delete the lane; return the id of a run whose turn must end first, if any.

    Call it again once that run has ended. A lane that no longer exists counts as deleted.
    """
    held = lock_lane(tx, access, lane.key)
    if held is None:
        return None
    stop_lane(tx, access, lane.key, "stopped")
    running = queue_store.running_of_lane(tx, access, lane.key)
    if running is not None:
        return running.id
    close_generation(tx, access, lane.session_key, "deleted")
    repair_pointers(tx, access, lane)
    # Files belong to an entry once the turn has started, even after the run was pruned; before that, only to the run.
    files = {*attached_in(tx, access, "key", lane.key), *store.attached_to_runs(tx, access, lane.key)}
    delete_transcript(tx, access, "key", lane.key)
    count_store.count_deleted_lane(tx, access, lane.key)
    store.delete_runs_of_lane(tx, access, lane.key)
    delete_attachments(tx, access, files)
    leave_files(tx, access, held)
    told = _told_of_deletion(private_to(tx, access, lane.key))
    delete_lane(tx, access, lane.key)
    tx.publish(LaneDeleted(access, lane.session_key))
    METRICS.count("sessions.deleted.count", access.account_id, kind=lane.kind)
    body = json_text({"generation": lane.generation, "resolution": None, "reason": "deleted"})
    about = about_lane(lane.session_key, generation=lane.generation)
    for recipient in told:
        append_event(tx, access, "session.deleted", about, body, recipient=recipient)
    return None


def _told_of_deletion(person: str | None) -> tuple[str | None, ...]:
    """Return the mailboxes of a chat's person and of the owners; later, nobody can look up whose chat it was."""
    if person is None:
        return (None,)
    return (OWNERS, person) if person.startswith("usr_") else (OWNERS,)


async def remove_lane_when_stopped(db: Database, watch: Watch, access: Access, lane: Lane) -> None:
    """Cancel a lane's runs, wait until its turn has ended, and delete the lane; Refusal if that takes too long."""
    for _ in range(_REMOVE_ATTEMPTS):
        running = await db.write(lambda tx: remove_lane(tx, access, lane))
        if running is None:
            return
        await watch.until_settled(access, running, STOP_SECONDS_MAX)
    raise Refusal(Code.CONFLICT, "A run of this session has not stopped yet; delete the session again in a moment.")


def retire_agent(tx: Tx, access: Access, agent_id: str) -> Agent:
    """Disable an agent, cancel its open runs and close its sessions."""
    agent = require_agent(tx, access, agent_id)
    retired = change_agent(tx, access, structs.replace(agent, enabled=False)) if agent.enabled else agent
    for lane in lanes_of_agent(tx, access, agent.id):
        # Lanes spawned from these may belong to other agents.
        stop_lane(tx, access, lane.key, _DISABLED, descendants=False)
        close_generation(tx, access, lane.session_key, _DISABLED)
    return retired
