"""Calls of tools from outside a turn: made in one transaction, waited for outside any, finished in another."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from carrel.kernel import METRICS, MS_PER_SECOND, Code, Refusal, system_access
from carrel.records import call_of, finish_call, outside_call, record_call
from carrel.runs import ExternalCall, RequestedEnd, Watch, request_end, run_by_id
from carrel.sessions import lock_lane, make_lane
from carrel.storage import Database, Tx
from carrel.tools.external_callers import ExternalCaller
from carrel.tools.invocation import bounded, effect_of, finished, known_result, lock_caller, named, prepare_call
from carrel.tools.model import Caller, Preparation, Result, Tool, Wait
from carrel.tools.refusals import note_forbidden, note_refused_call
from carrel.tools.toolset import require_offered_now


class NewCall(Struct, frozen=True, kw_only=True):
    """A call to make. `call_id` identifies it within its run; `keep` stores its answer in the same transaction."""

    caller: ExternalCaller
    tool: str
    arguments: str
    call_id: str = ""
    keep: Callable[[Tx, str], None] | None = None


class ExternalCalls:
    """Makes calls from outside a turn; those that wait for a run give up once `closing` is set."""

    def __init__(self, db: Database, watch: Watch, closing: asyncio.Event) -> None:
        self._db = db
        self._watch = watch
        self._closing = closing

    async def make(self, call: NewCall) -> str:
        """Make a call and return its result as JSON text within its limit; Refusal if it is refused."""
        account_id = call.caller.caller.access.account_id
        try:
            text = await self._make(call)
        except Refusal as refused:
            refusal = refused
            METRICS.count("tools.called.count", account_id, tool="other", status="refused")
            if not call.caller.caller.access.is_person:
                await self._db.write(lambda tx: _note(tx, call, refusal))
            raise
        METRICS.count("tools.called.count", account_id, tool=call.tool, status="ok")
        return text

    async def _make(self, call: NewCall) -> str:
        caller = call.caller.caller
        tool = call.caller.toolset.find(call.tool)
        params = tool.read_params(call.arguments)
        if not call.caller.has_lane:
            await self._db.write(lambda tx: make_lane(tx, caller.access, caller.key))
        if tool.effect == "read" and caller.run is None:
            ready = params if tool.prepare is None else (await tool.prepare(self._db, caller, params)).params
            return bounded((await self._db.read(lambda tx: tool.act(tx, caller, named(tx, caller, ready)))).value)
        if caller.run is None:
            # A run's call belongs to a turn, and a stopping server waits for the turns under way.
            caller.services.refuse_when_draining()
        async with prepare_call(self._db, call.caller.toolset, caller, call.tool, call.arguments) as prepared:
            result = await self._db.write(lambda tx: _act_once(tx, call, tool, prepared))
        if result.wait is None:
            return bounded(result.value)
        run_id = result.wait.run_id
        await self._wait(caller, result.wait)
        return await self._db.write(lambda tx: _finish(tx, call, tool, run_id))

    async def _wait(self, caller: Caller, wait: Wait) -> None:
        """Wait for another run until it is deleted or the server stops."""
        now = await self._db.read(lambda tx: tx.now)
        seconds = max(0, wait.until - now) / MS_PER_SECOND
        access = system_access(caller.access.account_id, caller.access.account_slug)
        with suppress(Refusal):
            await self._watch.until_settled(access, wait.run_id, seconds, self._closing)


def _act_once(tx: Tx, call: NewCall, tool: Tool, prepared: Preparation | None) -> Result:
    """Act and record what was done: under the run of the call, and under its idempotency key."""
    caller = call.caller.caller
    lock_caller(tx, caller, prepared)
    if caller.run is not None:
        _require_live_run(tx, caller, caller.run.id, tool)
        known = call_of(tx, caller.access, caller.run.id, outside_call(call.call_id)) if call.call_id else None
        if known is not None:
            return known_result(known)
    require_offered_now(tx, caller, tool)
    params = prepared.params if prepared is not None else tool.read_params(call.arguments)
    result = tool.act(tx, caller, named(tx, caller, params))
    note_forbidden(tx, caller, tool.name, result.value)
    # The answer is still to come: keep what is known now for a caller who repeats the call after a crash.
    text = bounded({"runId": result.wait.run_id, "status": "accepted"} if result.wait else result.value)
    if caller.run is not None:
        name = outside_call(call.call_id or tx.new_id("call"))
        of = {"tool": tool.name, "effect": effect_of(tool, result), "result": text}
        record_call(tx, caller.access, caller.run.id, name, **of, wait=result.wait)
        if result.ends is not None:
            made = ExternalCall(name=tool.name, arguments=call.arguments, result=text)
            request_end(tx, caller.access, caller.run.id, RequestedEnd(outcome=result.ends, call=made))
    if call.keep is not None:
        call.keep(tx, text)
    return result


def _note(tx: Tx, call: NewCall, refusal: Refusal) -> None:
    read = None
    with suppress(Refusal):
        tool = call.caller.toolset.find(call.tool)
        read = (tool, tool.read_params(call.arguments))
    note_refused_call(tx, call.caller.caller, call.tool, refusal, read)


def _finish(tx: Tx, call: NewCall, tool: Tool, run_id: str) -> str:
    caller = call.caller.caller
    text = bounded(finished(tx, tool, caller, run_id))
    if caller.run is not None and call.call_id:
        finish_call(tx, caller.access, caller.run.id, outside_call(call.call_id), text)
    return text


def _require_live_run(tx: Tx, caller: Caller, run_id: str, tool: Tool) -> None:
    """Refuse a call after the end of its run, and a call that feeds a turn if none is under way."""
    if tool.only_in_run:
        # Ending or parking a run takes its lane first: from here on the run stays as it is.
        lock_lane(tx, caller.access, str(caller.key))
    run = run_by_id(tx, caller.access, run_id)
    if run is None or run.ended:
        raise Refusal(Code.ALREADY_ENDED, "The run of this token has ended.")
    if tool.only_in_run and run.state != "running":
        raise Refusal(Code.CONFLICT, f"{tool.name} only works during a turn, and this run is {run.state}.")
