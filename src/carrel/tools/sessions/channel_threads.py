"""Channel threads: a spawned session can talk with people in a thread of the requester's channel.

The channel's surface opens the thread; here the chat is chosen and the thread is bound to the child. A thread is opened
outside any transaction and cannot be undone, so it is recorded as soon as it exists: a turn that resumes after a crash
finds it and opens no second one.
"""

import msgspec
from msgspec import Struct

from carrel.chats import move_pointer, note_chat_address, pointed_lane
from carrel.kernel import Access, clip, one_line
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.outbox import keep_reply_address, reply_address_of
from carrel.records import call_of, finish_call, record_call
from carrel.runs import Run
from carrel.sessions import lane_of
from carrel.storage import Database, Tx
from carrel.tools.model import Caller, NoChannelThread

_SPAWN = "sessions_spawn"


class ChannelThread(Struct, frozen=True):
    """A chat or a thread of a channel."""

    channel: str
    chat_address: str


def parent_chat(tx: Tx, caller: Caller) -> ChannelThread | None:
    """Return the requester's chat, if it is on a channel that has threads."""
    if not caller.services.settings.sessions.thread_bindings.enabled:
        return None
    found = None if caller.run is None else reply_address_of(tx, caller.account_access, caller.run.id)
    if found is None:
        lane = lane_of(tx, caller.account_access, caller.key)
        found = None if lane is None else lane.chat_address
    return ChannelThread(*found) if found is not None and found[0] in caller.services.channel_threads else None


async def open_channel_thread(db: Database, caller: Caller, title: str) -> ChannelThread:
    """Open a thread in the requester's chat; NoChannelThread when that is impossible."""
    name = clip(one_line(title), NAME_CHARS_MAX)
    parent, unbound = await db.read(lambda tx: (parent_chat(tx, caller), _unbound_thread(tx, caller, name)))
    if parent is None:
        raise NoChannelThread("The channel of this session has no threads.")
    if unbound is not None:
        return unbound
    open_thread = caller.services.channel_threads[parent.channel]
    thread = ChannelThread(parent.channel, await open_thread(parent.chat_address, name))
    await db.write(lambda tx: _record(tx, caller, name, thread))
    return thread


def _unbound_thread(tx: Tx, caller: Caller, name: str) -> ChannelThread | None:
    """Return the thread of that name that this run opened but could not bind, because its worker crashed."""
    known = None if caller.run is None else call_of(tx, caller.access, caller.run.id, _call_id(name))
    if known is None:
        return None
    thread = msgspec.json.decode(known.result, type=ChannelThread)
    return thread if pointed_lane(tx, caller.account_access, thread.channel, thread.chat_address) is None else None


def _record(tx: Tx, caller: Caller, name: str, thread: ChannelThread) -> None:
    """Record an opened thread as a call of its own; outside a run nothing would look for it."""
    if caller.run is None:
        return
    call_id, opened = _call_id(name), msgspec.json.encode(thread).decode()
    if call_of(tx, caller.access, caller.run.id, call_id) is None:
        record_call(tx, caller.access, caller.run.id, call_id, tool=_SPAWN, effect="read", result=opened)
    else:
        finish_call(tx, caller.access, caller.run.id, call_id, opened)


def _call_id(name: str) -> str:
    return f"thread:{name}"


def bind_channel_thread(tx: Tx, access: Access, thread: ChannelThread, run: Run) -> None:
    """Send the child's replies to its thread, and messages in the thread to the child."""
    child = lane_of(tx, access, run.session_key)
    assert child is not None, "the run was just delivered to it"
    keep_reply_address(tx, access, run.id, thread.channel, thread.chat_address)
    note_chat_address(tx, access, run.key, thread.chat_address)
    move_pointer(tx, access, thread.channel, thread.chat_address, child, "spawn")
