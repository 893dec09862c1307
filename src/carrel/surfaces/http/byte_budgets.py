"""Budgets of bytes: how much all requests or responses may hold at once, and how much of it one caller may."""

from collections import Counter
from typing import Self

from msgspec import Struct
from starlette.types import Scope

from carrel.kernel import Access, Code, Refusal
from carrel.kernel.limits import BUSY_RETRY_SECONDS, SMALL_BODY_BYTES_MAX

Holder = tuple[str, ...]
# Shares of the budget for everybody, an account and a caller, so that nobody alone shuts out others.
_SHARES = (1, 3 / 4, 1 / 2)


class ByteBudget:
    """Bytes of large bodies that are held for all callers together; small ones do not count and always pass."""

    def __init__(self, bytes_max: int, what: str) -> None:
        self.bytes_max = bytes_max
        self._what = what
        self._held: Counter[Holder] = Counter()

    @property
    def held_bytes(self) -> int:
        """How many bytes are held now."""
        return self._held[()]

    def share_of(self, scope: Scope) -> "Share":
        """Hold bytes for a request until the end of a block."""
        return Share(self, scope)

    def move(self, holder: Holder, more: int) -> None:
        """Count bytes for a holder and for the whole; Refusal, changing nothing, when they are more than its share."""
        holders = [holder[:length] for length in range(len(holder) + 1)]
        shares = zip(holders, _SHARES, strict=False)
        if more > 0 and any(self._held[each] + more > self.bytes_max * share for each, share in shares):
            why = f"The server has too many large {self._what} at once; try again in a moment."
            raise Refusal(Code.BUSY, why, retry_after_seconds=BUSY_RETRY_SECONDS)
        for each in holders:
            self._held[each] += more
            if not self._held[each]:
                del self._held[each]


class Share(Struct):
    """What is held for one request, until the end of a block."""

    budget: ByteBudget
    scope: Scope
    holder: Holder = ()
    counted: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.counted:
            self.budget.move(self.holder, -self.counted)

    def grow(self, size: int) -> None:
        """Hold a body of this size; Refusal when that is too much."""
        more = max(0, size - SMALL_BODY_BYTES_MAX) - self.counted
        if more <= 0:
            return
        access: Access | None = self.scope["state"].get("access")
        if not self.counted and access is not None:
            self.holder = (access.account_id, access.actor_id)
        self.budget.move(self.holder, more)
        self.counted += more
