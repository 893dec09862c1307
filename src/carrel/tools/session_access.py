"""What a session may read: which sessions its agent sees from there, and which of its calls were refused."""

from typing import Any

import msgspec
from msgspec import Struct, structs

from carrel.agents import agent_by_id
from carrel.kernel import Access, Code, iso
from carrel.kernel.limits import LIST_ROWS_MAX, REFUSED_CALLS_MAX
from carrel.records import refused_calls
from carrel.sessions import Lane, LaneFilter, Mode, lane_rows
from carrel.storage import Tx
from carrel.tools.caller import run_caller
from carrel.tools.memory.readers import reader_of
from carrel.tools.model import ToolServices

# The codes of refusals by a rule; other refusals are mistakes of the call.
_BY_RULE = (Code.FORBIDDEN, Code.SEND_DENIED, Code.TOOL_NOT_ALLOWED)


class SeenSessions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The visibility of the session's agent, and the keys of the sessions it sees, most recently used first."""

    mode: Mode
    keys: list[str]


class BlockedCalls(Struct, frozen=True, kw_only=True, rename="camel"):
    """Calls of a tool that the same rule refused."""

    kind: str
    rule: str
    count: int
    last_at: str | None


class SessionAccess(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a session may read; `chain` are the memory scopes of its next run, narrowest first."""

    chain: list[str]
    space_ids: list[str]
    visibility: SeenSessions
    blocked: list[BlockedCalls]


def session_access(tx: Tx, services: ToolServices, access: Access, lane: Lane) -> SessionAccess:
    """Return what the agent of a lane may read from there."""
    agent = agent_by_id(tx, access, lane.agent_id)
    assert agent is not None, "a lane always has an agent"
    spaces = access.narrowed(agent.profile.space_ids)
    as_agent = structs.replace(access, kind="agent", actor_id=agent.id, agent_id=agent.id, space_ids=spaces)
    caller = run_caller(tx, services, as_agent, agent, lane, None, None)
    rows = lane_rows(tx, caller.own_access, LaneFilter(), before=None, limit=LIST_ROWS_MAX)
    reader = reader_of(tx, access, lane.session_key, lane.session_key.task_id)
    return SessionAccess(
        chain=[str(scope) for scope in reader.chain],
        space_ids=list(spaces),
        visibility=SeenSessions(mode=caller.visibility.mode, keys=[row.lane.key for row in rows]),
        blocked=_blocked(tx, access, lane),
    )


def _blocked(tx: Tx, access: Access, lane: Lane) -> list[BlockedCalls]:
    found: dict[tuple[str, str], BlockedCalls] = {}
    for tool, result, at in refused_calls(tx, access, lane.key, limit=REFUSED_CALLS_MAX):
        code, rule = _refusal(msgspec.json.decode(result))
        if code not in _BY_RULE:
            continue
        known = found.get((tool, rule)) or BlockedCalls(kind=tool, rule=rule, count=0, last_at=iso(at))
        found[tool, rule] = structs.replace(known, count=known.count + 1)
    return list(found.values())


def _refusal(result: dict[str, Any]) -> tuple[str, str]:
    """Return code and words of a refusal, which some tools return as a result of their own."""
    error = result["error"]
    return (error["code"], error["message"]) if isinstance(error, dict) else (result.get("code") or "", error)
