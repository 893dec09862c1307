"""A step of an exchange: a queued run like any other, delivered in the name of the agent at the other end."""

from typing import Literal

from msgspec import structs

from carrel.exchanges.model import Exchange
from carrel.kernel import Code, Envelope, Message, Provenance, Refusal, SessionKey
from carrel.outbox import channel_of
from carrel.runs import Rules, Run, deliver
from carrel.sessions import lane_of, shown_channel
from carrel.storage import Tx

StepKind = Literal["reply_back", "announce"]
# The tool that begins each kind of exchange.
TOOLS = {"send": "sessions_send", "spawn": "sessions_spawn"}


def deliver_step(
    tx: Tx, rules: Rules, exchange: Exchange, text: str, kind: StepKind, *, to: SessionKey, seconds_max: int = 0
) -> Run:
    """Deliver a step to one of the two lanes, if it still exists; both must be locked."""
    lane = lane_of(tx, exchange.access, to)
    if lane is None:
        raise Refusal(Code.NOT_FOUND, f"{to} no longer exists.")
    provenance = provenance_of(tx, exchange, kind, to=to)
    envelope = Envelope(
        key=to,
        message=Message(text=text, provenance=provenance),
        channel=channel_of(lane),
        timeout_seconds=seconds_max,
        parent_run_id=exchange.first_run_id,
    )
    access = structs.replace(exchange.access, actor_id=_other_end(exchange, to).agent)
    return deliver(tx, access, envelope, rules)


def provenance_of(tx: Tx, exchange: Exchange, kind: StepKind, *, to: SessionKey) -> Provenance:
    """Return the provenance of a message to one of the two lanes: it comes from the other one."""
    sender = _other_end(exchange, to)
    source = lane_of(tx, exchange.access, sender)
    return Provenance(
        kind=kind,
        source_session_key=str(sender),
        source_channel=shown_channel(sender, source.last_channel if source else None),
        source_tool=TOOLS[exchange.kind],
        actor=sender.agent,
    )


def _other_end(exchange: Exchange, to: SessionKey) -> SessionKey:
    return exchange.target if to == exchange.requester else exchange.requester
