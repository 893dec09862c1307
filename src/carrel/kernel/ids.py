"""Ids, secrets and randomness. Clock and randomness are arguments, so that tests can replay them."""

import os
import random
import secrets
import threading
from hashlib import sha256
from typing import Protocol
from uuid import UUID

from carrel.kernel.clock import Clock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_UUID_HEAD_BYTES = 10
_FETCHED_BYTES = 1_024
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]


class Chance(Protocol):
    """A source of randomness."""

    def random(self) -> float: ...

    def getrandbits(self, k: int, /) -> int: ...


class _SystemChance(random.SystemRandom):
    """The operating system's randomness, fetched in batches: each call to it lets other threads run first."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._left = b""

    def getrandbits(self, k: int, /) -> int:
        size = (k + 7) // 8
        with self._lock:
            if len(self._left) < size:
                self._left = os.urandom(max(size, _FETCHED_BYTES))
            drawn, self._left = self._left[:size], self._left[size:]
        return int.from_bytes(drawn) >> (size * 8 - k)


def system_chance() -> Chance:
    """Return the operating system's source of randomness."""
    return _SystemChance()


def new_secret() -> str:
    """Return a new 256-bit secret in hex; it has no underscore, so a token can be split at its underscores."""
    return secrets.token_hex(32)


def secret_digest(secret: str) -> str:
    """Return the digest under which a secret is stored."""
    return sha256(secret.encode()).hexdigest()


class Ids:
    """Creates ids of the form `<prefix>_` + 26 characters that sort by the time they were created."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self._clock = clock
        self._chance = chance
        self._lock = threading.Lock()
        self._last = 0

    def new(self, prefix: str) -> str:
        """Return the next id; it sorts after every earlier one of this Ids."""
        with self._lock:
            # One random draw per millisecond, then counting up, keeps the order within the millisecond.
            fresh = self._clock.now_ms() << 80
            if fresh > self._last + (1 << 79):
                self._last = fresh | self._chance.getrandbits(79)
            else:
                self._last += 1
            value = self._last
        return f"{prefix}_{_encode(value)}"


def first_id(prefix: str, moment_ms: int) -> str:
    """Return an id that sorts before all ids created at or after a moment."""
    return f"{prefix}_{_encode(moment_ms << 80)}"


def _encode(value: int) -> str:
    return "".join([_PAIRS[(value >> shift) & 1023] for shift in range(120, -10, -10)])


def uuid_for(fresh_id: str, owner: str) -> str:
    """Return the UUID of a new id for use in a session key; `is_uuid_of` recognises its owner."""
    head = UUID(bytes=sha256(fresh_id.encode()).digest()[:16], version=4).bytes[:_UUID_HEAD_BYTES]
    return str(UUID(bytes=head + _uuid_tail(head, owner)))


def is_uuid_of(text: str, owner: str) -> bool:
    """Return whether a UUID was created by `uuid_for` for this owner."""
    try:
        found = UUID(text).bytes
    except ValueError:
        return False
    head, tail = found[:_UUID_HEAD_BYTES], found[_UUID_HEAD_BYTES:]
    return str(UUID(bytes=found)) == text and tail == _uuid_tail(head, owner)


def _uuid_tail(head: bytes, owner: str) -> bytes:
    return sha256(owner.encode() + head).digest()[: 16 - _UUID_HEAD_BYTES]


def caller_hash(actor_id: str) -> str:
    """Return the 12 hex digits that stand for a caller in a session key."""
    return sha256(actor_id.encode()).hexdigest()[:12]


def text_hash(text: str) -> str:
    """Return the 32 hex digits that replace text that does not fit into a session key."""
    return sha256(text.encode()).hexdigest()[:32]
