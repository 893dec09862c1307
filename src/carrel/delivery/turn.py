"""The turn: the work of one run, from its message to its answer, in bounded steps. It returns an outcome.

Each step reads a snapshot, gathers context, builds the request, and writes it down under the run's claim before it is
sent. The turn may die between any two transactions and be resumed from what is stored: no message is written twice, no
call is made twice, no reply is given twice.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from logging import getLogger

from msgspec import structs

from carrel.budgets import BudgetRules, UsedUp, hold
from carrel.context import Context
from carrel.delivery.agent_actions import ActionLog
from carrel.delivery.attempt import Attempt
from carrel.delivery.call_arguments import whole_arguments
from carrel.delivery.context import NO_CONTEXT
from carrel.delivery.live import Live, LivePiece
from carrel.delivery.prompt import PROFILE_VERSION
from carrel.delivery.remote_calls import make_remote_call
from carrel.delivery.replays import GONE, as_reply, repeated
from carrel.delivery.request import Request, build_request, model_of
from carrel.delivery.silence import is_silent, is_unanswered
from carrel.delivery.snapshot import Connection, HistoryRead, Snapshot, read_short_snapshot, read_snapshot
from carrel.delivery.step import (
    SentRequest,
    StaleRequest,
    count_answer,
    finish_call,
    join,
    keep_answer,
    keep_reply,
    keep_sent,
    make_call,
    may_be_made,
    prepare,
)
from carrel.delivery.transcript import given_reply, waiting_for_sender
from carrel.delivery.usage import spent_before, summed, with_usage
from carrel.gateway import PROMPT_TOO_LONG, AgentGateway, Gateway, GatewayFault, OnSend, OnText, Step, StepAnswer
from carrel.journal import Entry, clean, quoted_lines_removed
from carrel.kernel import MS_PER_SECOND, Refusal, Usage
from carrel.kernel.limits import EXPECTED_HISTORIES_MAX
from carrel.loops import Trace, find_loop, hold_loop, needs_trace, read_trace
from carrel.records import wrote_from_outside
from carrel.runs import (
    Claim,
    Completed,
    Failed,
    Outages,
    Outcome,
    Watch,
    is_sender_call,
    open_calls,
)
from carrel.storage import Database, Tx
from carrel.tools import Result, ToolServices, Wait, catalog_for, connected_tool, prepare_call
from carrel.usage import priced

_log = getLogger("carrel.delivery")
# The outcome of a turn, or a function that writes its answer and returns the outcome; it is called in the transaction
# that ends the run.
Ending = Outcome | Callable[[Tx], Outcome]
# Entered by a turn while it only waits for another run, to lend its slot.
Aside = Callable[[], AbstractContextManager[None]]
# Gathers the context of a run before its first step; it may search and wait, since no transaction is open.
Gather = Callable[[Snapshot], Awaitable[Context]]


async def no_context(_snapshot: Snapshot) -> Context:
    return NO_CONTEXT


class Turns:
    """The handler that the dispatcher is given."""

    def __init__(
        self, db: Database, connections: Mapping[str, Connection], services: ToolServices, live: Live, watch: Watch,
        aside: Aside, gather: Gather = no_context,
    ) -> None:  # fmt: skip
        self._db = db
        self._connections = connections
        self._services = services
        self._settings = services.settings.delivery
        self._rules = BudgetRules(services.settings.budgets, services.settings.prices)
        self._live = live
        self._watch = watch
        self._aside = aside
        self._gather = gather
        self.outages = Outages(db, self._is_unreachable)
        # The most history, in characters, that fitted a model whose limit was exceeded, by gateway and model; learned
        # again after a restart.
        self._history_taken: dict[tuple[str, str], int] = {}
        # How the last runs of lanes with a short session read its history, the oldest first, by account and lane. The
        # lane's next run prefetches the same; if it is in another session by then, only that read was wasted.
        self._histories: dict[tuple[str, str], HistoryRead] = {}

    async def take(self, claim: Claim) -> Outcome:
        """Take one turn, and write its answer before its outcome."""
        ending = await self.handle(claim)
        return await self._db.write(ending) if callable(ending) else ending

    async def handle(self, claim: Claim) -> Ending:
        """Take one turn: do what the store says is next, until there is an outcome."""
        attempt = Attempt()
        attempt.catalog = await catalog_for(self._db, self._services, claim.access, claim.agent_id, self._aside)
        while True:
            snapshot = await self._read(claim, attempt)
            outcome: Ending | None
            match _next_move(snapshot):
                case None if snapshot.run.steered and not snapshot.unheard:
                    outcome = await self._db.write(partial(join, claim=claim, snapshot=snapshot))
                case None:
                    outcome = await self._take_step(claim, snapshot, attempt)
                case list() as calls:
                    attempt.called |= {(call.details or {})["name"] for call in calls}
                    outcome = await self._make_calls(claim, snapshot, calls)
                case ended:
                    outcome = ended
            if outcome is not None:
                _log_end(claim, outcome, attempt.called)
                return outcome if callable(outcome) else with_usage(outcome, attempt.usage)

    async def _read(self, claim: Claim, attempt: Attempt) -> Snapshot:
        """Read what is stored about the run and its session, unless the turn itself has just written it."""
        if (written := attempt.with_calls) is not None:
            attempt.with_calls = None
            return written
        known = (claim, self._services, self._connections, attempt.snapshot, attempt.catalog)
        lane = (claim.account_id, claim.key)
        expected, snapshot = self._histories.pop(lane, None), None
        if not attempt.is_long:
            snapshot = await self._db.read(lambda tx: read_short_snapshot(tx, *known, expected))
        if snapshot is None:
            attempt.is_long = True
            snapshot = await self._db.long_read(lambda tx: read_snapshot(tx, *known), feed=False)
        else:
            self._histories[lane] = snapshot.history
            if len(self._histories) > EXPECTED_HISTORIES_MAX:
                del self._histories[next(iter(self._histories))]
        attempt.snapshot = snapshot
        return snapshot

    async def _take_step(self, claim: Claim, snapshot: Snapshot, attempt: Attempt) -> Ending | None:
        """Build, keep and send one step, and keep its answer; None when the turn goes on."""
        if attempt.is_first_step and (fault := await self._still_unreachable(snapshot)) is not None:
            return self._failed(snapshot, fault)
        attempt.is_first_step = False
        if (held := await self._hold_loop(snapshot, attempt)) is not None:
            return held
        sent = await self._prepare(claim, snapshot, attempt)
        if not isinstance(sent, SentRequest):
            return sent
        attempt.token = sent.step.run_token
        attempt.snapshot = snapshot.heard(sent.request.context)
        # Includes what earlier attempts spent, and the turn that ended with a question.
        usage = attempt.usage or spent_before(snapshot.run)
        outcome, attempt.usage = await self._send(claim, sent, attempt, usage)
        if _is_too_long(outcome) and sent.request.history_shown:
            # Show half as much history until the request fits or there is none left.
            attempt.history_chars_max = sent.request.shown_chars // 2
            return None
        if is_unanswered(snapshot, outcome) and not await self._wrote_from_outside(claim, sent):
            attempt.empty_replies += 1
            if attempt.empty_replies < self._settings.no_reply_attempts:
                # What was streamed before the answer turned out to be silent is void.
                self._live.say(claim.account_id, LivePiece("restart", claim.id, claim.key))
                return None
        return outcome

    async def _prepare(self, claim: Claim, snapshot: Snapshot, attempt: Attempt) -> SentRequest | Ending | None:
        """Gather and build outside any transaction, then write the step in one; None if the snapshot is out of date."""
        if snapshot.extras.replays is not None:
            return await self._prepare_replay(claim, snapshot, attempt)
        # All steps of a run show the context that was gathered for its first one.
        context = await self._gather(snapshot) if snapshot.unheard else snapshot.context
        limit = attempt.history_chars_max
        if limit is None:
            limit = self._history_limit(snapshot.connection.gateway.name, model_of(snapshot))
        request = build_request(
            snapshot, self._settings, history_chars_max=limit, context=context, silences=attempt.empty_replies
        )
        return await self._write_down(claim, snapshot, attempt, request)

    async def _hold_loop(self, snapshot: Snapshot, attempt: Attempt) -> Ending | None:
        """Hold the run if its session does nothing new; None if it may take its next step."""
        run, spent = snapshot.run, attempt.usage
        if snapshot.extras.replays is not None:
            return None
        if attempt.trace is None:
            known = needs_trace(run)
            attempt.trace = await self._db.read(lambda tx: read_trace(tx, run.access, run)) if known else Trace()
        found = find_loop(attempt.trace, run, snapshot.own)
        return None if found is None else lambda tx: with_usage(hold_loop(tx, run, found), spent)

    async def _prepare_replay(self, claim: Claim, snapshot: Snapshot, attempt: Attempt) -> SentRequest | Ending | None:
        if snapshot.replayed is None:
            return GONE
        return await self._write_down(claim, snapshot, attempt, repeated(snapshot, snapshot.replayed))

    async def _write_down(
        self, claim: Claim, snapshot: Snapshot, attempt: Attempt, request: Request
    ) -> SentRequest | Ending | None:  # fmt: skip
        """Write a step that is about to be sent; None if its snapshot is out of date."""
        try:
            return await self._db.write(
                lambda tx: prepare(tx, claim, snapshot, request, attempt.token, self._rules, limited=attempt.is_limited)
            )
        except StaleRequest:
            return None
        except UsedUp:
            spent, begins = attempt.usage, snapshot.unheard
            return lambda tx: with_usage(hold(tx, claim, self._rules, begins=begins), spent)

    async def _send(
        self, claim: Claim, sent: SentRequest, attempt: Attempt, usage: Usage
    ) -> tuple[Ending | None, Usage]:  # fmt: skip
        gateway, n = sent.snapshot.connection.gateway, sent.n

        async def keep(body: bytes) -> None:
            nonlocal n
            n = await self._db.write(lambda tx: keep_sent(tx, claim, n, body))

        record = ActionLog(self._db, claim, sent.snapshot, lambda: n)
        try:
            answer = await self._ask_gateway(gateway, sent.step, lambda text: self._say(claim, text), keep, record)
        except GatewayFault as fault:
            # The text of a step that fails is void.
            self._live.say(claim.account_id, LivePiece("restart", claim.id, claim.key))
            return await self._faulted(claim, sent, fault), usage
        self._learn_limit(sent)
        answer = self._without_context(claim, sent, answer)
        if sent.snapshot.extras.replays is not None:
            answer = as_reply(answer)
        spent = summed(usage, priced(answer.usage, sent.request.model, self._rules.prices))
        await self.outages.answered(gateway.name)
        if not answer.calls and not is_silent(sent.snapshot.run, answer.text.replace("\x00", "")):
            # Written in the transaction that ends the run, which saves a commit.
            rules, trace = self._rules, attempt.trace
            return lambda tx: with_usage(keep_reply(tx, claim, sent, n, answer, rules, trace), spent), spent
        rounds_max = self._settings.tool_rounds_max
        kept, attempt.is_limited = await self._db.write(
            lambda tx: (
                keep_answer(tx, claim, sent, n, answer, rounds_max),
                count_answer(tx, claim, sent, answer, self._rules),
            )
        )
        if isinstance(kept, list):
            heard = sent.snapshot.heard(sent.request.context)
            attempt.with_calls = structs.replace(heard, own=[*heard.own, *kept])
            self._live.end_step(claim.account_id, claim.id)
        return None if isinstance(kept, list) else kept, spent

    async def _ask_gateway(
        self, gateway: Gateway, step: Step, on_text: OnText, on_send: OnSend, record: ActionLog
    ) -> StepAnswer:  # fmt: skip
        """Send a step to a gateway and record what the agent behind it does."""
        if not isinstance(gateway, AgentGateway):
            return await gateway.take(step, on_text, on_send)
        answer = await gateway.take(step, on_text, on_send, record.keep)
        if not answer.calls:
            await record.close()
        return answer

    def _without_context(self, claim: Claim, sent: SentRequest, answer: StepAnswer) -> StepAnswer:
        """Return the answer without the context that it repeats; live readers are sent it again."""
        said = clean(quoted_lines_removed(answer.text, sent.request.context.block))
        if said == answer.text:
            return answer
        self._live.say(claim.account_id, LivePiece("restart", claim.id, claim.key))
        self._say(claim, said)
        return structs.replace(answer, text=said)

    async def _faulted(self, claim: Claim, sent: SentRequest, fault: GatewayFault) -> Failed:
        """Return how a turn ends after a fault. A step in which the agent changed something is not sent again."""
        if not fault.retryable or not await self._wrote_from_outside(claim, sent):
            return self._failed(sent.snapshot, fault)
        message = f"{fault.message} The agent had changed something by then, so it is not asked again by itself."
        return Failed(code=fault.code, message=message, reason="interrupted")

    async def _still_unreachable(self, snapshot: Snapshot) -> GatewayFault | None:
        """Return why the gateway still cannot be reached, so that another attempt is pointless; None if it can."""
        if snapshot.run.last_fault is None:
            return None
        fault = await _unreachable_fault(snapshot.connection)
        if fault is None and snapshot.run.unreachable_since is not None:
            await self.outages.end(snapshot.connection.gateway.name)
        return fault

    async def _is_unreachable(self, gateway: str) -> bool:
        """Whether a gateway cannot be reached; runs of one that was removed from the settings go on, and fail there."""
        connection = self._connections.get(gateway)
        return connection is not None and await _unreachable_fault(connection) is not None

    def _failed(self, snapshot: Snapshot, fault: GatewayFault) -> Failed:
        gateway = snapshot.connection.gateway.name if fault.unreachable else None
        if gateway is not None:
            self.outages.note(gateway)
        return Failed(
            code=fault.code, message=fault.message, retryable=fault.retryable,
            retry_after_seconds=fault.retry_after_seconds, unreachable_gateway=gateway,
        )  # fmt: skip

    async def _wrote_from_outside(self, claim: Claim, sent: SentRequest) -> bool:
        """Whether the agent changed something during a step, using its run's token."""
        if not sent.step.run_token:
            return False
        return await self._db.read(lambda tx: wrote_from_outside(tx, claim.access, claim.id, sent.sent_at))

    def _learn_limit(self, sent: SentRequest) -> None:
        """Show this model no more history than just fitted, unless something else took up the space."""
        at, shown = (sent.snapshot.connection.gateway.name, sent.request.model), sent.request.history_chars_max
        if sent.request.only_talk and shown < self._history_limit(*at):
            self._history_taken[at] = shown

    def _history_limit(self, gateway: str, model: str) -> int:
        return self._history_taken.get((gateway, model), self._settings.history_chars_max)

    async def _make_calls(self, claim: Claim, snapshot: Snapshot, calls: list[Entry]) -> Outcome | None:
        for call in calls:
            result = await self._make_call(claim, snapshot, call)
            if result.wait is not None:
                await self._wait(claim, result.wait)
                result = await self._db.write(partial(finish_call, claim=claim, snapshot=snapshot, call=call))
            if result.ends is not None:
                return result.ends
        return None

    async def _make_call(self, claim: Claim, snapshot: Snapshot, call: Entry) -> Result:
        """Make one call; what it needs from outside is prepared first, unless the call still has to be approved."""
        name, arguments = (call.details or {})["name"], (call.details or {})["arguments"]
        if call.attachment_ids:
            arguments = await self._db.read(lambda tx: whole_arguments(tx, snapshot.access, call))
        if may_be_made(snapshot, call) and connected_tool(snapshot.toolset, name):
            # A server may be slow, and other runs should not wait for it.
            with self._aside():
                return await make_remote_call(self._db, claim, snapshot, call, arguments)
        make = partial(make_call, claim=claim, snapshot=snapshot, call=call, arguments=arguments)
        if not may_be_made(snapshot, call):
            return await self._db.write(make)
        async with prepare_call(self._db, snapshot.toolset, snapshot.caller, name, arguments) as prepared:
            return await self._db.write(partial(make, prepared=prepared))

    async def _wait(self, claim: Claim, wait: Wait) -> None:
        """Wait for another run without occupying a slot; not for one that no longer exists."""
        now = await self._db.read(lambda tx: tx.now)
        with self._aside(), suppress(Refusal):
            await self._watch.until_settled(claim.access, wait.run_id, max(0, wait.until - now) / MS_PER_SECOND)

    def _say(self, claim: Claim, text: str) -> None:
        self._live.say(claim.account_id, LivePiece("text", claim.id, claim.key, text))


