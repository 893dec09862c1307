"""The snapshot of a run: everything a step of its turn needs, read at one moment, outside the loop and the writer."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from carrel.access import account_of
from carrel.agents import Agent, agent_by_id
from carrel.context import Context, SeenEntries
from carrel.delivery.context import NO_CONTEXT
from carrel.delivery.context_store import context_of
from carrel.delivery.gateway_history import GatewayHistory, read_gateway_history
from carrel.delivery.heading import TaskHeading, files_of, recorded_heading, task_heading
from carrel.delivery.history import newest_within, remembered
from carrel.delivery.plan_heading import plan_heading
from carrel.delivery.reasoning import Reasoning, reasoning_of
from carrel.delivery.senders import LINE, SENDER, line_before, noted, sender_of
from carrel.delivery.store import StepRow, stored_step
from carrel.delivery.transcript import message_entry, own_entries, view_of_reply
from carrel.exchanges import briefing_of
from carrel.gateway import AgentGateway, Gateway, MissingGateway
from carrel.journal import Entry, as_report, entries_of_run, session_has_entries, talk_around_run
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, Access, StoredStep, TurnExtras
from carrel.kernel.limits import EARLIER_RESULT_CHARS_MAX, HISTORY_ROWS_MAX, SHORT_SESSION_ENTRIES_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.modes import is_planning
from carrel.records import Attachment, FileShape, attachment_heads, attachments_by_id
from carrel.runs import Claim, ClaimLost, Run, extras_of, run_by_id
from carrel.sessions import (
    Lane,
    Session,
    lane_of,
    next_session,
    open_session_has_entries,
    open_session_of,
    session_by_id,
)
from carrel.storage import LongTx, Tx
from carrel.tools import (
    CATALOG,
    CODING_CATALOG,
    Caller,
    Catalog,
    ToolServices,
    Toolset,
    caller_again,
    caller_at,
    toolset_for,
)
from carrel.visibility import seen_tool_entries
from carrel.work import task_briefing

BUILTIN = "builtin"
# Messages whose author the task's briefing names.
_NAMED_WITH_THE_TASK = ("external_user", "notification", "auto")


class Connection(Struct, frozen=True):
    """An open gateway, and the settings it is used with."""

    gateway: Gateway
    settings: GatewaySettings

    @property
    def shows_earlier_calls(self) -> bool:
        """Whether the model is shown the tool calls of earlier runs; false if its server keeps the history itself."""
        keeps_history = self.settings.history == "gateway" or self.settings.kind == "openclaw"
        return self.gateway.takes_context and not keeps_history

    @property
    def is_model(self) -> bool:
        """Whether it is a model: the built-in agent is none, and a remote agent is not sent what others said."""
        return self.settings.kind != BUILTIN and self.gateway.takes_context

    @property
    def is_coding_agent(self) -> bool:
        """Whether an agent behind it acts by itself, asks for permission, and works in a folder of its own."""
        return isinstance(self.gateway, AgentGateway)


class HistoryRead(Struct, frozen=True):
    """How a run reads its session's earlier entries; the lane's next run will most likely read them the same way."""

    session_id: str
    # The condition on entries of tools.
    tools: tuple[str, dict[str, object]]

    def of(self, tx: Tx, run: Claim) -> tuple[list[Entry], int]:
        """Return the entries, and how many of them were not read."""
        return talk_around_run(
            tx, run.access, self.session_id, run.id, auto_run_id=run.auto_run_id, limit=HISTORY_ROWS_MAX,
            tools=self.tools, result_chars_max=EARLIER_RESULT_CHARS_MAX,
        )  # fmt: skip


class Snapshot(Struct, frozen=True, kw_only=True):
    """One run, its session and its agent, as they are stored.

    Before the run's first step, `session` is the one that it will be bound to, which may not be open yet, and `own`
    holds its message as it will be written.
    """

    run: Run
    unheard: bool
    lane: Lane
    session: Session
    agent: Agent
    access: Access
    caller: Caller
    connection: Connection
    # Every tool of this run: ours, and those of the MCP servers that its agent uses.
    catalog: Catalog
    toolset: Toolset
    own: list[Entry]
    history: HistoryRead
    earlier: list[Entry]
    earlier_unread: int
    attachments: dict[str, Attachment]
    # The files of earlier messages, of which only the names are shown.
    earlier_files: dict[str, FileShape]
    extras: TurnExtras
    # The step that a replay sends again; None in other runs, or if the step was removed.
    replayed: StepRow | None
    # What the run is told when another session caused it.
    briefing: str
    # What it is told about its task, the same in every step; None without a task.
    told: TaskHeading | None
    # What is stored with its message if it has no task: the line before it, and who wrote it.
    note: dict[str, Any]
    # The context of its first step.
    context: Context
    # The reasoning of the model before its calls.
    reasoning: Reasoning
    account_slug: str
    address: str
    # How much of this the gateway has, if it keeps the history of sessions.
    at_gateway: GatewayHistory

    def heard(self, context: Context) -> "Snapshot":
        """The same after the message was written to the session, with the context it is shown."""
        if not self.unheard:
            return self
        run = structs.replace(self.run, session_id=self.session.id, generation=self.session.generation)
        caller = structs.replace(self.caller, run=run)
        return structs.replace(self, run=run, caller=caller, unheard=False, context=context)


def read_short_snapshot(
    tx: Tx, claim: Claim, services: ToolServices, connections: Mapping[str, Connection],
    before: Snapshot | None = None, catalog: Catalog = CATALOG, history: HistoryRead | None = None,
) -> Snapshot | None:  # fmt: skip
    """Read a snapshot if the session is short and has no files, so that a short read is enough; else None.

    `before` is an earlier one of this claim, if there is one; `history` is how its history will probably be read.
    """
    _prefetch(tx, claim, before, history)
    run = run_by_id(tx, claim.access, claim.id)
    if run is None or run.attached():
        return None
    if (before is None or before.unheard) and not _is_short(tx, run):
        return None
    return _read(tx, claim, run, services, connections, before, catalog, is_short=True)


def _prefetch(tx: Tx, claim: Claim, before: Snapshot | None, history: HistoryRead | None) -> None:
    """Read in one batch what every snapshot needs."""
    access, key = claim.access, claim.session_key
    of_run = (lambda: run_by_id(tx, access, claim.id), lambda: is_planning(tx, access, key))
    if before is not None and not before.unheard:
        tx.prefetch(*of_run, lambda: entries_of_run(tx, access, claim.id), lambda: before.history.of(tx, claim))
        return
    tx.prefetch(
        *of_run,
        lambda: open_session_has_entries(tx, access, claim.key, SHORT_SESSION_ENTRIES_MAX),
        lambda: open_session_of(tx, access, claim.key),
        lambda: agent_by_id(tx, access, claim.agent_id),
        lambda: lane_of(tx, access, key),
        lambda: account_of(tx, access),
        *(() if history is None else (lambda: history.of(tx, claim),)),
    )


def _is_short(tx: Tx, run: Run) -> bool:
    """Whether the run's session has few entries."""
    if run.session_id is None:
        return not open_session_has_entries(tx, run.access, run.key, SHORT_SESSION_ENTRIES_MAX)
    return not session_has_entries(tx, run.access, run.session_id, SHORT_SESSION_ENTRIES_MAX)


