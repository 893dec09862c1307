"""Recognises our own sessions and model requests when other systems send them back to us. Pure.

Programs that record conversations there send us these as well. They must not become work again, however that system
rewrote their names: OpenClaw puts an agent before a key and lower-cases it.
"""

import re

from carrel.kernel.keys import AGENT_ID, SESSION_RESTS

_REQUESTS = "internal:clawboard-classifier:"
_ADDRESS = rf"agent:{AGENT_ID}:(?:{SESSION_RESTS}):v[1-9][0-9]*(?:@[a-z0-9-]+)?"
_OWN_SESSION = re.compile(rf"(?:^|[:|])(?:{_REQUESTS}|agent:[^:|]+:carrel:|{_ADDRESS}(?:$|\|))|^carrel:", re.IGNORECASE)


class Echoes:
    """How our own sessions and requests are recognised."""

    # The prefixes of the addresses under which we ask a model ourselves, and the text that each such request contains.
    REQUESTS = _REQUESTS
    MARK = "[carrel:internal-request]"

    @staticmethod
    def is_session(key: str) -> bool:
        """Return whether a session key of another system names a generation of a lane, or a request of our own."""
        return _OWN_SESSION.search(key) is not None

    @classmethod
    def is_request(cls, text: str) -> bool:
        """Return whether a text is, or contains, what we asked a model for ourselves."""
        return cls.MARK in text
