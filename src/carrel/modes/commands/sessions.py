"""Commands that go from session to session, or put an end to what a session does."""

from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import RECENT_SESSIONS_DEFAULT, RECENT_SESSIONS_MAX
from carrel.modes.commands.model import Scene, Typed
from carrel.runs import stop_lane
from carrel.sessions import (
    Lane,
    LaneFilter,
    close_generation,
    find_lane,
    fresh_key,
    lane_rows,
    make_lane,
    move_pointer,
    shared_key,
)
from carrel.storage import Tx

# More digits say nothing that these do not, and Python does not read a number of any length.
_COUNT_DIGITS_MAX = 9


def new_session(tx: Tx, access: Access, scene: Scene, typed: Typed) -> tuple[str, SessionKey]:
    """A new session, made active; with the agent of this one unless another is named."""
    agent = typed.words[0] if typed.words else scene.lane.agent_id
    key = shared_key(scene.settings, fresh_key(tx, access, scene.channel, agent))
    if key.kind == "main":
        return "All chats share one session here; /reset begins it afresh.", scene.lane.session_key
    _go(tx, access, scene, make_lane(tx, access, key))
    return f"New session {key.conversation} with {key.agent}.", key


def recent_sessions(tx: Tx, access: Access, scene: Scene, typed: Typed) -> str:
    """The caller's latest chats, this one marked."""
    word = typed.words[0] if typed.words else ""
    asked = int(word[:_COUNT_DIGITS_MAX]) if word.isdecimal() else RECENT_SESSIONS_DEFAULT
    wanted = LaneFilter(kinds=("chat",), made_by=access.actor_id, channel=scene.channel)
    rows = lane_rows(tx, access, wanted, before=None, limit=max(1, min(asked, RECENT_SESSIONS_MAX)))
    if not rows:
        return "There are no sessions yet."
    return "\n".join(_line(row.lane, here=row.lane.key == scene.lane.key) for row in rows)


def _line(lane: Lane, *, here: bool) -> str:
    name = lane.display_name or lane.label or ""
    return f"{'*' if here else '-'} {lane.session_key.conversation} ({lane.agent_id}) {name}".rstrip()


def switch(tx: Tx, access: Access, scene: Scene, typed: Typed) -> str | tuple[str, SessionKey]:
    """Another session, put in front of this transport."""
    if len(typed.words) != 1:
        return "Say which: /switch <sessionId>; /sessions lists them."
    lane, _ = find_lane(tx, access, typed.words[0])
    _go(tx, access, scene, lane)
    return f"Now in {lane.session_key.conversation} with {lane.agent_id}.", lane.session_key


def _go(tx: Tx, access: Access, scene: Scene, lane: Lane) -> None:
    if scene.client_instance_id is not None:
        move_pointer(tx, access, scene.channel, scene.client_instance_id, lane, "command")


def reset(tx: Tx, access: Access, scene: Scene, _typed: Typed) -> str:
    """The open generation, closed."""
    closed = close_generation(tx, access, scene.lane.session_key, "reset")
    if closed is None:
        return "There is nothing to reset: the next line begins afresh anyway."
    return f"Generation {closed.generation} is closed; the next line opens generation {scene.lane.generation + 1}."


def stop(tx: Tx, access: Access, scene: Scene, _typed: Typed) -> str:
    """Everything said here so far, cancelled, in the sessions spawned from this one too."""
    stopped = stop_lane(tx, access, scene.lane.key, "stopped")
    return (
        f"Cancelled {len(stopped)} run{'' if len(stopped) == 1 else 's'}." if stopped else "Nothing runs or waits here."
    )
