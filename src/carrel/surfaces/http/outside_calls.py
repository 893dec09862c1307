"""Calls of tools from outside of a turn: made in one transaction, waited for outside of any, finished in another."""

from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec import Struct

from carrel.kernel import METRICS, MS_PER_SECOND, Code, Refusal, system_access
from carrel.records import call_of, finish_call, outside_call, record_call
from carrel.runs import OutsideCall, WantedEnd, run_by_id, want_end
from carrel.sessions import lock_lane, make_lane
from carrel.storage import Tx
from carrel.surfaces.http.house import House
from carrel.surfaces.http.tool_callers import Seat
from carrel.surfaces.http.waits import refuse_when_draining, rest_of
from carrel.tools import (
    Caller,
    Readied,
    Result,
    Tool,
    Toolset,
    Wait,
    bounded,
    effect_of,
    finished,
    hold_caller,
    ready_for,
)

Keep = Callable[[Tx, str], None]


class Outside(Struct, frozen=True, kw_only=True):
    """One call: which tool, with what, from where. `call_id` names it within its run, `keep` writes its answer down."""

    house: House
    seat: Seat
    name: str
    arguments: str
    call_id: str = ""
    keep: Keep | None = None

    async def make(self) -> str:
        """Make the call and give its result as JSON text within its bound; Refusal where it is refused."""
        try:
            text = await self._made()
        except Refusal:
            METRICS.count("tools.called.count", tool="other", status="refused")
            raise
        METRICS.count("tools.called.count", tool=self.name, status="ok")
        return text

    async def _made(self) -> str:
        toolset, caller, db = self.seat.toolset, self.seat.caller, self.house.db
        tool = toolset.find(self.name)
        params = tool.read_params(self.arguments)
        if not self.seat.has_lane:
            await db.write(lambda tx: make_lane(tx, caller.access, caller.key))
        if tool.effect == "read" and caller.run is None:
            return bounded((await db.read(lambda tx: tool.act(tx, caller, params))).value)
        if caller.run is None:
            # What a run calls belongs to a turn, and turns under way are waited for.
            refuse_when_draining(self.house)
        result = await self._act(toolset, tool)
        if result.wait is None:
            return bounded(result.value)
        await self._wait(result.wait)
        return await db.write(lambda tx: self._finish(tx, tool, result.wait))

    async def _act(self, toolset: Toolset, tool: Tool) -> Result:
        db, caller = self.house.db, self.seat.caller
        async with ready_for(db, toolset, caller, self.name, self.arguments) as readied:
            return await db.write(lambda tx: self._act_once(tx, tool, readied))

    def _act_once(self, tx: Tx, tool: Tool, readied: Readied | None) -> Result:
        """Act and write down what was done: under the run of the call, and under its idempotency key."""
        caller = self.seat.caller
        hold_caller(tx, caller, readied)
        if caller.run is not None:
            _require_at_work(tx, caller, caller.run.id, tool)
        known = (
            call_of(tx, caller.access, caller.run.id, self._known_as)
            if caller.run is not None and self.call_id
            else None
        )
        if known is not None and known.waits_for is not None and known.waits_until is not None:
            return Result(value={}, wait=Wait(known.waits_for, known.waits_until))
        if known is not None:
            return Result(value=msgspec.json.decode(known.result))
        result = tool.act(tx, caller, readied.params if readied is not None else tool.read_params(self.arguments))
        wait = (result.wait.run_id, result.wait.until) if result.wait else None
        # An answer that is waited for is kept as far as it is known, for one who asks again after a crash.
        text = bounded({"runId": wait[0], "status": "accepted"} if wait else result.value)
        if caller.run is not None:
            name = self._known_as if self.call_id else outside_call(tx.new_id("call"))
            effect = effect_of(tool, result)
            record_call(tx, caller.access, caller.run.id, name, tool=tool.name, effect=effect, result=text, wait=wait)
            if result.ends is not None:
                made = OutsideCall(name=tool.name, arguments=self.arguments, result=text)
                want_end(tx, caller.access, caller.run.id, WantedEnd(outcome=result.ends, call=made))
        if self.keep is not None:
            self.keep(tx, text)
        return result

    @property
    def _known_as(self) -> str:
        return outside_call(self.call_id)

    async def _wait(self, wait: Wait) -> None:
        """Wait for another run, but not for one that is gone, nor longer than the server lives."""
        account = self.seat.caller.access
        now = await self.house.db.read(lambda tx: tx.now)
        with suppress(Refusal):
            seconds = max(0, wait.until - now) / MS_PER_SECOND
            await rest_of(self.house, system_access(account.account_id, account.account_slug), wait.run_id, seconds)

    def _finish(self, tx: Tx, tool: Tool, wait: Wait | None) -> str:
        assert wait is not None, "only a call that waits is finished"
        caller = self.seat.caller
        text = bounded(finished(tx, tool, caller, wait.run_id))
        if caller.run is not None and self.call_id:
            finish_call(tx, caller.access, caller.run.id, self._known_as, text)
        return text


def _require_at_work(tx: Tx, caller: Caller, run_id: str, tool: Tool) -> None:
    """Refuse what comes after the end of its run, and what feeds a turn while there is none."""
    if tool.only_in_run:
        # Whoever ends or parks a run holds its lane first; from here on it stays as it is.
        lock_lane(tx, caller.access, str(caller.key))
    run = run_by_id(tx, caller.access, run_id)
    if run is None or run.ended:
        raise Refusal(Code.ALREADY_ENDED, "The run of this token has ended.")
    if tool.only_in_run and run.state != "running":
        raise Refusal(Code.CONFLICT, f"{tool.name} feeds a turn, and this run is {run.state}.")
