"""A run is heard and answered: instructions, input, the turn loop, receipts.

It owns no queue and opens no connection.
"""

from carrel.delivery.approvals import is_about_approval
from carrel.delivery.live import Live, Spoken, Words
from carrel.delivery.prompt import PROFILE_VERSION, standing_instructions
from carrel.delivery.receipts import Comparison, Receipt, compare_receipts, receipt_of
from carrel.delivery.snapshot import Connection
from carrel.delivery.turn import BUILTIN, Turns

__all__ = [
    "BUILTIN",
    "PROFILE_VERSION",
    "Comparison",
    "Connection",
    "Live",
    "Receipt",
    "Spoken",
    "Turns",
    "Words",
    "compare_receipts",
    "is_about_approval",
    "receipt_of",
    "standing_instructions",
]
