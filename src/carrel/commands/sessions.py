"""Commands that create, list, switch, reset and stop sessions."""

from typing import Any, get_args

from carrel import sessions
from carrel.access import account_of
from carrel.agents import Thinking
from carrel.chats import fresh_key, move_pointer, shared_key
from carrel.commands.auto import auto_run_lines
from carrel.commands.model import CommandContext, ParsedCommand
from carrel.commands.plans import describe_plan_mode
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.kernel.limits import NAME_CHARS_MAX, RECENT_SESSIONS_DEFAULT, RECENT_SESSIONS_MAX
from carrel.runs import live_runs_of_lane, stop_lane
from carrel.storage import Tx
from carrel.work import stop_task

# More digits change nothing, and Python refuses to parse a very long number.
_COUNT_DIGITS_MAX = 9
_SENDING = {
    "on": ("allow", "Sending is now allowed here."),
    "off": ("deny", "Sending is now denied here."),
    "inherit": (None, "Sending follows the send policy again."),
}
# How many open questions are shown, the newest.
_QUESTIONS_SHOWN = 3


def new_session(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> tuple[str, SessionKey]:
    """Create a session and make it active; with the same agent unless another is named."""
    agent = command.words[0] if command.words else context.lane.agent_id
    key = shared_key(context.settings.sessions, fresh_key(tx, access, context.channel, agent))
    if key.kind == "main":
        return "All chats share one session here; use /reset to start it anew.", context.lane.session_key
    _activate(tx, access, context, sessions.make_lane(tx, access, key))
    return f"New session {key.conversation} with {key.agent}.", key


def recent_sessions(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """List the latest sessions of a channel's chat, or the caller's latest chats, and mark the current one."""
    word = command.words[0] if command.words else ""
    count = int(word[:_COUNT_DIGITS_MAX]) if word.isdecimal() else RECENT_SESSIONS_DEFAULT
    wanted = sessions.LaneFilter(kinds=("chat",), made_by=access.actor_id, channel=context.channel)
    if context.chat_address is not None:
        # Others may read the chat: it shows only what was held in it.
        wanted = sessions.LaneFilter(channel=context.channel, last_to=context.chat_address)
    rows = sessions.lane_rows(tx, access, wanted, before=None, limit=max(1, min(count, RECENT_SESSIONS_MAX)))
    if not rows:
        return "You have no sessions yet."
    lines = []
    for lane in (row.lane for row in rows):
        mark, name = "*" if lane.key == context.lane.key else "-", lane.display_name or lane.label or ""
        lines.append(f"{mark} {lane.session_key.conversation} ({lane.agent_id}) {name}".rstrip())
    return "\n".join(lines)


def switch(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str | tuple[str, SessionKey]:
    if len(command.words) != 1:
        return "Use /switch <sessionId>; /sessions lists your sessions."
    try:
        lane, _ = sessions.find_lane(tx, access, command.words[0])
    except Refusal as refusal:
        if refusal.code is not Code.NOT_FOUND:
            raise
        return f"There is no session '{command.words[0][:80]}'; /sessions lists your sessions."
    _activate(tx, access, context, lane)
    return f"Switched to {lane.session_key.conversation} with {lane.agent_id}.", lane.session_key


def _activate(tx: Tx, access: Access, context: CommandContext, lane: sessions.Lane) -> None:
    if context.client_instance_id is not None:
        move_pointer(tx, access, context.channel, context.client_instance_id, lane, "command")


def reset(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    """Close the open generation."""
    closed = sessions.close_generation(tx, access, context.lane.session_key, "reset")
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


def set_sending(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    word = command.words[0].lower() if command.words else ""
    if word not in _SENDING:
        return "Use /send on, /send off or /send inherit."
    policy, reply = _SENDING[word]
    _set(tx, access, context, send_policy=policy)
    return reply


def set_model(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    if len(command.words) != 1 or len(command.words[0]) > NAME_CHARS_MAX:
        return "Use /model <name> or /model default."
    if (name := command.words[0]) == "default":
        _set(tx, access, context, model=None)
        return "This session uses the agent's own model again."
    _set(tx, access, context, model=name)
    return f"This session uses {name} from the next message on."


def set_thinking(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    level = command.words[0].lower() if len(command.words) == 1 else ""
    if level != "default" and level not in get_args(Thinking):
        return f"Use /think {'|'.join(get_args(Thinking))} or /think default."
    _set(tx, access, context, thinking_level=None if level == "default" else level)
    if level == "default":
        return "This session uses the agent's own thinking level again."
    return f"The thinking level is {level} from the next message on."


def _set(tx: Tx, access: Access, context: CommandContext, **changed: Any) -> None:
    sessions.change_lane(tx, access, context.lane.session_key, sessions.LaneChange(**changed))


def status(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    lane = context.lane
    live = live_runs_of_lane(tx, access, lane.key)
    states = ["program" if run.waiting_for == "tool_output" else run.state for run in live]
    session = sessions.open_session_of(tx, access, lane.key)
    waiting = f"waiting for you: {states.count('waiting')}, for a program: {states.count('program')}"
    generation = f"generation {session.generation}" if session else "no open generation"
    default = "agent default"
    return "\n".join([
        f"Session {lane.session_key.conversation} ({lane.key}), {generation}",
        f"Running: {states.count('running')}, queued: {states.count('queued')}, {waiting}",
        f"Model: {lane.model or default}, thinking: {lane.thinking_level or default}",
        f"Sending: {lane.send_policy or 'by policy'}",
        f"Tokens: {lane.total_tokens}",
        describe_plan_mode(tx, access, context),
        f"Auto runs: {auto_run_lines(tx, access, context) or 'none'}",
        *[f"Waiting for you: {run.question}" for run in live if run.asks_person][-_QUESTIONS_SHOWN:],
    ])  # fmt: skip


def whoami(tx: Tx, access: Access, _context: CommandContext, _command: ParsedCommand) -> str:
    """Show the caller and their account; a stranger in a chat has none."""
    if access.kind == "client":
        return f"You are {access.name or access.actor_id}, a guest of this bot."
    account = account_of(tx, access)
    return f"You are {access.name or access.actor_id} ({access.kind}) in account {account.name} ({account.slug})."