def read_snapshot(
    tx: LongTx, claim: Claim, services: ToolServices, connections: Mapping[str, Connection],
    before: Snapshot | None = None, catalog: Catalog = CATALOG,
) -> Snapshot:  # fmt: skip
    """Read everything a step of this claim needs; ClaimLost when the claim is over."""
    _prefetch(tx, claim, before, None)
    run = run_by_id(tx, claim.access, claim.id)
    snapshot = _read(tx, claim, run, services, connections, before, catalog)
    assert snapshot is not None, "only a short read ends before it has everything"
    return snapshot


def _read(
    tx: Tx, claim: Claim, run: Run | None, services: ToolServices, connections: Mapping[str, Connection],
    before: Snapshot | None, catalog: Catalog, *, is_short: bool = False,
) -> Snapshot | None:  # fmt: skip
    """Read a snapshot; with `is_short`, None for a run with files."""
    access = claim.access
    if run is None or run.state != "running" or run.claim_no != claim.claim_no or run.stopping is not None:
        raise ClaimLost(claim.id)
    if before is not None and not before.unheard:
        return _read_again(tx, run, before, is_short=is_short)
    agent, lane = agent_by_id(tx, access, claim.agent_id), lane_of(tx, access, run.session_key)
    assert agent is not None, "a lane always has an agent"
    assert lane is not None, "a run always has a lane"
    session, unheard = _session(tx, access, run, lane, agent), run.session_id is None
    seen = as_agent(access, agent, spaces=run.spaces, behalf=run.behalf, run_id=run.id)
    caller = caller_at(tx, services, seen, agent, lane, run=run, session=session)
    extras = extras_of(tx, access, run.id) if run.extras else TurnExtras()
    connection = connection_of(connections, agent, extras.replays)
    catalog = CODING_CATALOG if connection.is_coding_agent else catalog
    toolset = toolset_for(catalog, caller, extras.function_names)
    history = HistoryRead(session.id, seen_tool_entries(tx, seen) if connection.shows_earlier_calls else ("FALSE", {}))
    earlier, unread = history.of(tx, run)
    if unheard:
        told, note = _beside_message(tx, caller, run, lane, toolset, connection, earlier)
        own = [message_entry(run, session, told, note)]
    else:
        own = own_entries(tx, access, run.id)
        told, note = recorded_heading(run, own), noted(run, own)
    if (attached := _attached(own)) and is_short:
        return None
    slug, kind, step = account_of(tx, access).slug, connection.settings.kind, extras.replays
    address = session.address + ("" if slug == DEFAULT_ACCOUNT_SLUG else f"@{slug}")
    return Snapshot(
        run=run,
        unheard=unheard,
        lane=lane,
        session=session,
        agent=agent,
        access=seen,
        caller=caller,
        connection=connection,
        catalog=catalog,
        toolset=toolset,
        own=own,
        history=history,
        earlier=[as_report(entry) for entry in earlier],
        earlier_unread=unread,
        attachments=_attachments(tx, access, attached),
        earlier_files=_earlier_files(tx, access, earlier),
        extras=extras,
        replayed=None if step is None else stored_step(tx, access, step.run_id, step.n),
        briefing=briefing_of(tx, run),
        told=told,
        note=note,
        context=_context(tx, run, step),
        reasoning=reasoning_of(tx, access, own, connection.gateway, kind),
        account_slug=slug,
        address=address,
        at_gateway=read_gateway_history(tx, access, run.id, own, earlier, kind, address),
    )


