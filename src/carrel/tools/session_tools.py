"""The tools over sessions. One so far: how a session stands."""

from typing import Annotated

from msgspec import Meta

from carrel.kernel import iso
from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX
from carrel.runs import live_runs_of_lane
from carrel.sessions import agent_by_id, children_of, find_lane
from carrel.storage import Tx
from carrel.tools.model import Desk, Params, Result, Tool


class SessionStatus(Params, frozen=True, kw_only=True):
    """Which session; the caller's own when left out."""

    session_key: Annotated[str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX)] = "current"


def _session_status(tx: Tx, desk: Desk, params: SessionStatus) -> Result:
    lane, session = find_lane(tx, desk.access, params.session_key, desk.run.session_key)
    live = live_runs_of_lane(tx, desk.access, lane.key)
    agent = agent_by_id(tx, desk.access, lane.agent_id)
    busy = any(run.state == "running" for run in live)
    closed = session is not None and session.closed_at is not None
    return Result(
        value={
            "sessionKey": lane.key,
            "sessionId": session.id if session else None,
            "generation": session.generation if session else 0,
            "state": "busy" if busy else "closed" if closed else "idle",
            "queuedRuns": sum(run.state == "queued" for run in live),
            "model": lane.model or (agent.profile.model if agent else "") or None,
            "contextTokens": lane.last_tokens,
            "totalTokens": lane.total_tokens,
            "planMode": {"enabled": False, "activePlanId": None},
            "autoRuns": [],
            "children": len(children_of(tx, desk.access, lane.key)),
            "lastActivityAt": iso(lane.updated_at),
        }
    )


SESSION_TOOLS = (
    Tool(
        name="session_status",
        description="How a session stands: its state, generation, queue and use of tokens. Yours when none is named.",
        params=SessionStatus,
        effect="read",
        act=_session_status,
    ),
)
