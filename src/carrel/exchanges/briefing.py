"""Briefings: what a run of an exchange is shown in addition to its agent's instructions."""

from carrel.exchanges.prompts import announce_briefing, reply_briefing, sent_briefing
from carrel.exchanges.steps import TOOLS
from carrel.exchanges.store import awaits_other_children, exchange_of_run
from carrel.exchanges.subagent_prompts import notes_briefing, result_briefing, spawned_briefing
from carrel.kernel import INTERNAL_CHANNEL
from carrel.outbox import POSTED_CHANNELS, channel_of
from carrel.runs import Run
from carrel.sessions import lane_of
from carrel.storage import Tx


def briefing_of(tx: Tx, run: Run) -> str:
    """Return the briefing of a run that another lane caused; empty for every other run."""
    match run.provenance_kind:
        case "inter_session":
            return sent_briefing(run)
        case "reply_back":
            return reply_briefing(run, exchange_of_run(tx, run.access, run.id))
        case "spawn":
            lane = lane_of(tx, run.access, run.session_key)
            return spawned_briefing(run, lane.files if lane else None)
        case "announce" if run.source().source_tool == TOOLS["spawn"]:
            if run.session_key.kind == "subagent":
                return notes_briefing(run)
            child = run.source().source_session_key or ""
            awaits_more = awaits_other_children(tx, run.access, run.key, child)
            return result_briefing(run, _posted_on(tx, run), awaits_more=awaits_more)
        case "announce":
            exchange = exchange_of_run(tx, run.access, run.id)
            lane = lane_of(tx, run.access, run.session_key)
            if exchange is not None and exchange.kind == "send":
                return announce_briefing(run, channel_of(lane) if lane else INTERNAL_CHANNEL)
    return ""


def _posted_on(tx: Tx, run: Run) -> str | None:
    """The channel on which this lane's results are posted; None if the requester reports them itself."""
    lane = lane_of(tx, run.access, run.session_key)
    channel = None if lane is None else channel_of(lane)
    return channel if channel in POSTED_CHANNELS else None
