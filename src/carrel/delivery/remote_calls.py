"""Calls of tools of MCP servers: begun in one transaction, made outside of any, ended in another."""

from functools import partial

from carrel.connectors import CallFailed, CallResult
from carrel.delivery.snapshot import Snapshot
from carrel.delivery.step import keep_result
from carrel.delivery.transcript import call_key
from carrel.journal import Entry
from carrel.runs import Claim, fence
from carrel.storage import Database, Tx
from carrel.tools import BegunCall, Result, begin_remote, end_remote


async def make_remote_call(db: Database, claim: Claim, snapshot: Snapshot, call: Entry, arguments: str) -> Result:
    """Make a call that needs no approval, or has it."""
    begun = await db.write(partial(_begin, claim=claim, snapshot=snapshot, call=call, arguments=arguments))
    if isinstance(begun, Result):
        return begun
    made = await begun.make(snapshot.caller.services)
    return await db.write(partial(_end, claim=claim, snapshot=snapshot, call=call, begun=begun, made=made))


def _begin(tx: Tx, claim: Claim, snapshot: Snapshot, call: Entry, arguments: str) -> BegunCall | Result:
    wanted = fence(tx, claim)
    if wanted is not None:
        # The turn ends as requested from outside; an open call is made when the run goes on.
        return Result(value={}, ends=wanted.outcome)
    name = (call.details or {})["name"]
    begun = begin_remote(tx, snapshot.toolset, snapshot.caller, call_key(call), name, arguments)
    if isinstance(begun, BegunCall):
        return begun
    return keep_result(tx, snapshot, call, *begun)


def _end(
    tx: Tx, claim: Claim, snapshot: Snapshot, call: Entry, begun: BegunCall, made: CallResult | CallFailed
) -> Result:  # fmt: skip
    fence(tx, claim)
    return keep_result(tx, snapshot, call, *end_remote(tx, snapshot.caller, call_key(call), begun, made))
