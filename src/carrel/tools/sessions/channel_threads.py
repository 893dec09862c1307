"""Side rooms: a thread of the requester's channel in which a spawned session goes on talking with people.

Which channels have threads, and how one is opened, the house knows; here it is decided where, and bound to the child.
A thread is opened outside of any transaction and cannot be taken back, so it is written down as soon as it is there:
whoever takes the turn up after a crash finds it and opens no other.
"""

import msgspec
from msgspec import Struct

from carrel.kernel import Access, clip, one_line
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.outbox import keep_reply_address, reply_address_of
from carrel.records import call_of, finish_call, record_call
from carrel.runs import Run
from carrel.sessions import lane_of, move_pointer, note_chat_address, pointed_lane
from carrel.storage import Database, Tx
from carrel.tools.model import Caller, NoSideRoom

_SPAWN = "sessions_spawn"


class SideRoom(Struct, frozen=True):
    """A thread of a channel."""

    channel: str
    chat_address: str


def room_beside(tx: Tx, caller: Caller) -> SideRoom | None:
    """Where the requester is talked with, on a channel that has threads; None where there is no such place."""
    if not caller.house.settings.sessions.thread_bindings.enabled:
        return None
    found = None if caller.run is None else reply_address_of(tx, caller.looking, caller.run.id)
    if found is None:
        lane = lane_of(tx, caller.looking, caller.key)
        found = None if lane is None else lane.chat_address
    return SideRoom(*found) if found is not None and found[0] in caller.house.side_rooms else None


async def open_side_room(db: Database, caller: Caller, title: str) -> SideRoom:
    """A new thread beside the place where the requester is talked with; NoSideRoom when there can be none."""
    name = clip(one_line(title), NAME_CHARS_MAX)
    beside, left = await db.read(lambda tx: (room_beside(tx, caller), _left_empty(tx, caller, name)))
    if beside is None:
        raise NoSideRoom("The channel of this session has no threads.")
    if left is not None:
        return left
    room = SideRoom(beside.channel, await caller.house.side_rooms[beside.channel](beside.chat_address, name))
    await db.write(lambda tx: _remember(tx, caller, name, room))
    return room


def _left_empty(tx: Tx, caller: Caller, name: str) -> SideRoom | None:
    """The thread of that name that this run has opened and bound to nobody, because its worker died before it could."""
    known = None if caller.run is None else call_of(tx, caller.access, caller.run.id, _known_as(name))
    if known is None:
        return None
    room = msgspec.json.decode(known.result, type=SideRoom)
    return room if pointed_lane(tx, caller.looking, room.channel, room.chat_address) is None else None


def _remember(tx: Tx, caller: Caller, name: str, room: SideRoom) -> None:
    """Write an opened thread down as a call of its own; outside of a run nobody would look for it."""
    if caller.run is None:
        return
    known_as, opened = _known_as(name), msgspec.json.encode(room).decode()
    if call_of(tx, caller.access, caller.run.id, known_as) is None:
        record_call(tx, caller.access, caller.run.id, known_as, tool=_SPAWN, effect="read", result=opened)
    else:
        finish_call(tx, caller.access, caller.run.id, known_as, opened)


def _known_as(name: str) -> str:
    return f"thread:{name}"


def bind_side_room(tx: Tx, access: Access, room: SideRoom, run: Run) -> None:
    """Let what a child answers go to its thread, and what is said in the thread to the child."""
    child = lane_of(tx, access, run.session_key)
    assert child is not None, "the run was just delivered to it"
    keep_reply_address(tx, access, run.id, room.channel, room.chat_address)
    note_chat_address(tx, access, run.key, room.chat_address)
    move_pointer(tx, access, room.channel, room.chat_address, child, "spawn")
