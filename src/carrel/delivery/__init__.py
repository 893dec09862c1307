"""Takes the turn of a run: snapshot, request, steps, receipts and live text. It owns no queue and no connection."""

from carrel.delivery.approvals import is_about_approval
from carrel.delivery.context import ShownContext
from carrel.delivery.context_store import (
    InjectedContext,
    Injection,
    MemoryRead,
    contexts_of_runs,
    injections_of,
    reads_of_memory,
)
from carrel.delivery.default_model import default_model
from carrel.delivery.extraction import Extractions
from carrel.delivery.heading import TOLD_DETAILS
from carrel.delivery.live import DraftText, Live, LivePiece
from carrel.delivery.preview import PreviewKind, PromptPreview, preview_prompt
from carrel.delivery.receipts import Comparison, Receipt, compare_receipts, receipt_of
from carrel.delivery.replays import replay
from carrel.delivery.run_context import ContextGatherer, as_shown, foreseen
from carrel.delivery.snapshot import BUILTIN, Connection
from carrel.delivery.step import LEFT_OUT_NOTE
from carrel.delivery.turn import Turns

__all__ = [
    "BUILTIN", "LEFT_OUT_NOTE", "TOLD_DETAILS", "Comparison", "Connection", "ContextGatherer", "DraftText",
    "Extractions", "InjectedContext", "Injection", "Live", "LivePiece", "MemoryRead", "PreviewKind", "PromptPreview",
    "Receipt", "ShownContext", "Turns", "as_shown", "compare_receipts", "contexts_of_runs", "default_model", "foreseen",
    "injections_of", "is_about_approval", "preview_prompt", "reads_of_memory", "receipt_of", "replay",
]  # fmt: skip