def as_agent(
    access: Access, agent: Agent, *, spaces: tuple[str, ...], behalf: str | None, run_id: str | None = None
) -> Access:  # fmt: skip
    """Return the access of a run: at most what its agent may see, and at most what whoever caused it may see."""
    run = structs.replace(
        access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run_id, space_ids=spaces, behalf=behalf,
        cause_spaces=spaces,
    )  # fmt: skip
    return structs.replace(run, space_ids=run.narrowed(agent.profile.space_ids))


def _read_again(tx: Tx, run: Run, before: Snapshot, *, is_short: bool) -> Snapshot | None:
    """Read what may have changed since an earlier snapshot of the same claim.

    Agent, account, lane, session and connection stay as they were when the claim was made: changes of their settings
    take effect with the next claim. Plan mode may be entered or left during a turn, which changes the toolset.
    """
    access, connection, kind = run.access, before.connection, before.connection.settings.kind
    own = own_entries(tx, access, run.id)
    if (attached := _attached(own)) and is_short:
        return None
    earlier, unread = before.history.of(tx, run)
    caller = caller_again(tx, before.caller, run)
    return structs.replace(
        before,
        run=run,
        caller=caller,
        toolset=toolset_for(before.catalog, caller, before.extras.function_names),
        own=own,
        earlier=[as_report(entry) for entry in earlier],
        earlier_unread=unread,
        attachments=_attachments(tx, access, attached),
        earlier_files=_earlier_files(tx, access, earlier),
        told=recorded_heading(run, own),
        reasoning=reasoning_of(tx, access, own, connection.gateway, kind),
        at_gateway=read_gateway_history(tx, access, run.id, own, earlier, kind, before.address),
    )


