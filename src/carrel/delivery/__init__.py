"""A run is heard and answered: instructions, input, the turn loop, receipts. It owns no queue and opens no connection."""

from carrel.delivery.live import Live, Spoken

__all__ = ["Live", "Spoken"]