def _next_move(snapshot: Snapshot) -> Outcome | list[Entry] | None:
    """Return what comes next according to the store: a requested end, a reply, open calls; None for another step."""
    end = snapshot.run.requested_end
    if end is not None:
        return end.outcome
    reply = given_reply(snapshot.own)
    if reply is not None:
        return Completed(reply=reply)
    calls = open_calls(snapshot.own)
    ours = [call for call in calls if not is_sender_call(call)]
    if ours:
        return ours
    return waiting_for_sender(calls) if calls else None


def _log_end(claim: Claim, outcome: Ending, called: set[str]) -> None:
    named = {"run_id": claim.id, "session_key": claim.key, "agent_id": claim.agent_id}
    more = {"instruction_profile_version": PROFILE_VERSION, "task_history_called": "task_history" in called}
    failed = {"error_code": outcome.code} if isinstance(outcome, Failed) else {}
    _log.info("turn_finished", extra=named | more | failed)


def _is_too_long(outcome: Ending | None) -> bool:
    return isinstance(outcome, Failed) and outcome.code == PROMPT_TOO_LONG


async def _unreachable_fault(connection: Connection) -> GatewayFault | None:
    """Return why a gateway cannot be reached now; None if it answers anything at all."""
    try:
        await connection.gateway.check()
    except GatewayFault as fault:
        return fault if fault.unreachable else None
    return None
