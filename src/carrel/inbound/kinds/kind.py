"""What every kind of sender has to say."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar

from carrel.inbound.model import Arrival
from carrel.kernel.settings import WebhookSettings


class Kind(ABC):
    """A kind of sender. The names of headers are looked up without regard to upper and lower case."""

    name: ClassVar[str]
    # What is taken up and how it reads, unless the settings say otherwise.
    events: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    text: ClassVar[str]
    # What deliveries about the same thing have in common.
    thread: ClassVar[str]
    # The status that tells the sender that we have it.
    accepted: ClassVar[int] = 202
    # An event and a body such as it sends, to try settings with.
    sample: ClassVar[tuple[str, Mapping[str, Any]]]

    def __init__(self, settings: WebhookSettings) -> None:
        self.settings = settings

    @abstractmethod
    def fault(self, secret: bytes, headers: Mapping[str, str], raw: bytes, now_ms: int) -> str | None:
        """Return what is wrong with the signature of a delivery; None if it is authentic."""

    def handshake(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer to a question that asks only whether we are there; None for a delivery."""
        return None

    @abstractmethod
    def arrival(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        """Return what an authentic delivery says."""

    def reported(self, event: str) -> str:
        """Return an event as agents are told of it."""
        return f"{event or 'a delivery'} from {self.name}"

    def nothing_to_do(self, event: str) -> str | None:
        """Return why there is nothing to do for an event, whatever the settings say; None if there may be."""
        return None


def body_digest(raw: bytes) -> str:
    """Return the digest of a body."""
    return f"sha256:{sha256(raw).hexdigest()}"
