"""What comes back to us from other systems: sessions there that are ours, and texts we asked a model for. Pure.

Whoever records conversations there sends them to us. They must not become work once more, whatever that system has made
of their names: OpenClaw puts an agent before a key and writes it in small letters.
"""

import re

from carrel.kernel.keys import AGENT_ID, SESSION_RESTS

_REQUESTS = "internal:clawboard-classifier:"
_ADDRESS = rf"agent:{AGENT_ID}:(?:{SESSION_RESTS}):v[1-9][0-9]*(?:@[a-z0-9-]+)?"
_OWN_SESSION = re.compile(rf"(?:^|[:|])(?:{_REQUESTS}|agent:[^:|]+:carrel:|{_ADDRESS}(?:$|\|))|^carrel:", re.IGNORECASE)


class OwnTraffic:
    """How our own sessions and requests are recognised."""

    # How the addresses begin under which a model is asked for ourselves, and what stands in each such request.
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
