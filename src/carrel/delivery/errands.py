"""Errands: what a run is told of its place between two lanes, beside the standing instructions of its agent."""

from carrel.delivery.channels import channel_of
from carrel.delivery.exchange_words import announce_errand, reply_errand, sent_errand
from carrel.delivery.saying import TOOLS
from carrel.delivery.subagent_words import notes_errand, result_errand, spawned_errand
from carrel.kernel import INTERNAL_CHANNEL
from carrel.runs import Run, exchange_of_run
from carrel.sessions import lane_of
from carrel.storage import Tx


def errand_of(tx: Tx, run: Run) -> str:
    """What is said to a run that another lane has caused; nothing to every other."""
    match run.provenance_kind:
        case "inter_session":
            return sent_errand(run)
        case "reply_back":
            return reply_errand(run, exchange_of_run(tx, run.access, run.id))
        case "spawn":
            lane = lane_of(tx, run.access, run.session_key)
            return spawned_errand(run, lane.files if lane else None)
        case "announce" if run.source().source_tool == TOOLS["spawn"]:
            return notes_errand(run) if run.session_key.kind == "subagent" else result_errand(run)
        case "announce":
            exchange = exchange_of_run(tx, run.access, run.id)
            lane = lane_of(tx, run.access, run.session_key)
            if exchange is not None and exchange.kind == "send":
                return announce_errand(run, channel_of(lane) if lane else INTERNAL_CHANNEL)
    return ""
