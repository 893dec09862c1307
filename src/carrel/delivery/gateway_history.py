"""What a gateway that keeps the history of sessions knows of one, so that a step says only what is new to it."""

from msgspec import Struct

from carrel.delivery.store import answered_steps, is_answered, lost_since, newest_body
from carrel.gateway import remote_id_of
from carrel.journal import Entry
from carrel.kernel import Access
from carrel.runs import run_by_id
from carrel.storage import Tx


class GatewayHistory(Struct, frozen=True, kw_only=True):
    """What the gateway knows: the session up to entry `session_seq`, and of the run its entries up to `run_seq`.

    At `lost_at` something was sent that no answer to is known. `remote_id` is the session at a coding agent.
    """

    session_seq: int = -1
    run_seq: int = -1
    lost_at: int | None = None
    remote_id: str = ""

    def unsaid(self, own: list[Entry]) -> list[Entry]:
        """Return those of a run's entries that the gateway was not told; a question of ours repeats a call of its."""
        if self.run_seq < 0:
            return own
        return [entry for entry in own if entry.seq > self.run_seq and entry.role != "assistant"]


NOTHING_KNOWN = GatewayHistory()


def read_gateway_history(
    tx: Tx, access: Access, run_id: str, own: list[Entry], earlier: list[Entry], kind: str, address: str
) -> GatewayHistory:
    """Return what a gateway of this kind has heard under this address: what came before an answered step of it."""
    if kind == "acp":
        return _at_coding_agent(tx, access, run_id, earlier, address)
    answered = answered_steps(tx, access, run_id, kind, address)
    calls = [entry.seq for entry in own if entry.role == "toolCall" and (entry.details or {})["step"] in answered]
    run_seq = max(calls, default=-1)
    runs = dict.fromkeys(entry.run_id for entry in reversed(earlier) if entry.run_id is not None)
    # A run that is past its retention took its steps with it; it was answered long ago.
    heard = (run for run in runs if run_by_id(tx, access, run) is None or is_answered(tx, access, run, kind, address))
    newest = next(heard, None)
    known = (entry.seq for entry in earlier if entry.run_id == newest and newest is not None)
    session_seq = max((*known, run_seq))
    lost_at = lost_since(tx, access, run_id, kind, address)
    return GatewayHistory(session_seq=session_seq, run_seq=run_seq, lost_at=lost_at)


def _at_coding_agent(tx: Tx, access: Access, run_id: str, earlier: list[Entry], address: str) -> GatewayHistory:
    """What the newest step says that was sent to a coding agent: it may have lost its session, so all is sent."""
    runs = dict.fromkeys([run_id, *(entry.run_id for entry in reversed(earlier) if entry.run_id is not None)])
    bodies = (newest_body(tx, access, run, "acp", address) for run in runs)
    newest = next(filter(None, bodies), "")
    return GatewayHistory(lost_at=lost_since(tx, access, run_id, "acp", address), remote_id=remote_id_of(newest))
