"""The turn: the work of one run from hearing to answering, in bounded steps. It returns an outcome and moves nothing.

Every write carries the run's claim; between two transactions the turn may die at any point and be taken up again from
what is stored: what was heard is not heard twice, a call that was made is not made twice, a reply is not given twice.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from hashlib import sha256
from logging import getLogger

import msgspec
from msgspec import Struct

from carrel.access import account_of, mint_run_token
from carrel.delivery.call_arguments import whole_arguments
from carrel.delivery.live import Live, Spoken
from carrel.delivery.prompt import PROFILE_VERSION, standing_instructions, with_request
from carrel.delivery.request import Asked, Asking, ask
from carrel.delivery.snapshot import Connection, Snapshot
from carrel.delivery.store import StepRow, insert_step, next_step
from carrel.delivery.transcript import act, finish, given_reply, hear, hear_answer, may_be_made, senders_turn
from carrel.delivery.usage import spent_before, summed, with_usage
from carrel.exchanges import briefing_of
from carrel.gateway import PROMPT_TOO_LONG, GatewayFault, Step, Usage
from carrel.journal import Entry, entries_of_run, talk_around_run
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, MS_PER_SECOND, Refusal, TurnExtras
from carrel.kernel.limits import HISTORY_ROWS_MAX
from carrel.records import attachments_by_id, wrote_from_outside
from carrel.runs import (
    Claim,
    Completed,
    Failed,
    Outcome,
    Run,
    Watch,
    extras_of,
    is_senders,
    note_instructions,
    open_calls,
    wanted_end,
)
from carrel.sessions import Agent, Lane, Session, agent_by_id, lane_of
from carrel.storage import Database, Tx
from carrel.tools import CATALOG, Caller, Result, Surroundings, Wait, ready_for, run_caller, toolset_for

_log = getLogger("carrel.delivery")
BUILTIN = "builtin"
# Held by a turn while it only waits for another run.
Aside = Callable[[], AbstractContextManager[None]]
# What is asked for where nobody named a model: the field must be there, and servers with one model do not look at it.
_ANY_MODEL = "default"


class _Sent(Struct, frozen=True):
    """A step written down and about to be sent."""

    step: Step
    n: int
    snapshot: Snapshot
    asked: Asked
    model: str
    room: int
    sent_at: int


class _Pending(Struct, frozen=True):
    """Calls that the model asked for and that are not made yet."""

    calls: list[Entry]
    snapshot: Snapshot


class Turns:
    """The handler that the dispatcher is given."""

    def __init__(
        self,
        db: Database,
        connections: Mapping[str, Connection],
        house: Surroundings,
        live: Live,
        watch: Watch,
        aside: Aside,
    ) -> None:
        self._db = db
        self._connections = connections
        self._house = house
        self._settings = house.settings.delivery
        self._live = live
        self._watch = watch
        self._aside = aside
        # How much talk a model of a gateway took where more was too much, in characters; found again after a restart.
        self._rooms: dict[tuple[str, str], int] = {}

    async def take(self, claim: Claim) -> Outcome:
        """One turn: whatever is next by what is stored, until there is an outcome."""
        usage: Usage | None = None
        called: set[str] = set()
        token = ""
        room: int | None = None
        while True:
            following = await self._db.write(partial(self._prepare, claim=claim, token=token, room=room))
            match following:
                case _Sent():
                    # Only its hash is stored: the steps of one attempt share it, and the next attempt gets another.
                    token = following.step.run_token
                    # What earlier attempts spent, and the turn before a question, was spent on this run too.
                    outcome, usage = await self._step(claim, following, usage or spent_before(following.snapshot.run))
                    if _is_too_long(outcome) and following.asked.history_shown:
                        # Shown half as much, it goes on, until it fits or nothing earlier is there to be left out.
                        outcome, room = None, following.asked.shown_chars // 2
                case _Pending():
                    called |= {(entry.details or {})["name"] for entry in following.calls}
                    outcome = await self._call(claim, following)
                case _:
                    outcome = following
            if outcome is not None:
                _log_end(claim, outcome, called)
                return with_usage(outcome, usage)

    async def _step(self, claim: Claim, sent: _Sent, usage: Usage) -> tuple[Outcome | None, Usage]:
        try:
            answer = await sent.snapshot.connection.gateway.take(sent.step, lambda text: self._say(claim, text))
        except GatewayFault as fault:
            # What was heard of a step that fails is void.
            self._live.say(claim.account_id, Spoken("restart", claim.id, claim.key))
            return await self._faulted(claim, sent, fault), usage
        self._remember(sent)
        rounds_max = self._settings.tool_rounds_max
        outcome = await self._db.write(lambda tx: hear_answer(tx, claim, sent.snapshot, sent.n, answer, rounds_max))
        if outcome is None:
            self._live.end_step(claim.account_id, claim.id)
        return outcome, summed(usage, answer.usage)

    async def _faulted(self, claim: Claim, sent: _Sent, fault: GatewayFault) -> Failed:
        """What a fault makes of the turn. A step in which its agent has changed something is not put to it again."""
        if not fault.retryable or not sent.step.run_token:
            return _failed(fault)
        if not await self._db.read(lambda tx: wrote_from_outside(tx, claim.access, claim.id, sent.sent_at)):
            return _failed(fault)
        message = f"{fault.message} The agent had changed something by then, so it is not asked again by itself."
        return Failed(code=fault.code, message=message, reason="interrupted")

    def _remember(self, sent: _Sent) -> None:
        """Show that model no more from now on than it took now, unless something else than talk took its room."""
        at = (sent.snapshot.connection.gateway.name, sent.model)
        if sent.asked.only_talk and sent.room < self._room(*at):
            self._rooms[at] = sent.room

    def _room(self, gateway: str, model: str) -> int:
        return self._rooms.get((gateway, model), self._settings.history_chars_max)

    async def _call(self, claim: Claim, pending: _Pending) -> Outcome | None:
        for entry in pending.calls:
            result = await self._make(claim, pending.snapshot, entry)
            if result.wait is not None:
                await self._wait(claim, result.wait)
                result = await self._db.write(partial(finish, claim=claim, snapshot=pending.snapshot, call=entry))
            if result.ends is not None:
                return result.ends
        return None

    async def _make(self, claim: Claim, snapshot: Snapshot, call: Entry) -> Result:
        """One call, with what it needs from outside made ready first, unless a person has yet to agree to it."""
        name, arguments = (call.details or {})["name"], (call.details or {})["arguments"]
        if call.attachment_ids:
            arguments = await self._db.read(lambda tx: whole_arguments(tx, snapshot.access, call))
        made = partial(act, claim=claim, snapshot=snapshot, call=call, arguments=arguments)
        if not may_be_made(snapshot, call):
            return await self._db.write(made)
        async with ready_for(self._db, snapshot.toolset, snapshot.caller, name, arguments) as readied:
            return await self._db.write(partial(made, readied=readied))

    async def _wait(self, claim: Claim, wait: Wait) -> None:
        """Wait for another run without taking a place from those that could work; not for one that is gone."""
        now = await self._db.read(lambda tx: tx.now)
        with self._aside(), suppress(Refusal):
            await self._watch.rest(claim.access, wait.run_id, max(0, wait.until - now) / MS_PER_SECOND)

    def _prepare(self, tx: Tx, claim: Claim, token: str, room: int | None) -> "_Sent | _Pending | Outcome":
        """Hear what is unheard, then find what is next: an end is wanted, a reply is there, calls are open, or a step.

        `token` is the run's, where this attempt has sent one already; `room` is how much talk is shown where this
        attempt has found that more is too much.
        """
        snapshot = self._sit_down(tx, claim)
        own = snapshot.own
        end = wanted_end(snapshot.run.wanted_end)
        if end is not None:
            return end.outcome
        reply = given_reply(own)
        if reply is not None:
            return Completed(reply=reply)
        calls = open_calls(own)
        ours = [call for call in calls if not is_senders(call)]
        if ours:
            return _Pending(ours, snapshot)
        if calls:
            return senders_turn(calls)
        asking = self._asking(tx, snapshot, room)
        asked = ask(asking)
        n = next_step(tx, snapshot.access, claim.id)
        insert_step(tx, snapshot.access, claim, _row(asking, asked, n, tx.now))
        note_instructions(tx, claim, asking.instructions.version, asking.instructions.sha256)
        if snapshot.connection.settings.run_tokens and not token:
            token = mint_run_token(tx, snapshot.access, snapshot.agent.id, claim.id)
        step = Step(body=asked.body, address=asking.address, agent_id=snapshot.agent.id, run_token=token)
        return _Sent(step, n, snapshot, asked, asking.model, asking.room, tx.now)

    def _sit_down(self, tx: Tx, claim: Claim) -> Snapshot:
        access = claim.access
        run, session = hear(tx, claim)
        agent = agent_by_id(tx, access, claim.agent_id)
        assert agent is not None, "a lane always has an agent"
        earlier, unread = talk_around_run(tx, access, session.id, run.id, limit=HISTORY_ROWS_MAX)
        lane = lane_of(tx, access, run.session_key)
        assert lane is not None, "a run always has a lane"
        caller = self._caller(run, session, agent, lane)
        return Snapshot(
            caller=caller,
            run=run,
            lane=lane,
            session=session,
            agent=agent,
            access=caller.access,
            connection=self._connection(agent),
            toolset=toolset_for(CATALOG, caller),
            own=entries_of_run(tx, access, run.id),
            earlier=earlier,
            earlier_unread=unread,
            extras=extras_of(tx, access, run.id) if run.extras else TurnExtras(),
        )

    def _caller(self, run: Run, session: Session, agent: Agent, lane: Lane) -> Caller:
        access = msgspec.structs.replace(run.access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run.id)
        return run_caller(self._house, access, agent, lane, run, session)

    def _connection(self, agent: Agent) -> Connection:
        named = agent.profile.gateway or ("default" if "default" in self._connections else BUILTIN)
        # A gateway that the settings no longer name: the built-in agent answers, and says how to connect one.
        return self._connections.get(named) or self._connections[BUILTIN]

    def _asking(self, tx: Tx, snapshot: Snapshot, room: int | None) -> Asking:
        run, agent, connection, lane = snapshot.run, snapshot.agent, snapshot.connection, snapshot.lane
        slug = account_of(tx, snapshot.access).slug
        tools = snapshot.toolset.offered()
        heard = [name for entry in snapshot.own for name in entry.attachment_ids]
        model = _model(connection, lane, agent, snapshot.extras)
        return Asking(
            run=run,
            session=snapshot.session,
            address=snapshot.session.address + ("" if slug == DEFAULT_ACCOUNT_SLUG else f"@{slug}"),
            gateway=connection.settings,
            settings=self._settings,
            model=model,
            room=self._room(connection.gateway.name, model) if room is None else room,
            thinking=lane.thinking_level or agent.profile.thinking,
            instructions=with_request(
                standing_instructions(agent, run.session_key, tools, briefing_of(tx, run)), snapshot.extras.instructions
            ),
            tools=tools,
            own=snapshot.own,
            earlier=snapshot.earlier,
            earlier_unread=snapshot.earlier_unread,
            extras=snapshot.extras,
            attachments={kept.id: kept for kept in attachments_by_id(tx, snapshot.access, tuple(heard))},
        )

    def _say(self, claim: Claim, text: str) -> None:
        self._live.say(claim.account_id, Spoken("text", claim.id, claim.key, text))


def _model(connection: Connection, lane: Lane, agent: Agent, extras: TurnExtras) -> str:
    """The model that is asked for; the built-in agent is none, whatever the agent would have been given elsewhere."""
    if connection.settings.kind == "builtin":
        return BUILTIN
    return extras.model or lane.model or agent.profile.model or connection.settings.model or _ANY_MODEL


def _row(asking: Asking, asked: Asked, n: int, now: int) -> StepRow:
    return StepRow(
        n=n,
        attempt=asking.run.attempt,
        gateway=asking.gateway.kind,
        address=asking.address,
        model=asking.model,
        instructions_version=asking.instructions.version,
        instructions_sha256=asking.instructions.sha256,
        body=asked.body.decode(),
        body_sha256=sha256(asked.body).hexdigest(),
        history_omitted=asked.history_omitted,
        sent_at=now,
    )


def _log_end(claim: Claim, outcome: Outcome, called: set[str]) -> None:
    told = {"run_id": claim.id, "session_key": claim.key, "agent_id": claim.agent_id}
    more = {"instruction_profile_version": PROFILE_VERSION, "task_history_called": "task_history" in called}
    failed = {"error_code": outcome.code} if isinstance(outcome, Failed) else {}
    _log.info("turn_finished", extra=told | more | failed)


def _is_too_long(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Failed) and outcome.code == PROMPT_TOO_LONG


def _failed(fault: GatewayFault) -> Failed:
    return Failed(
        code=fault.code, message=fault.message, retryable=fault.retryable, retry_after_seconds=fault.retry_after_seconds
    )
