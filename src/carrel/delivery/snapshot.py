"""The snapshot of a run: everything a step of its turn needs, read at one moment, outside the loop and the writer."""

from collections.abc import Mapping

from msgspec import Struct, structs

from carrel.access import account_of
from carrel.agents import Agent, agent_by_id
from carrel.context import Context
from carrel.delivery.context import NO_CONTEXT
from carrel.delivery.context_store import context_of
from carrel.delivery.gateway_history import NOTHING_KNOWN, GatewayHistory, read_gateway_history
from carrel.delivery.heading import Told, tell, told_before
from carrel.delivery.thoughts import Thoughts, thoughts_of
from carrel.delivery.transcript import message_entry
from carrel.exchanges import briefing_of
from carrel.gateway import Gateway, MissingGateway
from carrel.journal import Entry, as_report, entries_of_run, session_has_entries, talk_around_run
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, Access, TurnExtras
from carrel.kernel.limits import HISTORY_ROWS_MAX, SHORT_SESSION_ENTRIES_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.records import Attachment, attachments_by_id
from carrel.runs import Claim, ClaimLost, Run, extras_of, run_by_id
from carrel.sessions import Lane, Session, lane_of, next_session, open_session_of, session_by_id
from carrel.storage import LongTx, Tx
from carrel.tools import CATALOG, Caller, ToolServices, Toolset, run_caller, toolset_for
from carrel.work import actor_of, task_briefing

BUILTIN = "builtin"


class Connection(Struct, frozen=True):
    """An open gateway, and the settings it is used with."""

    gateway: Gateway
    settings: GatewaySettings


class Snapshot(Struct, frozen=True, kw_only=True):
    """One run, its session and its agent, as they are stored.

    Before the run is heard, `session` is the one that will hear it, which may not be open yet, and `own` holds its
    message as it will be written.
    """

    run: Run
    unheard: bool
    lane: Lane
    session: Session
    agent: Agent
    access: Access
    caller: Caller
    connection: Connection
    toolset: Toolset
    own: list[Entry]
    earlier: list[Entry]
    earlier_unread: int
    attachments: dict[str, Attachment]
    extras: TurnExtras
    # What the run is told when another session caused it.
    briefing: str
    # What it is told about its task, the same in every step; None without a task.
    told: Told | None
    # What it was shown when it was heard.
    context: Context
    # What the model thought before its calls.
    thoughts: Thoughts
    address: str
    # What the gateway knows of all this, where it keeps the history of sessions.
    at_gateway: GatewayHistory


def read_short_snapshot(
    tx: Tx, claim: Claim, services: ToolServices, connections: Mapping[str, Connection]
) -> Snapshot | None:
    """Read a snapshot of a short session without files, which takes no longer than a short read; else None."""
    access, run = claim.access, run_by_id(tx, claim.access, claim.id)
    if run is None or run.attached():
        return None
    present = None if run.session_id is not None else open_session_of(tx, access, run.key)
    session_id = run.session_id if present is None else present.id
    if session_id is not None and session_has_entries(tx, access, session_id, SHORT_SESSION_ENTRIES_MAX):
        return None
    return _read(tx, claim, services, connections)


def read_snapshot(
    tx: LongTx, claim: Claim, services: ToolServices, connections: Mapping[str, Connection]
) -> Snapshot:  # fmt: skip
    """Read everything a step of this claim needs; ClaimLost when the claim is over."""
    return _read(tx, claim, services, connections)


def _read(tx: Tx, claim: Claim, services: ToolServices, connections: Mapping[str, Connection]) -> Snapshot:
    access = claim.access
    run, agent = run_by_id(tx, access, claim.id), agent_by_id(tx, access, claim.agent_id)
    if run is None or run.state != "running" or run.claim_no != claim.claim_no or run.stopping is not None:
        raise ClaimLost(claim.id)
    lane = lane_of(tx, access, run.session_key)
    assert agent is not None, "a lane always has an agent"
    assert lane is not None, "a run always has a lane"
    session = _session(tx, access, run, lane, agent)
    unheard = run.session_id is None
    # A run sees at most what its agent may see, and whoever caused it.
    as_agent = structs.replace(
        access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run.id, space_ids=run.spaces,
        behalf=run.behalf, cause_spaces=run.spaces,
    )  # fmt: skip
    as_agent = structs.replace(as_agent, space_ids=as_agent.narrowed(agent.profile.space_ids))
    if unheard:
        told = _tell(tx, run, as_agent, services.settings.delivery.input_chars_max)
        own = [message_entry(run, session, told)]
    else:
        own = entries_of_run(tx, access, run.id)
        told = told_before(run, own)
    earlier, unread = talk_around_run(
        tx, access, session.id, run.id, auto_run_id=run.auto_run_id, limit=HISTORY_ROWS_MAX
    )
    caller = run_caller(tx, services, as_agent, agent, lane, run, session)
    attached = tuple(name for entry in own for name in entry.attachment_ids)
    connection = connection_of(connections, agent)
    slug = account_of(tx, access).slug
    address = session.address + ("" if slug == DEFAULT_ACCOUNT_SLUG else f"@{slug}")
    return Snapshot(
        run=run,
        unheard=unheard,
        lane=lane,
        session=session,
        agent=agent,
        access=as_agent,
        caller=caller,
        connection=connection,
        toolset=toolset_for(CATALOG, caller),
        own=own,
        earlier=[as_report(entry) for entry in earlier],
        earlier_unread=unread,
        attachments={kept.id: kept for kept in attachments_by_id(tx, access, attached)},
        extras=extras_of(tx, access, run.id) if run.extras else TurnExtras(),
        briefing=briefing_of(tx, run),
        told=told,
        context=NO_CONTEXT if unheard else context_of(tx, access, run.id),
        thoughts=thoughts_of(tx, access, own, connection.gateway, connection.settings.kind),
        address=address,
        at_gateway=_at_gateway(tx, access, connection, address, run.id, own, earlier),
    )


def _at_gateway(
    tx: Tx, access: Access, connection: Connection, address: str, run_id: str, own: list[Entry], earlier: list[Entry]
) -> GatewayHistory:
    kind = connection.settings.kind
    if kind != "openclaw":
        return NOTHING_KNOWN
    return read_gateway_history(tx, access, run_id, own, earlier, kind, address)


def _tell(tx: Tx, run: Run, as_agent: Access, chars_max: int) -> Told | None:
    """What the run is told about its task; None where it has none, or where that is not in its account."""
    briefing = task_briefing(tx, run)
    if briefing is None:
        return None
    actor = actor_of(tx, as_agent)
    return tell(briefing, run, chars_max, may_finish=actor.may_finish(briefing.task.id))


def _session(tx: Tx, access: Access, run: Run, lane: Lane, agent: Agent) -> Session:
    """The session that hears the run: the one it is bound to, else the open one, else the next, not opened yet."""
    if run.session_id is not None:
        # A run that is taken up again ends in the generation it began in, even if that was closed meanwhile.
        bound = session_by_id(tx, access, run.session_id)
        assert bound is not None, "a generation with a run is never pruned"
        return bound
    present = None if run.starts_new_generation else open_session_of(tx, access, lane.key)
    return present or next_session(tx, lane, agent)


def connection_of(connections: Mapping[str, Connection], agent: Agent) -> Connection:
    """Return the connection of an agent's gateway; one that is not configured fails every step with that reason."""
    named = agent.gateway_among(connections)
    return connections.get(named) or Connection(MissingGateway(named, agent.id), GatewaySettings(kind="responses"))
