"""A run is heard and answered: instructions, input, the turn loop, receipts.

It owns no queue and opens no connection.
"""

from carrel.delivery.approving import is_about_approval
from carrel.delivery.channels import Channel, ChannelFault, Channels, Post
from carrel.delivery.desktop import Door
from carrel.delivery.exchanging import Exchanges
from carrel.delivery.instructions import PROFILE_VERSION, standing_instructions
from carrel.delivery.live import Live, Spoken, Words
from carrel.delivery.receipts import Comparison, Receipt, compare_receipts, receipt_of
from carrel.delivery.redelivering import redeliver
from carrel.delivery.sweeping import Sweeping
from carrel.delivery.turn import BUILTIN, Turns

__all__ = [
    "BUILTIN",
    "PROFILE_VERSION",
    "Channel",
    "ChannelFault",
    "Channels",
    "Comparison",
    "Door",
    "Exchanges",
    "Live",
    "Post",
    "Receipt",
    "Spoken",
    "Sweeping",
    "Turns",
    "Words",
    "compare_receipts",
    "is_about_approval",
    "receipt_of",
    "redeliver",
    "standing_instructions",
]
