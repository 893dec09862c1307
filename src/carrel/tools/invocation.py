"""Making a call: within a run once and for all, with its record in the transaction of its effect; else just so.

A call may have to wait for another run. What it did is written down first, so that nothing is done twice; then whoever
made it waits, outside of any transaction, and finishes it. A call may also need something from outside before it acts.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from carrel.kernel import METRICS, Code, Refusal
from carrel.kernel.limits import TOOL_RESULT_BYTES_MAX
from carrel.records import Call, call_of, finish_call, record_call
from carrel.runs import run_by_id
from carrel.sessions import lock_lane
from carrel.storage import Database, Tx
from carrel.tools.model import Caller, Effect, Readied, Result, Tool, Wait
from carrel.tools.toolset import Toolset


@asynccontextmanager
async def ready_for(
    db: Database, toolset: Toolset, caller: Caller, name: str, arguments: str
) -> AsyncIterator[Readied | None]:  # fmt: skip
    """What a call needs before it acts, for the time in which it does; None for one that needs nothing.

    One that will be refused needs nothing either: the refusal is found again where it is recorded.
    """
    readied = await _readied(db, toolset, caller, name, arguments)
    try:
        yield readied
    except Exception:
        # Who is cancelled knows not whether the call was made: what it left without an owner is swept up later.
        await _settle(readied)
        raise
    await _settle(readied)


async def _readied(db: Database, toolset: Toolset, caller: Caller, name: str, arguments: str) -> Readied | None:
    try:
        tool = toolset.find(name)
        params = tool.read_params(arguments) if tool.ready is not None else None
    except Refusal:
        return None
    return None if tool.ready is None else await tool.ready(db, caller, params)


async def _settle(readied: Readied | None) -> None:
    if readied is not None and readied.settled is not None:
        await readied.settled()


def hold_caller(tx: Tx, caller: Caller, readied: Readied | None) -> None:
    """Hold the caller's lane for a call that was made ready; before its run, as everywhere."""
    if readied is not None:
        lock_lane(tx, caller.access, str(caller.key))


def call_tool(
    tx: Tx, toolset: Toolset, caller: Caller, call_id: str, name: str, arguments: str, readied: Readied | None = None
) -> tuple[str, Result]:
    """Make a run's call once: effect and record are one transaction, and a repetition is answered from the record.

    Gives the answer as JSON text, exactly as the model gets it. A refusal is an answer too: the model may adapt.
    """
    known = call_of(tx, caller.access, caller.own_run.id, call_id)
    if known is not None:
        return known.result, _known(known)
    effect: Effect = "read"
    try:
        tool = toolset.find(name)
        params = readied.params if readied is not None else tool.read_params(arguments)
        result = tool.act(tx, caller, params)
        effect = effect_of(tool, result)
        status = "ok"
    except Refusal as refusal:
        result = Result(value=refused(refusal))
        status, effect = "refused", "read"
    text = "" if result.wait else bounded(result.value)
    wait = (result.wait.run_id, result.wait.until) if result.wait else None
    record_call(tx, caller.access, caller.own_run.id, call_id, tool=name[:80], effect=effect, result=text, wait=wait)
    METRICS.count("tools.called.count", tool=name[:80] if status == "ok" else "other", status=status)
    return text, result


def effect_of(tool: Tool, result: Result) -> Effect:
    """The effect that a call is recorded with: asking for the end of a turn changes nothing that a repeat could."""
    return "read" if result.ends is not None else tool.effect


def refuse_call(tx: Tx, caller: Caller, call_id: str, name: str, why: str) -> tuple[str, Result]:
    """Record that a person did not allow a call; the model is told so."""
    refusal = Refusal(Code.TOOL_NOT_ALLOWED, f"A person did not allow this call of {name[:80]}: {why}")
    value = refused(refusal)
    text = bounded(value)
    record_call(tx, caller.access, caller.own_run.id, call_id, tool=name[:80], effect="read", result=text)
    METRICS.count("tools.called.count", tool=name[:80], status="refused")
    return text, Result(value=value)


def finish_waiting(tx: Tx, toolset: Toolset, caller: Caller, call_id: str) -> tuple[str, Result]:
    """Give a call that has waited its result, once."""
    known = call_of(tx, caller.access, caller.own_run.id, call_id)
    assert known is not None, "a call waits only after it was recorded"
    if known.waits_for is None:
        return known.result, _known(known)
    value = finished(tx, toolset.find(known.tool), caller, known.waits_for)
    text = bounded(value)
    finish_call(tx, caller.access, caller.own_run.id, call_id, text)
    return text, Result(value=value)


def finished(tx: Tx, tool: Tool, caller: Caller, run_id: str) -> dict[str, Any]:
    """What a call that waited for a run gives back."""
    assert tool.finish is not None, "only tools that can finish let a call wait"
    # The house's own look: the run may be another agent's, and the call was allowed to address it.
    return tool.finish(tx, caller, run_id, run_by_id(tx, caller.access, run_id))


def refused(refusal: Refusal) -> dict[str, Any]:
    """A refusal as a model is told it."""
    return {"ok": False, "error": {"code": str(refusal.code), "message": refusal.message}}


def bounded(value: dict[str, Any]) -> str:
    """A result as JSON text within its bound."""
    text = msgspec.json.encode(value)
    if len(text) <= TOOL_RESULT_BYTES_MAX:
        return text.decode()
    short = {"truncated": True, "bytes": len(text), "text": text[: TOOL_RESULT_BYTES_MAX // 2].decode(errors="ignore")}
    return msgspec.json.encode(short).decode()


def _known(call: Call) -> Result:
    if call.waits_for is not None and call.waits_until is not None:
        return Result(value={}, wait=Wait(call.waits_for, call.waits_until))
    return Result(value=msgspec.json.decode(call.result))
