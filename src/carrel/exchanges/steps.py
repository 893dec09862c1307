"""The steps of an exchange: ordinary queued runs, delivered in the name of the agent at the other end."""

from typing import Literal

from msgspec import structs

from carrel.exchanges import prompts
from carrel.exchanges.model import Exchange
from carrel.exchanges.store import awaits_child, exchange_of_run
from carrel.kernel import INTERNAL_CHANNEL, Code, Envelope, Message, Provenance, Refusal, SessionKey
from carrel.kernel.settings import Settings
from carrel.outbox import POSTED_CHANNELS, channel_of
from carrel.runs import Rules, Run, deliver
from carrel.sessions import lane_of, shown_channel
from carrel.storage import Tx

StepKind = Literal["reply_back", "announce"]
# The tool that begins each kind of exchange.
TOOLS = {"send": "sessions_send", "spawn": "sessions_spawn"}


class Flow:
    """The steps of one kind of exchange. Both lanes and the exchange are locked while it decides."""

    def __init__(self, settings: Settings, rules: Rules) -> None:
        self._settings = settings
        self._rules = rules

    def advance(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        """Take the next step and return the changed exchange.

        Called when the current run has ended or no longer exists (None), and when `due_at` has come. Without a `due_at`
        the exchange waits for the end of `current_run_id`. Step "carry" asks to post `announcement` on the channel of a
        lane: the requester's for a spawn, the target's for a send.
        """
        raise AssertionError("each kind of exchange has its own steps")

    def clean_up(self, tx: Tx, exchange: Exchange) -> None:
        """Remove what the exchange needed; called after it was written as no longer open."""


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


def briefing_of(tx: Tx, run: Run) -> str:
    """Return the briefing of a run that another lane caused; empty for every other run."""
    match run.provenance_kind:
        case "inter_session":
            return prompts.sent_briefing(run)
        case "reply_back":
            return prompts.reply_briefing(run, exchange_of_run(tx, run.access, run.id))
        case "spawn":
            lane = lane_of(tx, run.access, run.session_key)
            return prompts.spawned_briefing(run, lane.files if lane else None)
        case "announce" if run.source().source_tool == TOOLS["spawn"]:
            if run.session_key.kind == "subagent":
                return prompts.notes_briefing(run)
            child = run.source().source_session_key or ""
            awaits_more = awaits_child(tx, run.access, run.key, child, besides=True)
            return prompts.result_briefing(run, _posted_on(tx, run), awaits_more=awaits_more)
        case "announce":
            exchange = exchange_of_run(tx, run.access, run.id)
            lane = lane_of(tx, run.access, run.session_key)
            if exchange is not None and exchange.kind == "send":
                return prompts.announce_briefing(run, channel_of(lane) if lane else INTERNAL_CHANNEL)
    return ""


def _posted_on(tx: Tx, run: Run) -> str | None:
    """The channel on which this lane's results are posted; None if the requester reports them itself."""
    lane = lane_of(tx, run.access, run.session_key)
    channel = None if lane is None else channel_of(lane)
    return channel if channel in POSTED_CHANNELS else None
