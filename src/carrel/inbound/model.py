"""A delivery: what another program has posted to a webhook, and what became of it."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from carrel.kernel import Shape

Outcome = Literal["done", "ignored", "failed"]


class Arrival(Struct, frozen=True, kw_only=True):
    """What a delivery says: which event, whose doing, and its body.

    `sender_id` is the sender's own id for it. `digest` is that of its body, where the sender never sends the same body
    twice: an id that is not signed could be changed by whoever has got hold of a signed body.
    """

    event: str
    sender_id: str
    author: str
    by_bot: bool
    payload: Mapping[str, Any]
    digest: str | None = None


class Delivery(Struct, frozen=True, kw_only=True):
    """A delivery as it is kept; its fields are the columns of its table, besides its body."""

    id: str
    webhook: str
    sender_id: str
    digest: str | None
    event: str
    author: str
    by_bot: bool
    title: str
    outcome: Outcome
    reason: str | None
    task_id: str | None
    run_id: str | None
    key: str | None
    attempts: int
    received_at: int
    attempted_at: int
    has_body: bool

    @property
    def can_repeat(self) -> bool:
        """Whether it can be carried out again: never what was done, so that nothing is done twice."""
        return self.outcome != "done" and self.has_body


class Effect(Struct, frozen=True, kw_only=True):
    """What a delivery has done: the task it made or added to, or the run of its message."""

    task_id: str | None = None
    run_id: str | None = None
    key: str | None = None


class DeliveryShape(Shape, frozen=True, kw_only=True):
    """A delivery: what it was, what became of it, and why where that was nothing.

    One that failed or was ignored can be carried out again while its body is kept.
    """

    id: str
    webhook: str
    event: str
    author: str
    title: str
    outcome: Outcome
    reason: str | None
    task_id: str | None
    run_id: str | None
    session_key: str | None
    attempts: int
    received_at: str
    attempted_at: str
    can_repeat: bool

    @classmethod
    def of_delivery(cls, delivery: Delivery) -> "DeliveryShape":
        """Return a delivery as callers see it."""
        return cls.of(delivery, session_key=delivery.key, can_repeat=delivery.can_repeat)
