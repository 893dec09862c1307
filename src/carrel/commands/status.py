"""Commands that show information."""

from carrel.access import account_of
from carrel.commands.auto import auto_lines
from carrel.commands.model import CommandContext, ParsedCommand
from carrel.commands.plans import describe_plan_mode
from carrel.kernel import Access
from carrel.runs import live_runs_of_lane
from carrel.sessions import open_session_of
from carrel.storage import Tx

# How many open questions are shown, the newest.
_QUESTIONS_SHOWN = 3


def status(tx: Tx, access: Access, context: CommandContext, _command: ParsedCommand) -> str:
    """Show the state of this session."""
    lane = context.lane
    live = live_runs_of_lane(tx, access, lane.key)
    states = ["program" if run.waiting_for == "tool_output" else run.state for run in live]
    session = open_session_of(tx, access, lane.key)
    waiting = f"waiting for you: {states.count('waiting')}, for a program: {states.count('program')}"
    generation = f"generation {session.generation}" if session else "no open generation"
    default = "agent default"
    lines = [
        f"Session {lane.session_key.conversation} ({lane.key}), {generation}",
        f"Running: {states.count('running')}, queued: {states.count('queued')}, {waiting}",
        f"Model: {lane.model or default}, thinking: {lane.thinking_level or default}",
        f"Sending: {lane.send_policy or 'by policy'}",
        f"Tokens: {lane.total_tokens}",
        describe_plan_mode(tx, access, context),
        f"Auto runs: {auto_lines(tx, access, context) or 'none'}",
        *[f"Waiting for you: {run.question}" for run in live if run.asks_person][-_QUESTIONS_SHOWN:],
    ]
    return "\n".join(lines)


def whoami(tx: Tx, access: Access, _context: CommandContext, _command: ParsedCommand) -> str:
    """Show the caller and their account; a stranger in a chat has none."""
    if access.kind == "client":
        return f"You are {access.name or access.actor_id}, a guest of this bot."
    account = account_of(tx, access)
    return f"You are {access.name or access.actor_id} ({access.kind}) in account {account.name} ({account.slug})."
