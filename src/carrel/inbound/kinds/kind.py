"""What every kind of sender defines."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar

from carrel.inbound.model import Arrival
from carrel.kernel.settings import WebhookSettings


class Kind(ABC):
    """A kind of sender. Header names are looked up case-insensitively."""

    name: ClassVar[str]
    # The default events and wording.
    events: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    text: ClassVar[str]
    # The template of the value that deliveries about the same thing share.
    thread: ClassVar[str]
    # The status that acknowledges a delivery to the sender.
    accepted: ClassVar[int] = 202
    # A sample event and body, for trying out settings.
    sample: ClassVar[tuple[str, Mapping[str, Any]]]

    def __init__(self, settings: WebhookSettings) -> None:
        self.settings = settings

    @abstractmethod
    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        """Return what is wrong with the signature of a delivery; None if it is authentic."""

    def handshake(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer to a verification request; None for a delivery."""
        return None

    @abstractmethod
    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        """Return the parts of an authentic delivery."""

    def nothing_to_do(self, event: str) -> str | None:
        """Return why an event never needs anything done, whatever the settings; None if it may."""
        return None


def body_digest(raw: bytes) -> str:
    """Return the digest of a body."""
    return f"sha256:{sha256(raw).hexdigest()}"
