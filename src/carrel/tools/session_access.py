"""What a session may read: which sessions its agent sees from there, and which of its calls were refused."""

from msgspec import Struct, structs

from carrel.agents import agent_by_id
from carrel.kernel import Access, iso
from carrel.kernel.limits import LIST_ROWS_MAX
from carrel.kernel.settings import Recall
from carrel.records import refusals_of
from carrel.sessions import Lane, LaneFilter, lane_rows
from carrel.storage import Tx
from carrel.tools.caller import caller_at
from carrel.tools.memory.readers import reader_of
from carrel.tools.model import ToolServices
from carrel.tools.refusals import HIDDEN
from carrel.visibility import ChosenBy, Recalls, VisibilityMode


class SeenSessions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The visibility of the session's agent, and the keys of the sessions it sees, most recently used first."""

    mode: VisibilityMode
    keys: list[str]


class BlockedCalls(Struct, frozen=True, kw_only=True, rename="camel"):
    """Calls of a tool that the same rule refused."""

    kind: str
    rule: str
    count: int
    last_at: str | None


class SessionRecall(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a session recalls, what decided that, and whether what is said in it is on the board."""

    recall: Recall
    chosen_by: ChosenBy
    on_board: bool


class SessionAccess(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a session may read; `chain` are the memory scopes of its next run, narrowest first."""

    chain: list[str]
    space_ids: list[str]
    recall: SessionRecall
    visibility: SeenSessions
    blocked: list[BlockedCalls]


def session_access(tx: Tx, services: ToolServices, access: Access, lane: Lane) -> SessionAccess:
    """Return what the agent of a lane may read from there."""
    agent = agent_by_id(tx, access, lane.agent_id)
    assert agent is not None, "a lane always has an agent"
    spaces = access.narrowed(agent.profile.space_ids)
    as_agent = structs.replace(access, kind="agent", actor_id=agent.id, agent_id=agent.id, space_ids=spaces)
    caller = caller_at(tx, services, as_agent, agent, lane)
    rows = lane_rows(tx, caller.own_access, LaneFilter(), before=None, limit=LIST_ROWS_MAX)
    known = Recalls(tx, access).of(lane.key)
    reader = reader_of(tx, access, lane.session_key, lane.session_key.task_id)
    return SessionAccess(
        chain=[str(scope) for scope in reader.chain],
        space_ids=list(spaces),
        recall=SessionRecall(recall=known.recall, chosen_by=known.chosen_by, on_board=known.on_board),
        visibility=SeenSessions(mode=caller.visibility.mode, keys=[row.lane.key for row in rows]),
        blocked=[
            BlockedCalls(kind=one.tool, rule=one.rule, count=one.times, last_at=iso(one.last_at))
            for one in refusals_of(tx, access, lane.key)
            # To people only: an agent could learn that hidden things exist.
            if access.is_person or one.rule != HIDDEN
        ],
    )
