"""Commands that only tell."""

from carrel.access import account_of
from carrel.kernel import Access
from carrel.modes.commands.model import Scene, Typed
from carrel.runs import live_runs_of_lane
from carrel.sessions import open_session_of
from carrel.storage import Tx


def status(tx: Tx, access: Access, scene: Scene, _typed: Typed) -> str:
    """How the session stands."""
    lane = scene.lane
    live = [run.state for run in live_runs_of_lane(tx, access, lane.key)]
    session = open_session_of(tx, access, lane.key)
    generation = f"generation {session.generation}" if session else "no open generation"
    tuned = f"Model {lane.model or 'as the agent has it'}, thinking {lane.thinking_level or 'as the agent has it'}"
    lines = [
        f"Session {lane.session_key.conversation} ({lane.key}), {generation}",
        f"Running {live.count('running')}, queued {live.count('queued')}, waiting {live.count('waiting')}",
        f"{tuned}, sending {lane.send_policy or 'by the rules'}",
        f"Tokens {lane.total_tokens}",
    ]
    return "\n".join(lines)


def whoami(tx: Tx, access: Access, _scene: Scene, _typed: Typed) -> str:
    """Actor and account."""
    account = account_of(tx, access)
    return f"You are {access.name or access.actor_id} ({access.kind}) in account {account.name} ({account.slug})."
