"""Calling tools. A call of a run is made once: it is recorded in the transaction of its effect.

A call may wait for another run: it is recorded first, so that nothing is done twice; its caller then waits outside any
transaction and finishes it. A call may also need preparation before its transaction.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from difflib import SequenceMatcher
from typing import Any

import msgspec
from msgspec import structs

from carrel.kernel import METRICS, Code, Refusal
from carrel.kernel.limits import TOOL_RESULT_BYTES_MAX
from carrel.records import Call, call_of, finish_call, record_call
from carrel.runs import run_by_id
from carrel.sessions import lock_lane
from carrel.storage import Database, Tx
from carrel.tools.model import Caller, Effect, Params, Preparation, Result, Tool, Wait
from carrel.tools.profiles import shown_tools
from carrel.tools.refusals import note_forbidden, note_refused_call
from carrel.tools.toolset import Toolset, UnknownTool, require_offered_now
from carrel.work import readable_task

FATE_UNKNOWN = "fate_unknown"
LOOK_FIRST = (
    "Whether it took effect is unknown. It was not repeated: look first, and then decide whether to call again."
)


@asynccontextmanager
async def prepare_call(
    db: Database, toolset: Toolset, caller: Caller, name: str, arguments: str
) -> AsyncIterator[Preparation | None]:  # fmt: skip
    """Prepare a call before its transaction and clean up after it; None for a tool that needs nothing beforehand.

    Nothing is prepared for a call that will be refused: the call itself is refused again and recorded.
    """
    prepared = await _prepare(db, toolset, caller, name, arguments)
    try:
        yield prepared
    except Exception:
        # A cancelled caller cannot know whether the call was made; files without an owner are removed later.
        await _clean_up(prepared)
        raise
    await _clean_up(prepared)


async def _prepare(db: Database, toolset: Toolset, caller: Caller, name: str, arguments: str) -> Preparation | None:
    try:
        tool = toolset.find(name)
        if tool.prepare is None and tool.lock is None:
            return None
        params = tool.read_params(arguments, tool.model_name)
    except Refusal:
        return None
    prepared = Preparation(params=params) if tool.prepare is None else await tool.prepare(db, caller, params)
    if (lock := tool.lock) is None:
        return prepared

    def lock_named(tx: Tx) -> None:
        try:
            meant = named(tx, caller, params)
        except Refusal:
            # An ambiguous title is refused, and the refusal recorded, when the call is made.
            return
        lock(tx, caller, meant)

    return structs.replace(prepared, lock=lock_named)


async def _clean_up(prepared: Preparation | None) -> None:
    if prepared is not None and prepared.clean_up is not None:
        await prepared.clean_up()


def lock_caller(tx: Tx, caller: Caller, prepared: Preparation | None) -> None:
    """Lock the caller's lane for a prepared call: after the task it changes and before its run, as everywhere."""
    if prepared is not None:
        if prepared.lock is not None:
            prepared.lock(tx)
        lock_lane(tx, caller.access, str(caller.key))


def call_tool(
    tx: Tx, toolset: Toolset, caller: Caller, call_id: str, name: str, arguments: str,
    prepared: Preparation | None = None,
) -> tuple[str, Result]:  # fmt: skip
    """Make a run's call once: effect and record are one transaction, and a repeated call is answered from the record.

    Also return the result as JSON text, exactly as the model gets it. A refusal is a result too: the model may adapt.
    """
    known = call_of(tx, caller.access, caller.own_run.id, call_id)
    if known is not None and known.is_begun:
        return lose_call(tx, caller, call_id)
    if known is not None:
        return known.result, known_result(known)
    effect: Effect = "read"
    read: tuple[Tool, Any] | None = None
    try:
        tool = _offered(toolset, caller, name)
        given = prepared.params if prepared is not None else tool.read_params(arguments, tool.model_name)
        params = named(tx, caller, given)
        read = (tool, params)
        require_offered_now(tx, caller, tool)
        # The refusal is recorded; what the tool wrote before it is undone.
        result = tx.attempt(lambda: tool.act(tx, caller, params))
        effect = effect_of(tool, result)
        status = "ok"
        note_forbidden(tx, caller, name, result.value)
    except Refusal as refusal:
        note_refused_call(tx, caller, name, refusal, read)
        result = Result(value=refused(refusal))
        status, effect = "refused", "read"
    text = "" if result.wait else bounded(result.value)
    of = {"tool": name[:80], "effect": effect, "result": text}
    record_call(tx, caller.access, caller.own_run.id, call_id, **of, wait=result.wait)
    counted = name[:80] if status == "ok" else "other"
    METRICS.count("tools.called.count", caller.access.account_id, tool=counted, status=status)
    return text, result


