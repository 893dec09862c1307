"""Saying: a step of an exchange is a queued run like any other, in the name of the agent at the other end."""

from typing import Literal

from msgspec import structs

from carrel.exchanges.model import Exchange
from carrel.kernel import Code, Envelope, Message, Provenance, Refusal, SessionKey
from carrel.outbox import channel_of
from carrel.runs import Rules, Run, deliver
from carrel.sessions import lane_of, shown_channel
from carrel.storage import Tx

StepKind = Literal["reply_back", "announce"]
# The tools that exchanges begin with, by the kind of exchange.
TOOLS = {"send": "sessions_send", "spawn": "sessions_spawn"}


def say(
    tx: Tx, rules: Rules, exchange: Exchange, text: str, kind: StepKind, *, to: SessionKey, seconds_max: int = 0
) -> Run:
    """Deliver a step to one of the two lanes, if it is still there; both must be held."""
    lane = lane_of(tx, exchange.access, to)
    if lane is None:
        raise Refusal(Code.NOT_FOUND, f"{to} is gone.")
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
    """By whose doing something is said to one of the two lanes: the other's."""
    speaker = _other_end(exchange, to)
    source = lane_of(tx, exchange.access, speaker)
    return Provenance(
        kind=kind,
        source_session_key=str(speaker),
        source_channel=shown_channel(speaker, source.last_channel if source else None),
        source_tool=TOOLS[exchange.kind],
        actor=speaker.agent,
    )


def _other_end(exchange: Exchange, to: SessionKey) -> SessionKey:
    return exchange.target if to == exchange.requester else exchange.requester
