"""What an agent behind a gateway does by itself, as entries of its run: written while it works, for people to see.

They look like tool calls with results, but Carrel does not make these calls.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from carrel.delivery.snapshot import Snapshot
from carrel.delivery.transcript import write
from carrel.gateway import AgentAction
from carrel.journal import Entry, json_text
from carrel.runs import AGENT_ACTION, Claim, fence, open_actions
from carrel.storage import Database, Tx

LOST = "Carrel was interrupted, so it is unknown whether this took effect."
_NEVER_SAID = "The agent did not say what became of it."


class ActionLog:
    """Keeps the actions of one step; `number` returns the number of the step."""

    def __init__(self, db: Database, claim: Claim, snapshot: Snapshot, number: Callable[[], int]) -> None:
        self._db = db
        self._claim = claim
        self._snapshot = snapshot
        self._number = number
        # Those that began in an earlier step of the turn may end in this one.
        self._open = {(entry.details or {})["callId"]: entry for entry in open_actions(snapshot.own)}

    async def keep(self, action: AgentAction) -> None:
        """Keep an action that has begun, or its result."""
        begun = self._open.get(action.call_id)
        if begun is None:
            begun = self._open[action.call_id] = await self._db.write(partial(self._begin, action=action))
        if action.result is not None:
            await self._db.write(partial(self._end, begun=begun, result=action.result))
            del self._open[action.call_id]

    async def close(self) -> None:
        """Close the actions of a finished turn: one without a result by now never gets one."""
        if self._open:
            await self._db.write(self._close)

    def _begin(self, tx: Tx, action: AgentAction) -> Entry:
        fence(tx, self._claim)
        details = {"callId": action.call_id, "name": action.name, "arguments": action.arguments, "step": self._number()}
        return _write(tx, self._snapshot, "toolCall", f"Tool call: {action.name}", details)

    def _end(self, tx: Tx, begun: Entry, result: str) -> None:
        fence(tx, self._claim)
        _write_result(tx, self._snapshot, begun, result)

    def _close(self, tx: Tx) -> None:
        fence(tx, self._claim)
        close_actions(tx, self._snapshot, self._open.values(), _NEVER_SAID)


def close_actions(tx: Tx, snapshot: Snapshot, begun: Iterable[Entry], why: str) -> None:
    """Write, for each action without a result, that its result is unknown."""
    for entry in begun:
        _write_result(tx, snapshot, entry, json_text({"ok": False, "error": {"code": "fate_unknown", "message": why}}))


def _write_result(tx: Tx, snapshot: Snapshot, begun: Entry, result: str) -> None:
    details = {name: (begun.details or {})[name] for name in ("callId", "name", "step")}
    _write(tx, snapshot, "toolResult", result, details)


def _write(tx: Tx, snapshot: Snapshot, role: str, content: str, details: dict[str, Any]) -> Entry:
    return write(tx, snapshot.access, snapshot.run, snapshot.session, role, content, details | {AGENT_ACTION: True})
