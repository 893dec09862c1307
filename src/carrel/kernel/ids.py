"""Ids and chance: where new names come from. Handed around as arguments so that a test can replay them."""

import random
import secrets
import threading
from hashlib import sha256
from typing import Protocol
from uuid import UUID

from carrel.kernel.clock import Clock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_UUID_HEAD_BYTES = 10
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]


class Chance(Protocol):
    """A source of randomness."""

    def random(self) -> float: ...

    def getrandbits(self, k: int, /) -> int: ...


def system_chance() -> Chance:
    """Randomness of the operating system, fit for ids."""
    return random.SystemRandom()


def new_secret() -> str:
    """A secret of 256 bits as text without underscores, so that tokens split cleanly."""
    return secrets.token_hex(32)


def secret_digest(secret: str) -> str:
    """What is stored of a secret."""
    return sha256(secret.encode()).hexdigest()


class Ids:
    """Makes ids `<prefix>_` + 26 characters that sort by the time they were made."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self._clock = clock
        self._chance = chance
        self._lock = threading.Lock()
        self._last = 0

    def new(self, prefix: str) -> str:
        """The next id; later ids of one Ids sort behind earlier ones."""
        with self._lock:
            # One draw a millisecond, then counting up: order within the millisecond without a draw each.
            fresh = self._clock.now_ms() << 80
            if fresh > self._last + (1 << 79):
                self._last = fresh | self._chance.getrandbits(79)
            else:
                self._last += 1
            value = self._last
        return f"{prefix}_{_encode(value)}"


def first_id(prefix: str, moment_ms: int) -> str:
    """The id before all that are made at or after a moment."""
    return f"{prefix}_{_encode(moment_ms << 80)}"


def _encode(value: int) -> str:
    return "".join([_PAIRS[(value >> shift) & 1023] for shift in range(120, -10, -10)])


def uuid_for(fresh_id: str, owner: str) -> str:
    """The UUID under which a fresh id appears in a session key; it can be told from one that another owner made."""
    head = UUID(bytes=sha256(fresh_id.encode()).digest()[:16], version=4).bytes[:_UUID_HEAD_BYTES]
    return str(UUID(bytes=head + _uuid_tail(head, owner)))


def is_uuid_of(text: str, owner: str) -> bool:
    """True for a UUID that was made for this owner."""
    try:
        found = UUID(text).bytes
    except ValueError:
        return False
    head, tail = found[:_UUID_HEAD_BYTES], found[_UUID_HEAD_BYTES:]
    return str(UUID(bytes=found)) == text and tail == _uuid_tail(head, owner)


def _uuid_tail(head: bytes, owner: str) -> bytes:
    return sha256(owner.encode() + head).digest()[: 16 - _UUID_HEAD_BYTES]


def caller_hash(actor_id: str) -> str:
    """The 12 hex digits under which a caller appears in a session key."""
    return sha256(actor_id.encode()).hexdigest()[:12]


def text_hash(text: str) -> str:
    """The 32 hex digits under which text of foreign shape appears in a session key."""
    return sha256(text.encode()).hexdigest()[:32]