def _offered(toolset: Toolset, caller: Caller, name: str) -> Tool:
    """Return the tool of that name; the refusal of an unknown one names those that the model was shown."""
    try:
        return toolset.find(name)
    except UnknownTool as unknown:
        shown = [tool.model_name for tool in shown_tools(toolset, caller)]
        nearest = sorted(shown, key=lambda known: -SequenceMatcher(a=name[:80], b=known).ratio())
        use = f"use one of: {', '.join(nearest)}." if nearest else "there are no tools here."
        raise Refusal(Code.TOOL_NOT_ALLOWED, f"There is no tool '{name[:80]}'; {use}") from unknown


def named(tx: Tx, caller: Caller, params: Any) -> Any:
    """Return parameters with the id of the task that they name by its title; refuse a title of several tasks."""
    field = params.TASK if isinstance(params, Params) else Params.TASK
    task_id = getattr(params, field, None)
    if not isinstance(task_id, str) or task_id.startswith("task_"):
        return params
    try:
        found, _ = readable_task(tx, caller.access, task_id, by_title=True)
        return structs.replace(params, **{field: found.id})
    except Refusal as refusal:
        if refusal.field is not None:
            raise
        # The call itself is refused later, and recorded.
        return params


def effect_of(tool: Tool, result: Result) -> Effect:
    """Return the effect to record: ending a turn changes nothing that a repeated turn could change twice."""
    return "read" if result.ends is not None else tool.effect


def refuse_call(tx: Tx, caller: Caller, call_id: str, name: str, why: str) -> tuple[str, Result]:
    """Record that a person denied a call, and tell the model."""
    refusal = Refusal(Code.TOOL_NOT_ALLOWED, f"A person did not allow this call of {name[:80]}: {why}")
    value = refused(refusal)
    text = bounded(value)
    record_call(tx, caller.access, caller.own_run.id, call_id, tool=name[:80], effect="read", result=text)
    METRICS.count("tools.called.count", caller.access.account_id, tool=name[:80], status="refused")
    return text, Result(value=value)


def lose_call(tx: Tx, caller: Caller, call_id: str) -> tuple[str, Result]:
    """Record that the outcome of a call to an MCP server is unknown, and tell the model."""
    message = "Carrel stopped during this call, so its result is lost."
    value = failed(FATE_UNKNOWN, f"{message} {LOOK_FIRST}")
    text = bounded(value)
    finish_call(tx, caller.access, caller.own_run.id, call_id, text)
    return text, Result(value=value)


def finish_waiting(tx: Tx, toolset: Toolset, caller: Caller, call_id: str) -> tuple[str, Result]:
    """Record and return the result of a call that has waited, once."""
    known = call_of(tx, caller.access, caller.own_run.id, call_id)
    assert known is not None, "a call waits only after it was recorded"
    if known.waits_for is None:
        return known.result, known_result(known)
    value = finished(tx, toolset.find(known.tool), caller, known.waits_for)
    text = bounded(value)
    finish_call(tx, caller.access, caller.own_run.id, call_id, text)
    return text, Result(value=value)


def finished(tx: Tx, tool: Tool, caller: Caller, run_id: str) -> dict[str, Any]:
    assert tool.finish is not None, "only tools that can finish let a call wait"
    return tool.finish(tx, caller, run_id, run_by_id(tx, caller.access, run_id))


def refused(refusal: Refusal) -> dict[str, Any]:
    return failed(str(refusal.code), refusal.message)


def failed(code: str, message: str) -> dict[str, Any]:
    """Return the result of a call that failed."""
    return {"ok": False, "error": {"code": code, "message": message}}


def bounded(value: dict[str, Any]) -> str:
    """Return a result as JSON text, truncated to its limit."""
    text = msgspec.json.encode(value)
    if len(text) <= TOOL_RESULT_BYTES_MAX:
        return text.decode()
    short = {"truncated": True, "bytes": len(text), "text": text[: TOOL_RESULT_BYTES_MAX // 2].decode(errors="ignore")}
    return msgspec.json.encode(short).decode()


def known_result(call: Call) -> Result:
    """Return the result of a recorded call; one that still waits, waits for the same."""
    if call.waits_for is not None and call.waits_until is not None:
        return Result(value={}, wait=Wait(call.waits_for, call.waits_until))
    return Result(value=msgspec.json.decode(call.result))
