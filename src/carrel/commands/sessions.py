"""Commands that create, list, switch, reset and stop sessions."""

from carrel.chats import fresh_key, move_pointer, shared_key
from carrel.commands.model import CommandContext, ParsedCommand
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.kernel.limits import RECENT_SESSIONS_DEFAULT, RECENT_SESSIONS_MAX
from carrel.runs import stop_lane
from carrel.sessions import Lane, LaneFilter, close_generation, find_lane, lane_rows, make_lane
from carrel.storage import Tx
from carrel.work import stop_task

# More digits change nothing, and Python refuses to parse a very long number.
_COUNT_DIGITS_MAX = 9


def new_session(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> tuple[str, SessionKey]:
    """Create a session and make it active; with the same agent unless another is named."""
    agent = command.words[0] if command.words else context.lane.agent_id
    key = shared_key(context.settings.sessions, fresh_key(tx, access, context.channel, agent))
    if key.kind == "main":
        return "All chats share one session here; use /reset to start it anew.", context.lane.session_key
    _activate(tx, access, context, make_lane(tx, access, key))
    return f"New session {key.conversation} with {key.agent}.", key


def recent_sessions(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """List the latest sessions of a channel's chat, or the caller's latest chats, and mark the current one."""
    word = command.words[0] if command.words else ""
    count = int(word[:_COUNT_DIGITS_MAX]) if word.isdecimal() else RECENT_SESSIONS_DEFAULT
    wanted = LaneFilter(kinds=("chat",), made_by=access.actor_id, channel=context.channel)
    if context.chat_address is not None:
        # Others may read the chat: it shows only what was held in it.
        wanted = LaneFilter(channel=context.channel, last_to=context.chat_address)
    rows = lane_rows(tx, access, wanted, before=None, limit=max(1, min(count, RECENT_SESSIONS_MAX)))
    if not rows:
        return "You have no sessions yet."
    return "\n".join(_line(row.lane, active=row.lane.key == context.lane.key) for row in rows)


def _line(lane: Lane, *, active: bool) -> str:
    name = lane.display_name or lane.label or ""
    return f"{'*' if active else '-'} {lane.session_key.conversation} ({lane.agent_id}) {name}".rstrip()


def switch(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str | tuple[str, SessionKey]:
    """Make another session the active one."""
    if len(command.words) != 1:
        return "Use /switch <sessionId>; /sessions lists your sessions."
    try:
        lane, _ = find_lane(tx, access, command.words[0])
    except Refusal as refusal:
        if refusal.code is not Code.NOT_FOUND:
            raise
        return f"There is no session '{command.words[0][:80]}'; /sessions lists your sessions."
    _activate(tx, access, context, lane)
    return f"Switched to {lane.session_key.conversation} with {lane.agent_id}.", lane.session_key


def _activate(tx: Tx, access: Access, context: CommandContext, lane: Lane) -> None:
    if context.client_instance_id is not None:
        move_pointer(tx, access, context.channel, context.client_instance_id, lane, "command")


def reset(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    """Close the open generation."""
    closed = close_generation(tx, access, context.lane.session_key, "reset")
    if closed is None:
        return "Nothing to reset: the next message starts a new generation anyway."
    following = context.lane.generation + 1
    return f"Generation {closed.generation} is closed; the next message starts generation {following}."


def stop(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    """Cancel all runs of this session and of the sessions spawned from it; in the session of a task, stop the task."""
    task_id = context.lane.session_key.task_id
    # The task comes first, as in every order of locks; the orchestrator chat is refused there.
    moved = None if task_id is None else stop_task(tx, access, task_id, context.rules)
    cancelled = () if moved is None else moved.cancelled_runs
    stopped = {*cancelled, *stop_lane(tx, access, context.lane.key, "stopped")}
    blocked = " The task is blocked now." if moved is not None and moved.changed else ""
    if not stopped:
        return f"Nothing is running or waiting here.{blocked}"
    return f"Cancelled {len(stopped)} run{'' if len(stopped) == 1 else 's'}.{blocked}"
