"""Side rooms: a thread of the requester's channel in which a spawned session goes on talking with people.

Which channels have threads, and how one is opened, the house knows; here it is decided where, and bound to the child.
"""

from msgspec import Struct

from carrel.kernel import Access, clip, one_line
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.runs import Run, keep_place, place_of_run
from carrel.sessions import lane_of, note_place, point
from carrel.storage import Database, Tx
from carrel.tools.model import Desk, NoSideRoom


class SideRoom(Struct, frozen=True):
    """A thread of a channel."""

    channel: str
    place: str


def room_beside(tx: Tx, desk: Desk) -> SideRoom | None:
    """Where the requester is talked with, on a channel that has threads; None where there is no such place."""
    if not desk.house.settings.sessions.thread_bindings.enabled:
        return None
    found = None if desk.run is None else place_of_run(tx, desk.looking, desk.run.id)
    if found is None:
        lane = lane_of(tx, desk.looking, desk.key)
        channel = None if lane is None else desk.key.channel or lane.last_channel
        found = (channel, lane.last_to) if lane is not None and channel and lane.last_to else None
    return SideRoom(*found) if found is not None and found[0] in desk.house.side_rooms else None


async def open_side_room(db: Database, desk: Desk, title: str) -> SideRoom:
    """A new thread beside the place where the requester is talked with; NoSideRoom when there can be none."""
    beside = await db.read(lambda tx: room_beside(tx, desk))
    if beside is None:
        raise NoSideRoom("The channel of this session has no threads.")
    name = clip(one_line(title), NAME_CHARS_MAX)
    return SideRoom(beside.channel, await desk.house.side_rooms[beside.channel](beside.place, name))


def bind_side_room(tx: Tx, access: Access, room: SideRoom, run: Run) -> None:
    """Let what a child answers go to its thread, and what is said in the thread to the child."""
    child = lane_of(tx, access, run.session_key)
    assert child is not None, "the run was just delivered to it"
    keep_place(tx, access, run.id, room.channel, room.place)
    note_place(tx, access, run.key, room.place)
    point(tx, access, room.channel, room.place, child, "spawn")
