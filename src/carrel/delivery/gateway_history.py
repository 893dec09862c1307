"""What a gateway that keeps the history of sessions knows of one, so that a step sends only what is new to it."""

from msgspec import Struct

from carrel.delivery.store import answered_steps, is_answered, lost_since, newest_body
from carrel.gateway import remote_id_of
from carrel.journal import Entry
from carrel.kernel import Access
from carrel.runs import run_by_id
from carrel.storage import Tx


class GatewayHistory(Struct, frozen=True, kw_only=True):
    """What the gateway knows: the session up to entry `session_seq`, and the run up to its entry `run_seq`."""

    session_seq: int = -1
    run_seq: int = -1
    # When the step was sent whose answer is not known.
    lost_at: int | None = None
    # The session at a coding agent.
    remote_id: str = ""

    def unsaid(self, own: list[Entry]) -> list[Entry]:
        """Return the run's entries that are new to the gateway; our questions only repeat its calls."""
        if self.run_seq < 0:
            return own
        return [entry for entry in own if entry.seq > self.run_seq and entry.role != "assistant"]


_NOTHING_KNOWN = GatewayHistory()
# The kinds of gateways that keep the history of a session; all others are sent it with every step.
_KEEP_HISTORY = ("openclaw", "acp")


def read_gateway_history(
    tx: Tx, access: Access, run_id: str, own: list[Entry], earlier: list[Entry], kind: str, address: str
) -> GatewayHistory:
    """Return what a gateway of this kind knows under this address: everything before a step that it answered."""
    if kind not in _KEEP_HISTORY:
        return _NOTHING_KNOWN
    if kind == "acp":
        return _at_coding_agent(tx, access, run_id, earlier, address)
    answered = answered_steps(tx, access, run_id, kind, address)
    calls = [entry.seq for entry in own if entry.role == "toolCall" and (entry.details or {})["step"] in answered]
    run_seq = max(calls, default=-1)
    runs = dict.fromkeys(entry.run_id for entry in reversed(earlier) if entry.run_id is not None)
    # A run past its retention has no steps any more; it was answered long ago.
    heard = (run for run in runs if run_by_id(tx, access, run) is None or is_answered(tx, access, run, kind, address))
    newest = next(heard, None)
    known = (entry.seq for entry in earlier if entry.run_id == newest and newest is not None)
    session_seq = max((*known, run_seq))
    lost_at = lost_since(tx, access, run_id, kind, address)
    return GatewayHistory(session_seq=session_seq, run_seq=run_seq, lost_at=lost_at)


def _at_coding_agent(tx: Tx, access: Access, run_id: str, earlier: list[Entry], address: str) -> GatewayHistory:
    """Return what the newest step at a coding agent shows. It may have lost its session, so everything is sent."""
    runs = dict.fromkeys([run_id, *(entry.run_id for entry in reversed(earlier) if entry.run_id is not None)])
    bodies = (newest_body(tx, access, run, "acp", address) for run in runs)
    newest = next(filter(None, bodies), "")
    return GatewayHistory(lost_at=lost_since(tx, access, run_id, "acp", address), remote_id=remote_id_of(newest))