def _attached(own: list[Entry]) -> tuple[str, ...]:
    return tuple(name for entry in own for name in files_of(entry))


def _attachments(tx: Tx, access: Access, attached: tuple[str, ...]) -> dict[str, Attachment]:
    return {kept.id: kept for kept in attachments_by_id(tx, access, attached)}


def _earlier_files(tx: Tx, access: Access, earlier: list[Entry]) -> dict[str, FileShape]:
    named = tuple(name for entry in earlier if entry.role == "user" for name in files_of(entry))
    return {head.id: head for head in attachment_heads(tx, access, named)}


def _beside_message(
    tx: Tx, caller: Caller, run: Run, lane: Lane, toolset: Toolset, connection: Connection, earlier: list[Entry]
) -> tuple[TaskHeading | None, dict[str, Any]]:  # fmt: skip
    """What is stored with a message when its run begins: what the run is told about its task; else who wrote it."""
    # A remote agent is not even told of tools.
    tools = {tool.name for tool in toolset.offered()} if connection.gateway.takes_context else set[str]()
    told = _task_heading(tx, caller, run, lane, tools, earlier)
    if told is not None:
        return told, {}
    sender = sender_of(tx, run, lane)
    line = line_before(sender, run.created_at, tx.now)
    return None, {LINE: line} | ({SENDER: sender} if sender else {})


def _task_heading(
    tx: Tx, caller: Caller, run: Run, lane: Lane, tools: set[str], earlier: list[Entry]
) -> TaskHeading | None:  # fmt: skip
    """What the run is told about its task; None if it has none, or if the task is not in its account.

    Of the thread it is told only what is new to its session: the rest is already in the history.
    """
    if run.task_id is None:
        return None
    history = newest_within(
        remembered(earlier, with_calls=False), caller.services.settings.delivery.history_chars_max // 2, results_max=0
    )
    briefing = task_briefing(tx, run, SeenEntries.of(history).has)
    if briefing is None:
        return None
    actor, is_planned = caller.actor, caller.actor.is_planned
    return task_heading(
        briefing,
        run,
        caller.services.settings.delivery.input_chars_max,
        may_finish=actor.may_finish(briefing.task.id),
        is_planned=is_planned,
        answer_says_done=is_planned and "task_status" not in tools and not caller.is_planning,
        is_posted=view_of_reply(run) is not None,
        is_first=not earlier,
        tools=tools,
        sender="" if run.provenance_kind in _NAMED_WITH_THE_TASK else sender_of(tx, run, lane),
        plan=plan_heading(tx, caller, run, can_read_more="task_history" in tools),
    )


def _session(tx: Tx, access: Access, run: Run, lane: Lane, agent: Agent) -> Session:
    """The run's session: the one it is bound to, else the open one, else the next one, not opened yet."""
    if run.session_id is not None:
        # A run that is resumed ends in the generation it began in, even if that was closed meanwhile.
        bound = session_by_id(tx, access, run.session_id)
        assert bound is not None, "a generation with a run is never pruned"
        return bound
    if run.starts_new_generation:
        return next_session(tx, lane, agent)
    return open_session_of(tx, access, lane.key) or next_session(tx, lane, agent)


def _context(tx: Tx, run: Run, replays: StoredStep | None) -> Context:
    """The context of the run's first step; a replay has the context of the run that it replays."""
    if run.session_id is not None:
        return context_of(tx, run.access, run.id)
    return NO_CONTEXT if replays is None else context_of(tx, run.access, replays.run_id)


def connection_of(
    connections: Mapping[str, Connection], agent: Agent, replays: StoredStep | None = None
) -> Connection:  # fmt: skip
    """Return the connection of an agent's gateway, or of a replay's; one that is not configured fails every step."""
    named = agent.gateway_among(connections) if replays is None else replays.gateway
    return connections.get(named) or Connection(MissingGateway(named, agent.id), GatewaySettings(kind="responses"))
